//! Whatever bytes come as a module, compiling and running them ends and breaks nothing.

mod common;

use exm_cc::Controller;
use exm_plugin::{Limits, MAX_WINDOW, Module, script};
use proptest::prelude::*;

fn limits() -> Limits {
    let mut limits = Limits::STRANGER;
    limits.instructions_per_event = 10_000;
    limits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_damaged_module_is_refused_or_stays_within_bounds(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
        cut in prop::bool::weighted(0.1),
    ) {
        let mut wasm = common::assembled(common::AIMD);
        for (index, byte) in changes {
            let index = index.index(wasm.len());
            wasm[index] = byte;
        }
        if cut {
            wasm.truncate(end.index(wasm.len()));
        }
        let Ok(module) = Module::compile("damaged.wasm", &wasm, &limits()) else { return Ok(()) };
        let script = script::random(300, 1);
        let mut controller = module.controller();
        let decisions = script::play(&mut controller, &script);
        prop_assert!(decisions.iter().all(|decision| decision.cwnd.get() <= MAX_WINDOW));
        let mut again = module.controller();
        prop_assert_eq!(decisions, script::play(&mut again, &script));
        prop_assert_eq!(controller.failure(), again.failure());
    }

    #[test]
    fn bytes_are_no_module(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        wasm.extend(bytes);
        prop_assert!(Module::compile("bytes", &wasm, &limits()).is_err());
    }
}
