//! Carrying on with an errand, and nothing else.

use crate::sessions::{Charts, Display, carry, code_of};
use crate::shell::Failure;
use exm_session::{Errand, Session};
use std::process::ExitCode;

/// Carries on with `errand` until it is done or the user wants to end. The code is what the program
/// ends with.
pub(super) fn run<E: Errand>(
    mut session: Session,
    mut errand: E,
    display: Display<Charts>,
) -> Result<ExitCode, Failure> {
    Ok(code_of(carry(&mut session, &mut errand, display)?))
}
