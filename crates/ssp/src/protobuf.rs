//! The part of protocol buffers that SSP uses: varints and length-delimited fields. Fields of other numbers
//! are skipped.

/// Why a message cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It ends within a field.
    #[error("the message ends within a field")]
    Truncated,
    /// A variable-length integer has more than 64 bits.
    #[error("a variable-length integer has more than 64 bits")]
    Varint,
    /// A field has another type than its number demands, or one that does not exist.
    #[error("field {field} has the wire type {kind}")]
    WireType {
        /// Its number.
        field: u64,
        /// Its wire type.
        kind: u8,
    },
    /// A required field is missing.
    #[error("the {0} is missing")]
    Missing(&'static str),
    /// A value is out of range.
    #[error("the {0} is out of range")]
    Range(&'static str),
}

/// The content of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A field of a fixed width, which SSP does not use.
    Fixed(u8),
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    value: Value<'a>,
}

impl<'a> Field<'a> {
    /// Its content as an integer.
    pub(crate) fn integer(self) -> Result<u64, DecodeError> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => Err(self.mistyped()),
        }
    }

    /// Its content as bytes, which may be a message.
    pub(crate) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.mistyped()),
        }
    }

    fn mistyped(self) -> DecodeError {
        let kind = match self.value {
            Value::Number(_) => VARINT,
            Value::Bytes(_) => DELIMITED,
            Value::Fixed(kind) => kind,
        };
        DecodeError::WireType { field: self.number, kind }
    }
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const DELIMITED: u8 = 2;
const FIXED32: u8 = 5;

/// The fields of the message `bytes`, up to the first error.
pub(crate) fn fields(bytes: &[u8]) -> impl Iterator<Item = Result<Field<'_>, DecodeError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        (!rest.is_empty()).then(|| {
            let field = field(&mut rest);
            if field.is_err() {
                rest = &[];
            }
            field
        })
    })
}

/// The messages in the difference `diff`, which has them in field 1; others are skipped.
pub(crate) fn parts(diff: &[u8]) -> impl Iterator<Item = Result<&[u8], DecodeError>> {
    fields(diff)
        .filter(|field| field.as_ref().is_ok_and(|field| field.number == 1) || field.is_err())
        .map(|field| field.and_then(Field::bytes))
}

/// Takes a field off the front of `rest`.
fn field<'a>(rest: &mut &'a [u8]) -> Result<Field<'a>, DecodeError> {
    let tag = varint(rest)?;
    let (number, kind) = (tag >> 3, (tag & 7) as u8);
    let value = match kind {
        VARINT => Value::Number(varint(rest)?),
        DELIMITED => {
            let length = varint(rest)?;
            let length = usize::try_from(length).map_err(|_| DecodeError::Truncated)?;
            Value::Bytes(take(rest, length)?)
        }
        FIXED64 => take(rest, 8).map(|_| Value::Fixed(kind))?,
        FIXED32 => take(rest, 4).map(|_| Value::Fixed(kind))?,
        // Groups are obsolete, and nobody sends them.
        _ => return Err(DecodeError::WireType { field: number, kind }),
    };
    Ok(Field { number, value })
}

/// Takes `length` bytes off the front of `rest`.
fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], DecodeError> {
    let (taken, after) = rest.split_at_checked(length).ok_or(DecodeError::Truncated)?;
    *rest = after;
    Ok(taken)
}

/// Takes a variable-length integer off the front of `rest`: seven bits a byte, the lowest first.
fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(DecodeError::Varint);
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(DecodeError::Varint)
}

/// Appends the integer `value` as field `number`.
pub(crate) fn put_integer(message: &mut Vec<u8>, number: u64, value: u64) {
    put_varint(message, number << 3 | u64::from(VARINT));
    put_varint(message, value);
}

/// Appends `bytes` as field `number`.
pub(crate) fn put_bytes(message: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(message, number << 3 | u64::from(DELIMITED));
    put_varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_the_specification() {
        // "Encoding" of the documentation of protocol buffers: field 1 is 150, field 2 is "testing".
        let mut message = Vec::new();
        put_integer(&mut message, 1, 150);
        put_bytes(&mut message, 2, b"testing");
        assert_eq!(message, b"\x08\x96\x01\x12\x07testing");
    }

    #[test]
    fn malformed_messages_are_refused() {
        let first = |bytes: &[u8]| fields(bytes).next().expect("not empty").map(|f| f.number);
        assert_eq!(first(&[0x08]), Err(DecodeError::Truncated));
        assert_eq!(first(&[0x12, 3, 1, 2]), Err(DecodeError::Truncated));
        assert_eq!(first(&[0x0b]), Err(DecodeError::WireType { field: 1, kind: 3 }));
        let mut longest = vec![0x08];
        longest.extend([0xff; 9]);
        longest.push(1);
        assert_eq!(first(&longest), Ok(1));
        *longest.last_mut().expect("not empty") = 2;
        assert_eq!(first(&longest), Err(DecodeError::Varint));
        // A length of 2^64 - 1 overflows nothing.
        longest[0] = 0x12;
        *longest.last_mut().expect("not empty") = 1;
        assert_eq!(first(&longest), Err(DecodeError::Truncated));
        // After an error there is no more.
        assert_eq!(fields(&[0x0b, 0x08, 1]).count(), 1);
    }

    #[test]
    fn a_field_of_another_type_is_refused() {
        let field = fields(&[0x0d, 1, 2, 3, 4]).next().expect("one").expect("well-formed");
        let error = DecodeError::WireType { field: 1, kind: FIXED32 };
        assert_eq!((field.integer(), field.bytes()), (Err(error), Err(error)));
    }

    proptest! {
        #[test]
        fn integers_come_back(number in 1u64..1000, value: u64) {
            let mut message = Vec::new();
            put_integer(&mut message, number, value);
            let field = fields(&message).next().expect("one").expect("well-formed");
            prop_assert_eq!((field.number, field.integer()), (number, Ok(value)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(fields(&bytes).count() <= bytes.len());
        }
    }
}
