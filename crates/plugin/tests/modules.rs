//! Modules decide as the same controller does natively, and hostile ones harm nobody.

mod common;

use common::{AIMD, compile, compile_within};
use exm_cc::{Ack, Aimd, Controller, Start};
use exm_plugin::{Limits, ModuleError, check, script};
use exm_units::{Instant, Span};

#[test]
fn a_module_decides_as_the_native_controller() {
    let module = compile(AIMD).unwrap();
    for seed in 0..20 {
        let script = script::random(3000, seed);
        let native = script::play(&mut Aimd::new(), &script);
        let own = script::play(&mut module.controller(), &script);
        assert_eq!(native, own, "seed {seed}");
    }
    assert_eq!(check(&module.controller(), true), []);
}

#[test]
fn a_copy_goes_on_from_the_same_state() {
    let module = compile(AIMD).unwrap();
    let script = script::random(2000, 5);
    let (before, after) = script.split_at(1000);
    let mut original = module.controller();
    script::play(&mut original, before);
    let mut copy = original.clone();
    let expected = script::play(&mut original, after);
    assert_eq!(script::play(&mut copy, after), expected);
}

#[test]
fn a_copy_has_all_of_a_memory_that_grew() {
    let grows = r#"(func (export "on_start")
            (drop (memory.grow (i32.const 3)))
            (i64.store (i32.const 200000) (i64.const 7)))
        (func (export "on_ack") (i64.store (i32.const 1224) (i64.load (i32.const 200000))))"#;
    let mut original = compile(grows).unwrap().controller();
    original.on_start(&Start::new(Instant::ZERO));
    let ack = Ack::new(0, Instant::ZERO, Instant::ZERO + Span::from_millis(1));
    assert_eq!(original.clone().on_ack(&ack).cwnd.get(), 7);
}

#[test]
fn instances_share_nothing() {
    let module = compile(AIMD).unwrap();
    let [mut one, mut other] = [module.controller(), module.controller()];
    let start = Start::new(Instant::ZERO);
    one.on_start(&start);
    other.on_start(&start);
    let ack = Ack::new(0, Instant::ZERO, Instant::ZERO + Span::from_millis(1));
    assert_eq!(one.on_ack(&ack).cwnd.get(), 11);
    assert_eq!(one.on_ack(&ack).cwnd.get(), 12);
    assert_eq!(other.on_ack(&ack).cwnd.get(), 11);
}

#[test]
fn parameters_are_set_at_the_start() {
    let module = compile(AIMD).unwrap();
    assert_eq!(module.parameters(), ["increase"]);
    let script = script::random(3000, 1);
    let decide = |value: f64| {
        let mut controller = module.with_parameters(&[("increase".to_owned(), value)]).unwrap();
        script::play(&mut controller, &script)
    };
    assert_eq!(decide(1.0), script::play(&mut module.controller(), &script));
    assert_ne!(decide(2.0), decide(1.0));
    let error = module.with_parameters(&[("incraese".to_owned(), 2.0)]).unwrap_err();
    assert_eq!(error.to_string(), "it has no parameter \"incraese\": it has increase");
}

/// The failure of a module with `parts` at an ACK after 5 ms, which is kept.
fn failure(parts: &str, limits: &Limits) -> String {
    let module = compile_within(parts, limits).expect(parts);
    let mut controller = module.controller();
    controller.on_start(&Start::new(Instant::ZERO));
    let ack = Ack::new(0, Instant::ZERO, Instant::ZERO + Span::from_millis(5));
    let decision = controller.on_ack(&ack);
    assert_eq!((decision.cwnd.get(), decision.wake_at), (0, None), "{parts}");
    let failure = controller.failure().expect(parts);
    assert_eq!(controller.on_ack(&ack), decision);
    assert_eq!(controller.failure(), Some(failure.clone()), "the first failure is kept");
    assert_eq!(module.failure(), Some(failure.clone()));
    assert_eq!(controller.clone().failure(), Some(failure.clone()));
    failure.to_string()
}

#[test]
fn every_kind_of_bad_controller_stops_with_what_happened_and_when() {
    let on_ack = |body: &str| format!("(func (export \"on_ack\") {body})");
    for (body, expected) in [
        ("unreachable", "gave up: an assertion in it failed"),
        ("(loop $l (br $l))", "did not end within 10000000 instructions: is it an endless loop?"),
        ("(drop (i64.load (i32.const 70000)))", "read or wrote outside its memory"),
        ("(i64.store (i32.const -1) (i64.const 0))", "read or wrote outside its memory"),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "divided a whole number by zero"),
        ("(drop (i32.trunc_f64_s (f64.const nan)))", "turned a number that is infinite, too large"),
        ("(call_indirect (i32.const 5))", "failed: "),
        (
            "(i64.store (i32.const 1224) (i64.const -1))",
            "asked for a window of 18446744073709551615 packets; the largest is 1000000000",
        ),
        (
            "(i64.store (i32.const 1232) (i64.const -1))",
            "asked for 18446744073709551615 ns between two sends",
        ),
    ] {
        let table = if body.contains("call_indirect") { "(table 1 funcref)" } else { "" };
        let failure = failure(&format!("{table}{}", on_ack(body)), &Limits::default());
        let start = format!("test.wasm: on_ack {expected}");
        assert!(failure.starts_with(&start), "{failure}");
        assert!(failure.ends_with(", at 0.005000 s"), "{failure}");
    }
}

#[test]
fn recursion_ends() {
    let deep = "(func $deep (call $deep)) (func (export \"on_ack\") (call $deep))";
    assert!(failure(deep, &Limits::default()).contains("called itself too deeply"));
}

#[test]
fn memory_is_bounded() {
    // It grows until it is refused, which is no failure, and then says how many pages it got.
    let greedy = r#"(func (export "on_ack")
        (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        (i64.store (i32.const 1224) (i64.extend_i32_u (memory.size))))"#;
    let mut controller = compile(greedy).unwrap().controller();
    controller.on_start(&Start::new(Instant::ZERO));
    let ack = Ack::new(0, Instant::ZERO, Instant::ZERO);
    assert_eq!(controller.on_ack(&ack).cwnd.get(), 32);
    let large = r#"(memory (export "memory") 33)"#;
    assert!(matches!(compile(large), Err(ModuleError::Failed(_))));
}

#[test]
fn instructions_in_all_are_bounded() {
    let mut limits = Limits::STRANGER;
    limits.instructions_in_all = 150_000;
    let busy = r#"(func $work (local $i i32)
            (loop $l (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $l (i32.lt_u (local.get $i) (i32.const 10000)))))
        (func (export "on_ack") (call $work))
        (func (export "on_start") (call $work))
        (func (export "on_tick") (call $work))"#;
    let mut controller = compile_within(busy, &limits).unwrap().controller();
    controller.on_start(&Start::new(Instant::ZERO));
    let mut events = 0;
    while controller.failure().is_none() {
        controller.on_tick(Instant::ZERO);
        events += 1;
    }
    assert!((1..10).contains(&events), "{events}");
}

#[test]
fn modules_that_cannot_be_controllers_are_refused() {
    let refused = |parts: &str| compile(parts).expect_err(parts).to_string();
    let import = refused(r#"(import "env" "clock" (func))"#);
    assert!(import.starts_with("it imports env.clock: a controller is given nothing"), "{import}");
    assert!(refused(r#"(func (export "on_ack") (param i32))"#).contains("no function on_ack"));
    assert!(refused(r#"(func (export "exm_abi_1"))"#).contains("no function exm_abi_1"));
    let outside = r#"(func (export "exm_abi_1") (result i32) (i32.const 65300))"#;
    assert!(refused(outside).contains("the address 65300"));
    let negative = r#"(func (export "exm_abi_1") (result i32) (i32.const -8))"#;
    assert!(refused(negative).contains("the address 4294967288"));
    let endless = r#"(func (export "exm_abi_1") (result i32) (loop $l (br $l)) (i32.const 0))"#;
    assert!(refused(endless).contains("is it an endless loop?"));
    let needy = r#"(func (export "exm_abi_1") (result i32)
        (i32.store (i32.const 192) (i32.const 64)) (i32.const 0))"#;
    assert!(refused(needy).contains("it needs 0x40"));
    let trap = r#"(func $s unreachable) (start $s)"#;
    assert!(refused(trap).contains("its start gave up"), "{}", refused(trap));
    let text = exm_plugin::Module::compile("x", b"fn main() {}", &Limits::default()).unwrap_err();
    assert!(text.to_string().contains("not a WebAssembly module"));
    let large = vec![0; (1 << 20) + 1];
    let large = exm_plugin::Module::compile("x", &large, &Limits::default()).unwrap_err();
    assert!(large.to_string().contains("1048577 bytes are more than the 1048576"));
}

#[test]
fn what_it_needs_is_known_before_it_starts() {
    let needs = r#"(func (export "exm_abi_1") (result i32)
        (i32.store (i32.const 1216) (i32.const 6)) (i32.const 1024))
        (func (export "on_sent") (i64.store (i32.const 1224) (i64.load (i32.const 1048))))"#;
    let module = compile(needs).unwrap();
    assert!(module.needs().delivery && module.needs().sent && !module.needs().marks);
    let mut controller = module.controller();
    controller.on_start(&Start::new(Instant::ZERO));
    let sent = exm_cc::Sent::new(17, Instant::ZERO);
    assert_eq!(controller.on_sent(&sent).unwrap().cwnd.get(), 17);
}

/// Endless times infinity is no number: its bits are the canonical ones on every machine.
#[test]
fn numbers_that_are_none_have_the_same_bits_everywhere() {
    let nan = r#"(func (export "on_ack")
        (i64.store (i32.const 1224) (i64.shr_u (i64.reinterpret_f64
            (f64.mul (f64.const inf) (f64.convert_i64_u (i64.load (i32.const 0))))) (i64.const 51))))"#;
    let mut controller = compile(nan).unwrap().controller();
    controller.on_start(&Start::new(Instant::ZERO));
    let ack = Ack::new(0, Instant::ZERO, Instant::ZERO);
    // The sign bit is clear, the exponent and the first bit of the fraction are set.
    assert_eq!(controller.on_ack(&ack).cwnd.get(), 0xfff);
}
