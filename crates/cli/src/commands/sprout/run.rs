//! Runs an application over a session.

use crate::sessions::{Charts, Display, carry, code_of};
use crate::shell::Failure;
use exm_session::{Application, Session};
use std::process::ExitCode;

/// Runs `application` until it is done or the user ends it. Returns the exit code.
pub(super) fn run<E: Application>(
    mut session: Session,
    mut application: E,
    display: Display<Charts>,
) -> Result<ExitCode, Failure> {
    Ok(code_of(carry(&mut session, &mut application, display, &mut ())?))
}
