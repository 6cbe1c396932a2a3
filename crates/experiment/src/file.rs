//! The table `[experiment]` as serde reads it.

use exm_grammar::Offset;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// A file of which only the table `[experiment]` is parsed; the rest is the scenario.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) experiment: Option<ExperimentTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentTable {
    pub(super) source: Option<String>,
    pub(super) notes: Option<OneOrMore>,
    pub(super) figure: Option<Spanned<OneOrMore>>,
    pub(super) columns: Option<Vec<Spanned<String>>>,
    pub(super) runs: Option<Spanned<u64>>,
    pub(super) window: Option<Spanned<String>>,
    pub(super) x: Option<Spanned<String>>,
    pub(super) y: Option<Spanned<String>>,
    pub(super) sigma: Option<Spanned<f64>>,
    pub(super) paper_axes: Option<Spanned<AxesTable>>,
    pub(super) mean: Option<Spanned<String>>,
    pub(super) reference: Option<Spanned<OneOrMore>>,
    pub(super) ranks: Option<Spanned<OneOrMore>>,
    pub(super) harm: Option<HarmTable>,
    pub(super) flow: Option<Spanned<OneOrMore>>,
    #[serde(default)]
    pub(super) scheme: Vec<Spanned<SchemeTable>>,
    #[serde(default)]
    pub(super) variant: Vec<Spanned<VariantTable>>,
    pub(super) sweep: Option<Spanned<SweepTable>>,
}

/// Flows that schemes may harm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HarmTable {
    pub(super) flow: Spanned<String>,
    pub(super) reference: Spanned<OneOrMore>,
    pub(super) metrics: Option<Spanned<OneOrMore>>,
}

/// The ends of two axes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AxesTable {
    pub(super) x: [f64; 2],
    pub(super) y: [f64; 2],
}

/// A word or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "this is neither a word in quotes nor a list of such words")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    /// The words.
    pub(super) fn into_words(self) -> Vec<String> {
        match self {
            OneOrMore::One(word) => vec![word],
            OneOrMore::More(words) => words,
        }
    }
}

/// Keys of the scenario and their values.
pub(super) type Settings = BTreeMap<String, Spanned<Value>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemeTable {
    pub(super) name: Spanned<String>,
    pub(super) controller: Option<Spanned<OneOrMore>>,
    pub(super) queue: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) tcp: Settings,
    #[serde(default)]
    pub(super) set: Settings,
    #[serde(default)]
    pub(super) paper: Settings,
    #[serde(default)]
    pub(super) optional_file: bool,
    pub(super) designed_for: Option<Spanned<String>>,
    pub(super) curve: Option<String>,
    pub(super) frontier: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantTable {
    pub(super) name: Spanned<String>,
    pub(super) note: Option<String>,
    #[serde(default)]
    pub(super) tcp: Settings,
    #[serde(default)]
    pub(super) set: Settings,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepTable {
    pub(super) key: Spanned<String>,
    pub(super) title: Option<String>,
    pub(super) values: Option<Spanned<Vec<Spanned<Value>>>>,
    pub(super) from: Option<Spanned<String>>,
    pub(super) to: Option<Spanned<String>>,
    pub(super) points: Option<Spanned<u64>>,
    pub(super) scale: Option<Spanned<String>>,
    pub(super) y: Option<Spanned<String>>,
    pub(super) y_scale: Option<Spanned<String>>,
}

/// Where `value` starts.
pub(crate) fn place<T>(value: &Spanned<T>) -> Offset {
    Some(value.span().start)
}
