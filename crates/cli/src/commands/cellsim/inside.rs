//! The program inside the link: a command or a shell.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::Command;

/// The default shell.
const SHELL: &str = "/bin/sh";

/// The program inside the link.
pub(super) struct Inside {
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    /// Whether it is an interactive shell.
    pub(super) is_interactive: bool,
}

impl Inside {
    /// The program of `command`, or the user's shell if that is empty, which reads commands from a terminal
    /// or a script from anything else.
    pub(super) fn new(command: &[OsString]) -> Inside {
        if !command.is_empty() {
            return Inside { words: command.to_vec(), is_interactive: false };
        }
        let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
        let words = vec![shell.unwrap_or_else(|| SHELL.into())];
        Inside { words, is_interactive: io::stdin().is_terminal() }
    }

    /// The command to start.
    pub(super) fn command(&self) -> Command {
        let (program, arguments) = self.words.split_first().expect("it has a program");
        let mut command = Command::new(program);
        // A key is for the program that it was given to.
        command.args(arguments).env_remove(crate::sessions::KEY);
        if let (true, Some((name, value))) = (self.is_interactive, prompt(program)) {
            command.env(name, value);
        }
        command
    }
}

/// The environment variable that makes the prompt of `shell` show that it is inside, and its value. A shell's
/// start files may set another prompt; for bash the final one is changed.
fn prompt(shell: &OsStr) -> Option<(&'static str, &'static str)> {
    match Path::new(shell).file_name()?.to_str()? {
        "bash" => Some(("PROMPT_COMMAND", r#"unset PROMPT_COMMAND; PS1="[cellsim] $PS1""#)),
        "zsh" => Some(("PS1", "[cellsim] %m%# ")),
        "sh" | "dash" | "ash" | "ksh" | "mksh" => Some(("PS1", "[cellsim] $ ")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_show_that_they_are_inside() {
        for shell in ["/bin/bash", "bash", "/usr/bin/zsh", "/bin/sh", "dash"] {
            assert!(prompt(OsStr::new(shell)).unwrap().1.contains("[cellsim] "), "{shell}");
        }
        assert!(prompt(OsStr::new("/usr/bin/fish")).is_none());
        let given = Inside::new(&["bash".into(), "-i".into()]);
        assert!(!given.is_interactive && given.words.len() == 2);
    }
}
