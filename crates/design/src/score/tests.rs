use super::*;
use crate::Designer;
use exm_cc::Aimd;
use exm_remy::{Action, RemyCc, Signal, SignalSet};
use proptest::prelude::*;

const MODEL: &str = r#"
[network]
rate = "5..20 Mbps"
rtt = "50..150 ms"
senders = "1..4"
buffer = "2 BDP"
loss = ["0 %", "1 %"]
[traffic]
on = "exponential 1 s"
off = "exponential 1 s"
[objective]
[design]
duration = "5 s"
specimens = 4
"#;

const GRID: &str = r#"
[network]
rate = ["5 Mbps", "20 Mbps"]
rtt = "100 ms"
senders = [1, 3, 8]
draw = "grid"
[traffic]
on = "exponential 1 s"
off = "exponential 1 s"
[objective]
[design]
duration = "5 s"
"#;

fn model(text: &str) -> Model {
    Model::parse(text, "the test's model").expect("a sound model")
}

fn table(intersend_ms: f64) -> RuleTable {
    let action = Action { multiple: 1.0, increment: 1, intersend_ms };
    let mut table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    assert!(table.split(0, Signal::RttRatio, 1.2));
    table.set_action(1, Action { multiple: 0.9, increment: 0, intersend_ms });
    table
}

fn contender(name: &str, scheme: Scheme) -> Contender {
    Contender { name: name.to_owned(), scheme }
}

fn three() -> Vec<Contender> {
    vec![
        contender("slow", Scheme::Table(table(5.0))),
        contender("fast", Scheme::Table(table(0.5))),
        contender("aimd", Scheme::Controller(Aimd::new().into())),
    ]
}

fn scores(text: &str, count: usize, contenders: &[Contender]) -> Scores {
    let on = HeldOut { seed: 1, specimens: count, host: Host::Bare };
    held_out(&model(text), &on, contenders, &|| {}).expect("networks that can be simulated")
}

#[test]
fn a_table_scores_the_same_by_events() {
    let table = table(1.0);
    let penalised = MODEL.replace("[objective]", "[objective]\nloss_penalty = 100");
    let contenders = [
        contender("fast path", Scheme::Table(table.clone())),
        contender("events", Scheme::Controller(RemyCc::new(&table).into())),
    ];
    let scores = scores(&penalised, 24, &contenders);
    let [path, events] = scores.contenders.as_slice() else { panic!("two contenders") };
    for (a, b) in path.trials.iter().zip(&events.trials) {
        assert!((a.score - b.score).abs() < 1e-6, "{a:?} {b:?}");
        assert!((a.share - b.share).abs() < 1e-6, "{a:?} {b:?}");
        assert_eq!(a.rtt_ratio, b.rtt_ratio);
    }
    let difference = events.difference.expect("it is not the first");
    assert!(difference.mean.abs() < 1e-6 && path.difference.is_none());
}

/// What the senders of `table` got on each of 24 specimens, by the fast path and by events.
fn outcomes(text: &str, table: &RuleTable) -> Vec<[Vec<Outcome>; 2]> {
    let (prepared, controller) = (Prepared::new(table), RemyCc::new(table).into());
    let transport = Transport::Bare { controller, timer: false };
    let model = model(text);
    let both = |specimen: &Specimen| {
        let by_events = simulate_events(&model, specimen, |_| transport.clone(), &mut ());
        let by_events = by_events.expect("a sound network");
        let dumbbell = specimen.dumbbell();
        [exm_sim::dumbbell::run(dumbbell, prepared.rules(), specimen.seed), by_events]
    };
    model.specimens(1, HELD_OUT_BLOCK, 24).iter().map(both).collect()
}

#[test]
fn what_is_under_way_at_the_end_is_not_lost() {
    let lossless = MODEL.replace("2 BDP", "unlimited").replace("loss =", "# loss =");
    for outcome in outcomes(&lossless, &table(0.5)).iter().flatten().flatten() {
        assert_eq!(outcome.lost, 0, "{outcome:?}");
    }
    let (mut lost, mut under_way) = (0, 0);
    for [path, events] in outcomes(&MODEL.replace("2 BDP", "0.5 BDP"), &table(0.5)) {
        for (path, events) in path.iter().zip(&events) {
            assert_eq!((path.sent, path.lost), (events.sent, events.lost));
            lost += path.lost;
            under_way += path.sent - path.delivered - path.lost;
        }
    }
    assert!(lost > 0 && under_way > 0, "{lost} lost, {under_way} under way");
}

#[test]
fn what_is_designed_for_tcp_is_scored_over_tcp_alone() {
    let bbr = contender("bbr", Scheme::Controller(AnyController::named("bbr").unwrap()));
    let contenders = [three().swap_remove(0), bbr];
    let on = |host| {
        let on = HeldOut { seed: 1, specimens: 12, host };
        held_out(&model(MODEL), &on, &contenders, &|| {})
    };
    let refused = on(Host::Bare).expect_err("BBR needs loss recovery");
    assert_eq!(refused, ScoreError::Unsuited { contender: "bbr".to_owned() });
    let over_tcp = on(Host::Tcp).expect("networks that can be simulated");
    assert_eq!(over_tcp.host, Host::Tcp);
    // The same table on the same networks, and not the same scores: hosts do not compare.
    let bare = scores(MODEL, 12, &contenders[..1]);
    let [table, bare] = [&over_tcp.contenders[0], &bare.contenders[0]];
    assert!(table.share > 0.0 && table.trials != bare.trials, "{table:?}");
    assert!(over_tcp.contenders[1].share > 0.0);
}

#[test]
fn scores_are_the_same_on_any_number_of_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| scores(MODEL, 20, &three()))
    };
    assert_eq!(on(1), on(3));
}

/// Over TCP the headers of a packet are no throughput, in scores as in simulations.
#[test]
fn scores_over_tcp_are_of_goodput() {
    let model = model(MODEL);
    let cubic = AnyController::named("cubic").unwrap();
    let transport = || Host::Tcp.transport(cubic.clone());
    let specimen = &model.specimens(1, HELD_OUT_BLOCK, 1)[0];
    let network = specimen.network.network(|_| transport()).unwrap();
    let simulated = exm_sim::engine::run(&network, specimen.seed);
    let outcomes = simulate_events(&model, specimen, |_| transport(), &mut ()).unwrap();
    for (sender, (flow, got)) in simulated.flows.iter().zip(&outcomes).enumerate() {
        let (_, path) = specimen.network.path_of(sender);
        let simulated = flow.normalised_throughput().unwrap();
        let share = path.share(got);
        assert!((share - simulated).abs() < 1e-4, "{share} is not {simulated}");
    }
}

#[test]
fn differences_are_of_the_same_specimens() {
    let scores = scores(MODEL, 30, &three());
    let (first, second) = (&scores.contenders[0], &scores.contenders[1]);
    let differences: Vec<f64> =
        first.trials.iter().zip(&second.trials).map(|(a, b)| b.score - a.score).collect();
    assert_eq!(second.difference, Some(Estimate::of(&differences)));
    let by_means = second.score.mean - first.score.mean;
    assert!((second.difference.unwrap().mean - by_means).abs() < 1e-12);
}

#[test]
fn the_omniscient_column_is_that_of_the_specimens() {
    let model = model(MODEL);
    let scores = scores(MODEL, 30, &three());
    let specimens = model.specimens(1, HELD_OUT_BLOCK, 30);
    let all: f64 = specimens.iter().map(|s| model.omniscient(s)).sum();
    assert!((scores.omniscient - all / 30.0).abs() < 1e-12);
    for score in &scores.contenders {
        let left = scores.omniscient - score.score.mean;
        assert!((score.to_omniscient.mean - left).abs() < 1e-12, "{}", score.name);
        assert!(left > 0.0, "{} is better than the omniscient by {left}", score.name);
        assert!(score.share > 0.0 && score.share < 1.5, "{}", score.share);
        assert!(score.rtt_ratio.is_some_and(|ratio| ratio > 1.0));
    }
}

/// A sender that knows the link's rate, and sends at it from its first packet on, is as good as one
/// can be alone: nothing is left to gain, whatever flows are made of.
#[test]
fn the_best_possible_sender_alone_has_nothing_left_to_gain() {
    for on in ["exponential 100 kB", "exponential 1 s", "1 MB"] {
        for throughput in ["share", "on"] {
            let text = format!(
                "[network]\nrate = \"15 Mbps\"\nrtt = \"150 ms\"\nsenders = 1\n\
                 [traffic]\non = \"{on}\"\noff = \"exponential 500 ms\"\n\
                 [objective]\nthroughput = \"{throughput}\"\n[design]\nduration = \"100 s\""
            );
            // A packet of 1500 bytes takes 0.8 ms.
            let action = Action { multiple: 0.0, increment: 100_000, intersend_ms: 0.8 };
            let ideal = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
            let scores = scores(&text, 64, &[contender("ideal", Scheme::Table(ideal))]);
            let gap = scores.contenders[0].to_omniscient;
            assert!(gap.mean < 0.02, "{on} over {throughput}: {gap:?}");
            assert!(gap.interval().1 > -0.002, "{on} over {throughput}: {gap:?}");
        }
    }
}

/// The same of several, each of which keeps to an equal share: what they do not use while others are
/// off, the omniscient do, so that there the gap is wide; flows that never end leave none.
#[test]
fn the_best_possible_senders_together_have_nothing_left_to_gain() {
    let text = "[network]\nrate = \"15 Mbps\"\nrtt = \"150 ms\"\nsenders = 4\n\
                [traffic]\non = \"always\"\n[objective]\n\
                [design]\nduration = \"100 s\"";
    let action = Action { multiple: 0.0, increment: 100_000, intersend_ms: 3.2 };
    let equal = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    let scores = scores(text, 4, &[contender("equal", Scheme::Table(equal))]);
    let gap = scores.contenders[0].to_omniscient;
    assert!((-0.002..0.05).contains(&gap.mean), "{gap:?}");
}

#[test]
fn a_grid_is_taken_whole_and_every_network_as_often() {
    let model = model(GRID);
    assert_eq!(held_out_count(&model, 1), 12);
    assert_eq!(held_out_count(&model, 13), 18);
    let specimens = model.specimens(1, HELD_OUT_BLOCK, 18);
    for i in 0..18 {
        assert_eq!(specimens[i].network, specimens[i % 6].network);
    }
    let scores = scores(GRID, 13, &three());
    assert_eq!((scores.specimens, scores.grid), (18, Some(6)));
    let score = &scores.contenders[0];
    let values: Vec<f64> = score.trials.iter().map(|trial| trial.score).collect();
    assert_eq!(score.score, Estimate::stratified(&values, 6));
}

#[test]
fn held_out_specimens_are_not_the_search_s() {
    let model = model(MODEL);
    let held_out = model.specimens(1, HELD_OUT_BLOCK, 16);
    for block in [0, 1, 2, JUDGING_BLOCK] {
        let others = model.specimens(1, block, 16);
        assert!(held_out.iter().all(|one| others.iter().all(|other| other.seed != one.seed)));
    }
}

#[test]
fn every_simulation_is_told_of() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let done = || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let on = HeldOut { seed: 1, specimens: 6, host: Host::Bare };
    held_out(&model(GRID), &on, &three(), &done).unwrap();
    assert_eq!(count.into_inner(), 36);
}

#[test]
fn a_design_scores_better_than_where_it_began() {
    let mut designer = Designer::new(model(MODEL), crate::SearchKind::Evolve, 1).unwrap();
    let before = designer.current();
    for _ in 0..12 {
        designer.step();
    }
    let contenders = [
        contender("before", Scheme::Tables(before)),
        contender("after", Scheme::Tables(designer.finish())),
    ];
    let scores = scores(MODEL, 100, &contenders);
    let gain = scores.contenders[1].difference.unwrap();
    assert!(gain.mean > 0.0 && gain.excludes_zero(), "{gain:?}");
}

fn dumbbells() -> impl Strategy<Value = String> {
    let length = || proptest::sample::select(vec!["exponential 1 s", "0.3 s", "exponential 0.1 s"]);
    let on = prop_oneof![3 => length(), 1 => Just("always")];
    let buffer = proptest::sample::select(vec!["unlimited", "1 BDP", "5 BDP", "10 packets"]);
    let delta = proptest::sample::select(vec![0.0, 0.01, 0.1, 1.0, 10.0]);
    let over = proptest::sample::select(vec!["share", "on"]);
    (1u32..50, 1u32..300, 1u32..6, (on, length(), buffer), (delta, over)).prop_map(
        |(mbps, rtt_ms, senders, (on, off, buffer), (delta, over))| {
            let off = if on == "always" { String::new() } else { format!("off = \"{off}\"") };
            format!(
                "[network]\nrate = \"{mbps} Mbps\"\nrtt = \"{rtt_ms} ms\"\nsenders = {senders}\n\
                 buffer = \"{buffer}\"\n[traffic]\non = \"{on}\"\n{off}\n[objective]\n\
                 delta = {delta}\nthroughput = \"{over}\"\n[design]\nduration = \"10 s\"\n"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Nobody has more than the link. What a sender alone gets is never better than the best possible, nor
    /// is its share above 1; senders together never have more than there is.
    #[test]
    fn nobody_has_more_than_the_link(
        text in dumbbells(),
        intersend_ms in proptest::sample::select(vec![0.01, 0.1, 0.5, 2.0, 20.0]),
        multiple in proptest::sample::select(vec![0.5, 0.95, 1.0, 1.02]),
        increment in 0i32..8,
        seed in 1u64..1000,
    ) {
        let model = model(&text);
        let action = Action { multiple, increment, intersend_ms };
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
        let prepared = Prepared::new(&table);
        let specimen = &model.specimens(seed, HELD_OUT_BLOCK, 1)[0];
        let network = specimen.dumbbell();
        let outcomes = exm_sim::dumbbell::run(network, prepared.rules(), specimen.seed);
        let omniscient = model.omniscient(specimen);
        let trial = measured(&model, &specimen.network, &outcomes, omniscient);
        // The time of a packet is rounded to a nanosecond.
        let rounding = 1e-4;
        if network.delays.len() == 1 && trial.share > 0.0 {
            let gap = trial.omniscient - trial.score;
            prop_assert!(trial.share <= 1.0 + rounding, "a share of {}", trial.share);
            prop_assert!(gap >= -rounding, "a gap of {gap}");
        }
        let link = network.rate.as_packets_per_ms(network.packet) * 1e3;
        let delivered: u64 = outcomes.iter().map(|got| got.delivered).sum();
        let time_s: f64 = outcomes.iter().map(|got| got.active_share_time).sum();
        prop_assert!(delivered as f64 <= time_s * link * (1.0 + rounding));
        for got in &outcomes {
            let most = got.active_time.as_secs_f64() * link * (1.0 + rounding);
            prop_assert!(got.delivered as f64 <= most, "{got:?} has more than the link");
        }
    }
}
