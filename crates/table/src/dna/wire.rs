//! The part of protobuf's wire format that `.dna` files need: fields of varints, doubles and nested
//! messages (<https://protobuf.dev/programming-guides/encoding>).

/// Fields of a message, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// The offset of `bytes` in the file.
    offset: usize,
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) number: u32,
    pub(super) value: Value<'a>,
    /// The offset of the field in the file.
    pub(super) offset: usize,
    /// The whole field verbatim, including its number and length.
    pub(super) raw: &'a [u8],
}

/// The value of a field, by its wire type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Message(Reader<'a>),
    Fixed32,
}

/// An error in the encoding: its position and description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) offset: usize,
    pub(super) problem: &'static str,
}

const CUT_SHORT: &str = "it ends in the middle of a field; is the file complete?";

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, offset: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next field; none at the end of the message.
    pub(super) fn next(&mut self) -> Result<Option<Field<'a>>, Malformed> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let (start, offset) = (self.bytes, self.offset);
        let tag = self.varint()?;
        let malformed = |problem| Malformed { offset, problem };
        let number = u32::try_from(tag >> 3).ok().filter(|&number| number != 0);
        let number = number.ok_or(malformed("a field has no possible number"))?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                let bytes = *self.take(8)?.first_chunk().expect("took eight");
                Value::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| malformed(CUT_SHORT))?;
                let offset = self.offset;
                Value::Message(Reader { bytes: self.take(length)?, offset })
            }
            5 => {
                self.take(4)?;
                Value::Fixed32
            }
            _ => return Err(malformed("a field is of an unknown kind")),
        };
        let raw = &start[..self.offset - offset];
        Ok(Some(Field { number, value, offset, raw }))
    }

    /// A varint, as in a packed list; it must not be at the end of the message.
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let offset = self.offset;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.take(1)?[0];
            // Bits past the 64th are dropped, as in protobuf's own decoders.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed { offset, problem: "a number is longer than ten bytes" })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let cut_short = Malformed { offset: self.offset, problem: CUT_SHORT };
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(cut_short)?;
        self.bytes = rest;
        self.offset += count;
        Ok(taken)
    }
}

/// Reverses the zigzag of a `sint32`.
pub(super) fn unzigzag(value: u64) -> i32 {
    let value = value as u32;
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends an unsigned number as field `number`.
pub(super) fn put_uint(out: &mut Vec<u8>, number: u32, value: u64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value);
}

/// Appends a `sint32` as field `number`.
pub(super) fn put_sint(out: &mut Vec<u8>, number: u32, value: i32) {
    put_uint(out, number, u64::from(((value << 1) ^ (value >> 31)) as u32));
}

/// Appends a double as field `number`.
pub(super) fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    put_varint(out, u64::from(number) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a message as field `number`.
pub(super) fn put_message(out: &mut Vec<u8>, number: u32, message: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, message.len() as u64);
    out.extend_from_slice(message);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_as_written() {
        let mut out = Vec::new();
        put_sint(&mut out, 31, -3);
        put_double(&mut out, 32, 0.1);
        put_message(&mut out, 1, &[1, 2, 3]);
        put_uint(&mut out, 13, u64::MAX);
        let mut reader = Reader::new(&out);
        let mut fields = Vec::new();
        while let Some(field) = reader.next().unwrap() {
            fields.push(field);
        }
        assert!(matches!(fields[0].value, Value::Varint(v) if unzigzag(v) == -3));
        assert!(matches!(fields[1].value, Value::Fixed64(v) if f64::from_bits(v) == 0.1));
        assert!(matches!(fields[2].value, Value::Message(r) if r.bytes == [1, 2, 3]));
        assert!(matches!(fields[3].value, Value::Varint(u64::MAX)));
        assert_eq!([fields[1].offset, fields[2].offset], [3, 13]);
        assert_eq!(fields.iter().flat_map(|field| field.raw).copied().collect::<Vec<_>>(), out);
    }

    #[test]
    fn zigzag_round_trips_at_the_ends() {
        for value in [0, 1, -1, 256, i32::MAX, i32::MIN] {
            let mut out = Vec::new();
            put_sint(&mut out, 1, value);
            let field = Reader::new(&out).next().unwrap().unwrap();
            assert!(matches!(field.value, Value::Varint(v) if unzigzag(v) == value));
        }
    }

    #[test]
    fn invalid_protobuf_is_rejected_with_its_position() {
        let problem = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            loop {
                match reader.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("read {bytes:?}"),
                    Err(malformed) => return malformed.offset,
                }
            }
        };
        assert_eq!(problem(&[0x08]), 1, "no value");
        assert_eq!(problem(&[0x08, 1, 0x0a, 5, 1]), 4, "a message cut short");
        assert_eq!(problem(&[0x08, 1, 0x09, 5, 1]), 3, "a double cut short");
        assert_eq!(problem(&[0x00, 1]), 0, "field 0");
        assert_eq!(problem(&[0x0b]), 0, "a group");
        assert_eq!(problem(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]), 1);
        assert_eq!(problem(&[0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]), 11);
    }
}
