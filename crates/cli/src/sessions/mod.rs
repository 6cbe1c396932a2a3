//! What the commands over sessions share: options of servers, keys and Sprout, and the display.

mod display;
mod flags;
mod history;
mod screen;
mod view;

pub(crate) use display::{Aside, Display, DisplayFlags, carry, code_of};
pub(crate) use flags::{
    KEY, KeyFlags, ServerFlags, SproutFlags, addresses, input, servers, warn_of_readers,
};
pub(crate) use screen::{
    Charts, RECEIVED, SENT, Screen, draw_forecast, draw_rates, draw_rtts, words,
};
pub(crate) use view::{Moment, View};
