//! Shell completion of names: known names, and files.

use crate::{experiments, shipped, tables};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use exm_link::QueueKind;
use exm_sim::builtin::{self, Builtin};
use exm_trace::Synthetic;
use std::ffi::OsStr;

/// The environment variable through which shell scripts request completions, with the shell's name.
pub(crate) const VARIABLE: &str = "EXM_COMPLETE";

/// Responds to a completion request of a shell script and exits, if there is one.
pub(crate) fn complete_and_exit() {
    clap_complete::CompleteEnv::with_factory(crate::cli::Cli::definition)
        .var(VARIABLE)
        .bin("exm")
        .complete();
}

/// Tables: shipped ones and files.
pub(crate) fn tables() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        [starting(current, tables::shipped_names()), table_files(current)]
            .into_iter()
            .flatten()
            .collect()
    })
}

/// What may run a sender: controllers, and tables.
pub(crate) fn controllers() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        [starting(current, controller_names()), parameters(current), table_files(current)]
            .into_iter()
            .flatten()
            .collect()
    })
}

/// The same, with a queue after a slash.
pub(crate) fn schemes() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let names = controller_names();
        let controller = current.to_str().and_then(|text| text.rsplit_once('/'));
        let queued: Vec<String> = match controller {
            Some((controller, _))
                if names.contains(&controller) || Builtin::name_in(controller).is_some() =>
            {
                QueueKind::NAMES.iter().map(|queue| format!("{controller}/{queue}")).collect()
            }
            _ => Vec::new(),
        };
        [
            starting(current, names),
            parameters(current),
            starting(current, queued),
            table_files(current),
        ]
        .into_iter()
        .flatten()
        .collect()
    })
}

/// Queue disciplines.
pub(crate) fn queues() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| starting(current, QueueKind::NAMES))
}

/// Those of one direction or of two, separated by a comma.
pub(crate) fn queue_pairs() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let before = current.to_str().and_then(|text| text.rsplit_once(','));
        let prefix = before.map_or(String::new(), |(up, _)| format!("{up},"));
        starting(current, QueueKind::NAMES.iter().map(|queue| format!("{prefix}{queue}")))
    })
}

/// Links that follow traces: synthetic ones and files.
pub(crate) fn traces() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        [starting(current, Synthetic::names()), PathCompleter::any().complete(current)]
            .into_iter()
            .flatten()
            .collect()
    })
}

/// Experiments: shipped ones and files.
pub(crate) fn experiments() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| shipped_or_toml(current, experiments::shipped_names()))
}

/// Models: shipped ones and files.
pub(crate) fn models() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| shipped_or_toml(current, shipped::model_names()))
}

/// Scenarios: shipped ones and files.
pub(crate) fn scenarios() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| shipped_or_toml(current, shipped::scenario_names()))
}

/// The files that can be templates: models and scenarios.
pub(crate) fn templates() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        starting(current, shipped::model_names().into_iter().chain(shipped::scenario_names()))
    })
}

fn shipped_or_toml(current: &OsStr, names: Vec<&'static str>) -> Vec<CompletionCandidate> {
    [starting(current, names), files(current, &["toml"])].into_iter().flatten().collect()
}

/// Topics of the manual.
pub(crate) fn topics() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        starting(current, crate::manual::TOPICS.iter().map(|topic| topic.name))
    })
}

fn controller_names() -> Vec<&'static str> {
    Builtin::names().chain(tables::shipped_names()).collect()
}

/// What may follow the name of a controller and a space: its parameters, with their defaults.
fn parameters(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let (Some(name), Some((before, _))) = (Builtin::name_in(&typed), typed.rsplit_once([' ', ',']))
    else {
        return Vec::new();
    };
    let separator = &typed[before.len()..=before.len()];
    let entries = builtin::parameters_of(name).into_iter();
    let texts = entries.map(|known| format!("{before}{separator}{}={}", known.name, known.default));
    starting(current, texts)
}

/// Those of `names` that begin with the typed text.
fn starting(
    current: &OsStr,
    names: impl IntoIterator<Item = impl AsRef<str>>,
) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let fitting = names.into_iter().filter(|name| name.as_ref().starts_with(&*typed));
    fitting.map(|name| CompletionCandidate::new(name.as_ref())).collect()
}

fn table_files(current: &OsStr) -> Vec<CompletionCandidate> {
    files(current, &["json", "dna"])
}

/// Files with this extension, and folders on the way to them.
fn files(current: &OsStr, endings: &'static [&str]) -> Vec<CompletionCandidate> {
    let is_one = |path: &std::path::Path| {
        path.extension().and_then(OsStr::to_str).is_some_and(|end| endings.contains(&end))
    };
    PathCompleter::any().filter(is_one).complete(current)
}
