//! [`Style`]: colours and attributes of a cell.

/// A colour of text or of its background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The terminal's default.
    #[default]
    Default,
    /// An entry of the palette: 0 to 7 are the ANSI colours, 8 to 15 their bright versions.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// The kind of line below a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Underline {
    /// No line.
    #[default]
    None = 0,
    /// A straight line.
    Single = 1,
    /// Two straight lines.
    Double = 2,
    /// A curly line, which editors use for errors.
    Curly = 3,
    /// A dotted line.
    Dotted = 4,
    /// A dashed line.
    Dashed = 5,
}

/// A set of attributes that are on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(u8);

impl Attributes {
    /// No attribute.
    pub const NONE: Attributes = Attributes(0);
    /// SGR 1.
    pub const BOLD: Attributes = Attributes(1);
    /// SGR 2.
    pub const FAINT: Attributes = Attributes(1 << 1);
    /// SGR 3.
    pub const ITALIC: Attributes = Attributes(1 << 2);
    /// SGR 5.
    pub const BLINK: Attributes = Attributes(1 << 3);
    /// SGR 7: text and background exchange their colours.
    pub const INVERSE: Attributes = Attributes(1 << 4);
    /// SGR 8.
    pub const INVISIBLE: Attributes = Attributes(1 << 5);
    /// SGR 9.
    pub const STRIKE: Attributes = Attributes(1 << 6);

    /// Each attribute with the parameter of SGR that sets it.
    pub(crate) const ALL: [(Attributes, u8); 7] = [
        (Attributes::BOLD, 1),
        (Attributes::FAINT, 2),
        (Attributes::ITALIC, 3),
        (Attributes::BLINK, 5),
        (Attributes::INVERSE, 7),
        (Attributes::INVISIBLE, 8),
        (Attributes::STRIKE, 9),
    ];

    /// Whether all `others` are set.
    pub fn contains(self, others: Attributes) -> bool {
        self.0 & others.0 == others.0
    }

    /// This set and `others`.
    #[must_use]
    pub fn with(self, others: Attributes) -> Attributes {
        Attributes(self.0 | others.0)
    }

    /// This set without `others`.
    #[must_use]
    pub fn without(self, others: Attributes) -> Attributes {
        Attributes(self.0 & !others.0)
    }
}

/// Colours, attributes and hyperlink of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colour of the text.
    pub foreground: Colour,
    /// The colour of the background.
    pub background: Colour,
    /// The line below the text.
    pub underline: Underline,
    /// What else is set.
    pub attributes: Attributes,
    /// The number of the hyperlink in its screen, see [`crate::Screen::link`]; 0 for none.
    pub link: u16,
}

impl Style {
    /// The style of a cell that is erased while this style is current: only the background is kept
    /// ("background colour erase").
    #[must_use]
    pub fn erased(&self) -> Style {
        Style { background: self.background, ..Style::default() }
    }

    /// A few bits that differ between most styles that differ, for hashes.
    pub(crate) fn fingerprint(&self) -> u64 {
        let bits = |colour: Colour| match colour {
            Colour::Default => 0,
            Colour::Indexed(index) => 1 << 24 | u64::from(index),
            Colour::Rgb(red, green, blue) => {
                2 << 24 | u64::from(u32::from_be_bytes([0, red, green, blue]))
            }
        };
        let attributes = u64::from(self.attributes.0) << 3 | self.underline as u64;
        bits(self.foreground) << 29 ^ bits(self.background) << 37 ^ attributes << 53
    }
}
