//! Controllers from outside: wherever a controller is named, with one clear error where one fails.

use crate::common::{Folder, assert_fails};
use std::fs;

/// A module of which the window is a number of packets, a parameter; after this many ACKs it traps, or loops.
fn module(acks_until: &str, then: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (memory (export "memory") 1)
        (global $acks (mut i32) (i32.const 0)) (global $cwnd (mut i64) (i64.const 20))
        (func (export "exm_abi_1") (result i32) (i32.const 0))
        (func $decide
            (i64.store (i32.const 200) (global.get $cwnd)) (i64.store (i32.const 216) (i64.const -1)))
        (func (export "set_cwnd") (param f64) (global.set $cwnd (i64.trunc_f64_u (local.get 0))))
        (func (export "on_start") (call $decide))
        (func (export "on_tick") (call $decide))
        (func (export "on_congestion") (call $decide))
        (func (export "on_ack")
            (global.set $acks (i32.add (global.get $acks) (i32.const 1)))
            (if (i32.gt_u (global.get $acks) (i32.const {acks_until})) (then {then}))
            (call $decide)))"#
    );
    wat::parse_str(text).expect("it is valid")
}

const NEVER: &str = "-1";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(&format!("controllers-{name}"));
    folder.write("mine.wasm", module(NEVER, ""));
    folder.write("traps.wasm", module("50", "unreachable"));
    folder.write("loops.wasm", module("50", "(loop $l (br $l))"));
    folder
        .write("controller.sh", "read l; echo '{}'; while read l; do echo '{\"cwnd\":20}'; done\n");
    folder.write("ends.sh", "read l; echo '{}'; read l\n");
    folder
}

const LINK: &str = "--link 10Mbps --rtt 40ms --duration 5s";

#[test]
fn a_module_and_a_program_give_the_same_packets() {
    let folder = folder("same");
    let flow = |cc: &str| {
        let run = folder.json(&format!("simulate {LINK} --cc {cc} --json"));
        run["runs"][0]["flows"][0].clone()
    };
    let mut flows = ["mine.wasm", "mine.wasm_cwnd=20", "program:sh_controller.sh"].map(flow);
    for flow in &mut flows {
        let flow = flow.as_object_mut().expect("a flow");
        assert!(flow["throughput_mbps"].as_f64().expect("a number") > 5.0, "{flow:?}");
        flow.retain(|key, _| key != "controller" && key != "name" && key != "flow");
    }
    assert_eq!(flows[0], flows[1]);
    assert_eq!(flows[0], flows[2]);
    assert_ne!(flow("mine.wasm_cwnd=5")["throughput_mbps"], flows[0]["throughput_mbps"]);
}

#[test]
fn a_module_is_named_wherever_a_controller_is() {
    let folder = folder("named");
    folder.text(&format!("compare --cc mine.wasm,mine.wasm_cwnd=5,reno {LINK} --runs 1"));
    folder.write(
        "s.toml",
        "duration = \"2 s\"\n[dumbbell]\nrate = \"10 Mbps\"\nrtt = \"40 ms\"\nsenders = 2\n\
         controller = \"mine.wasm cwnd=7\"\ntraffic.on = \"always\"\n",
    );
    folder.text("simulate s.toml");
    fs::create_dir(folder.path("elsewhere")).unwrap();
    fs::rename(folder.path("s.toml"), folder.path("elsewhere/s.toml")).unwrap();
    fs::copy(folder.path("mine.wasm"), folder.path("elsewhere/mine.wasm")).unwrap();
    folder.text("simulate elsewhere/s.toml");
    folder.text("score mine.wasm reno --host tcp --model demo --specimens 4");
    folder.text("falsify mine.wasm --tries 16 --threads 1");
    folder.text("simulate #link=5Mbps&rtt=20ms&cc=mine.wasm&until=2s");
}

#[test]
fn a_module_is_cross_traffic_of_a_design_which_does_not_resume_with_another() {
    let folder = folder("design");
    folder.write(
        "m.toml",
        "[network]\nrate = \"10 Mbps\"\nrtt = \"40 ms\"\nbuffer = \"100 packets\"\n[traffic]\n\
         on = \"exp 1 s\"\noff = \"exp 1 s\"\n[[sender]]\ncount = 1\n[[sender]]\ncount = 1\n\
         controller = \"mine.wasm cwnd=9\"\n[robust]\nenabled = false\n",
    );
    let design = "design m.toml -o cc.json --specimens 4 --hardening 1 --quiet --threads 1";
    folder.text(&format!("{design} --steps 1"));
    folder.text(&format!("{design} --steps 2 --resume"));
    folder.write("mine.wasm", module("1000000", ""));
    assert_fails(
        &folder.run(&format!("{design} --steps 3 --resume")),
        1,
        &["another file that its model names has changed"],
    );
    folder.write("mine.wasm", module("10", "unreachable"));
    let failed = folder.run(&format!("{design} --steps 3 --force"));
    assert_fails(&failed, 1, &["mine.wasm: on_ack gave up"]);
}

#[test]
fn a_controller_that_fails_leaves_an_error_and_no_result() {
    let folder = folder("fails");
    for (cc, what) in [
        ("traps.wasm", "traps.wasm: on_ack gave up"),
        ("loops.wasm", "loops.wasm: on_ack did not end within 10000000 instructions"),
        ("mine.wasm_cwnd=2000000000", "on_start asked for a window of 2000000000 packets"),
        ("program:sh_ends.sh", "ended without an answer"),
    ] {
        let failed = folder.run(&format!("simulate {LINK} --cc {cc} --json"));
        assert_fails(&failed, 1, &[what, " s\n"]);
        assert!(failed.stdout.is_empty());
    }
    let failed = folder.run(&format!("compare --cc reno,traps.wasm {LINK} --runs 1"));
    assert_fails(&failed, 1, &["on_ack gave up", "in a run of traps.wasm"]);
    let failed = folder.run("score traps.wasm --host tcp --model demo --specimens 4");
    assert_fails(&failed, 1, &["on_ack gave up"]);
    let failed = folder.run("falsify traps.wasm --tries 16 -o worst.toml");
    assert_fails(&failed, 1, &["on_ack gave up"]);
    assert!(!folder.path("worst.toml").exists());
}

#[test]
fn what_is_no_module_is_refused_with_its_name() {
    let folder = folder("refused");
    folder.write("text.wasm", "fn main() {}");
    let run = |cc: &str| folder.run(&format!("simulate {LINK} --cc {cc}"));
    assert_fails(&run("text.wasm"), 2, &["text.wasm: it is not a WebAssembly module"]);
    assert_fails(&run("no.wasm"), 2, &["cannot read no.wasm: No such file"]);
    assert_fails(&run("mine.wasm_x=1"), 2, &["no parameter \"x\": it has cwnd"]);
    assert_fails(&run("mine.wasm_cwnd=-1"), 2, &["mine.wasm: set_cwnd computed a whole number"]);
    assert_fails(&run("program:no-such-program"), 2, &["cannot start no-such-program"]);
}

#[test]
fn check_says_what_is_wrong() {
    let folder = folder("check");
    let fine = folder.json("controller check reno --json");
    assert_eq!(fine["findings"].as_array().map(Vec::len), Some(0));
    let same = folder.text("controller check mine.wasm");
    assert!(same.contains("warning: it always decides the same"), "{same}");
    let output = folder.run("controller check traps.wasm");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("error: traps.wasm: on_ack gave up"), "{text}");
}

#[test]
fn a_skeleton_is_written_to_a_new_folder() {
    let folder = folder("new");
    let text = folder.text("controller new some/mycubic --lang rust");
    assert!(text.contains("some/mycubic/README.md"), "{text}");
    let source = fs::read_to_string(folder.path("some/mycubic/src/lib.rs")).unwrap();
    assert!(source.contains("pub struct Mycubic"));
    let again = folder.run("controller new some/mycubic --lang c");
    assert_fails(&again, 1, &["some/mycubic is there already"]);
    assert_fails(&folder.run("controller new My-Cubic --lang c"), 2, &["lower-case letters"]);
    assert_fails(&folder.run("controller new a --lang cobol"), 2, &["[possible values: rust, c,"]);
    // The program is a controller at once.
    folder.text("controller new quick --lang python");
    folder.text("controller check program:python3_quick/quick.py");
}
