//! The command line as a whole.

use crate::codes;
use crate::commands::Command;
use crate::help;
use crate::shell::Failure;
use crate::visible::visible;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm simulate --link 15Mbps --rtt 150ms --senders 8 --cc aimd
  exm table show RemyCC.dna
  exm completions bash > exm.bash
  exm help
";

/// Transport protocols computed from stated assumptions and objectives
#[derive(Debug, Parser)]
#[command(name = "exm", version = env!("EXM_VERSION"), propagate_version = true)]
#[command(after_help = format!("{EXAMPLES}\n{}", codes::TABLE))]
#[command(max_term_width = 100, subcommand_value_name = "COMMAND")]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// The definition of the command line, with help texts that flow to the width of the terminal.
    pub(crate) fn definition() -> clap::Command {
        signed(help::flowing(Cli::command()))
    }

    /// Parses the command line of the process. If it is wrong, or asks for help, prints that and exits.
    pub(crate) fn read() -> Cli {
        let words = by_name(std::env::args_os().collect());
        if let Some(command) = Command::of_session(&words) {
            return Cli { command };
        }
        match Cli::definition().try_get_matches_from(&words) {
            Ok(matches) => Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()),
            Err(error) => with_way_out(printable_error(&words).unwrap_or(error), &words).exit(),
        }
    }

    /// Prepares the command before the process has threads.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        self.command.prepare()
    }

    /// Runs the command.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.command.run()
    }
}

/// The names that this program may have, beside its own: each is the command of that name.
const NAMES: [&str; 3] = ["mosh", "mosh-client", "mosh-server"];

/// `words` of a command line, the first of which is how the program was called, as those of `exm`.
fn by_name(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().and_then(|word| Path::new(word).file_name()).map(OsString::from);
    if let Some(name) = name.filter(|name| NAMES.iter().any(|known| name == known)) {
        words.splice(..1, ["exm".into(), name]);
    }
    words
}

/// `command` and its subcommands, where the value of every option may begin with a minus sign and a digit: `--senders -3`
/// is then an error about the number of senders, and not about an option -3.
pub(crate) fn signed(command: clap::Command) -> clap::Command {
    let is_option = |arg: &clap::Arg| arg.get_action().takes_values() && !arg.is_positional();
    command
        .mut_args(|arg| if is_option(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(signed)
}

/// The commands whose missing arguments have an easy way out, and the way out.
const WAYS_OUT: [(&[&str], &str); 3] = [
    (
        &["simulate"],
        "for a first look at a shipped network: exm simulate dumbbell (exm list scenarios prints them all)",
    ),
    (
        &["experiment", "run"],
        "exm experiment list prints the shipped ones; for a first one: exm experiment run thesis-3-4 --quick",
    ),
    (
        &["design"],
        "exm list models prints the shipped ones; for a first one: exm design demo -o cc.json",
    ),
];

/// `error` with a tip if `words` lack the arguments of one of [`WAYS_OUT`], or give a negative number where none is
/// possible.
fn with_way_out(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let is_of = |command: &[&str]| {
        let given = words.iter().skip(1).take(command.len());
        given.map(|word| word.to_str()).eq(command.iter().map(|word| Some(*word)))
    };
    let known = WAYS_OUT.iter().find(|(command, _)| is_of(command));
    if let (ErrorKind::MissingRequiredArgument, Some((_, tip))) = (error.kind(), known) {
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(*tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    let is_negative =
        |value: &ContextValue| matches!(value, ContextValue::String(text) if text.starts_with('-'));
    if error.kind() == ErrorKind::ValueValidation
        && error.get(ContextKind::InvalidValue).is_some_and(is_negative)
        && error.to_string().contains("invalid digit")
    {
        // Without its source, which says "invalid digit found in string".
        let mut plain = clap::Error::new(error.kind()).with_cmd(&Cli::definition());
        for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue] {
            if let Some(value) = error.get(kind) {
                plain.insert(kind, value.clone());
            }
        }
        let tip = StyledStr::from("give a whole number without a sign");
        plain.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        return plain;
    }
    error
}

/// The error in `words` in a form that is safe to print: in clap's styled output, control characters of
/// the arguments cannot be recognised, so it parses arguments without control characters.
fn printable_error(words: &[OsString]) -> Option<clap::Error> {
    let shown = words.iter().map(|word| visible(&word.to_string_lossy()).into_owned());
    Cli::definition().try_get_matches_from(shown).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_the_command_of_its_name() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(by_name(words("/usr/bin/mosh-client -c")), words("exm mosh-client -c"));
        assert_eq!(by_name(words("mosh host")), words("exm mosh host"));
        assert_eq!(by_name(words("/opt/exm mosh")), words("/opt/exm mosh"));
        assert_eq!(by_name(words("moshed")), words("moshed"));
    }

    /// The ends of sessions are defined without the other commands, and the same words mean the same.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_ends_of_sessions_are_read_alone() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for text in [
            "exm mosh -a --port 60001 host -- date -u",
            "exm mosh-client -c",
            "exm mosh-client 127.0.0.1 60001",
            "exm mosh-server new -s -c 256 -l LANG=C.UTF-8 -- sh -c true",
        ] {
            let alone = Command::of_session(&words(text)).expect(text);
            let matches = Cli::definition().try_get_matches_from(words(text)).expect(text);
            let whole = Cli::from_arg_matches(&matches).expect(text).command;
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"));
        }
        for text in
            ["exm", "exm mosh --help", "exm mosh --version", "exm mosh-server -c x", "exm list"]
        {
            assert!(Command::of_session(&words(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::definition().debug_assert();
    }

    /// Calls `check` with each command and its full name.
    fn each(check: &mut impl FnMut(&str, &clap::Command)) {
        fn visit(
            name: &str,
            command: &clap::Command,
            check: &mut impl FnMut(&str, &clap::Command),
        ) {
            check(name, command);
            for inner in command.get_subcommands().filter(|c| c.get_name() != "help") {
                visit(&format!("{name} {}", inner.get_name()), inner, check);
            }
        }
        let mut cli = Cli::definition();
        cli.build();
        visit("exm", &cli, check);
    }

    #[test]
    fn every_command_has_an_example() {
        each(&mut |name, command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("\n  exm "), "{name} has no example");
        });
    }

    /// The heading of a flattened group also applies to the options declared after it.
    #[test]
    fn options_stand_under_headings_of_their_own() {
        let headings = [
            (&["json", "quiet", "plain", "meters", "log"][..], Some("Output")),
            (&["key_file", "key_env", "key_stdin", "new_key"], Some("Key")),
            (&["risk", "ewma", "mtu"], Some("Sprout")),
            (&["bind", "port"], Some("Server")),
            (&["threads", "help", "version", "out", "output", "network", "private"], None),
            (&["routes", "names", "server", "to", "bench", "forward"], None),
        ];
        // The log of a design is one of its files, an import chooses packets by these, and a client's key is an output.
        let others = [
            ("exm design", "log"),
            ("exm trace import", "port"),
            ("exm trace import", "mtu"),
            ("exm tunnel clients add", "key_file"),
        ];
        each(&mut |name, command| {
            for argument in command.get_arguments() {
                let id = argument.get_id().as_str();
                let known = headings.iter().find(|(ids, _)| ids.contains(&id));
                let heading = argument.get_help_heading();
                if let (Some((_, expected)), false) = (known, others.contains(&(name, id))) {
                    assert_eq!(heading, *expected, "--{id} of {name}");
                }
                assert!(!argument.is_positional() || heading.is_none(), "{id} of {name}");
            }
        });
    }

    #[test]
    fn one_thing_has_one_name() {
        let old = ["for", "skip", "output", "fresh"];
        let values = ["SPAN", "CHANCE"];
        each(&mut |name, command| {
            for argument in command.get_arguments() {
                let long = argument.get_long().unwrap_or_default();
                assert!(!old.contains(&long), "--{long} of {name}");
                assert!(
                    long != "out" || argument.get_short() == Some('o'),
                    "--out of {name} has no short form"
                );
                for value in argument.get_value_names().into_iter().flatten() {
                    assert!(!values.iter().any(|old| value.contains(old)), "{value} of {name}");
                }
            }
        });
    }

    #[test]
    fn old_names_are_still_understood() {
        for words in [
            "exm sprout listen --key-file k",
            "exm sprout bench --here --for 3s --skip 1s",
            "exm trace generate lte --for 3s --output t",
            "exm design m.toml --output c.json",
            "exm experiment run thesis-3-4 --fresh",
        ] {
            let parsed = Cli::definition().try_get_matches_from(words.split(' '));
            assert!(parsed.is_ok(), "{words}: {}", parsed.unwrap_err());
        }
    }
}
