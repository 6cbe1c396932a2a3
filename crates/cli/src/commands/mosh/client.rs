//! `exm mosh-client`: shows a session of a server that roams.

use crate::interrupt;
use crate::shell::{Failure, print};
use exm_datagram::{Key, KeyError};
use exm_mosh::net::{Ended, NetError, UserTerminal};
use exm_os::{Signals, keep_memory_private, release_code, take_variable};
use exm_predict::Display;
use std::fs::File;
use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

pub(super) const KEY: &str = "MOSH_KEY";
pub(super) const PREDICTIONS: &str = "MOSH_PREDICTION_DISPLAY";
pub(super) const OVERWRITE: &str = "MOSH_PREDICTION_OVERWRITE";
const ESCAPE: &str = "MOSH_ESCAPE_KEY";
const NO_PREFIX: &str = "MOSH_TITLE_NOPREFIX";
pub(super) const NO_INIT: &str = "MOSH_NO_TERM_INIT";
/// What the titles of windows begin with.
const TITLE_PREFIX: &str = "[mosh] ";

const EXAMPLES: &str = "\
The server printed the port and the key. The key is read from MOSH_KEY, which is then unset. MOSH_PREDICTION_DISPLAY says when predictions
are shown (adaptive, always, never, experimental); with MOSH_PREDICTION_OVERWRITE=yes they overwrite the text under the
cursor; MOSH_ESCAPE_KEY is another key than Ctrl-^ for commands, or empty for none; with MOSH_NO_TERM_INIT the alternate screen is not used;
with MOSH_TITLE_NOPREFIX the window's title does not begin with \"[mosh] \".
Ctrl-^ and a full stop leave the session, Ctrl-^ and Ctrl-Z suspend it. Servers of Mosh 1.4 are understood, too.

Examples:
  exm mosh-client 192.0.2.1 60001
  exm mosh-client -c";

/// Show a session of a server that \"exm mosh-server\" or mosh-server started
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print how many colours the terminal has, and do nothing else
    #[arg(short = 'c')]
    colors: bool,
    /// The server's address
    #[arg(value_name = "ADDRESS", required_unless_present = "colors")]
    address: Option<IpAddr>,
    /// Its port
    #[arg(value_name = "PORT", required_unless_present = "colors")]
    server_port: Option<u16>,
    /// Accepted for mosh's sake
    #[arg(short = 'v', hide = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Accepted for mosh's sake
    #[arg(short = '#', hide = true, value_name = "TEXT")]
    shown: Option<String>,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (Some(address), Some(port)) = (self.address, self.server_port) else {
            print(&format!("{}\n", colours()))?;
            return Ok(ExitCode::SUCCESS);
        };
        let text = take_variable(KEY);
        let key = Key::from_variable(KEY, text.as_deref().map(OsStrExt::as_bytes));
        let key = key.map_err(|error| match error {
            KeyError::Malformed { place } => Failure::new(format!("{place} holds no key"))
                .with_tip("give the 22 characters that the server printed after the port"),
            error => error.into(),
        })?;
        show(&[SocketAddr::new(address, port)], &key, &user_terminal()?)
    }
}

/// How many colours this process's terminal has.
pub(super) fn colours() -> u32 {
    let terminal = std::env::var("TERM").unwrap_or_default();
    let is_true = std::env::var_os("COLORTERM").is_some();
    match terminal.as_str() {
        "" | "dumb" => 0,
        name if is_true || name.contains("256color") || name.contains("direct") => 256,
        _ => 8,
    }
}

/// How sessions are shown, by the environment.
pub(super) fn user_terminal() -> Result<UserTerminal, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let display = match variable(PREDICTIONS).as_deref() {
        None => Display::Adaptive,
        Some(text) => display(text).ok_or_else(|| {
            let problem = format!("{PREDICTIONS} is {text:?}");
            Failure::usage(problem).with_tip("give adaptive, always, never or experimental")
        })?,
    };
    let overwrites = variable(OVERWRITE).as_deref() == Some("yes");
    let escape = match variable(ESCAPE) {
        None => Some(0x1e),
        Some(text) => escape_key(&text)?,
    };
    Ok(UserTerminal {
        predictions: (display, overwrites),
        escape,
        alternate_screen: std::env::var_os(NO_INIT).is_none(),
        titles: Some(
            if std::env::var_os(NO_PREFIX).is_some() { "" } else { TITLE_PREFIX }.to_owned(),
        ),
        styles: has_styles(&variable("TERM").unwrap_or_default()),
        ..UserTerminal::default()
    })
}

/// Whether the kind of terminal called `name` ignores what it does not know, and may so be sent any style.
fn has_styles(name: &str) -> bool {
    !matches!(name, "" | "dumb") && !name.starts_with("linux") && !name.starts_with("vt")
}

/// What the setting is called.
pub(super) fn display_name(display: Display) -> &'static str {
    match display {
        Display::Adaptive => "adaptive",
        Display::Always => "always",
        Display::Never => "never",
        Display::Experimental => "experimental",
    }
}

/// The setting called `text`.
pub(super) fn display(text: &str) -> Option<Display> {
    [Display::Adaptive, Display::Always, Display::Never, Display::Experimental]
        .into_iter()
        .find(|display| display_name(*display) == text)
}

/// The key `text`, one character; none if it is empty. Keys that users need otherwise are refused.
fn escape_key(text: &str) -> Result<Option<u8>, Failure> {
    match text.as_bytes() {
        [] => Ok(None),
        [key @ 0x01..=0x7e] if !b"\x03\x04\x0a\x0c\x0d".contains(key) => Ok(Some(*key)),
        _ => Err(Failure::usage(format!("{ESCAPE} is {text:?}")).with_tip(
            "give one character of ASCII, but not ^C, ^D, ^J, ^L or ^M; or nothing, for no commands",
        )),
    }
}

/// Shows the session of the server at `servers` on this process's terminal until it ends.
pub(super) fn show(
    servers: &[SocketAddr],
    key: &Key,
    terminal: &UserTerminal,
) -> Result<ExitCode, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::new("a session is shown on a terminal, and this is none")
            .with_tip("run it without redirecting its input or output"));
    }
    keep_memory_private();
    release_code();
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let file = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from);
    let (mut input, mut output) =
        (file(std::io::stdin().as_fd())?, file(std::io::stdout().as_fd())?);
    let ended = terminal.show(servers, key, (&mut input, &mut output), &signals);
    match ended {
        Ok(Ended::ByServer | Ended::ByUser) => {
            print("[mosh is exiting.]\n")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error @ NetError::Unanswered { .. }) => Err(Failure::from(error).with_tip(
            "see that UDP reaches that port, and that the server has not ended: it waits for a minute",
        )),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_keys_leave_others_alone() {
        for (text, key) in [("", None), ("\x1e", Some(0x1e)), ("~", Some(b'~'))] {
            assert_eq!(escape_key(text).ok(), Some(key), "{text:?}");
        }
        for text in ["\x03", "\r", "ab", "é"] {
            assert!(escape_key(text).is_err(), "{text:?}");
        }
    }
}
