//! What the commands over sessions share: where servers are and who may talk to them, how a session
//! works, and how it is shown.

mod display;
mod flags;
mod history;
mod screen;

pub(crate) use display::{Display, DisplayFlags, Moment, View, carry, code_of};
pub(crate) use flags::{KeyFlags, ServerFlags, SproutFlags, addresses, input, servers};
pub(crate) use screen::{Charts, draw_rates, draw_rtts, words};
