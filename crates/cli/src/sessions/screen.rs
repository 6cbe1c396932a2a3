//! [`Screen`]: the whole terminal; and [`Charts`], which shows a session on it.

use super::history::{History, LENGTH, Sample};
use super::view::{Moment, View};
use exm_session::{State, Stats};
use exm_sprout::Forecast;
use exm_units::Bytes;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span as Text};
use ratatui::widgets::{
    Axis, Bar, BarChart, BarGroup, Block, Chart, Dataset, GraphType, Paragraph,
};
use ratatui::{DefaultTerminal, Frame};
use std::time::Duration;

/// The colour of what is sent.
pub(crate) const SENT: Color = Color::Yellow;
/// The colour of what is received.
pub(crate) const RECEIVED: Color = Color::Cyan;
/// The least height for charts.
const LEAST_HEIGHT: u16 = 14;

/// The terminal, which is restored when this is dropped.
pub(crate) struct Screen {
    terminal: DefaultTerminal,
    title: String,
}

impl Screen {
    /// Takes over the terminal; `None` if that fails. `title` is the command.
    pub(crate) fn open(title: &str) -> Option<Screen> {
        let terminal = ratatui::try_init().ok()?;
        Some(Screen { terminal, title: format!(" exm {title} ") })
    }

    /// Draws `view` inside the border.
    pub(crate) fn draw(&mut self, view: impl FnOnce(&mut Frame, Rect)) {
        let Screen { terminal, title } = self;
        // A failure to draw does not end the session.
        let _ = terminal.draw(|frame| {
            let inside = border(frame, title);
            view(frame, inside);
        });
    }

    /// Whether the user has asked to quit; in raw mode Ctrl-C is not a signal.
    pub(crate) fn wants_end(&mut self) -> bool {
        while event::poll(Duration::ZERO).unwrap_or(false) {
            let Ok(Event::Key(key)) = event::read() else { continue };
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            if key.code == KeyCode::Char('q') || control && key.code == KeyCode::Char('c') {
                return true;
            }
        }
        false
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws a border with `title`; returns the area inside.
fn border(frame: &mut Frame, title: &str) -> Rect {
    let block = Block::bordered().title(title.bold()).title_bottom(" q ends ");
    let inside = block.inner(frame.area());
    frame.render_widget(block, frame.area());
    inside
}

/// A session by itself: state, rates, RTTs, forecasts.
pub(crate) struct Charts;

impl<E> View<E> for Charts {
    fn draw(&self, frame: &mut Frame, area: Rect, moment: &Moment<'_, E>) {
        draw(frame, area, moment.history, moment.stats);
    }
}

fn draw(frame: &mut Frame, area: Rect, history: &History, stats: &Stats) {
    let [text, charts] = Layout::vertical([Constraint::Length(5), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(words(history, stats)), text);
    if charts.height < LEAST_HEIGHT - 7 {
        return;
    }
    let [over_time, forecasts] =
        Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(charts);
    let halves = || Layout::vertical([Constraint::Fill(1); 2]);
    let [rates, rtts] = halves().areas(over_time);
    draw_rates(frame, rates, history);
    draw_rtts(frame, rtts, history);
    let [peer, own] = halves().areas(forecasts);
    let bytes = |forecast: &Forecast| forecast.delivered.map(Bytes::get);
    let title = (" forecast for what is sent, kB ", SENT);
    draw_forecast(frame, peer, title, &bytes(&stats.peer_forecast));
    let title = (" forecast for what is received, kB ", RECEIVED);
    draw_forecast(frame, own, title, &bytes(&stats.own_forecast));
}

/// The session in a few lines of text.
pub(crate) fn words(history: &History, stats: &Stats) -> Vec<Line<'static>> {
    let peer = stats.peer.map_or(String::new(), |peer| format!(" with {peer}"));
    let state = match stats.state {
        State::Waiting => "waiting".bold().yellow(),
        State::Established if stats.is_crowded => "crowded out by other senders".bold().yellow(),
        State::Established => "in session".bold().green(),
        State::Silent => "nothing received".bold().red(),
    };
    let mbps = history.newest().map_or([0.0; 2], |sample| sample.mbps);
    let rtt = stats.srtt.map_or("-".to_owned(), |rtt| format!("{:.0} ms", rtt.as_millis_f64()));
    let counters = &stats.counters;
    let (dropped, refused) = (counters.dropped.total(), counters.socket_errors.total());
    let kilo = |bytes: Bytes| format!("{:.1} kB", bytes.get() as f64 / 1e3);
    vec![
        Line::from(vec![state, Text::raw(peer)]),
        Line::from(vec![
            Text::styled(format!("sent {:.2} Mbps  ", mbps[0]), Style::new().fg(SENT)),
            Text::styled(format!("received {:.2} Mbps  ", mbps[1]), Style::new().fg(RECEIVED)),
            Text::raw(format!("round trip {rtt}")),
        ]),
        Line::from(format!(
            "window {}  in flight {}  deliverable in 160 ms {}",
            kilo(stats.window),
            kilo(stats.in_flight),
            kilo(stats.deliverable),
        )),
        Line::from(format!(
            "datagrams: {} sent, {} received, {dropped} dropped, {refused} socket errors",
            counters.sent, counters.received,
        )),
    ]
}

/// Draws the rates of the last minute.
pub(crate) fn draw_rates(frame: &mut Frame, area: Rect, history: &History) {
    let points = |index: usize| points(history, move |sample| Some(sample.mbps[index]));
    let lines = [(points(0), SENT), (points(1), RECEIVED)];
    draw_lines(frame, area, " rate, Mbps ", &lines);
}

/// Draws the RTTs of the last minute.
pub(crate) fn draw_rtts(frame: &mut Frame, area: Rect, history: &History) {
    let lines = [(points(history, |sample| sample.rtt), Color::Magenta)];
    draw_lines(frame, area, " round trip, ms ", &lines);
}

/// Values by seconds relative to the newest sample.
fn points(history: &History, value: impl Fn(&Sample) -> Option<f64>) -> Vec<(f64, f64)> {
    let Some(newest) = history.newest() else { return Vec::new() };
    let place = |sample: &Sample| -newest.at.saturating_since(sample.at).as_secs_f64();
    history.samples().filter_map(|sample| Some((place(sample), value(sample)?))).collect()
}

fn draw_lines(frame: &mut Frame, area: Rect, title: &str, lines: &[(Vec<(f64, f64)>, Color)]) {
    let values = lines.iter().flat_map(|(points, _)| points.iter().map(|&(_, value)| value));
    let top = round_up(values.fold(0.0, f64::max));
    let sets = lines.iter().map(|(points, colour)| {
        let set = Dataset::default().data(points).graph_type(GraphType::Line);
        set.marker(Marker::Braille).style(Style::new().fg(*colour))
    });
    let seconds = LENGTH.as_secs_f64();
    let past =
        Axis::default().bounds([-seconds, 0.0]).labels(["-60 s".to_owned(), "now".to_owned()]);
    let height = Axis::default().bounds([0.0, top]).labels(["0".to_owned(), format!("{top}")]);
    let chart = Chart::new(sets.collect()).block(Block::bordered().title(title.to_owned()));
    frame.render_widget(chart.x_axis(past).y_axis(height), area);
}

/// The next of 1, 2, 5, 10, 20 ... that is at least `value`.
fn round_up(value: f64) -> f64 {
    let steps = (-3..=9).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
    steps.into_iter().find(|&step| step >= value).unwrap_or(value)
}

/// Draws the bytes delivered by the end of each tick.
pub(crate) fn draw_forecast(
    frame: &mut Frame,
    area: Rect,
    (title, colour): (&str, Color),
    delivered: &[u64],
) {
    let bars = delivered.iter().zip(1..).map(|(&bytes, tick)| {
        let label = format!("{}", (exm_sprout::TICK * tick).as_millis_f64());
        let kilo = bytes as f64 / 1e3;
        let value = if kilo < 10.0 { format!("{kilo:.1}") } else { format!("{kilo:.0}") };
        Bar::default().value(bytes).text_value(value).label(Line::from(label))
    });
    let bars: Vec<Bar> = bars.collect();
    let room = area.width.saturating_sub(2) / bars.len().max(1) as u16;
    let chart = BarChart::default()
        .data(BarGroup::default().bars(&bars))
        .bar_width(room.saturating_sub(1).max(1));
    let block = Block::bordered().title(title.to_owned()).title_bottom(" ms from now ");
    let on_bar = Style::new().fg(Color::Black).bg(colour);
    let chart = chart.bar_gap(1).bar_style(Style::new().fg(colour)).value_style(on_bar);
    frame.render_widget(chart.block(block), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_datagram::Key;
    use exm_endpoint::PortRange;
    use exm_os::Clock;
    use exm_session::{Session, Settings};
    use exm_units::{Instant, Span};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(width: u16, height: u16) -> String {
        let (key, ports) = (Key::from_bytes([1; 16]), PortRange::single(0));
        let local = Some([127, 0, 0, 1].into());
        let session = Session::listen(Clock::start(), key, Settings::default(), local, ports);
        let stats = session.expect("a free port").stats();
        let mut history = History::default();
        (0..600).for_each(|tick| {
            history.record(Instant::ZERO + Span::from_millis(200) * tick, &stats);
        });
        assert_eq!(history.samples().count(), 301, "the last minute");
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a backend");
        let draw = |frame: &mut Frame| {
            let inside = border(frame, " exm sprout test ");
            draw(frame, inside, &history, &stats);
        };
        terminal.draw(draw).expect("it draws");
        terminal.backend().to_string()
    }

    #[test]
    fn a_terminal_of_any_size_is_drawn_on() {
        let whole = drawn(100, 40);
        for words in ["exm sprout test", "waiting", "rate, Mbps", "round trip, ms", "160", "q ends"]
        {
            assert!(whole.contains(words), "{words} is not in:\n{whole}");
        }
        for (width, height) in [(1, 1), (2, 5), (20, 8), (40, 14), (300, 100)] {
            drawn(width, height);
        }
    }

    #[test]
    fn scales_are_round() {
        assert_eq!([0.0, 0.7, 2.0, 2.1, 999.0].map(round_up), [0.001, 1.0, 2.0, 5.0, 1000.0]);
    }
}
