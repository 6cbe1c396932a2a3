//! [`Provenance`]: where a table comes from.

use crate::dna::{Layout, are_settings};
use crate::text::{Number, number};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Where a table comes from: what is needed to make it again, and how good it was found to be.
/// All that is unknown stays away from the file.
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
    /// The processor time it took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// What it was designed to maximise, as people write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Whose clock the arrivals of packets were read from in the design. A table made for one
    /// sees other signals with the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival_times: Option<ArrivalTimes>,
    /// Its score on specimens the search never saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_score: Option<Score>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The model of networks it was designed for: the text of its TOML file, written as a list of
    /// lines.
    #[serde(skip_serializing_if = "Option::is_none", with = "lines")]
    pub model: Option<String>,
    /// What Remy's own file held beside the table, for tables that come from one.
    #[serde(skip_serializing_if = "Option::is_none", with = "layout")]
    pub remy_file: Option<Layout>,
}

/// Whose clock tells when packets arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalTimes {
    /// The receiver's, which sends them back in its acknowledgements.
    Receiver,
    /// The sender's, at the arrival of the acknowledgements.
    Ack,
}

/// A mean score over specimens, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The mean of the objective over the specimens.
    #[serde(with = "number")]
    pub mean: f64,
    /// The lower and upper end of the mean's 95 % confidence interval.
    #[serde(with = "interval")]
    pub interval: (f64, f64),
    /// How many specimens there were.
    pub specimens: u64,
    /// The seed they were drawn with.
    pub seed: u64,
}

mod interval {
    use super::*;

    pub(super) fn serialize<S: Serializer>(ends: &(f64, f64), s: S) -> Result<S::Ok, S::Error> {
        (Number(ends.0), Number(ends.1)).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<(f64, f64), D::Error> {
        <(Number, Number)>::deserialize(d).map(|(Number(lower), Number(upper))| (lower, upper))
    }
}

mod lines {
    use super::*;

    pub(super) fn serialize<S: Serializer>(text: &Option<String>, s: S) -> Result<S::Ok, S::Error> {
        text.as_ref().map(|text| text.split('\n').collect::<Vec<_>>()).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
        let lines = Option::<Vec<String>>::deserialize(d)?;
        // No line at all is no text: even the empty text is one line.
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
