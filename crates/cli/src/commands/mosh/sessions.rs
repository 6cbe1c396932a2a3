//! The sessions of a user on this machine.

use crate::shell::{Failure, Printing, print};
use exm_mosh::net::{Session, Sessions};
use serde::Serialize;
use std::fmt::{Display, Formatter, Result as Formatted};
use std::process::ExitCode;

/// Nobody is at a session whose client is silent for so many seconds: clients send every 3 s.
const ALONE: u64 = 30;

#[derive(Serialize)]
struct List {
    sessions: Vec<Session>,
}

impl Display for List {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        if self.sessions.is_empty() {
            return writeln!(f, "There are no sessions.");
        }
        writeln!(f, "{:>8}  {:>10}  {:24}  PROGRAM", "SESSION", "AGE", "CLIENT")?;
        for session in &self.sessions {
            let (id, age) = (session.id, duration(session.age));
            writeln!(f, "{id:>8}  {age:>10}  {:24}  {}", client(session), session.program)?;
        }
        Ok(())
    }
}

/// Where the client of `session` is.
fn client(session: &Session) -> String {
    match (session.client, session.silence) {
        (Some(client), Some(silence)) if silence >= ALONE => {
            format!("{client}, {} ago", duration(silence))
        }
        (Some(client), _) => client.to_string(),
        (None, _) => "none".to_owned(),
    }
}

/// `seconds` as people say it.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Prints all.
pub(super) fn list(printing: Printing) -> Result<ExitCode, Failure> {
    printing.print(&List { sessions: Sessions::of_user()?.all()? })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what a new client needs to take over the session `id`, or the one that is meant.
pub(super) fn attach(id: Option<u32>) -> Result<ExitCode, Failure> {
    let sessions = Sessions::of_user()?;
    let id = match id {
        Some(id) => id,
        None => meant(&sessions.all()?)?,
    };
    let attachment = sessions.attach(id).map_err(|error| {
        Failure::new(format!("cannot attach to session {id}: {error}"))
            .with_tip("\"exm mosh-server list\" prints the sessions")
    })?;
    print(&format!("\nMOSH CONNECT {} {}\n", attachment.port, attachment.key))?;
    Ok(ExitCode::SUCCESS)
}

/// The session that somebody means who names none: the only one, or the only one that nobody is at.
fn meant(sessions: &[Session]) -> Result<u32, Failure> {
    let is_alone = |session: &&Session| session.silence.is_none_or(|silence| silence >= ALONE);
    let alone: Vec<&Session> = sessions.iter().filter(is_alone).collect();
    match (sessions, alone.as_slice()) {
        ([], _) => Err(Failure::new("there are no sessions to attach to")),
        ([session], _) => Ok(session.id),
        (_, [session]) => Ok(session.id),
        _ => {
            let each = |session: &Session| {
                format!("{} ({}, client {})", session.id, session.program, client(session))
            };
            let all: Vec<String> = sessions.iter().map(each).collect();
            Err(Failure::new(format!("there are several sessions: {}", all.join(", ")))
                .with_tip("give the number of one"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: u32, silence: Option<u64>) -> Session {
        let client = silence.map(|_| [192, 0, 2, 1].into());
        Session { id, program: "bash".to_owned(), age: 7300, client, silence }
    }

    #[test]
    fn the_only_session_is_meant_or_the_only_one_that_nobody_is_at() {
        let of = |sessions: &[Session]| meant(sessions).ok();
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[session(7, Some(1))]), Some(7));
        assert_eq!(of(&[session(7, Some(1)), session(8, Some(60))]), Some(8));
        assert_eq!(of(&[session(7, Some(1)), session(8, None)]), Some(8));
        assert_eq!(of(&[session(7, Some(99)), session(8, Some(60))]), None);
        assert_eq!(of(&[session(7, Some(1)), session(8, Some(2))]), None);
    }

    #[test]
    fn a_list_is_a_table() {
        let sessions = vec![session(7, Some(1)), session(4321, Some(240)), session(9, None)];
        let expected = " SESSION         AGE  CLIENT                    PROGRAM
       7         2 h  192.0.2.1                 bash
    4321         2 h  192.0.2.1, 4 min ago      bash
       9         2 h  none                      bash
";
        assert_eq!(List { sessions }.to_string(), expected);
    }
}
