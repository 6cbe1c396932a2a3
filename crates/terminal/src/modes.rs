//! [`Modes`]: what programs switch on and off.

/// Which events of the mouse a terminal reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseMode {
    /// None.
    #[default]
    Off,
    /// DECSET 9: presses of buttons.
    X10,
    /// DECSET 1000: presses and releases.
    Normal,
    /// DECSET 1002: also motion while a button is pressed.
    ButtonMotion,
    /// DECSET 1003: all motion.
    AnyMotion,
}

impl MouseMode {
    /// The number of the private mode, if one is on.
    pub fn number(self) -> Option<u16> {
        match self {
            MouseMode::Off => None,
            MouseMode::X10 => Some(9),
            MouseMode::Normal => Some(1000),
            MouseMode::ButtonMotion => Some(1002),
            MouseMode::AnyMotion => Some(1003),
        }
    }
}

/// How a terminal encodes the positions of mouse events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseEncoding {
    /// One byte a coordinate.
    #[default]
    Bytes,
    /// DECSET 1005: UTF-8.
    Utf8,
    /// DECSET 1006: decimal numbers.
    Sgr,
    /// DECSET 1015: decimal numbers, as rxvt-unicode writes them.
    Urxvt,
}

impl MouseEncoding {
    /// The number of the private mode, if one is on.
    pub fn number(self) -> Option<u16> {
        match self {
            MouseEncoding::Bytes => None,
            MouseEncoding::Utf8 => Some(1005),
            MouseEncoding::Sgr => Some(1006),
            MouseEncoding::Urxvt => Some(1015),
        }
    }
}

/// The shape of the cursor (DECSCUSR).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CursorShape(u8);

impl CursorShape {
    /// The shape of DECSCUSR's parameter: 0 for the terminal's default, 1 and 2 for a block, 3 and 4 for an
    /// underline, 5 and 6 for a bar; odd ones blink. `None` for other numbers.
    pub fn new(parameter: u16) -> Option<CursorShape> {
        u8::try_from(parameter).ok().filter(|parameter| *parameter <= 6).map(CursorShape)
    }

    /// DECSCUSR's parameter.
    pub fn parameter(self) -> u8 {
        self.0
    }
}

/// The modes of a terminal that its user can see, or that determine what keys, mouse and paste send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Modes {
    /// DECSCNM: the whole screen exchanges its default colours.
    pub reverse_video: bool,
    /// DECTCEM: the cursor is shown.
    pub cursor_visible: bool,
    /// DECSCUSR.
    pub cursor_shape: CursorShape,
    /// DECSET 2004: pasted text is enclosed in brackets.
    pub bracketed_paste: bool,
    /// Which mouse events are reported.
    pub mouse: MouseMode,
    /// How they are encoded.
    pub mouse_encoding: MouseEncoding,
    /// DECSET 1004: gain and loss of focus are reported.
    pub focus_events: bool,
    /// DECCKM: arrow keys send SS3 in place of CSI. Updates do not contain it: who sends keys translates them.
    pub application_cursor: bool,
    /// DECKPAM: the keypad sends sequences of its own. Updates do not contain it.
    pub application_keypad: bool,
    /// The alternate screen is shown.
    pub alternate_screen: bool,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            reverse_video: false,
            cursor_visible: true,
            cursor_shape: CursorShape::default(),
            bracketed_paste: false,
            mouse: MouseMode::Off,
            mouse_encoding: MouseEncoding::Bytes,
            focus_events: false,
            application_cursor: false,
            application_keypad: false,
            alternate_screen: false,
        }
    }
}
