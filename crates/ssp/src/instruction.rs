//! [`Instruction`]: how to make one state of another.

use crate::protobuf::{DecodeError, fields, put_bytes, put_integer};

/// The version of the protocol.
pub const VERSION: u64 = 2;

/// How the receiver makes the state `new` of the state `old`, with an acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// The version of the sender's protocol: [`VERSION`].
    pub version: u64,
    /// The number of the state that the difference is applied to.
    pub old: u64,
    /// The number of the state that this results in.
    pub new: u64,
    /// The newest state of the other direction that the sender has received.
    pub acknowledged: u64,
    /// States below this number are never again the base of a difference.
    pub throwaway: u64,
    /// The difference; empty if the states are alike.
    pub diff: Vec<u8>,
    /// Random bytes that hide the length of the rest.
    pub chaff: Vec<u8>,
}

impl Instruction {
    /// Its encoding, before compression. Empty byte fields are written too, as mosh writes them.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.diff.len() + self.chaff.len() + 64);
        put_integer(&mut message, 1, self.version);
        put_integer(&mut message, 2, self.old);
        put_integer(&mut message, 3, self.new);
        put_integer(&mut message, 4, self.acknowledged);
        put_integer(&mut message, 5, self.throwaway);
        put_bytes(&mut message, 6, &self.diff);
        put_bytes(&mut message, 7, &self.chaff);
        message
    }

    /// Decodes `message`. Absent fields are zero or empty, and unknown ones are ignored.
    ///
    /// # Errors
    /// It is malformed.
    pub fn decode(message: &[u8]) -> Result<Instruction, DecodeError> {
        let mut instruction = Instruction::default();
        for field in fields(message) {
            let field = field?;
            match field.number {
                1 => instruction.version = field.integer()?,
                2 => instruction.old = field.integer()?,
                3 => instruction.new = field.integer()?,
                4 => instruction.acknowledged = field.integer()?,
                5 => instruction.throwaway = field.integer()?,
                6 => instruction.diff = field.bytes()?.to_vec(),
                7 => instruction.chaff = field.bytes()?.to_vec(),
                _ => {}
            }
        }
        Ok(instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Instruction {
        Instruction {
            version: VERSION,
            old: 1,
            new: 300,
            acknowledged: 3,
            throwaway: u64::MAX,
            diff: b"abc".to_vec(),
            chaff: vec![9],
        }
    }

    #[test]
    fn an_instruction_on_the_wire() {
        let bytes = example().encode();
        let mut expected = vec![8, 2, 16, 1, 24, 0xac, 2, 32, 3, 40];
        expected.extend([0xff; 9]);
        expected.extend([1, 50, 3, b'a', b'b', b'c', 58, 1, 9]);
        assert_eq!(bytes, expected);
        assert_eq!(Instruction::decode(&bytes), Ok(example()));
    }

    #[test]
    fn unknown_fields_are_skipped_and_absent_ones_are_zero() {
        let mut bytes = example().encode();
        put_bytes(&mut bytes, 99, b"future");
        bytes.extend([0x65, 1, 2, 3, 4]);
        assert_eq!(Instruction::decode(&bytes), Ok(example()));
        assert_eq!(Instruction::decode(&[]), Ok(Instruction::default()));
        let mistyped = DecodeError::WireType { field: 6, kind: 0 };
        assert_eq!(Instruction::decode(&[48, 1]), Err(mistyped));
    }
}
