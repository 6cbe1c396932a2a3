//! A design is the same on any number of threads and however often it is stopped, and both
//! searches better what they begin with.

use exm_design::score::{Contender, HeldOut, Scheme, held_out};
use exm_design::{Designer, Evaluate, Model, Round, RoundError, SearchKind, SharedRound};
use exm_remy::{Action, Rule, RuleTable, Signal, SignalSet};
use exm_sim::network::Host;
use exm_table::{Provenance, TableFile};

const MODEL: &str = r#"
[network]
rate = "5..20 Mbps"
rtt = "50..150 ms"
senders = "1..4"
buffer = "5 BDP"
[traffic]
on = "exponential 1 s"
off = "exponential 1 s"
[objective]
[design]
duration = "4 s"
specimens = 4
"#;

const SEARCHES: [SearchKind; 2] = [SearchKind::Evolve, SearchKind::Paper];

fn designer(search: SearchKind, start: Option<RuleTable>) -> Designer {
    let model = Model::parse(MODEL, "the test's model").expect("a sound model");
    match start {
        None => Designer::new(model, search, 1).expect("it designs one table"),
        Some(table) => Designer::starting_from(&table, model, search, 1).expect("its signals"),
    }
}

fn bytes(tables: Vec<RuleTable>) -> String {
    let text = |table| TableFile { table, provenance: Provenance::default() }.to_json();
    tables.into_iter().map(text).collect()
}

/// Takes `steps` on so many threads.
fn take(designer: &mut Designer, steps: usize, threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| (0..steps).for_each(|_| drop(designer.step())));
}

#[test]
fn a_design_is_the_same_on_any_number_of_threads() {
    for search in SEARCHES {
        let [one, two] = [1, 2].map(|threads| {
            let mut designer = designer(search, None);
            take(&mut designer, 40, threads);
            (bytes(designer.current()), bytes(designer.finish()), designer.checkpoint())
        });
        assert_eq!(one, two, "{search}");
    }
}

#[test]
fn a_design_goes_on_as_if_it_had_never_stopped() {
    for search in SEARCHES {
        let mut whole = designer(search, None);
        take(&mut whole, 40, 2);
        // Within a stage and across its end.
        for stop in [0, 5, 13, 39] {
            let mut part = designer(search, None);
            take(&mut part, stop, 2);
            part.set_cpu_seconds(1.25);
            let mut rest = Designer::resume(&part.checkpoint()).expect("its own checkpoint");
            assert_eq!((rest.steps(), rest.cpu_seconds()), (stop as u64, 1.25));
            take(&mut rest, 40 - stop, 1);
            rest.set_cpu_seconds(0.0);
            assert_eq!(rest.checkpoint(), whole.checkpoint(), "{search} stopped at {stop}");
            assert_eq!(bytes(rest.finish()), bytes(whole.finish()), "{search} stopped at {stop}");
        }
    }
}

/// Evaluates rounds as workers on other machines do: from text, in parts, the last of them first.
struct InParts(usize);

impl Evaluate for InParts {
    type Error = RoundError;

    fn scores(&self, round: &Round<'_>) -> Result<Vec<f64>, RoundError> {
        let (text, pairs) = (round.to_text(), round.pairs());
        let firsts = (0..pairs).step_by(self.0).rev();
        let part = |first| SharedRound::read(&text)?.scores(first, pairs.min(first + self.0));
        let mut parts = firsts.map(part).collect::<Result<Vec<Vec<f64>>, RoundError>>()?;
        parts.reverse();
        Ok(parts.concat())
    }
}

#[test]
fn a_design_is_the_same_wherever_its_candidates_are_evaluated() {
    for search in SEARCHES {
        let mut whole = designer(search, None);
        take(&mut whole, 40, 2);
        for pairs in [1, 7, 1000] {
            let mut parts = designer(search, None);
            for _ in 0..40 {
                parts.step_by(&InParts(pairs)).expect("its own rounds");
            }
            assert_eq!(parts.checkpoint(), whole.checkpoint(), "{search} by {pairs} pairs");
        }
    }
}

#[test]
fn what_is_no_round_is_refused() {
    struct Refused;
    impl Evaluate for Refused {
        type Error = String;
        fn scores(&self, round: &Round<'_>) -> Result<Vec<f64>, String> {
            let text = round.to_text();
            let refused = |text: &str, last| {
                let scores = SharedRound::read(text).and_then(|shared| shared.scores(0, last));
                scores.expect_err("it is broken").to_string()
            };
            assert!(refused("{}", 1).starts_with("it is not a round of a design"));
            let other = text.replace("4 s", "5 s");
            assert!(refused(&other, 1).contains("has other contents on this machine"));
            let broken = text.replace("\\\"rules\\\"", "\\\"rulse\\\"");
            assert!(refused(&broken, 1).starts_with("one of its tables is broken"));
            let pairs = round.pairs();
            assert!(refused(&text, pairs + 1).starts_with(&format!("it has {pairs} pairs")));
            Err("it ends here".to_owned())
        }
    }
    let mut designer = designer(SearchKind::Evolve, None);
    assert_eq!(designer.step_by(&Refused), Err("it ends here".to_owned()));
    assert_eq!(designer.steps(), 0);
}

#[test]
fn a_design_starts_from_the_table_it_is_given() {
    let action = Action { multiple: 0.8, increment: 3, intersend_ms: 2.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
    for search in SEARCHES {
        let designer = designer(search, Some(table.clone()));
        let rule = designer.current()[0].rules()[0];
        assert_eq!(
            (rule.domain, designer.current()[0].rules().len()),
            (table.rules()[0].domain, 1)
        );
        assert_eq!(rule.action.increment, 3, "{search}");
        assert!((rule.action.multiple - 0.8).abs() < 1e-9, "{search}");
        assert!((rule.action.intersend_ms - 2.0).abs() < 1e-9, "{search}");
    }
}

/// What is knocked out of the model is knocked out of the result, whatever the design started from;
/// and what the model adds, the result may look at.
#[test]
fn a_design_looks_at_the_model_s_signals_whatever_it_starts_from() {
    let set = |signals: &[Signal]| SignalSet::new(signals.iter().copied()).expect("some");
    let ratio = set(&[Signal::RttRatio]);
    let text = MODEL.replace("[design]", "[design]\nsignals = [\"rtt_ratio\"]");
    let knocked_out = Model::parse(&text, "the test's model").expect("a sound model");
    let whole = Model::parse(MODEL, "the test's model").expect("a sound model");
    let action = Action { multiple: 0.8, increment: 3, intersend_ms: 2.0 };
    for search in SEARCHES {
        for (model, signals, expected) in
            [(&knocked_out, SignalSet::FIRST_FOUR, ratio), (&whole, ratio, SignalSet::FIRST_FOUR)]
        {
            let start = RuleTable::single(signals, 16_384.0, action);
            let designer = Designer::starting_from(&start, model.clone(), search, 1);
            let mut designer = designer.expect("a single rule differs by nothing");
            // The papers' search splits a rule on all signals at once, the default on one in turn.
            let enough = if search == SearchKind::Paper { 2 } else { 4 };
            while designer.current()[0].rules().len() < enough {
                assert!(designer.steps() < 300, "{search} never split a rule");
                designer.step();
            }
            // A signal by which no rule differs is none that the table looks at.
            let table = designer.current().remove(0);
            let start_of = |signal: Signal| table.domain().lower[signal.index()];
            let used: Vec<Signal> = Signal::ALL
                .into_iter()
                .filter(|signal| {
                    let differs =
                        |rule: &Rule| rule.domain.lower[signal.index()] != start_of(*signal);
                    table.rules().iter().any(differs)
                })
                .collect();
            assert_eq!(table.signals(), expected, "{search}");
            assert!(used.iter().all(|&signal| expected.contains(signal)), "{search}: {used:?}");
            assert_eq!(used.len() > 1, expected.len() > 1, "{search}: {used:?}");
        }
        let mut start = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
        assert!(start.split(0, Signal::AckEwma, 9.0));
        let refused = Designer::starting_from(&start, knocked_out.clone(), search, 1);
        assert_eq!(refused.unwrap_err().to_string(), "its rules differ by ack_ewma");
    }
}

#[test]
fn both_searches_better_what_they_begin_with() {
    for search in SEARCHES {
        let mut designer = designer(search, None);
        let before = designer.current();
        take(&mut designer, 30, 2);
        let contender = |name: &str, tables| Contender {
            name: name.to_owned(),
            scheme: Scheme::Tables(tables),
        };
        let contenders = [contender("before", before), contender("after", designer.finish())];
        let on = HeldOut { seed: 1, specimens: 200, host: Host::Bare };
        let scores = held_out(designer.model(), &on, &contenders, &|| {}).expect("can be run");
        let gain = scores.contenders[1].difference.expect("the second has one");
        assert!(gain.mean > 0.2 && gain.excludes_zero(), "{search}: {gain:?}");
    }
}
