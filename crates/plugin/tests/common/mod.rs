//! Modules for tests, in WebAssembly's text form.

#![allow(dead_code, reason = "each test uses some of it")]

use exm_plugin::{Limits, Module, ModuleError};

/// A module with these functions and whatever else; functions that are not given do nothing.
pub(crate) fn compile(parts: &str) -> Result<Module, ModuleError> {
    compile_within(parts, &Limits::default())
}

pub(crate) fn compile_within(parts: &str, limits: &Limits) -> Result<Module, ModuleError> {
    Module::compile("test.wasm", &assembled(parts), limits)
}

pub(crate) fn assembled(parts: &str) -> Vec<u8> {
    // Imports come first.
    let (first, parts) = if parts.starts_with("(import") { (parts, "") } else { ("", parts) };
    let mut text = format!("(module {first} ");
    if !parts.contains("\"memory\"") {
        text += "(memory (export \"memory\") 1) ";
    }
    if !parts.contains("exm_abi_1") {
        text += "(func (export \"exm_abi_1\") (result i32) (i32.const 1024)) ";
    }
    for name in ["on_start", "on_ack", "on_congestion", "on_tick"] {
        if !parts.contains(&format!("\"{name}\"")) {
            text += &format!("(func (export \"{name}\")) ");
        }
    }
    text += parts;
    text += ")";
    wat::parse_str(&text).expect(&text)
}

/// The papers' AIMD, as `exm_cc::Aimd` computes it, with the block at address 1024; its increase is a parameter. Some
/// of its state is in variables, some in memory.
pub(crate) const AIMD: &str = r#"
    (global $cwnd (mut f64) (f64.const 10))
    (global $increase (mut f64) (f64.const 1))
    (func $decide
        (i64.store (i32.const 1224) (i64.trunc_sat_f64_u (global.get $cwnd)))
        (i64.store (i32.const 1240) (i64.const -1)))
    (func (export "set_increase") (param f64) (global.set $increase (local.get 0)))
    (func (export "on_start")
        (global.set $cwnd (f64.convert_i64_u (i64.load (i32.const 1128))))
        (f64.store (i32.const 0) (f64.const inf))
        (i64.store (i32.const 8) (i64.const 0))
        (call $decide))
    (func (export "on_ack") (local $acked f64)
        (if (i32.eqz (i32.and (i32.load (i32.const 1104)) (i32.const 3)))
            (then
                (local.set $acked (f64.convert_i64_u (i64.load (i32.const 1064))))
                (global.set $cwnd (f64.add (global.get $cwnd)
                    (if (result f64) (f64.lt (global.get $cwnd) (f64.load (i32.const 0)))
                        (then (local.get $acked))
                        (else (f64.div (f64.mul (global.get $increase) (local.get $acked)) (global.get $cwnd))))))))
        (call $decide))
    (func (export "on_congestion") (local $kind i32)
        (local.set $kind (i32.load (i32.const 1108)))
        (block $done
            (br_if $done (i32.eq (local.get $kind) (i32.const 3)))
            (if (i32.eq (local.get $kind) (i32.const 4))
                (then
                    (f64.store (i32.const 0)
                        (f64.max (f64.load (i32.const 0)) (f64.mul (f64.const 0.75) (global.get $cwnd))))
                    (global.set $cwnd
                        (f64.min (global.get $cwnd) (f64.convert_i64_u (i64.load (i32.const 1112)))))
                    (br $done)))
            (br_if $done (i32.and (i32.ne (local.get $kind) (i32.const 2))
                (i64.lt_u (i64.load (i32.const 1032)) (i64.load (i32.const 8)))))
            (f64.store (i32.const 0) (f64.max (f64.mul (global.get $cwnd) (f64.const 0.5)) (f64.const 2)))
            (global.set $cwnd (f64.load (i32.const 0)))
            (if (i32.eq (local.get $kind) (i32.const 2))
                (then (global.set $cwnd (f64.min (global.get $cwnd) (f64.const 1)))))
            (i64.store (i32.const 8) (i64.load (i32.const 1024))))
        (call $decide))
    (func (export "on_tick") (call $decide))
"#;
