//! `exm list`: everything that is shipped with the program.

use crate::commands::{experiment, table};
use crate::layout;
use crate::shell::{Failure, Printing};
use crate::{experiments, shipped};
use exm_design::shipped::MODELS;
use exm_experiment::SHIPPED as EXPERIMENTS;
use exm_link::QueueKind;
use exm_sim::builtin::{Builtin, ParameterEntry, SPROUT_DESCRIPTION, SPROUT_NAMES, parameters_of};
use exm_sim::controllers::AnyController;
use exm_sim::scenario::SHIPPED as SCENARIOS;
use exm_store::Columns;
use serde::{Serialize, Serializer};
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Without an argument, the number of things of each kind is printed.

Examples:
  exm list
  exm list controllers
  exm list models --json";

/// Print what is shipped with the program: models, scenarios, controllers, queues, tables, experiments
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The kind of things to print
    #[arg(value_enum)]
    kind: Option<Kind>,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Networks and objectives that tables are designed for
    Models,
    /// Networks with senders, to simulate
    Scenarios,
    /// Congestion controllers that people designed
    Controllers,
    /// Queue disciplines of links
    Queues,
    /// Rule tables: congestion controllers computed from models
    Tables,
    /// Figures and tables of the papers, and studies of our own
    Experiments,
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Models,
        Kind::Scenarios,
        Kind::Controllers,
        Kind::Queues,
        Kind::Tables,
        Kind::Experiments,
    ];

    fn value(self) -> clap::builder::PossibleValue {
        clap::ValueEnum::to_possible_value(&self).expect("no kind is hidden")
    }

    /// A command that uses one of them, called NAME.
    const fn example(self) -> &'static str {
        match self {
            Kind::Models => "exm design NAME -o cc.json",
            Kind::Scenarios => "exm simulate NAME",
            Kind::Controllers => "exm simulate --link 15Mbps --rtt 50ms --cc NAME",
            Kind::Queues => "exm simulate --link 15Mbps --rtt 50ms --cc cubic --queue NAME",
            Kind::Tables => "exm table show NAME",
            Kind::Experiments => "exm experiment run NAME --quick",
        }
    }

    /// The things of this kind.
    fn entries(self) -> Result<Vec<Entry>, Failure> {
        let of_queue = |&(name, text): &(&str, &str)| Entry::new(name, plain(text));
        let of_table = |table: &table::list::Entry| Entry {
            for_use: Some(table.for_use),
            ..Entry::new(table.name, table.description())
        };
        Ok(match self {
            Kind::Models => {
                MODELS.iter().map(|(name, text)| Entry::commented(name, text)).collect()
            }
            Kind::Scenarios => {
                SCENARIOS.iter().map(|(name, text)| Entry::commented(name, text)).collect()
            }
            Kind::Controllers => controllers(),
            Kind::Queues => QueueKind::DESCRIPTIONS.iter().map(of_queue).collect(),
            Kind::Tables => table::list::List::shipped()?.tables.iter().map(of_table).collect(),
            Kind::Experiments => {
                let titled = |name: &str| {
                    Ok(Entry::new(name, experiments::load(name)?.title.unwrap_or_default()))
                };
                experiments::shipped_names()
                    .into_iter()
                    .map(titled)
                    .collect::<Result<_, Failure>>()?
            }
        })
    }

    fn count(self) -> usize {
        match self {
            Kind::Models => shipped::model_names().len(),
            Kind::Scenarios => shipped::scenario_names().len(),
            Kind::Controllers => Builtin::names().count(),
            Kind::Queues => QueueKind::NAMES.len(),
            Kind::Tables => crate::tables::shipped_names().len(),
            Kind::Experiments => EXPERIMENTS.len(),
        }
    }
}

/// The controllers; variants of one are described together.
fn controllers() -> Vec<Entry> {
    let described = AnyController::DESCRIPTIONS.iter();
    let of_kind = described.flat_map(|(names, text)| names.iter().map(|name| (*name, plain(text))));
    let sprout = SPROUT_NAMES.iter().map(|name| (*name, SPROUT_DESCRIPTION.to_owned()));
    let entry = |(name, text): (&'static str, String)| {
        let parameters = Some(parameters_of(name).iter().map(Parameter::of).collect());
        Entry { parameters, ..Entry::new(name, text) }
    };
    of_kind.chain(sprout).map(entry).collect()
}

/// A documentation comment without its markup.
fn plain(text: &str) -> String {
    text.trim().replace(['`', '[', ']'], "")
}

/// Something that is shipped.
#[derive(Serialize)]
struct Entry {
    name: String,
    description: String,
    /// Of tables: whether it is hardened, and was found to hold around its model. The others are for experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    for_use: Option<bool>,
    /// Of controllers: what can be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Vec<Parameter>>,
}

/// A parameter of a controller.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Parameter {
    name: &'static str,
    default: String,
    values: String,
    description: String,
}

impl Parameter {
    fn of(known: &ParameterEntry) -> Parameter {
        let ParameterEntry { name, default, values, description } = known.clone();
        Parameter { name, default, values, description: plain(description) }
    }
}

impl Entry {
    fn new(name: &str, description: String) -> Entry {
        Entry { name: name.to_owned(), description, for_use: None, parameters: None }
    }

    /// That of a file, whose description is the first sentence of its first comment.
    fn commented(name: &str, text: &str) -> Entry {
        let comment = text.lines().map_while(|line| line.strip_prefix('#'));
        let words = comment.flat_map(str::split_whitespace).take_while(|&word| word != "Source:");
        let words: Vec<&str> = words.collect();
        let ends = |word: &&str| word.ends_with('.') && !word.ends_with("al.");
        let end = words.iter().position(ends).map_or(words.len(), |last| last + 1);
        Entry::new(name, words[..end].join(" "))
    }
}

/// The things of one kind.
struct Listed {
    kind: Kind,
    entries: Vec<Entry>,
}

/// `{"models": [...]}`.
impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.kind.value().get_name(), &self.entries)])
    }
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(2);
        columns.line(["name", "description"].map(str::to_owned));
        let mut before = "";
        for entry in &self.entries {
            // Variants of one controller have one description.
            let text = if entry.description == before { "" } else { &entry.description };
            before = &entry.description;
            columns.line([entry.name.clone(), text.to_owned()]);
        }
        writeln!(f, "{}", layout::table(&columns))?;
        if matches!(self.kind, Kind::Controllers) {
            writeln!(f, "{}", layout::table(&self.parameters()))?;
            writeln!(f, "{}", layout::paragraph(GRAMMAR))?;
        }
        f.write_str(&layout::paragraph(&format!("Use one: {}", self.kind.example())))
    }
}

/// How parameters are written.
const GRAMMAR: &str = "Parameters stand after the name: --cc 'cubic beta=0.8,c=0.2'. exm help quantities says what each does.";

impl Listed {
    /// The parameters of controllers; variants of one that have the same are listed once.
    fn parameters(&self) -> Columns {
        let mut columns = Columns::with_words(0..4);
        columns.line(["controller", "parameter", "default", "values"].map(str::to_owned));
        let mut before = None;
        for entry in &self.entries {
            let this = Some((&entry.description, &entry.parameters));
            if std::mem::replace(&mut before, this) == this {
                continue;
            }
            let parameters = entry.parameters.iter().flatten();
            for (index, known) in parameters.enumerate() {
                let name = if index == 0 { entry.name.clone() } else { String::new() };
                let [default, values] = [&known.default, &known.values].map(String::clone);
                columns.line([name, known.name.to_owned(), default, values]);
            }
        }
        columns
    }
}

/// How many there are of each kind, or all of them.
struct Overview(Vec<Listed>);

impl Serialize for Overview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.0.iter().map(|one| (one.kind.value().get_name().to_owned(), &one.entries));
        serializer.collect_map(all)
    }
}

fn overview() -> String {
    let mut columns = Columns::with_words(1..4);
    columns.line(["number", "kind", "see them", "what they are"].map(str::to_owned));
    for kind in Kind::ALL {
        let value = kind.value();
        let (name, help) = (value.get_name(), value.get_help());
        columns.line([
            kind.count().to_string(),
            name.to_owned(),
            format!("exm list {name}"),
            help.map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    layout::table(&columns)
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let listed = |kind: Kind| Ok(Listed { kind, entries: kind.entries()? });
        match self.kind {
            Some(Kind::Tables) => self.printing.print(&table::list::List::shipped()?)?,
            Some(Kind::Experiments) => self.printing.print(&experiment::list::List::shipped()?)?,
            Some(kind) => self.printing.print(&listed(kind)?)?,
            None => {
                let all = || Kind::ALL.into_iter().map(listed).collect::<Result<Vec<_>, Failure>>();
                let all = Overview(all()?);
                self.printing.print_either(overview, || crate::shell::json(&all, None))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_thing_has_a_description_of_one_line() {
        for kind in Kind::ALL {
            let entries = kind.entries().unwrap();
            assert_eq!(entries.len(), kind.count(), "{kind:?}");
            for Entry { name, description, .. } in entries {
                assert!(!description.contains("Source:"), "{name}: {description}");
                assert!(description.len() > 3 && !description.contains('\n'), "{kind:?}: {name}");
            }
        }
    }
}
