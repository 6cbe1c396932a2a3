//! How fields of tables' files are written in JSON.

pub(crate) use crate::text::number;

use crate::text::Number;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) mod hash {
    use super::*;

    const DIGITS: usize = 16;

    pub(crate) fn text(hash: u64) -> String {
        format!("{hash:0DIGITS$x}")
    }

    pub(crate) fn serialize<S: Serializer>(hash: &Option<u64>, s: S) -> Result<S::Ok, S::Error> {
        hash.map(text).serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
        let Some(text) = Option::<String>::deserialize(d)? else { return Ok(None) };
        let is_hash = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = is_hash.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        hash.map(Some)
            .ok_or_else(|| D::Error::custom(format!("a hash has {DIGITS} hexadecimal digits")))
    }

    /// The same of a hash that must be there.
    pub(crate) mod required {
        use super::*;

        #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
        pub(crate) fn serialize<S: Serializer>(hash: &u64, s: S) -> Result<S::Ok, S::Error> {
            super::text(*hash).serialize(s)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
            super::deserialize(d)?.ok_or_else(|| D::Error::custom("the hash is missing"))
        }
    }
}

pub(crate) mod interval {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(ends: &(f64, f64), s: S) -> Result<S::Ok, S::Error> {
        (Number(ends.0), Number(ends.1)).serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<(f64, f64), D::Error> {
        <(Number, Number)>::deserialize(d).map(|(Number(lower), Number(upper))| (lower, upper))
    }
}
