//! [`Screen`]: a tunnel as it goes on, on the whole terminal.

use super::flows::{Flows, Row};
use super::run::Tunnel;
use crate::commands::sprout::{History, draw_rates, draw_rtts, wants_end, words};
use exm_session::Stats;
use exm_units::Instant;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row as TableRow, Table};
use ratatui::{DefaultTerminal, Frame};

/// Lines of words at the top.
const WORDS: u16 = 6;
/// Lines that the charts take, where there is room.
const CHARTS: u16 = 10;
/// Below so many lines there is no room for them.
const LEAST_HEIGHT: u16 = 28;

/// The terminal, until it is dropped.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    title: String,
}

impl Screen {
    /// Takes the terminal; nothing where it cannot be had.
    pub(super) fn open(title: &str) -> Option<Screen> {
        let terminal = ratatui::try_init().ok()?;
        Some(Screen { terminal, title: format!(" exm tunnel {title} ") })
    }

    /// Draws the tunnel.
    pub(super) fn draw<T: Tunnel>(
        &mut self,
        history: &History,
        (now, stats): (Instant, &Stats),
        flows: &Flows,
        tunnel: &T,
    ) {
        let Screen { terminal, title } = self;
        let mut lines = words(history, stats);
        lines.push(Line::from(state(tunnel)));
        let rows: Vec<&Row> = flows.active(now).collect();
        // What cannot be shown is not worth failing for.
        let _ = terminal.draw(|frame| draw(frame, title, (lines, history), &rows));
    }

    /// Whether the user has asked for the end.
    pub(super) fn wants_end(&mut self) -> bool {
        wants_end()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// The tunnel in words.
fn state<T: Tunnel>(tunnel: &T) -> String {
    let (Some(pipe), Some(network)) = (tunnel.pipe(), tunnel.network()) else {
        return "the tunnel is not up yet".to_owned();
    };
    let queues = pipe.queues();
    format!(
        "{}: {} to {}  queues {:.1} of {:.1} kB  {} packets dropped",
        pipe.device_name(),
        network.client(),
        network.server(),
        queues.waiting().bytes as f64 / 1e3,
        queues.bound().get() as f64 / 1e3,
        queues.dropped().packets,
    )
}

fn draw(
    frame: &mut Frame,
    title: &str,
    (lines, history): (Vec<Line<'static>>, &History),
    rows: &[&Row],
) {
    let block = Block::bordered().title(title.bold()).title_bottom(" q ends ");
    let inside = block.inner(frame.area());
    frame.render_widget(block, frame.area());
    let charts = if inside.height < LEAST_HEIGHT { 0 } else { CHARTS };
    let heights = [Constraint::Length(WORDS), Constraint::Fill(1), Constraint::Length(charts)];
    let [words, table, charts] = Layout::vertical(heights).areas(inside);
    frame.render_widget(Paragraph::new(lines), words);
    draw_flows(frame, table, rows);
    if charts.height > 0 {
        let [rates, rtts] = Layout::horizontal([Constraint::Fill(1); 2]).areas(charts);
        draw_rates(frame, rates, history);
        draw_rtts(frame, rtts, history);
    }
}

fn draw_flows(frame: &mut Frame, area: Rect, rows: &[&Row]) {
    let line = |row: &&Row| {
        TableRow::new([
            row.flow.map_or("others".to_owned(), |flow| flow.to_string()),
            format!("{:>10.1}", row.kbps[0]),
            format!("{:>10.1}", row.kbps[1]),
            format!("{:>7}", row.waiting),
            format!("{:>7.1}", row.waited.as_millis_f64()),
            format!("{:>7}", row.dropped),
        ])
    };
    let head = ["flow", "  sent kbps", "recv. kbps", "waiting", "wait ms", "dropped"];
    let numbers = [11, 10, 7, 7, 7].map(Constraint::Length);
    let widths = std::iter::once(Constraint::Fill(1)).chain(numbers);
    let table = Table::new(rows.iter().map(line), widths)
        .header(TableRow::new(head).bold())
        .block(Block::bordered().title(" flows "));
    frame.render_widget(table, area);
}
