//! [`History`]: the lines that have scrolled off the server's screen, and [`Feed`]: how the server sends them.

use crate::channels::{ChannelId, Channels, Event, Reason};
use exm_terminal::{Features, Row, Screen, Size, Terminal};
use exm_units::{Instant, Span};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most rows that wait at the server: when more scroll off, the oldest are not sent.
const MOST_WAITING: usize = 2000;
/// After so long without a change of the screen, lines are sent as fast as the path allows.
const QUIET: Span = Span::from_millis(250);
/// Until then, so many bytes a millisecond, and so many at once.
const FLOOD_RATE: u64 = 32;
const FLOOD_BURST: u64 = 16 << 10;
/// Rows stay in the terminal while more bytes wait in the channel: there the oldest can still be dropped.
const MOST_UNSENT: usize = 16 << 10;
/// The longest line in bytes.
const LONGEST: usize = 32 << 10;
/// The most bytes of all lines that a client keeps.
const MOST_BYTES: usize = 32 << 20;

/// A line of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// Output for a blank terminal of so many columns and one row.
    Row { columns: u16, output: Box<[u8]> },
    /// So many lines were not sent.
    Missing(u64),
}

impl Line {
    /// What is in `row`.
    fn of(row: Arc<Row>, features: Features) -> Line {
        let screen = Screen::of_row(row);
        let size = screen.size();
        let output = features.update(&Screen::new(size), &screen, true);
        if output.len() > LONGEST {
            return Line::Missing(1);
        }
        Line::Row { columns: size.columns() as u16, output: output.into() }
    }

    /// The bytes that it has on the channel: the columns, or 0; a length, or the number of missing lines; the output.
    fn encode(&self) -> Vec<u8> {
        let (columns, number, output) = match self {
            Line::Row { columns, output } => (*columns, output.len() as u64, &output[..]),
            Line::Missing(count) => (0, *count, &[][..]),
        };
        [&columns.to_be_bytes()[..], &number.to_be_bytes(), output].concat()
    }

    /// Takes a line off the front of `rest`; none if its end is missing. An error if it is malformed.
    fn take(rest: &mut &[u8]) -> Result<Option<Line>, ()> {
        let Some((columns, after)) = rest.split_first_chunk::<2>() else { return Ok(None) };
        let Some((number, after)) = after.split_first_chunk::<8>() else { return Ok(None) };
        let (columns, number) = (u16::from_be_bytes(*columns), u64::from_be_bytes(*number));
        if columns == 0 {
            *rest = after;
            return Ok(Some(Line::Missing(number)));
        }
        if usize::from(columns) > Size::MAX || number > LONGEST as u64 {
            return Err(());
        }
        let Some((output, after)) = after.split_at_checked(number as usize) else {
            return Ok(None);
        };
        *rest = after;
        Ok(Some(Line::Row { columns, output: output.into() }))
    }

    fn weight(&self) -> usize {
        let output = match self {
            Line::Row { output, .. } => output.len(),
            Line::Missing(_) => 0,
        };
        size_of::<Line>() + output
    }

    fn render(&self) -> Arc<Row> {
        let notice;
        let (columns, output) = match self {
            Line::Row { columns, output } => (usize::from(*columns), &output[..]),
            Line::Missing(count) => {
                notice = format!("\x1b[7m[{count} lines are missing]");
                (notice.len(), notice.as_bytes())
            }
        };
        let mut terminal = Terminal::new(Size::new(columns, 1));
        terminal.advance(output);
        terminal.screen().shared_row(0)
    }
}

/// The lines that have scrolled off the server's screen, as far as a client keeps them.
///
/// Lines have numbers, which do not change when older lines are dropped.
#[derive(Clone, Debug, Default)]
pub struct History {
    lines: VecDeque<Line>,
    /// The number of the first one.
    first: u64,
    limit: usize,
    bytes: usize,
    partial: Vec<u8>,
}

impl History {
    /// One that keeps at most `limit` lines.
    pub(crate) fn new(limit: usize) -> History {
        History { limit, ..History::default() }
    }

    /// How many lines are kept.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The number of the first line that is kept.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number after the last line's.
    pub fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    /// The line with this number, if it is kept. It has the width that the screen had. Where lines were not sent, it says how many.
    pub fn row(&self, number: u64) -> Option<Arc<Row>> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.lines.get(index).map(Line::render)
    }

    /// Adds what the server has sent. An error if it is malformed.
    fn add(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.partial.extend_from_slice(bytes);
        let whole = std::mem::take(&mut self.partial);
        let mut rest = &whole[..];
        while let Some(line) = Line::take(&mut rest)? {
            self.push(line);
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn push_row(&mut self, row: Arc<Row>) {
        self.push(Line::of(row, Features::STYLES));
    }

    fn push(&mut self, line: Line) {
        self.bytes += line.weight();
        self.lines.push_back(line);
        while self.lines.len() > self.limit || self.bytes > MOST_BYTES {
            let Some(line) = self.lines.pop_front() else { break };
            self.bytes -= line.weight();
            self.first += 1;
        }
    }

    /// Reads what has arrived on the channel.
    pub(crate) fn receive(&mut self, channels: &mut Channels) {
        while let Some(event) = channels.next_history_event() {
            if let Event::Data(id) = event {
                let bytes = channels.read(id, usize::MAX);
                if self.add(&bytes).is_err() {
                    channels.close(id, Reason::Failed("a line is malformed".to_owned()));
                }
            }
        }
    }
}

/// Sends the rows that scroll off a server's screen, once the client has asked for them.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    channel: Option<ChannelId>,
    /// When the screen has changed last.
    changed_at: Instant,
    /// What may be sent at once while the screen changes, and when that was computed.
    budget: (u64, Instant),
    /// Whether the budget is spent. Then it is saved up, so that what is sent of a flood is some whole pages, and not every
    /// twentieth line.
    is_saving: bool,
    wake: Instant,
}

impl Feed {
    pub(crate) fn new(now: Instant) -> Feed {
        Feed {
            channel: None,
            changed_at: now,
            budget: (FLOOD_BURST, now),
            is_saving: false,
            wake: Instant::MAX,
        }
    }

    /// Processes what the client has said.
    pub(crate) fn receive(&mut self, channels: &mut Channels, terminal: &mut Terminal) {
        while let Some(event) = channels.next_history_event() {
            match event {
                Event::Opened(id, _) if self.channel.is_none() => {
                    channels.accept(id);
                    self.channel = Some(id);
                    terminal.keep_scrolled(MOST_WAITING);
                }
                Event::Opened(id, _) => channels.refuse(id, Reason::TooMany),
                // Nothing is expected.
                Event::Data(id) => drop(channels.read(id, usize::MAX)),
                Event::Closed(id, _) if self.channel == Some(id) => {
                    self.channel = None;
                    terminal.keep_scrolled(0);
                }
                _ => {}
            }
        }
    }

    /// Writes rows to the channel: as many as fit, but few while the screen changes.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        has_changed: bool,
        channels: &mut Channels,
        terminal: &mut Terminal,
    ) {
        if has_changed {
            self.changed_at = now;
        }
        self.wake = Instant::MAX;
        let Some(id) = self.channel else { return };
        let styles = channels.granted().is_some_and(|granted| granted.styles);
        let features = if styles { Features::STYLES } else { Features::MOSH };
        let is_quiet = now.saturating_since(self.changed_at) >= QUIET;
        self.refill(now);
        let room = |channels: &Channels| channels.unsent(id) < MOST_UNSENT;
        while room(channels)
            && let Some(row) = terminal.scrolled().first()
        {
            if !is_quiet && self.is_saving {
                self.wake = self.changed_at.saturating_add(QUIET);
                self.wake = self.wake.min(now.saturating_add(QUIET / 4));
                return;
            }
            let mut record = Line::of(Arc::clone(row), features).encode();
            let missing = terminal.scrolled().take_missing();
            if missing > 0 {
                record = [Line::Missing(missing).encode(), record].concat();
            }
            terminal.scrolled().pop();
            self.budget.0 = self.budget.0.saturating_sub(record.len() as u64);
            self.is_saving |= self.budget.0 == 0;
            // A line fits beside what is unsent, or the channel is closed.
            channels.write(id, &record);
        }
    }

    fn refill(&mut self, now: Instant) {
        let (budget, at) = self.budget;
        let millis = now.saturating_since(at).as_nanos() / 1_000_000;
        if millis > 0 {
            let more = millis.saturating_mul(FLOOD_RATE);
            self.budget = (budget.saturating_add(more).min(FLOOD_BURST), now);
            self.is_saving &= self.budget.0 < FLOOD_BURST / 2;
        }
    }

    /// When to call [`Feed::update`] next.
    pub(crate) fn next_wake(&self) -> Instant {
        self.wake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(output: &str) -> Arc<Row> {
        let mut terminal = Terminal::new(Size::new(20, 1));
        terminal.advance(output.as_bytes());
        terminal.screen().shared_row(0)
    }

    #[test]
    fn lines_come_back_with_their_styles() {
        for output in ["", "plain", "a\x1b[31;1mred\x1b[0m b", "漢字 e\u{301}", "\x1b[44m\x1b[K"]
        {
            let mut history = History::new(9);
            let bytes = Line::of(row(output), Features::STYLES).encode();
            for byte in bytes {
                history.add(&[byte]).expect("well-formed");
            }
            assert_eq!(history.row(0), Some(row(output)), "{output:?}");
            assert_eq!((history.len(), history.end(), history.row(1)), (1, 1, None));
        }
    }

    #[test]
    fn the_oldest_lines_are_dropped() {
        let mut history = History::new(3);
        for number in 0..10 {
            history
                .add(&Line::of(row(&number.to_string()), Features::STYLES).encode())
                .expect("well-formed");
        }
        history.add(&Line::Missing(77).encode()).expect("well-formed");
        assert_eq!((history.first(), history.end(), history.row(7)), (8, 11, None));
        assert_eq!(history.row(9), Some(row("9")));
        assert_eq!(history.row(10).map(|row| row.text().contains("77 lines")), Some(true));
    }

    #[test]
    fn malformed_lines_are_refused() {
        let add = |bytes: &[u8]| History::new(9).add(bytes);
        assert_eq!(add(&[0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Err(()));
        assert_eq!(add(&[0, 80, 1, 0, 0, 0, 0, 0, 0, 0]), Err(()));
        assert_eq!(add(&[0, 80, 0, 0, 0, 0, 0, 0, 1, 0]), Ok(()), "the rest may follow");
    }
}
