//! The shortest SGR from one style to another.

use std::io::Write;

use crate::style::{Attributes, Colour, Style, Underline};

/// Appends the SGR that changes a terminal's pen from `from` to `to`. Hyperlinks are not part of SGR.
pub(super) fn write_sgr(out: &mut Vec<u8>, from: &Style, to: &Style) {
    if (Style { link: 0, ..*from }) == (Style { link: 0, ..*to }) {
        return;
    }
    // A reset and all of the new style, or only the changes: whichever is shorter.
    let mut anew = Parameters::new();
    anew.push_changes(&Style::default(), to);
    let mut codes = anew.bytes;
    if !codes.is_empty() {
        codes.splice(0..0, *b"0;");
    }
    if removed(from, to) == Attributes::NONE {
        let mut changes = Parameters::new();
        changes.push_changes(from, to);
        if changes.bytes.len() < codes.len() {
            codes = changes.bytes;
        }
    }
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(&codes);
    out.push(b'm');
}

/// The attributes that `from` has and `to` lacks.
fn removed(from: &Style, to: &Style) -> Attributes {
    from.attributes.without(to.attributes)
}

/// Parameters separated by semicolons.
struct Parameters {
    bytes: Vec<u8>,
}

impl Parameters {
    fn new() -> Parameters {
        Parameters { bytes: Vec::with_capacity(32) }
    }

    fn push(&mut self, parameter: std::fmt::Arguments<'_>) {
        if !self.bytes.is_empty() {
            self.bytes.push(b';');
        }
        // Writing to a vector cannot fail.
        let _ = self.bytes.write_fmt(parameter);
    }

    /// Adds what changes `from` into `to`, where `to` has all attributes of `from`.
    fn push_changes(&mut self, from: &Style, to: &Style) {
        let added = to.attributes.without(from.attributes);
        for (_, code) in Attributes::ALL.iter().filter(|(attribute, _)| added.contains(*attribute))
        {
            self.push(format_args!("{code}"));
        }
        if from.underline != to.underline {
            match to.underline {
                Underline::None => self.push(format_args!("24")),
                Underline::Single => self.push(format_args!("4")),
                kind => self.push(format_args!("4:{}", kind as u8)),
            }
        }
        if from.foreground != to.foreground {
            self.push_colour(to.foreground, 30);
        }
        if from.background != to.background {
            self.push_colour(to.background, 40);
        }
    }

    /// Adds a colour. `base` is 30 for the foreground and 40 for the background.
    fn push_colour(&mut self, colour: Colour, base: u16) {
        match colour {
            Colour::Default => self.push(format_args!("{}", base + 9)),
            Colour::Indexed(index @ 0..8) => self.push(format_args!("{}", base + u16::from(index))),
            Colour::Indexed(index @ 8..16) => {
                self.push(format_args!("{}", base + 60 + u16::from(index - 8)));
            }
            Colour::Indexed(index) => self.push(format_args!("{};5;{index}", base + 8)),
            Colour::Rgb(red, green, blue) => {
                self.push(format_args!("{};2;{red};{green};{blue}", base + 8));
            }
        }
    }
}
