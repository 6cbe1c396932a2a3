//! SGR: colours and attributes.

use super::Emulation;
use crate::style::{Attributes, Colour, Style, Underline};

impl Emulation {
    /// SGR with these parameters, whose parts are separated by colons.
    pub(crate) fn select_graphic_rendition<'a>(
        &mut self,
        mut params: impl Iterator<Item = &'a [u16]>,
    ) {
        let pen = &mut self.screen.pen;
        while let Some(param) = params.next() {
            match param {
                [38, ..] => pen.foreground = colour(param, &mut params).unwrap_or(pen.foreground),
                [48, ..] => pen.background = colour(param, &mut params).unwrap_or(pen.background),
                // The underline's own colour is not kept, but its parameters are no attributes.
                [58, ..] => _ = colour(param, &mut params),
                [4, kind] => pen.underline = underline(*kind).unwrap_or(pen.underline),
                [code, ..] => set(pen, *code),
                [] => {}
            }
        }
    }
}

/// Applies a parameter that stands alone.
fn set(pen: &mut Style, code: u16) {
    let off = match code {
        0 => {
            *pen = Style { link: pen.link, ..Style::default() };
            return;
        }
        4 => return pen.underline = Underline::Single,
        21 => return pen.underline = Underline::Double,
        24 => return pen.underline = Underline::None,
        22 => Attributes::BOLD.with(Attributes::FAINT),
        23 => Attributes::ITALIC,
        25 => Attributes::BLINK,
        27 => Attributes::INVERSE,
        28 => Attributes::INVISIBLE,
        29 => Attributes::STRIKE,
        30..=37 | 90..=97 | 39 => return pen.foreground = ansi_colour(code),
        40..=47 | 100..=107 | 49 => return pen.background = ansi_colour(code - 10),
        _ => Attributes::NONE,
    };
    pen.attributes = pen.attributes.without(off);
    let on = Attributes::ALL.iter().find(|(_, number)| u16::from(*number) == code);
    // Rapid blinking is blinking.
    let on = on.map(|(attribute, _)| *attribute).or((code == 6).then_some(Attributes::BLINK));
    pen.attributes = pen.attributes.with(on.unwrap_or_default());
}

/// The colour of the parameters 30 to 37, 39, and 90 to 97.
fn ansi_colour(code: u16) -> Colour {
    match code {
        30..=37 => Colour::Indexed((code - 30) as u8),
        90..=97 => Colour::Indexed((code - 90 + 8) as u8),
        _ => Colour::Default,
    }
}

fn underline(kind: u16) -> Option<Underline> {
    Some(match kind {
        0 => Underline::None,
        1 => Underline::Single,
        2 => Underline::Double,
        3 => Underline::Curly,
        4 => Underline::Dotted,
        5 => Underline::Dashed,
        _ => return None,
    })
}

/// The colour that `param` begins: its parts follow after colons, or as parameters of their own.
fn colour<'a>(param: &[u16], following: &mut impl Iterator<Item = &'a [u16]>) -> Option<Colour> {
    match param {
        [_, 5, index] => Some(Colour::Indexed(u8::try_from(*index).ok()?)),
        // The colour space may be given, and may be empty.
        [_, 2, red, green, blue] | [_, 2, _, red, green, blue, ..] => rgb([*red, *green, *blue]),
        [_] => {
            let mut next = || following.next().and_then(|param| param.first().copied());
            match next()? {
                5 => Some(Colour::Indexed(u8::try_from(next()?).ok()?)),
                2 => rgb([next()?, next()?, next()?]),
                _ => None,
            }
        }
        _ => None,
    }
}

fn rgb(parts: [u16; 3]) -> Option<Colour> {
    let [red, green, blue] = parts.map(|part| u8::try_from(part).ok());
    Some(Colour::Rgb(red?, green?, blue?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;

    fn pen(codes: &str) -> Style {
        *shown(4, 2, &format!("\x1b[{codes}m")).screen().pen()
    }

    #[test]
    fn colours_have_many_forms() {
        assert_eq!(pen("31").foreground, Colour::Indexed(1));
        assert_eq!(pen("97;101").foreground, Colour::Indexed(15));
        assert_eq!(pen("97;101").background, Colour::Indexed(9));
        assert_eq!(pen("38;5;200").foreground, Colour::Indexed(200));
        assert_eq!(pen("38:5:200").foreground, Colour::Indexed(200));
        assert_eq!(pen("48;2;1;2;3").background, Colour::Rgb(1, 2, 3));
        assert_eq!(pen("48:2::1:2:3").background, Colour::Rgb(1, 2, 3));
        assert_eq!(pen("48:2:1:2:3").background, Colour::Rgb(1, 2, 3));
        assert_eq!(pen("31;39"), Style::default());
        // Wrong values change nothing, and what follows is not mistaken for attributes.
        assert_eq!(pen("38;5;999"), Style::default());
        assert_eq!(pen("58;5;1"), Style::default());
        assert_eq!(pen("58:2::1:4:7"), Style::default());
    }

    #[test]
    fn attributes_are_set_and_reset() {
        let all = pen("1;2;3;5;7;8;9");
        for (attribute, _) in Attributes::ALL {
            assert!(all.attributes.contains(attribute));
        }
        assert_eq!(pen("1;2;3;5;7;8;9;22;23;25;27;28;29"), Style::default());
        assert_eq!(pen("1;31;4;0"), Style::default());
        assert_eq!(pen("4:3").underline, Underline::Curly);
        assert_eq!(pen("21").underline, Underline::Double);
        assert_eq!(pen("4;24").underline, Underline::None);
    }
}
