//! Controllers as modules: any bytes, and a sound module of which some bytes are other ones, are refused or run within
//! their limits, twice with the same decisions.

use exm_cc::Controller;
use exm_plugin::{Limits, MAX_WINDOW, Module, script};

/// A controller with variables, memory, a table of functions, a loop and floating-point numbers.
const SOUND: &str = r#"(module
    (memory (export "memory") 1 4)
    (table 2 funcref) (elem (i32.const 0) $grow $shrink)
    (type $step (func (param f64) (result f64)))
    (global $cwnd (mut f64) (f64.const 10))
    (func (export "exm_abi_1") (result i32) (i32.const 1024))
    (func $grow (type $step) (f64.add (local.get 0) (f64.const 1)))
    (func $shrink (type $step) (f64.mul (local.get 0) (f64.const 0.5)))
    (func $decide
        (i64.store (i32.const 1224) (i64.trunc_sat_f64_u (global.get $cwnd)))
        (i64.store (i32.const 1240) (i64.const -1)))
    (func (export "set_x") (param f64) (global.set $cwnd (local.get 0)))
    (func (export "on_start") (call $decide))
    (func (export "on_tick") (drop (memory.grow (i32.const 1))) (call $decide))
    (func (export "on_ack") (local $i i32)
        (loop $more
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $more (i32.lt_u (local.get $i) (i32.const 10))))
        (global.set $cwnd (call_indirect (type $step) (global.get $cwnd) (i32.const 0)))
        (call $decide))
    (func (export "on_congestion")
        (global.set $cwnd (call_indirect (type $step) (global.get $cwnd) (i32.const 1)))
        (call $decide)))"#;

/// Runs the target on `bytes`: as a module, and as changes of three bytes each to a sound one.
pub fn run(bytes: &[u8]) {
    check(bytes);
    let mut wasm = wat::parse_str(SOUND).expect("it is sound");
    for change in bytes.chunks_exact(3).take(8) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % wasm.len();
        wasm[at] = change[2];
    }
    check(&wasm);
}

fn check(wasm: &[u8]) {
    let mut limits = Limits::STRANGER;
    limits.instructions_per_event = 10_000;
    let Ok(module) = Module::compile("fuzzed.wasm", wasm, &limits) else { return };
    let script = script::random(100, 1);
    let mut controller = module.controller();
    let decisions = script::play(&mut controller, &script);
    assert!(decisions.iter().all(|decision| decision.cwnd.get() <= MAX_WINDOW));
    let mut again = module.controller();
    assert_eq!(script::play(&mut again, &script), decisions);
    let _ = controller.clone();
    assert_eq!(again.failure(), controller.failure());
}
