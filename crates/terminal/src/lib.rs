#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | type | what it is |
//! |---|---|
//! | [`Terminal`] | consumes the output of programs, and answers their queries |
//! | [`Screen`] | what a terminal shows, and the modes that determine what its keys and mouse send |
//! | [`Row`], [`Cell`], [`Style`] | what a screen consists of |
//! | [`Scrolled`] | rows that have scrolled off, if they are kept |
//! | [`update`], [`Features`] | the bytes that turn one screen into another |
//! | [`picture`] | a screen as SVG |
//!
//! # Limits
//!
//! Whatever bytes arrive, memory is bounded and nothing panics: a screen has at most [`Size::MAX`] columns and rows,
//! a cell holds at most [`Cell::MAX_MARKS`] combining characters, titles have at most [`MAX_TITLE`] characters, OSC
//! strings at most [`MAX_OSC`] bytes, a screen has at most [`MAX_LINKS`] different hyperlinks, and at most
//! [`MAX_ANSWERS`] bytes of answers wait for the host.
//!
//! Sources: ECMA-48, fifth edition; the control sequences that xterm documents (`ctlseqs`); DEC's VT220 and VT510
//! manuals for the sequences whose names begin with DEC.

mod cell;
mod emulation;
mod links;
mod modes;
mod picture;
mod row;
mod screen;
mod scrolled;
mod style;
mod terminal;
#[cfg(test)]
mod testing;
mod update;

pub use cell::Cell;
pub use emulation::{MAX_ANSWERS, MAX_TITLE};
pub use links::{Link, MAX_LINKS};
pub use modes::{CursorShape, Modes, MouseEncoding, MouseMode};
pub use picture::picture;
pub use row::Row;
pub use screen::{Position, Screen, Size};
pub use scrolled::Scrolled;
pub use style::{Attributes, Colour, Style, Underline};
pub use terminal::{MAX_OSC, Terminal};
pub use update::{Features, update};
