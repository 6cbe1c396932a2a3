//! What is done to a module before it is compiled: it is validated, what could not be copied is refused, and its
//! variables are exported, so that an instance's whole state can be copied.

use super::ModuleError;
use wasmparser::{Operator, Parser, Payload, ValType, Validator, WasmFeatures};

/// What modules may use: what compilers of C, Rust, Zig and AssemblyScript emit by default, without threads and
/// vectors.
fn features() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::GC_TYPES
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::FLOATS
}

/// The export of global variable `index`.
pub(super) fn global_name(index: u32) -> String {
    format!("exm global {index}")
}

/// A module that is ready to be compiled.
pub(super) struct Prepared {
    /// Its code, with all variables exported and without custom sections.
    pub(super) wasm: Vec<u8>,
    /// Its variables that change.
    pub(super) globals: Vec<u32>,
}

/// Validates `wasm` and prepares it.
pub(super) fn prepare(wasm: &[u8]) -> Result<Prepared, ModuleError> {
    let invalid = |error: wasmparser::BinaryReaderError| ModuleError::Invalid(error.to_string());
    Validator::new_with_features(features()).validate_all(wasm).map_err(invalid)?;
    let mut sections = Vec::new();
    let mut globals = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(invalid)?;
        match &payload {
            Payload::ImportSection(imports) => {
                if let Some(import) = imports.clone().into_iter().next() {
                    let import = import.map_err(invalid)?;
                    return Err(ModuleError::Import(format!("{}.{}", import.module, import.name)));
                }
            }
            Payload::GlobalSection(section) => {
                for (index, global) in (0..).zip(section.clone()) {
                    let kind = global.map_err(invalid)?.ty;
                    match kind.content_type {
                        _ if !kind.mutable => {}
                        ValType::Ref(_) => {
                            return Err(ModuleError::Unsupported("variables that hold references"));
                        }
                        _ => globals.push(index),
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader().map_err(invalid)? {
                    check(&operator.map_err(invalid)?)?;
                }
            }
            _ => {}
        }
        if let Some((id, range)) = payload.as_section().filter(|&(id, _)| id != CUSTOM) {
            sections.push((id, &wasm[range]));
        }
    }
    Ok(Prepared { wasm: assembled(&sections, &globals), globals })
}

/// Refuses what changes state that a copy of an instance would not have.
fn check(operator: &Operator<'_>) -> Result<(), ModuleError> {
    match operator {
        Operator::TableSet { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. }
        | Operator::ElemDrop { .. } => Err(ModuleError::Unsupported("tables that change")),
        Operator::DataDrop { .. } => Err(ModuleError::Unsupported("data that is dropped")),
        _ => Ok(()),
    }
}

const CUSTOM: u8 = 0;
const EXPORTS: u8 = 7;
/// The kind of an export that is a global variable.
const GLOBAL: u8 = 3;

/// The module of these sections, with `globals` exported. A module without exports stays without.
fn assembled(sections: &[(u8, &[u8])], globals: &[u32]) -> Vec<u8> {
    let mut wasm = b"\0asm\x01\0\0\0".to_vec();
    for &(id, contents) in sections {
        let extended;
        let contents = if id == EXPORTS {
            extended = exports(contents, globals);
            &extended
        } else {
            contents
        };
        wasm.push(id);
        push_number(&mut wasm, contents.len() as u64);
        wasm.extend_from_slice(contents);
    }
    wasm
}

/// The section of exports, which begins with their number, with those of `globals` added.
fn exports(contents: &[u8], globals: &[u32]) -> Vec<u8> {
    let mut count = 0;
    let mut length = 0;
    // Validated: at most five bytes of seven bits.
    for byte in contents.iter().take(5) {
        count |= u64::from(byte & 0x7f) << (7 * length);
        length += 1;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let mut extended = Vec::new();
    push_number(&mut extended, count + globals.len() as u64);
    extended.extend_from_slice(&contents[length..]);
    for &index in globals {
        let name = global_name(index);
        push_number(&mut extended, name.len() as u64);
        extended.extend_from_slice(name.as_bytes());
        extended.push(GLOBAL);
        push_number(&mut extended, index.into());
    }
    extended
}

/// An unsigned number as LEB128.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Result<Prepared, ModuleError> {
        prepare(&wat::parse_str(text).expect(text))
    }

    #[test]
    fn variables_are_exported_and_constants_are_not() {
        let text = r#"(module
            (global i32 (i32.const 5))
            (global $x (mut f64) (f64.const 1))
            (func (export "f") (global.set $x (f64.const 2))))"#;
        let prepared = prepared(text).unwrap();
        assert_eq!(prepared.globals, [1]);
        let engine = wasmi::Engine::default();
        let module = wasmi::Module::new(&engine, &prepared.wasm).unwrap();
        let names: Vec<&str> = module.exports().map(|export| export.name()).collect();
        assert_eq!(names, ["exm global 1", "f"]);
    }

    #[test]
    fn many_exports_are_counted() {
        let functions: String = (0..300).map(|i| format!("(func (export \"f{i}\"))")).collect();
        let text = format!("(module (global (mut i32) (i32.const 0)) {functions})");
        let prepared = prepared(&text).unwrap();
        let module = wasmi::Module::new(&wasmi::Engine::default(), &prepared.wasm).unwrap();
        assert_eq!(module.exports().count(), 301);
    }

    #[test]
    fn what_cannot_be_copied_is_refused() {
        for text in [
            r#"(module (table 1 funcref) (func (table.set (i32.const 0) (ref.null func))))"#,
            r#"(module (table 1 funcref) (func (drop (table.grow (ref.null func) (i32.const 1)))))"#,
            r#"(module (memory 1) (data "x") (func (data.drop 0)))"#,
            r#"(module (global (mut funcref) (ref.null func)))"#,
        ] {
            assert!(matches!(prepared(text), Err(ModuleError::Unsupported(_))), "{text}");
        }
        for text in
            [r#"(module (import "env" "now" (func)))"#, r#"(module (memory (import "a" "b") 1))"#]
        {
            assert!(matches!(prepared(text), Err(ModuleError::Import(_))), "{text}");
        }
        let text = "(module (memory 1 2 shared))";
        assert!(matches!(prepared(text), Err(ModuleError::Invalid(_))));
    }
}
