//! [`Provenance`]: the origin of a table.

use crate::dna::{Layout, are_settings};
use crate::fields::{hash, interval, number};
use crate::robustness::Robustness;
use crate::text::short;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

/// The origin of a table: what is needed to reproduce it, and its score. Unknown fields are left
/// out of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// The program that made the table, with its version: `"exm 0.1.0"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The command line that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The name of the search that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The seed of that search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The steps that the search took: with the same model, search, seed and start, they make the table again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// The CPU time it took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// The objective, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Whose clock measured packet arrivals in the design. A table designed for one sees different
    /// signals with the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival_times: Option<ArrivalTimes>,
    /// Its score on specimens that the search did not use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_score: Option<Score>,
    /// Its measured behaviour around its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robustness: Option<Robustness>,
    /// The unfinished work of its design when the file was written; `None` for a finished one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// Any other remarks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// A number that identifies the model, written with 16 hexadecimal digits: the 64-bit FNV-1a
    /// hash of its canonical text, which has every key in a fixed order and neither name nor
    /// comments. It protects against mistakes, not against forgery.
    #[serde(skip_serializing_if = "Option::is_none", with = "hash")]
    pub model_hash: Option<u64>,
    /// The network model it was designed for: the text of its TOML file, as a list of lines.
    #[serde(skip_serializing_if = "Option::is_none", with = "lines")]
    pub model: Option<String>,
    /// The other contents of Remy's file, for tables that come from one.
    #[serde(skip_serializing_if = "Option::is_none", with = "layout")]
    pub remy_file: Option<Layout>,
}

/// Whose clock measures packet arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalTimes {
    /// The receiver's, which reports them in its ACKs.
    Receiver,
    /// The sender's, at the arrival of ACKs.
    Ack,
}

/// What a design has still to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pending {
    /// The table is to be hardened: around its model it may fill queues.
    Hardening,
}

/// A mean score over specimens, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The mean of the objective over the specimens.
    #[serde(with = "number")]
    pub mean: f64,
    /// The lower and upper end of the mean's 95 % confidence interval.
    #[serde(with = "interval")]
    pub interval: (f64, f64),
    /// The number of specimens.
    pub specimens: u64,
    /// The seed they were drawn with.
    pub seed: u64,
}

/// The known fields, one per line; of the model only its hash.
impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Provenance { program, command, search, objective, notes, .. } = self;
        let lines = [
            ("program", program.clone()),
            ("command", command.clone()),
            ("search", search.clone()),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("steps", self.steps.map(|steps| steps.to_string())),
            ("CPU time", self.cpu_seconds.map(|seconds| format!("{seconds} s"))),
            ("objective", objective.clone()),
            ("arrival times", self.arrival_times.map(|times| times.to_string())),
            ("held-out score", self.held_out_score.map(|score| score.to_string())),
            ("pending", self.pending.map(|pending| pending.to_string())),
            ("notes", notes.clone()),
            ("model hash", self.model_hash.map(hash::text)),
        ];
        for (name, text) in lines {
            if let Some(text) = text {
                // The file may contain any characters, such as control sequences.
                writeln!(f, "{name:<14}  {}", text.replace(char::is_control, " "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pending::Hardening => {
                f.write_str("hardening, by exm design --resume or exm table harden")
            }
        }
    }
}

impl fmt::Display for ArrivalTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrivalTimes::Receiver => "the receiver's",
            ArrivalTimes::Ack => "the acknowledgements'",
        })
    }
}

/// As text: "-0.528 (-0.647..-0.408) on 256 specimens, seed 1".
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Score { mean, interval: (low, high), specimens, seed } = *self;
        let (mean, low, high) = (short(mean), short(low), short(high));
        write!(f, "{mean} ({low}..{high}) on {specimens} specimens, seed {seed}")
    }
}

mod lines {
    use super::*;

    pub(super) fn serialize<S: Serializer>(text: &Option<String>, s: S) -> Result<S::Ok, S::Error> {
        text.as_ref().map(|text| text.split('\n').collect::<Vec<_>>()).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
        let lines = Option::<Vec<String>>::deserialize(d)?;
        // An empty list means no text; an empty text is one empty line.
        Ok(lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")))
    }
}

mod layout {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Text {
        names_axes: bool,
        settings: String,
    }

    pub(super) fn serialize<S: Serializer>(
        layout: &Option<Layout>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        let text = |Layout { names_axes, settings }: &Layout| Text {
            names_axes: *names_axes,
            settings: settings.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        layout.as_ref().map(text).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Layout>, D::Error> {
        let Some(Text { names_axes, settings }) = Option::deserialize(d)? else { return Ok(None) };
        let settings = bytes(&settings)
            .filter(|bytes| are_settings(bytes))
            .ok_or_else(|| D::Error::custom("these settings are not hexadecimal protobuf"))?;
        Ok(Some(Layout { names_axes, settings }))
    }

    fn bytes(hex: &str) -> Option<Vec<u8>> {
        let digits: Option<Vec<u8>> =
            hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
        let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
        rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_fields_are_printed() {
        let score = Score { mean: -0.5, interval: (-0.75, -0.25), specimens: 256, seed: 1 };
        let provenance = Provenance {
            program: Some("exm 0.1.0".to_owned()),
            command: Some("exm design\u{1b}[2J".to_owned()),
            held_out_score: Some(score),
            model_hash: Some(0x2a),
            model: Some("[network]".to_owned()),
            ..Provenance::default()
        };
        let expected = "\
program         exm 0.1.0
command         exm design [2J
held-out score  -0.5 (-0.75..-0.25) on 256 specimens, seed 1
model hash      000000000000002a
";
        assert_eq!(provenance.to_string(), expected);
        assert_eq!(Provenance::default().to_string(), "");
    }

    #[test]
    fn a_hash_is_sixteen_digits_or_not_there() {
        let read = |text: &str| serde_json::from_str::<Provenance>(text);
        let hash = |text: &str| read(text).unwrap().model_hash;
        assert_eq!(hash("{}"), None);
        assert_eq!(hash(r#"{"model_hash": "654366253f2d3e94"}"#), Some(0x6543_6625_3f2d_3e94));
        for bad in ["2a", "+54366253f2d3e94", "654366253f2d3e9g", "654366253f2d3e941"] {
            let error = read(&format!("{{\"model_hash\": \"{bad}\"}}")).unwrap_err();
            assert!(error.to_string().starts_with("a hash has 16"), "{error}");
        }
    }
}
