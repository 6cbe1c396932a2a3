//! The metrics of a tunnel in the text format of Prometheus, version 0.0.4.

use crate::status::{SessionState, SessionStatus, Status};
use std::fmt::{Display, Write};

/// The type of this text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The milliseconds between two values of a forecast.
const TICK_MS: usize = 20;

/// A metric: its name after `exm_tunnel_`, and what it says.
type Named = (&'static str, &'static str);
/// A label: its name and its value.
type Label<'a> = (&'a str, String);

/// A counter, and its value.
type Counter = (Named, fn(&SessionStatus) -> u64);
/// A gauge, and its value if that is known.
type Gauge = (Named, fn(&SessionStatus) -> Option<f64>);

/// The counters of each session.
const COUNTERS: [Counter; 24] = [
    (("datagrams_sent_total", "UDP datagrams sent, without handshakes."), |s| s.datagrams.sent),
    (("datagram_sent_bytes_total", "UDP payload sent."), |s| s.datagrams.sent_bytes),
    (("datagrams_received_total", "Authentic UDP datagrams received."), |s| s.datagrams.received),
    (("datagram_received_bytes_total", "UDP payload received."), |s| s.datagrams.received_bytes),
    (("datagrams_carried_total", "Datagrams sent with a packet."), |s| s.datagrams.carried),
    (("datagrams_delivered_total", "Datagrams received with a packet."), |s| s.datagrams.delivered),
    (("datagrams_malformed_total", "Authentic datagrams with a malformed header."), |s| {
        s.datagrams.malformed
    }),
    (("datagrams_unsendable_total", "Packets that were empty or too large to send."), |s| {
        s.datagrams.unsendable
    }),
    (("unauthenticated_total", "Handshake messages from senders without the key."), |s| {
        s.datagrams.unauthenticated
    }),
    (("sessions_total", "Completed handshakes."), |s| s.datagrams.sessions),
    (("displaced_total", "Clients displaced by another one with the same key."), |s| {
        s.datagrams.displaced
    }),
    (("moves_total", "Changes of the client's address."), |s| s.datagrams.moves),
    (("port_hops_total", "Changes of the client's port."), |s| s.datagrams.hops),
    (("packets_sent_total", "Packets sent to the other end."), |s| s.queue.sent_packets),
    (("packet_sent_bytes_total", "Their bytes on the link."), |s| s.queue.sent_bytes),
    (("packets_received_total", "Packets received and accepted."), |s| s.packets.received_packets),
    (("packet_received_bytes_total", "Their bytes on the link."), |s| s.packets.received_bytes),
    (
        ("queue_dropped_packets_total", "Packets dropped because more waited than was forecast."),
        |s| s.queue.dropped_packets,
    ),
    (("queue_dropped_bytes_total", "Their bytes on the link."), |s| s.queue.dropped_bytes),
    (("packets_refused_total", "Packets that this machine did not accept."), |s| s.packets.refused),
    (("packets_foreign_total", "Packets with addresses of others."), |s| s.packets.foreign),
    (("packets_malformed_total", "What is not an IP packet."), |s| s.packets.malformed),
    (("packets_too_big_total", "Packets beyond the MTU."), |s| s.packets.too_big),
    (("packets_clamped_total", "TCP SYN packets with a clamped MSS."), |s| s.packets.clamped),
];

/// The gauges of each session. Those that are unknown yet are left out.
const GAUGES: [Gauge; 10] = [
    (("up", "Whether datagrams arrive from the other end."), |s| {
        Some(f64::from(u8::from(s.state == SessionState::Established)))
    }),
    (("silent_seconds", "Time since the last datagram arrived."), |s| {
        s.silent_ms.map(|silent| silent / 1e3)
    }),
    (("srtt_seconds", "Smoothed RTT."), |s| s.srtt_ms.map(|srtt| srtt / 1e3)),
    (("window_bytes", "Bytes that may be sent now."), |s| Some(s.window_bytes as f64)),
    (("in_flight_bytes", "Bytes believed to be in flight."), |s| Some(s.in_flight_bytes as f64)),
    (("deliverable_bytes", "Bytes that the link will deliver, by the forecast."), |s| {
        Some(s.deliverable_bytes as f64)
    }),
    (("crowded", "Whether other senders fill the link's queue."), |s| {
        Some(f64::from(u8::from(s.is_crowded)))
    }),
    (("queue_waiting_packets", "Packets that wait."), |s| Some(s.queue.waiting_packets as f64)),
    (("queue_waiting_bytes", "Bytes that wait."), |s| Some(s.queue.waiting_bytes as f64)),
    (("queue_bound_bytes", "Most bytes that may wait."), |s| Some(s.queue.bound_bytes as f64)),
];

/// The metrics of `status`.
pub(super) fn metrics(status: &Status) -> String {
    let mut text = Exposition(String::new());
    let info = [
        ("version", status.version.clone()),
        ("role", status.role.to_string()),
        ("device", status.device.clone().unwrap_or_default()),
    ];
    text.family("info", "gauge", "The program, which end it is, and its network device.");
    text.sample("info", &info, 1);
    text.family("uptime_seconds", "gauge", "Time since the start.");
    text.sample("uptime_seconds", &[], status.seconds);
    if let Some(mtu) = status.mtu {
        text.family("mtu_bytes", "gauge", "Size of the largest packets.");
        text.sample("mtu_bytes", &[], mtu);
    }
    for ((name, help), value) in COUNTERS {
        text.family(name, "counter", help);
        status.sessions.iter().for_each(|s| text.sample(name, &labels(s), value(s)));
    }
    for ((name, help), value) in GAUGES {
        text.family(name, "gauge", help);
        for session in &status.sessions {
            if let Some(value) = value(session) {
                text.sample(name, &labels(session), value);
            }
        }
    }
    dropped(&mut text, status);
    forecasts(&mut text, status);
    unrouted(&mut text, status);
    text.0
}

/// The labels of a session.
fn labels(session: &SessionStatus) -> Vec<Label<'static>> {
    session.client.iter().map(|client| ("client", client.clone())).collect()
}

fn dropped(text: &mut Exposition, status: &Status) {
    let name = "datagrams_dropped_total";
    text.family(name, "counter", "Received datagrams that were dropped, by reason.");
    for session in &status.sessions {
        let dropped = &session.datagrams.dropped;
        for (reason, count) in [
            ("short", dropped.short),
            ("wrong-direction", dropped.wrong_direction),
            ("replayed", dropped.replayed),
            ("too-old", dropped.too_old),
            ("forged", dropped.forged),
        ] {
            let mut labels = labels(session);
            labels.push(("reason", reason.to_owned()));
            text.sample(name, &labels, count);
        }
    }
}

fn forecasts(text: &mut Exposition, status: &Status) {
    let name = "forecast_bytes";
    text.family(name, "gauge", "Bytes that will have been delivered, by direction and time ahead.");
    for session in &status.sessions {
        let ways =
            [("send", &session.send_forecast_bytes), ("receive", &session.receive_forecast_bytes)];
        for (direction, forecast) in ways {
            for (bytes, tick) in forecast.iter().zip(1..) {
                let mut labels = labels(session);
                labels.push(("direction", direction.to_owned()));
                labels.push(("ahead_ms", (tick * TICK_MS).to_string()));
                text.sample(name, &labels, bytes);
            }
        }
    }
}

/// What belongs to no session.
fn unrouted(text: &mut Exposition, status: &Status) {
    let name = "socket_errors_total";
    text.family(name, "counter", "Failures to send or receive, by reason.");
    let errors = &status.socket_errors;
    for (reason, count) in [
        ("full", errors.full),
        ("unreachable", errors.unreachable),
        ("refused", errors.refused),
        ("too-large", errors.too_large),
        ("other", errors.other),
    ] {
        text.sample(name, &[("reason", reason.to_owned())], count);
    }
    let Some(unrouted) = &status.unrouted else { return };
    let name = "unrouted_total";
    text.family(name, "counter", "Datagrams and packets that belong to no session, by reason.");
    for (reason, count) in [
        ("strange", unrouted.strange),
        ("untried", unrouted.untried),
        ("handshakes", unrouted.hellos),
        ("excess", unrouted.excess),
        ("unowned", unrouted.unowned),
    ] {
        text.sample(name, &[("reason", reason.to_owned())], count);
    }
}

/// A text in the format.
struct Exposition(String);

impl Exposition {
    /// Begins the metric `exm_tunnel_NAME`, whose samples follow.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        self.write(format_args!(
            "# HELP exm_tunnel_{name} {help}\n# TYPE exm_tunnel_{name} {kind}\n"
        ));
    }

    fn sample(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        self.write(format_args!("exm_tunnel_{name}"));
        for ((label, value), n) in labels.iter().zip(0..) {
            let before = if n == 0 { '{' } else { ',' };
            self.write(format_args!("{before}{label}=\"{}\"", escaped(value)));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        self.write(format_args!("{after} {value}\n"));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.0.write_fmt(text);
    }
}

/// The value of a label, as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::waiting;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut text = Exposition(String::new());
        text.family("a", "gauge", "One\\two\nthree.");
        text.sample("a", &[("b", "x\"y\\z\n".to_owned()), ("c", String::new())], 1.5);
        assert_eq!(
            text.0,
            "# HELP exm_tunnel_a One\\\\two\\nthree.\n# TYPE exm_tunnel_a gauge\n\
             exm_tunnel_a{b=\"x\\\"y\\\\z\\n\",c=\"\"} 1.5\n"
        );
    }

    #[test]
    fn each_metric_has_help_a_type_and_its_samples_together() {
        let mut status = waiting();
        let mut other = status.sessions[0].clone();
        other.client = Some("bob".to_owned());
        status.sessions[0].client = Some("alice".to_owned());
        status.sessions.push(other);
        status.device = Some("exm0".to_owned());
        let text = metrics(&status);
        let mut seen = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(help) = lines.next() {
            let name =
                help.strip_prefix("# HELP ").and_then(|rest| rest.split(' ').next()).unwrap();
            assert!(lines.next().unwrap().starts_with(&format!("# TYPE {name} ")), "{name}");
            assert!(!seen.contains(&name), "{name} comes twice");
            seen.push(name);
            while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
                let rest = line.strip_prefix(name).expect("its own sample");
                assert!(rest.starts_with([' ', '{']), "{line}");
                let value = line.rsplit(' ').next().unwrap();
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        for line in [
            "exm_tunnel_sessions_total{client=\"bob\"} 0",
            "exm_tunnel_forecast_bytes{client=\"alice\",direction=\"send\",ahead_ms=\"160\"} 0",
            "exm_tunnel_datagrams_dropped_total{client=\"bob\",reason=\"too-old\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
    }

    #[test]
    fn forecasts_have_the_ticks_of_sprout() {
        assert_eq!(exm_sprout::TICK.as_millis_f64(), TICK_MS as f64);
    }
}
