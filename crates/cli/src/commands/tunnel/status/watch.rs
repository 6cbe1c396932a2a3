//! `exm tunnel status --watch`: a live picture of a running tunnel.

use super::rates::Look;
use super::report::{head, kilo, state};
use super::{name, read_all};
use crate::interrupt;
use crate::sessions::{RECEIVED, SENT, Screen, code_of, draw_forecast};
use crate::shell::Failure;
use exm_os::{Clock, Signals, Waiter};
use exm_tunnel::{Role, SessionStatus, Status};
use exm_units::{Instant, Span};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, RenderDirection, Row, Sparkline, Table};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often the picture is drawn.
const FRAME: Span = Span::from_millis(500);
/// How often a line is printed.
const LINE: Span = Span::from_secs(1);
/// How often the keyboard is read.
const KEYS: Span = Span::from_millis(50);
/// The frames of the last minute.
const MINUTE: usize = 120;
/// The lines of text at the top.
const WORDS: u16 = 4;
/// The height of the charts.
const CHARTS: u16 = 12;

/// Shows the tunnel `first` until the user ends it: as a live picture if `is_live`, otherwise by a line a second.
/// Returns the exit code.
pub(super) fn watch(first: &Status, is_live: bool) -> Result<ExitCode, Failure> {
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let (clock, mut picture) = (Clock::start(), Picture::default());
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut screen = is_live.then(|| Screen::open("tunnel status --watch")).flatten();
    let interval = if screen.is_some() { FRAME } else { LINE };
    // A line has the rates of a second.
    let mut next = if screen.is_some() { Instant::ZERO } else { clock.now() + LINE };
    let mut before: Option<Status> = Some(first.clone());
    loop {
        if let Some(signal) = signals.take() {
            return Ok(code_of(Some(signal)));
        }
        if screen.as_mut().is_some_and(Screen::wants_end) {
            return Ok(ExitCode::SUCCESS);
        }
        let now = clock.now();
        if now >= next {
            let look = Look::new(before.as_ref(), again(first)?);
            before = Some(look.status.clone());
            picture.add(look.total());
            match &mut screen {
                Some(screen) => screen.draw(|frame, area| picture.draw(frame, area, &look)),
                None => match write(&line(&look)) {
                    // The reader of our output has closed it.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(ExitCode::SUCCESS);
                    }
                    written => written?,
                },
            }
            next = now + interval;
        }
        let wake = if screen.is_some() { next.min(clock.now() + KEYS) } else { next };
        waiter.wait([signals.as_fd()], wake)?;
    }
}

fn write(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

/// The tunnel `first` as it is now.
fn again(first: &Status) -> Result<Status, Failure> {
    let mut all = read_all()?.into_iter();
    let found = all.find(|status| status.process == first.process);
    found.ok_or_else(|| Failure::new(format!("the tunnel {} has ended", name(first))))
}

/// The tunnel in one line.
fn line(look: &Look) -> String {
    let [sent, received] = look.total();
    let who = match &look.status.sessions[..] {
        [one] if one.client.is_none() => {
            let rtt = one.srtt_ms.map_or("-".to_owned(), |srtt| format!("{srtt:.0}"));
            format!("{} with {}  rtt {rtt} ms", state(one), one.peer.as_deref().unwrap_or("-"))
        }
        all => {
            let up = all.iter().filter(|session| state(session) != "waiting").count();
            format!("{up} of {} clients", all.len())
        }
    };
    format!(
        "{:9.1} s  {who}  sent {sent:8.3} Mbps  received {received:8.3} Mbps  window {:7}  in flight {:7}  \
         queues {:7}  dropped {}\n",
        look.status.seconds,
        look.sum(|session| session.window_bytes),
        look.sum(|session| session.in_flight_bytes),
        look.sum(|session| session.queue.waiting_bytes),
        look.sum(|session| session.queue.dropped_packets),
    )
}

/// What is drawn, and the rates of the last minute.
#[derive(Default)]
struct Picture {
    /// In kbit/s, sent and received, the newest first.
    rates: VecDeque<[u64; 2]>,
}

impl Picture {
    fn add(&mut self, mbps: [f64; 2]) {
        self.rates.push_front(mbps.map(|mbps| (mbps * 1e3) as u64));
        self.rates.truncate(MINUTE);
    }

    fn draw(&self, frame: &mut Frame, area: Rect, look: &Look) {
        let heights = [Constraint::Length(WORDS), Constraint::Length(CHARTS), Constraint::Fill(1)];
        let [text, charts, table] = Layout::vertical(heights).areas(area);
        frame.render_widget(Paragraph::new(words(look)), text);
        let halves = || Layout::vertical([Constraint::Fill(1); 2]);
        let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(charts);
        let [send, receive] = halves().areas(left);
        let [forecast_sent, forecast_received] = look.forecasts();
        draw_forecast(frame, send, (" forecast for what is sent, kB ", SENT), &forecast_sent);
        let title = " forecast for what is received, kB ";
        draw_forecast(frame, receive, (title, RECEIVED), &forecast_received);
        let [sent, received] = halves().areas(right);
        self.draw_rates(frame, sent, 0, ("sent", SENT));
        self.draw_rates(frame, received, 1, ("received", RECEIVED));
        match look.status.role {
            Role::SharedServer => draw_clients(frame, table, look),
            Role::Server | Role::Client => draw_flows(frame, table, look),
        }
    }

    /// Draws the rates of the last minute, the newest on the right.
    fn draw_rates(
        &self,
        frame: &mut Frame,
        area: Rect,
        way: usize,
        (title, colour): (&str, Color),
    ) {
        let rates: Vec<u64> = self.rates.iter().map(|rates| rates[way]).collect();
        let newest = rates.first().copied().unwrap_or(0) as f64 / 1e3;
        let most = rates.iter().copied().max().unwrap_or(0) as f64 / 1e3;
        let title = format!(" {title} {newest:.2} Mbps, at most {most:.2} in the last minute ");
        let chart = Sparkline::default()
            .data(rates)
            .direction(RenderDirection::RightToLeft)
            .style(Style::new().fg(colour))
            .block(Block::bordered().title(title));
        frame.render_widget(chart, area);
    }
}

/// The tunnel in a few lines of text.
fn words(look: &Look) -> Vec<Line<'static>> {
    let sum = |number: fn(&SessionStatus) -> u64| look.sum(number);
    let who = match &look.status.sessions[..] {
        [one] if one.client.is_none() => {
            let rtt = one.srtt_ms.map_or("-".to_owned(), |srtt| format!("{srtt:.0} ms"));
            format!("{} with {}  RTT {rtt}", state(one), one.peer.as_deref().unwrap_or("-"))
        }
        _ => format!(
            "{} moves, {} displaced",
            sum(|s| s.datagrams.moves),
            sum(|s| s.datagrams.displaced)
        ),
    };
    vec![
        Line::from(head(&look.status)).bold(),
        Line::from(who),
        Line::from(format!(
            "window {} kB  in flight {} kB  deliverable {} kB  queues {} kB  dropped {} packets",
            kilo(sum(|s| s.window_bytes)),
            kilo(sum(|s| s.in_flight_bytes)),
            kilo(sum(|s| s.deliverable_bytes)),
            kilo(sum(|s| s.queue.waiting_bytes)),
            sum(|s| s.queue.dropped_packets),
        )),
        Line::from(format!(
            "datagrams: {} sent, {} received  sessions {}",
            sum(|s| s.datagrams.sent),
            sum(|s| s.datagrams.received),
            sum(|s| s.datagrams.sessions),
        )),
    ]
}

/// The columns of a table after the first, with their widths.
const NUMBERS: [(&str, u16); 5] =
    [("sent Mbps", 10), ("recv. Mbps", 10), ("queue kB", 9), ("wait ms", 8), ("dropped", 8)];

fn draw_clients(frame: &mut Frame, area: Rect, look: &Look) {
    let mut clients: Vec<_> = look.status.sessions.iter().zip(&look.sessions).collect();
    clients.sort_by_key(|(_, rates)| Reverse(((rates[0] + rates[1]) * 1e3) as u64));
    let rows = clients.into_iter().map(|(session, rates)| {
        let (client, peer) = (session.client.as_deref(), session.peer.as_deref());
        let name = format!("{} {} {}", client.unwrap_or("-"), state(session), peer.unwrap_or(""));
        let cells = [
            format!("{:.3}", rates[0]),
            format!("{:.3}", rates[1]),
            kilo(session.queue.waiting_bytes),
            "-".to_owned(),
            session.queue.dropped_packets.to_string(),
        ];
        (name, cells)
    });
    draw_table(frame, area, " clients ", rows);
}

fn draw_flows(frame: &mut Frame, area: Rect, look: &Look) {
    let mut flows: Vec<_> = look.status.flows.iter().zip(&look.flows).collect();
    let by_use = |rates: &[f64; 2], waiting| {
        (Reverse(waiting), Reverse(((rates[0] + rates[1]) * 1e3) as u64))
    };
    flows.sort_by_key(|(flow, rates)| by_use(rates, flow.waiting_bytes));
    let rows = flows.into_iter().map(|(flow, rates)| {
        let cells = [
            format!("{:.3}", rates[0]),
            format!("{:.3}", rates[1]),
            kilo(flow.waiting_bytes),
            format!("{:.1}", flow.waited_ms),
            flow.dropped_packets.to_string(),
        ];
        (flow.flow.clone(), cells)
    });
    draw_table(frame, area, " flows ", rows);
}

fn draw_table(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    rows: impl Iterator<Item = (String, [String; 5])>,
) {
    let right = |text: &str, width: u16| format!("{text:>width$}", width = usize::from(width));
    let rows = rows.map(|(name, cells)| {
        let cells = cells.iter().zip(NUMBERS).map(|(cell, (_, width))| right(cell, width));
        Row::new(std::iter::once(name).chain(cells))
    });
    let head = NUMBERS.iter().map(|(title, width)| right(title, *width));
    let widths = NUMBERS.map(|(_, width)| Constraint::Length(width));
    let table = Table::new(rows, std::iter::once(Constraint::Fill(1)).chain(widths))
        .header(Row::new(std::iter::once(String::new()).chain(head)).bold())
        .block(Block::bordered().title(title.to_owned()));
    frame.render_widget(table, area);
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::shared;
    use super::*;
    use exm_tunnel::FlowStatus;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(look: &Look, width: u16, height: u16) -> String {
        let mut picture = Picture::default();
        (0..200).for_each(|n| picture.add([f64::from(n) / 10.0, 1.0]));
        assert_eq!(picture.rates.len(), MINUTE);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| picture.draw(frame, frame.area(), look)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn clients_are_drawn_on_terminals_of_any_size() {
        let look = Look::new(Some(&shared(1.0, 0)), shared(2.0, 500_000));
        let text = drawn(&look, 110, 40);
        for words in ["alice connected 192.0.2.7:4000", "4.000", "bob waiting", "160", "19.90 Mbps"]
        {
            assert!(text.contains(words), "{words} is not in:\n{text}");
        }
        for (width, height) in [(1, 1), (3, 7), (20, 18), (300, 100)] {
            drawn(&look, width, height);
        }
        let line = line(&look);
        assert!(line.contains("1 of 2 clients  sent    4.000 Mbps"), "{line}");
    }

    #[test]
    fn flows_of_one_client_are_drawn() {
        let flow = |bytes| FlowStatus {
            flow: "tcp 10.0.0.1:5 > 10.0.0.2:80".to_owned(),
            waiting_bytes: 3000,
            waited_ms: 12.0,
            sent_bytes: bytes,
            received_bytes: 0,
            dropped_packets: 4,
        };
        let status = |seconds, bytes| {
            let mut status = Status { role: Role::Client, ..shared(seconds, bytes) };
            status.sessions.truncate(1);
            status.sessions[0].client = None;
            status.flows.push(flow(bytes));
            status
        };
        let look = Look::new(Some(&status(1.0, 0)), status(2.0, 250_000));
        let text = drawn(&look, 110, 40);
        for words in ["tcp 10.0.0.1:5 > 10.0.0.2:80", "2.000", "12.0", "RTT 40 ms"] {
            assert!(text.contains(words), "{words} is not in:\n{text}");
        }
    }
}
