//! [`Report`]: the running tunnels, as a table.

use super::name;
use super::rates::Look;
use crate::layout;
use exm_store::Columns;
use exm_tunnel::{Role, SessionState, SessionStatus, Status};
use serde::Serialize;
use std::fmt;

/// The place of the forecast for the next 100 ms: that of the fifth tick of 20 ms.
const NEXT_100_MS: usize = 4;

/// The running tunnels.
#[derive(Serialize)]
pub(super) struct Report {
    tunnels: Vec<Status>,
    /// The same, with rates.
    #[serde(skip)]
    looks: Vec<Look>,
}

impl Report {
    /// A report without rates.
    pub(super) fn new(tunnels: Vec<Status>) -> Report {
        Report { tunnels, looks: Vec::new() }
    }

    /// A report of `looks`.
    pub(super) fn of(looks: Vec<Look>) -> Report {
        Report { tunnels: Vec::new(), looks }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (look, n) in self.looks.iter().zip(0..) {
            if n > 0 {
                writeln!(f)?;
            }
            writeln!(f, "{}", head(&look.status))?;
            write!(f, "{}", layout::table(&columns(look)))?;
        }
        Ok(())
    }
}

/// A tunnel in one line.
pub(super) fn head(status: &Status) -> String {
    let role = match status.role {
        Role::Server => "server of one client".to_owned(),
        Role::SharedServer => {
            let is_up = |session: &&SessionStatus| session.state == SessionState::Established;
            let up = status.sessions.iter().filter(is_up).count();
            format!("server, {up} of {} clients connected", status.sessions.len())
        }
        Role::Client => "client".to_owned(),
    };
    let mut head = format!("{}: {role}", name(status));
    if let Some(network) = &status.network {
        head.push_str(&format!(", network {network}"));
    }
    if let Some(mtu) = status.mtu {
        head.push_str(&format!(", packets of up to {mtu} bytes"));
    }
    head.push_str(&format!(", running for {}", duration(status.seconds)));
    head
}

fn columns(look: &Look) -> Columns {
    let mut columns = Columns::new(3);
    let titles = ["client", "state", "connected with", "RTT", "window", "100 ms", "sent"];
    let more = ["received", "queue", "dropped", "sessions"];
    columns.line(titles.into_iter().chain(more).map(str::to_owned));
    let units = ["", "", "", "ms", "kB", "kB", "Mbps", "Mbps", "kB", "packets", ""];
    columns.line(units.map(str::to_owned));
    for (session, rates) in look.status.sessions.iter().zip(&look.sessions) {
        columns.line(cells(session, rates));
    }
    columns
}

fn cells(session: &SessionStatus, rates: &[f64; 2]) -> [String; 11] {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let forecast = session.send_forecast_bytes.get(NEXT_100_MS).copied().unwrap_or(0);
    [
        text(&session.client),
        state(session).to_owned(),
        text(&session.peer),
        session.srtt_ms.map_or_else(|| "-".to_owned(), |srtt| format!("{srtt:.0}")),
        kilo(session.window_bytes),
        kilo(forecast),
        format!("{:.3}", rates[0]),
        format!("{:.3}", rates[1]),
        kilo(session.queue.waiting_bytes),
        session.queue.dropped_packets.to_string(),
        session.datagrams.sessions.to_string(),
    ]
}

/// The state of a session in words.
pub(super) fn state(session: &SessionStatus) -> &'static str {
    match session.state {
        SessionState::Waiting => "waiting",
        SessionState::Established if session.is_crowded => "crowded out",
        SessionState::Established => "connected",
        SessionState::Silent => "silent",
    }
}

/// `bytes` in kB.
pub(super) fn kilo(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e3)
}

/// A time of operation, to two units.
fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds:.1} s"),
        (0, 0, _) => format!("{minutes} min {} s", whole % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The status of a server of the clients `alice`, who is connected, and `bob`, who is not, with `bytes` sent.
    pub(crate) fn shared(seconds: f64, bytes: u64) -> Status {
        let text = include_str!("shared.json").replace("\"SECONDS\"", &seconds.to_string());
        serde_json::from_str(&text.replace("\"BYTES\"", &bytes.to_string())).unwrap()
    }

    #[test]
    fn a_table_has_a_line_for_each_client() {
        let look = Look::new(Some(&shared(10.0, 1_000_000)), shared(10.5, 2_000_000));
        assert_eq!(look.total(), [16.0, 0.0]);
        let text = Report::of(vec![look]).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let head = "exm0: server, 1 of 2 clients connected, network 100.96.0.0/24, packets of up to 1372 bytes, \
                    running for 10.5 s";
        assert_eq!(lines[0], head);
        for cell in ["alice", "192.0.2.7:4000", "connected", "16.000", "25.0"] {
            assert!(text.contains(cell), "{cell} is not in:\n{text}");
        }
        assert!(text.contains("bob") && text.contains("waiting"), "{text}");
    }

    #[test]
    fn times_have_two_units() {
        let times = [5.25, 65.0, 3661.0, 90_000.0].map(duration);
        assert_eq!(times, ["5.2 s", "1 min 5 s", "1 h 1 min", "1 d 1 h"]);
    }
}
