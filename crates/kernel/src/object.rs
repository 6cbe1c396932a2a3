//! The prebuilt program: instructions and what the kernel needs beside them, from the ELF file that clang wrote.

use crate::btf;
use object::elf::R_BPF_64_64;
use object::{Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};

/// The program for the kernel, built from `bpf/remy.bpf.c` by `make kernel-object`.
const REMY: &[u8] = include_bytes!("../bpf/remy.bpf.o");

const INSTRUCTION: usize = 8;
/// Opcode of an instruction that loads 64 bits, and what its source register says of them.
const LOAD_64: u8 = 0x18;
const PSEUDO_MAP: u8 = 1;
const PSEUDO_FUNCTION: u8 = 4;
/// Where functions lie whose address a program takes.
const SHARED: &str = ".text";

/// The file, read.
pub(crate) struct Object {
    file: object::File<'static>,
    /// The types, as the kernel wants them.
    pub(crate) types: Vec<u8>,
}

/// A program of the file, ready but for the map.
#[derive(Debug, Default)]
pub(crate) struct Code {
    instructions: Vec<u8>,
    /// Where its instructions take a map, and the name of the map.
    maps: Vec<(usize, String)>,
    pub(crate) functions: Vec<u8>,
    pub(crate) relocations: Vec<u8>,
}

impl Object {
    /// The object that is part of this crate.
    pub(crate) fn remy() -> Object {
        Object::read(REMY).expect("the test `the_prebuilt_object_is_whole` reads it")
    }

    pub(crate) fn read(bytes: &'static [u8]) -> Option<Object> {
        let file = object::File::parse(bytes).ok()?;
        let mut types = file.section_by_name(".BTF")?.data().ok()?.to_vec();
        btf::set_sections(
            &mut types,
            |name| file.section_by_name(name).map(|section| section.size() as u32),
            |name| file.symbol_by_name(name).map(|symbol| symbol.address() as u32),
        )?;
        Some(Object { file, types })
    }

    /// The program in the section `name`, with the functions whose address it takes behind it.
    pub(crate) fn code(&self, name: &str) -> Option<Code> {
        let mut code = Code::default();
        self.append(&mut code, name, 0)?;
        let own = code.instructions.len();
        if self.relocate(&mut code, name, 0, own)? {
            self.append(&mut code, SHARED, own)?;
            self.relocate(&mut code, SHARED, own, own)?;
        }
        Some(code)
    }

    /// Points what the section `name`, which is at `base` of the code, takes from elsewhere: maps, and functions, which
    /// are at `shared`. Returns whether there are functions.
    fn relocate(&self, code: &mut Code, name: &str, base: usize, shared: usize) -> Option<bool> {
        let functions = self.file.section_by_name(SHARED)?.index();
        let mut any = false;
        for (at, relocation) in self.file.section_by_name(name)?.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            let symbol = self.file.symbol_by_index(symbol).ok()?;
            if relocation.flags() != (RelocationFlags::Elf { r_type: R_BPF_64_64 }) {
                return None;
            }
            let at = base + at as usize;
            if symbol.section_index() == Some(functions) {
                code.point_function(at, shared)?;
                any = true;
            } else {
                code.maps.push((at, symbol.name().ok()?.to_owned()));
            }
        }
        Some(any)
    }

    fn append(&self, code: &mut Code, name: &str, at: usize) -> Option<()> {
        code.instructions.extend(self.file.section_by_name(name)?.data().ok()?);
        let extended = self.file.section_by_name(".BTF.ext")?.data().ok()?;
        let types = self.file.section_by_name(".BTF")?.data().ok()?;
        // The header: magic, version, its length, then offset and length of functions, of lines, of relocations.
        let extended = Extended { bytes: extended, types };
        code.functions.extend(extended.records(8, name, |place| (place + at) / INSTRUCTION)?);
        code.relocations.extend(extended.records(24, name, |place| place + at)?);
        Some(())
    }
}

impl Code {
    /// The instructions, with the file descriptors of maps, by name, where they take them.
    pub(crate) fn with_maps(&self, descriptor: impl Fn(&str) -> i32) -> Vec<u8> {
        let mut instructions = self.instructions.clone();
        for (at, name) in &self.maps {
            set_source(&mut instructions, *at, PSEUDO_MAP);
            instructions[at + 4..at + 8].copy_from_slice(&descriptor(name).to_ne_bytes());
        }
        instructions
    }

    /// The address of a function behind the program: the distance in instructions from the one that follows.
    fn point_function(&mut self, at: usize, shared: usize) -> Option<()> {
        let target = (shared as i32 + self.immediate(at)?) / INSTRUCTION as i32;
        if *self.instructions.get(at)? != LOAD_64 {
            return None;
        }
        set_source(&mut self.instructions, at, PSEUDO_FUNCTION);
        self.set_immediate(at, target - at as i32 / INSTRUCTION as i32 - 1)
    }

    fn immediate(&self, at: usize) -> Option<i32> {
        Some(i32::from_ne_bytes(self.instructions.get(at + 4..at + 8)?.try_into().ok()?))
    }

    fn set_immediate(&mut self, at: usize, value: i32) -> Option<()> {
        self.instructions.get_mut(at + 4..at + 8)?.copy_from_slice(&value.to_ne_bytes());
        Some(())
    }
}

/// The source register of an instruction is the high half of its second byte.
fn set_source(instructions: &mut [u8], at: usize, source: u8) {
    instructions[at + 1] = instructions[at + 1] & 0x0f | source << 4;
}

/// The section `.BTF.ext`, and `.BTF`, whose strings it uses.
struct Extended<'a> {
    bytes: &'a [u8],
    types: &'a [u8],
}

impl Extended<'_> {
    fn word(&self, at: usize) -> Option<usize> {
        word(self.bytes, at)
    }

    /// The records for the section `name` of the part whose offset is at `part` of the header. Their first field
    /// is a place in bytes from the section's beginning, which `moved` changes.
    fn records(&self, part: usize, name: &str, moved: impl Fn(usize) -> usize) -> Option<Vec<u8>> {
        let begin = self.word(4)? + self.word(part)?;
        let end = begin + self.word(part + 4)?;
        let mut found = Vec::new();
        if begin == end {
            return Some(found);
        }
        let size = self.word(begin)?;
        let mut at = begin + 4;
        while at < end {
            let (section, count) = (self.word(at)?, self.word(at + 4)?);
            let data = self.bytes.get(at + 8..at + 8 + count * size)?;
            if string(self.types, section)? == name.as_bytes() {
                for record in data.chunks(size) {
                    found.extend((moved(word(record, 0)?) as u32).to_ne_bytes());
                    found.extend(&record[4..]);
                }
            }
            at += 8 + count * size;
        }
        Some(found)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// The string of `.BTF` at `at`.
fn string(types: &[u8], at: usize) -> Option<&[u8]> {
    types.get(word(types, 4)? + word(types, 16)? + at..)?.split(|&byte| byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prebuilt_object_is_whole() {
        let object = Object::read(REMY).expect("an object of clang");
        let code = object.code("struct_ops/cong_control").expect("a program");
        assert!(!code.functions.is_empty() && !code.relocations.is_empty());
        assert_eq!(code.maps.len(), 1);
    }
}
