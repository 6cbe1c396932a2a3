//! A contest from its setup to its final.

use exm_contest::{Contest, ContestError, Setup, entrant, score};
use exm_units::Span;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("exm-contest-{}-{count}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn short() -> Setup {
    Setup { duration: Span::from_secs(10), warm_up: Span::from_secs(2), ..Setup::default() }
}

fn submit(contest: &Contest, name: &str, text: &str, now: u64) {
    contest.submit(name, "cc.txt", text.as_bytes(), (now, false)).expect(text);
}

#[test]
fn the_best_attempt_of_each_participant_is_ranked_among_the_baselines() {
    let folder = Folder::new();
    let contest = Contest::create(&folder.0, &short()).unwrap();
    submit(&contest, "ada", "cubic", 1);
    submit(&contest, "ada", "vegas", 2);
    submit(&contest, "bob", "reno", 3);
    // The same bytes again.
    submit(&contest, "ada", "cubic", 9);
    let board = contest.board().unwrap();
    assert_eq!(board.points.len(), 3);
    let row = |name: &str| board.rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!((row("ada").attempts, row("ada").baseline), (2, false));
    assert_eq!(row("ada").training, row("vegas").training);
    assert_eq!(board.rows[0].name, "omniscient");
    let powers: Vec<f64> = board.rows.iter().filter_map(|row| row.training.power).collect();
    assert!(powers.is_sorted_by(|a, b| a >= b) && powers.len() == 10, "{powers:?}");
    assert!(!board.frontier.is_empty());
    assert!(board.figure().svg().contains("omniscient"));
}

#[test]
fn scores_do_not_depend_on_threads() {
    let folder = Folder::new();
    let contest = Contest::create(&folder.0, &short()).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| contest.baselines(contest.training()).unwrap())
    };
    assert_eq!(on(1), on(3));
    let sprout = &on(1)[0].1;
    let entrant = entrant::load(b"sprout", "cc.txt", &contest.limits()).unwrap();
    assert_eq!(&score::run(&entrant, contest.training(), &contest.setting()).unwrap(), sprout);
}

#[test]
fn an_interrupted_scoring_is_resumed() {
    let folder = Folder::new();
    let contest = Contest::create(&folder.0, &short()).unwrap();
    submit(&contest, "ada", "cubic", 1);
    let file = fs::read_dir(folder.0.join("attempts")).unwrap().next().unwrap().unwrap().path();
    let scored = contest.attempts().unwrap();
    let mut stored: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    stored["scores"] = serde_json::Value::Null;
    fs::write(&file, stored.to_string()).unwrap();
    // What a killed process left.
    fs::write(file.with_extension("json.1-0.partial"), "{").unwrap();
    assert_eq!(contest.score_all().unwrap(), scored);
    // Other rules make other scores.
    let rules = folder.0.join("contest.toml");
    let text = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, text.replace("duration = \"10 s\"", "duration = \"9 s\"")).unwrap();
    let changed = Contest::open(&folder.0).unwrap().score_all().unwrap();
    assert_ne!(changed[0].scores, scored[0].scores);
}

#[test]
fn the_final_is_on_the_pair_that_was_committed_to() {
    let (folder, hidden) = (Folder::new(), Folder::new());
    let other = Contest::create(&hidden.0, &short()).unwrap();
    let (down, up) = (hidden.0.join("traces/robustness.up"), hidden.0.join("traces/training.up"));
    let setup = Setup { hidden: Some((down.clone(), up.clone())), ..short() };
    let contest = Contest::create(&folder.0, &setup).unwrap();
    submit(&contest, "ada", "vegas", 1);
    submit(&contest, "ada", "cubic", 2);
    submit(&contest, "bob", "reno", 3);
    contest.submit("bob", "cc.txt", b"ledbat", (4, true)).unwrap();
    submit(&contest, "bob", "aimd", 5);
    let frozen = contest.attempts().unwrap();
    let frozen: Vec<Vec<u8>> = Contest::frozen(&frozen).iter().map(|one| one.bytes()).collect();
    assert_eq!(frozen, [b"cubic".to_vec(), b"ledbat".to_vec()]);
    assert!(matches!(contest.final_pair(&up, &down), Err(ContestError::WrongTrace { .. })));
    assert!(matches!(other.final_pair(&down, &up), Err(ContestError::NoFinal)));
    let result = contest.hold_final(&contest.final_pair(&down, &up).unwrap()).unwrap();
    assert_eq!(result.rows.len(), 10);
    assert!(result.rank_correlation.is_some());
}

#[test]
fn a_module_that_fails_is_not_ranked() {
    let folder = Folder::new();
    let contest = Contest::create(&folder.0, &short()).unwrap();
    let text = r#"(module
        (memory (export "memory") 1)
        (func (export "exm_abi_1") (result i32) (i64.store (i32.const 216) (i64.const -1)) (i32.const 0))
        (func (export "on_start") (i64.store (i32.const 200) (i64.const 10)))
        (func (export "on_ack") (loop $again (br $again)))
        (func (export "on_congestion"))
        (func (export "on_tick")))"#;
    let module = wat::parse_str(text).unwrap();
    let attempt = contest.submit("ada", "loop.wasm", &module, (1, false)).unwrap();
    let scores = attempt.scores.unwrap();
    assert!(scores.training.failure.is_some() && scores.training.power.is_none());
    let board = contest.board().unwrap();
    assert_eq!(board.rows.last().unwrap().name, "ada");
    assert!(board.points.is_empty());
}

#[test]
fn bad_input_is_one_clear_error() {
    let folder = Folder::new();
    let contest = Contest::create(&folder.0, &short()).unwrap();
    assert!(matches!(Contest::create(&folder.0, &short()), Err(ContestError::NotEmpty(_))));
    let long = "x".repeat(41);
    for name in ["", "../ada", ".", "a b", "\u{e9}", &long] {
        let error = contest.submit(name, "cc.txt", b"cubic", (1, false)).unwrap_err();
        assert!(matches!(error, ContestError::Name(_)), "{name}: {error}");
    }
    let fails = |file: &str, bytes: &[u8], part: &str| {
        let error = contest.submit("ada", file, bytes, (1, false)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    fails("cc.txt", b"cubci", "did you mean \"cubic\"?");
    fails("cc.txt", b"cubic bta=1", "did you mean \"beta\"?");
    fails("cc.txt", &[0xff, 0xfe], "neither a module nor text");
    fails("cc.json", b"{}", "no rule table");
    fails("cc.dna", b"", "no rule table");
    fails("cc.wasm", b"hello", "not a WebAssembly module");
    fails("cc.wasm", &[0; 65_537], "at most 65536");
    fails("cc.json", &vec![b' '; (1 << 20) + 1], "at most 1048576");
    let error = contest.submit("cubic", "cc.txt", b"reno", (1, false)).unwrap_err();
    assert!(error.to_string().contains("is a baseline"), "{error}");
    assert!(contest.attempts().unwrap().is_empty());

    let rules = folder.0.join("contest.toml");
    let text = fs::read_to_string(&rules).unwrap();
    let open = || Contest::open(&folder.0).unwrap_err().to_string();
    for (from, to, part) in [
        ("duration = \"10 s\"", "durration = \"10 s\"", "did you mean \"duration\"?"),
        ("warm_up = \"2 s\"", "warm_up = \"20 s\"", "shorter than the duration"),
        ("\"vegas\"", "\"vagas\"", "did you mean \"vegas\"?"),
    ] {
        fs::write(&rules, text.replace(from, to)).unwrap();
        let error = open();
        assert!(error.contains(part) && error.contains("contest.toml:"), "{error}");
    }
    fs::write(&rules, &text).unwrap();
    fs::write(folder.0.join("traces/training.down"), "1\n2\n").unwrap();
    assert!(open().contains("is not the trace that the contest's rules name"));
    fs::remove_file(&rules).unwrap();
    assert!(open().contains("holds no contest"));
}
