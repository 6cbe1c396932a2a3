//! [`Screen`]: meters on the whole terminal.

use super::output::{Output, Stream};
use super::reading::Reading;
use exm_emulator::Direction;
use exm_units::Instant;
use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time span of charts in seconds.
const SECONDS: f64 = 30.0;
/// The longest piece of a line that is read at once, in bytes.
const MAX_LINE: u64 = 1 << 16;

/// Meters on the whole terminal, which is restored when this is dropped.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    output: Arc<Mutex<Output>>,
    readers: Vec<JoinHandle<()>>,
    history: [History; 2],
    quitted: bool,
}

/// Rates by time, in seconds and Mbps.
#[derive(Default)]
struct History {
    offered: VecDeque<(f64, f64)>,
    carried: VecDeque<(f64, f64)>,
    capacity: VecDeque<(f64, f64)>,
}

impl Screen {
    /// Takes over the terminal.
    pub(super) fn new() -> io::Result<Screen> {
        Ok(Screen {
            terminal: ratatui::try_init()?,
            output: Arc::default(),
            readers: Vec::new(),
            history: Default::default(),
            quitted: false,
        })
    }

    /// Shows the lines read from `pipe`, if there is one. A line longer than [`MAX_LINE`] is shown and kept in
    /// pieces, so that a program that prints no line breaks takes no more memory than others.
    pub(super) fn follow(&mut self, stream: Stream, pipe: Option<impl Read + Send + 'static>) {
        let Some(pipe) = pipe else { return };
        let output = self.output.clone();
        // The thread ends with the program, at the latest with this process.
        self.readers.push(thread::spawn(move || {
            read_lines(pipe, |line| {
                output.lock().unwrap_or_else(PoisonError::into_inner).add(stream, line);
            });
        }));
    }

    /// Restores the terminal, and prints the output once the programs have ended. Returns how many lines were
    /// not kept.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        for reader in std::mem::take(&mut self.readers) {
            // A reader that panicked has nothing more to read.
            let _ = reader.join();
        }
        let output = self.output.clone();
        drop(self);
        let output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.print(&mut io::stdout().lock(), &mut io::stderr().lock())
    }

    /// Whether the user has asked to quit.
    pub(super) fn is_quitted(&self) -> bool {
        self.quitted
    }

    /// Draws the readings.
    pub(super) fn draw(&mut self, now: Instant, readings: [Reading; 2]) -> io::Result<()> {
        self.quitted |= is_quit()?;
        for (history, reading) in self.history.iter_mut().zip(&readings) {
            history.add(now.as_secs_f64(), reading);
        }
        let room = usize::from(self.terminal.size()?.height);
        let lines = self.output.lock().unwrap_or_else(PoisonError::into_inner).last(room);
        let history = &self.history;
        self.terminal.draw(|frame| {
            let rows = [Constraint::Fill(1), Constraint::Fill(1), Constraint::Fill(1)];
            let [up, down, output] = Layout::vertical(rows).areas(frame.area());
            for (direction, area) in Direction::BOTH.into_iter().zip([up, down]) {
                let place = direction as usize;
                history[place].draw(frame, area, direction, (now, &readings[place]));
            }
            draw_output(frame, output, &lines);
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Passes each line of `input` with its line break to `each`, in pieces of at most [`MAX_LINE`] bytes, until the
/// input ends or fails.
fn read_lines(input: impl Read, mut each: impl FnMut(&[u8])) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    while matches!(
        input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line),
        Ok(length) if length > 0
    ) {
        each(&line);
        line.clear();
    }
}

/// Whether the user has asked to quit.
fn is_quit() -> io::Result<bool> {
    let mut quit = false;
    while event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()? {
            let interrupt =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            quit |= interrupt || key.code == KeyCode::Char('q');
        }
    }
    Ok(quit)
}

impl History {
    fn add(&mut self, now: f64, reading: &Reading) {
        for (points, rate) in [
            (&mut self.offered, reading.offered),
            (&mut self.carried, reading.carried),
            (&mut self.capacity, reading.capacity),
        ] {
            points.push_back((now, rate.as_mbps()));
            while points.front().is_some_and(|&(time, _)| time < now - SECONDS) {
                points.pop_front();
            }
        }
    }

    fn draw(
        &self,
        frame: &mut Frame,
        area: Rect,
        direction: Direction,
        (now, reading): (Instant, &Reading),
    ) {
        let most = self.capacity.iter().chain(&self.carried).map(|&(_, rate)| rate);
        let most = most.fold(0.1, f64::max) * 1.1;
        let lines = [
            ("capacity", Color::DarkGray, &self.capacity),
            ("in", Color::Yellow, &self.offered),
            ("out", Color::Green, &self.carried),
        ];
        let points = lines.map(|(_, _, points)| points.iter().copied().collect::<Vec<_>>());
        let datasets = lines.iter().zip(&points).map(|((name, color, _), points)| {
            Dataset::default()
                .name(*name)
                .marker(Marker::Braille)
                .graph_type(GraphType::Line)
                .style(Style::default().fg(*color))
                .data(points)
        });
        let now = now.as_secs_f64();
        let title = format!(" {} {} ", direction.name(), reading.describe());
        let chart = Chart::new(datasets.collect())
            .block(Block::bordered().title(title))
            .x_axis(Axis::default().bounds([now - SECONDS, now]))
            .y_axis(
                Axis::default().bounds([0.0, most]).labels(["0".into(), format!("{most:.1} Mbps")]),
            );
        frame.render_widget(chart, area);
    }
}

fn draw_output(frame: &mut Frame, area: Rect, lines: &[String]) {
    let room = usize::from(area.height.saturating_sub(2));
    let last = lines.iter().skip(lines.len().saturating_sub(room));
    let lines: Vec<Line> = last.map(|line| Line::raw(line.as_str())).collect();
    let block = Block::bordered().title(" output; q ends it ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_read_in_pieces() {
        let endless = io::repeat(b'x').take(5 * MAX_LINE / 2);
        let mut pieces = Vec::new();
        read_lines(endless.chain(&b"\nlast"[..]), |piece| pieces.push(piece.len()));
        let whole = MAX_LINE as usize;
        assert_eq!(pieces, [whole, whole, whole / 2 + 1, 4]);
    }
}
