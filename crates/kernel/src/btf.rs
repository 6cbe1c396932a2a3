//! The kernel's types (BTF): where the fields of a structure lie, and the numbers of types.
//!
//! The format is described in the kernel's `Documentation/bpf/btf.rst`.

use std::collections::BTreeMap;

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;

/// Kinds of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Struct = 4,
    Func = 12,
}

/// The types of a kernel, or of a program.
pub(crate) struct Types<'a> {
    data: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins, by its number.
    offsets: Vec<usize>,
}

/// A member of a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) kind: u32,
    /// Bytes from the beginning.
    pub(crate) offset: usize,
    pub(crate) index: u32,
}

impl<'a> Types<'a> {
    /// Reads `bytes`; nothing if they are no types.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Types<'a>> {
        if bytes.get(..2)? != MAGIC.to_ne_bytes() {
            return None;
        }
        let header = |at| Some(word(bytes, at)? as usize);
        let (length, types, types_length) = (header(4)?, header(8)?, header(12)?);
        let (strings, strings_length) = (header(16)?, header(20)?);
        let part = |from: usize, size| bytes.get(length.max(HEADER)..)?.get(from..)?.get(..size);
        let (data, strings) = (part(types, types_length)?, part(strings, strings_length)?);
        let mut offsets = vec![usize::MAX];
        let mut at = 0;
        while at < data.len() {
            offsets.push(at);
            at += type_size(data, at)?;
        }
        Some(Types { data, strings, offsets })
    }

    fn word(&self, at: usize) -> u32 {
        word(self.data, at).unwrap_or(0)
    }

    fn string(&self, at: u32) -> &'a str {
        let bytes = self.strings.get(at as usize..).unwrap_or_default();
        let name = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }

    /// The number of the type of that kind and name.
    pub(crate) fn find(&self, kind: Kind, name: &str) -> Option<u32> {
        let is_it = |&id: &usize| {
            let at = self.offsets[id];
            kind_of(self.word(at + 4)) == kind as u32 && self.string(self.word(at)) == name
        };
        (1..self.offsets.len()).find(is_it).map(|id| id as u32)
    }

    /// The size of the structure of that number, bytes.
    pub(crate) fn size(&self, id: u32) -> usize {
        self.offset(id).map_or(0, |at| self.word(at + 8) as usize)
    }

    fn offset(&self, id: u32) -> Option<usize> {
        self.offsets.get(id as usize).copied().filter(|&at| at != usize::MAX)
    }

    /// The members of the structure of that number, by name.
    pub(crate) fn members(&self, id: u32) -> BTreeMap<&'a str, Member> {
        let Some(at) = self.offset(id) else { return BTreeMap::new() };
        let info = self.word(at + 4);
        // With the flag, the upper eight bits of an offset are the size of a bit field.
        let mask = if info >> 31 == 1 { 0xff_ffff } else { u32::MAX };
        (0..info & 0xffff)
            .map(|index| {
                let at = at + 12 + 12 * index as usize;
                let offset = (self.word(at + 8) & mask) as usize / 8;
                let name = self.string(self.word(at));
                (name, Member { kind: self.word(at + 4), offset, index })
            })
            .collect()
    }

    /// The number of parameters of the function that `id`, a pointer to it, points to.
    pub(crate) fn parameters(&self, id: u32) -> Option<usize> {
        let function = self.word(self.offset(id)? + 8);
        Some((self.word(self.offset(function)? + 4) & 0xffff) as usize)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// The size of the type at `at`: twelve bytes, and what follows them for its kind.
fn type_size(data: &[u8], at: usize) -> Option<usize> {
    let info = word(data, at + 4)?;
    let members = (info & 0xffff) as usize;
    let rest = match kind_of(info) {
        // int; variable; declaration tag.
        1 | 14 | 17 => 4,
        // array.
        3 => 12,
        // struct; union; section; enumeration of 64 bits.
        4 | 5 | 15 | 19 => 12 * members,
        // enumeration; parameters of a function.
        6 | 13 => 8 * members,
        // pointer; forward; typedef; volatile; const; restrict; function; float; type tag.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    };
    Some(12 + rest)
}

/// Fills in the sizes of sections and the offsets of variables in them, which the compiler leaves at zero and the kernel
/// wants.
pub(crate) fn set_sections(
    bytes: &mut [u8],
    size_of: impl Fn(&str) -> Option<u32>,
    offset_of: impl Fn(&str) -> Option<u32>,
) -> Option<()> {
    const SECTION: u32 = 15;
    // Where each number belongs.
    let mut numbers = Vec::new();
    let types = Types::new(bytes)?;
    for &at in types.offsets.iter().skip(1) {
        let info = types.word(at + 4);
        if kind_of(info) != SECTION {
            continue;
        }
        numbers.push((at + 8, size_of(types.string(types.word(at)))?));
        for variable in (0..info & 0xffff).map(|index| at + 12 + 12 * index as usize) {
            let name = types.string(types.word(types.offset(types.word(variable))?));
            numbers.push((variable + 4, offset_of(name)?));
        }
    }
    let begin = word(bytes, 4)? as usize + word(bytes, 8)? as usize;
    for (at, number) in numbers {
        bytes.get_mut(begin + at..)?.get_mut(..4)?.copy_from_slice(&number.to_ne_bytes());
    }
    Some(())
}
