//! [`TunnelView`]: the display of a running tunnel.

use super::end::Tunnel;
use super::flows::{Flows, Row};
use crate::sessions::{Moment, View, draw_rates, draw_rtts, words};
use exm_tunnel::Pipe;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row as TableRow, Table};

/// The lines of text at the top.
const WORDS: u16 = 6;
/// The height of the charts.
const CHARTS: u16 = 10;
/// The minimum height of the terminal for charts.
const LEAST_HEIGHT: u16 = 28;

/// The display of a running tunnel.
#[derive(Default)]
pub(super) struct TunnelView {
    flows: Flows,
    /// Whether the user was notified that the tunnel is up.
    is_up: bool,
    /// Whether the user was last notified that IPv6 is unreachable.
    is_v6_unreachable: bool,
    /// How many of the tunnel's notices were shown.
    shown: usize,
}

impl<T: Tunnel> View<T> for TunnelView {
    fn look(&mut self, moment: &Moment<'_, T>) -> Option<String> {
        if let Some(notice) = moment.application.notices().get(self.shown) {
            self.shown += 1;
            return Some(notice.clone());
        }
        let pipe = moment.application.pipe()?;
        self.flows.update(moment.now, pipe);
        let network = moment.application.network()?;
        if self.is_up {
            return self.v6_changed(moment.application, pipe);
        }
        self.is_up = true;
        Some(format!(
            "the tunnel is up: device {}, server {}, client {}, packets of up to {} bytes",
            pipe.device_name(),
            network.server(),
            network.client(),
            pipe.mtu(),
        ))
    }

    fn line(&self, tunnel: &T) -> String {
        let Some(queues) = tunnel.pipe().map(Pipe::queues) else { return String::new() };
        let (waiting, dropped) = (queues.waiting(), queues.dropped());
        let (bytes, bound) = (waiting.bytes, queues.bound().get());
        format!("  queues {bytes:7} of {bound:7}  dropped {}", dropped.packets)
    }

    fn draw(&self, frame: &mut Frame, area: Rect, moment: &Moment<'_, T>) {
        let mut lines = words(moment.history, moment.stats);
        lines.push(Line::from(state(moment.application)));
        let charts = if area.height < LEAST_HEIGHT { 0 } else { CHARTS };
        let heights = [Constraint::Length(WORDS), Constraint::Fill(1), Constraint::Length(charts)];
        let [words, table, charts] = Layout::vertical(heights).areas(area);
        frame.render_widget(Paragraph::new(lines), words);
        let rows: Vec<&Row> = self.flows.active(moment.now).collect();
        draw_flows(frame, table, &rows);
        if charts.height > 0 {
            let [rates, rtts] = Layout::horizontal([Constraint::Fill(1); 2]).areas(charts);
            draw_rates(frame, rates, moment.history);
            draw_rtts(frame, rtts, moment.history);
        }
    }
}

impl TunnelView {
    /// The message if IPv6 has become unreachable or reachable again.
    fn v6_changed(&mut self, tunnel: &impl Tunnel, pipe: &Pipe) -> Option<String> {
        let is_v6_unreachable = tunnel.is_v6_unreachable();
        if std::mem::replace(&mut self.is_v6_unreachable, is_v6_unreachable) == is_v6_unreachable {
            return None;
        }
        Some(match is_v6_unreachable {
            true => format!(
                "IPv6 is unreachable: it needs packets of 1280 bytes, the tunnel carries {}; give --mtu \
                 1428 or more at both ends",
                pipe.mtu()
            ),
            false => "IPv6 is carried again".to_owned(),
        })
    }
}

/// The tunnel in one line of text.
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
