//! [`Shown`]: what the server's terminal shows, as a state of SSP.

use exm_ssp::{DiffError, HostEvent, State, WindowSize, decode_host, encode_host};
use exm_terminal::{Cell, Features, Screen, Size, Terminal};

/// The size of both ends' terminals before the client tells its own.
const INITIAL: (usize, usize) = (80, 24);

/// What the server's terminal shows, and what it is an answer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The screen.
    pub screen: Screen,
    /// The newest frame of the client's keys whose effects the screen shows, as far as programs answer within 50 ms.
    pub echoed: u64,
    /// Changes when the client is asked for a sign of life: it acknowledges every change soon.
    pub asked: u64,
    /// Whether the client shows what mosh's does not. Mosh's server does not know.
    pub styles: bool,
}

impl Shown {
    /// What differences may contain.
    fn features(&self) -> Features {
        if self.styles { Features::STYLES } else { Features::MOSH }
    }
}

impl Default for Shown {
    /// A blank terminal of 80 columns and 24 rows: the initial state.
    fn default() -> Shown {
        let screen = Screen::new(Size::new(INITIAL.0, INITIAL.1));
        Shown { screen, echoed: 0, asked: 0, styles: false }
    }
}

pub(crate) fn cells(size: WindowSize) -> Size {
    Size::new(size.width.into(), size.height.into())
}

pub(crate) fn window_size(size: Size) -> WindowSize {
    let number = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
    WindowSize { width: number(size.columns()), height: number(size.rows()) }
}

/// Whether `screen` has nothing that mosh does not show.
fn is_plain(screen: &Screen) -> bool {
    let blank = Screen::new(screen.size());
    let write = |features: Features| features.update(&blank, screen, true);
    write(Features::MOSH) == write(Features::STYLES)
}

impl State for Shown {
    fn diff_from(&self, base: &Shown) -> Vec<u8> {
        let mut events = Vec::new();
        if self.echoed != base.echoed || self.asked != base.asked {
            events.push(HostEvent::EchoAck(self.echoed));
        }
        if self.screen.size() != base.screen.size() {
            events.push(HostEvent::Resize(window_size(self.screen.size())));
        }
        // What was sent without styles may look different.
        let is_known = self.styles == base.styles || is_plain(&base.screen);
        let bytes = self.features().update(&base.screen, &self.screen, is_known);
        if !bytes.is_empty() {
            events.push(HostEvent::Bytes(bytes));
        }
        if events.is_empty() { Vec::new() } else { encode_host(&events) }
    }

    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError> {
        for event in decode_host(diff)? {
            match event {
                HostEvent::EchoAck(number) => self.echoed = number.max(self.echoed),
                HostEvent::Resize(size) => {
                    let mut terminal = Terminal::showing(self.screen.clone());
                    terminal.resize(cells(size));
                    self.screen = terminal.screen().clone();
                }
                HostEvent::Bytes(bytes) => {
                    let mut terminal = Terminal::showing(self.screen.clone());
                    terminal.advance(&bytes);
                    self.screen = terminal.screen().clone();
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn initial_diff(&self) -> Vec<u8> {
        self.diff_from(&Shown::default())
    }

    fn weight(&self) -> usize {
        let size = self.screen.size();
        size.columns() * size.rows() * size_of::<Cell>()
    }
}
