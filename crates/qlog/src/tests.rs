use super::*;
use exm_units::{Bytes, Instant, Rate, Span};
use serde_json::{Value, json};
use std::io::{self, Write};

fn at(micros: u64) -> Instant {
    Instant::ZERO + Span::from_micros(micros)
}

/// The records of a log of one of each kind of event.
fn records(form: Form) -> Vec<Value> {
    let header = Header { title: "a \"title\"", vantage: Vantage::Client, name: "sender" };
    let mut log = Writer::new(Vec::new(), form, &header).unwrap();
    let stream = Frame::Stream { offset: 2896, length: 1448 };
    log.event(at(0), &Event::PacketSent(&Packet::new(2, Bytes::new(1500), stream)));
    let datagram = Frame::Datagram { length: 1472 };
    log.event(at(1), &Event::PacketSent(&Packet::new(3, Bytes::new(1500), datagram)));
    log.event(at(1), &Event::PacketSent(&Packet::new(4, Bytes::new(52), Frame::Ping)));
    let ack = Frame::Ack { acked: &[(2, 2), (4, 7)] };
    log.event(at(1500), &Event::PacketReceived(&Packet::new(0, Bytes::new(52), ack)));
    let trigger = Some(Trigger::ReorderingThreshold);
    log.event(at(1500), &Event::PacketLost { number: 3, trigger });
    log.event(at(1500), &Event::PacketLost { number: 4, trigger: None });
    let metrics = Metrics {
        latest_rtt: Some(Span::from_micros(1500)),
        congestion_window: Some(Bytes::new(15_000)),
        pacing_rate: Some(Rate::from_mbps(1.5)),
        ..Metrics::default()
    };
    log.event(at(1500), &Event::Metrics(&metrics));
    log.event(at(1600), &Event::Metrics(&metrics));
    let metrics = Metrics { congestion_window: Some(Bytes::new(16_500)), ..metrics };
    log.event(at(1700), &Event::Metrics(&metrics));
    for state in ["slow start", "slow start", "recovery"] {
        log.event(at(1700), &Event::State(state));
    }
    parsed(&log.finish().unwrap())
}

fn parsed(log: &[u8]) -> Vec<Value> {
    assert_eq!((log[0], log.last()), (0x1e, Some(&b'\n')));
    let records = log[1..log.len() - 1].split(|byte| *byte == 0x1e);
    records.map(|record| serde_json::from_slice(record).unwrap()).collect()
}

#[test]
fn the_current_form_has_the_fields_of_the_drafts() {
    let expected = [
        json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": "a \"title\"",
            "trace": {
                "title": "a \"title\"",
                "vantage_point": {"name": "sender", "type": "client"},
                "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                },
            },
        }),
        json!({"time": 0.0, "name": "quic:packet_sent", "data": {
            "header": {"packet_type": "1RTT", "packet_number": 2}, "raw": {"length": 1500},
            "frames": [{"frame_type": "stream", "stream_id": 0, "offset": 2896, "length": 1448}],
        }}),
        json!({"time": 0.001, "name": "quic:packet_sent", "data": {
            "header": {"packet_type": "1RTT", "packet_number": 3}, "raw": {"length": 1500},
            "frames": [{"frame_type": "datagram", "length": 1472}],
        }}),
        json!({"time": 0.001, "name": "quic:packet_sent", "data": {
            "header": {"packet_type": "1RTT", "packet_number": 4}, "raw": {"length": 52},
            "frames": [{"frame_type": "ping"}],
        }}),
        json!({"time": 1.5, "name": "quic:packet_received", "data": {
            "header": {"packet_type": "1RTT", "packet_number": 0}, "raw": {"length": 52},
            "frames": [{"frame_type": "ack", "acked_ranges": [[2], [4, 7]]}],
        }}),
        json!({"time": 1.5, "name": "quic:packet_lost", "data": {
            "header": {"packet_type": "1RTT", "packet_number": 3}, "trigger": "reordering_threshold",
        }}),
        json!({"time": 1.5, "name": "quic:packet_lost", "data": {
            "header": {"packet_type": "1RTT", "packet_number": 4},
        }}),
        json!({"time": 1.5, "name": "quic:recovery_metrics_updated", "data": {
            "latest_rtt": 1.5, "congestion_window": 15000, "pacing_rate": 1_500_000,
        }}),
        json!({"time": 1.7, "name": "quic:recovery_metrics_updated", "data": {
            "congestion_window": 16500,
        }}),
        json!({"time": 1.7, "name": "quic:congestion_state_updated", "data": {
            "new": "slow start",
        }}),
        json!({"time": 1.7, "name": "quic:congestion_state_updated", "data": {
            "old": "slow start", "new": "recovery",
        }}),
    ];
    assert_eq!(records(Form::Current), expected);
}

/// What differs in version 0.3.
#[test]
fn the_older_form_has_the_header_and_the_names_of_version_0_3() {
    let (older, current) = (records(Form::Older), records(Form::Current));
    assert_eq!(
        older[0],
        json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": "a \"title\"",
            "trace": {
                "title": "a \"title\"",
                "vantage_point": {"name": "sender", "type": "client"},
                "common_fields": {
                    "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 0,
                },
            },
        })
    );
    let names: Vec<&Value> = older[1..].iter().map(|record| &record["name"]).collect();
    assert_eq!(
        names,
        [
            "transport:packet_sent",
            "transport:packet_sent",
            "transport:packet_sent",
            "transport:packet_received",
            "recovery:packet_lost",
            "recovery:packet_lost",
            "recovery:metrics_updated",
            "recovery:metrics_updated",
            "recovery:congestion_state_updated",
            "recovery:congestion_state_updated",
        ]
    );
    assert_eq!(older[4]["data"]["frames"][0]["acked_ranges"], json!([[2, 2], [4, 7]]));
    for (older, current) in older.iter().zip(&current).skip(5) {
        assert_eq!(older["data"], current["data"]);
    }
}

/// Room for so many bytes.
#[derive(Debug)]
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_first_error_is_returned_at_the_end() {
    let header = Header { title: "", vantage: Vantage::Server, name: "" };
    let mut log = Writer::new(Full(400), Form::Current, &header).unwrap();
    for number in 0..10 {
        log.event(at(number), &Event::PacketLost { number, trigger: None });
    }
    assert_eq!(log.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(Writer::new(Full(10), Form::Current, &header).is_err());
}

/// A measurement, not a check: `cargo test -p exm-qlog -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn a_million_events() {
    let header = Header { title: "speed", vantage: Vantage::Client, name: "sender" };
    let mut log = Writer::new(io::sink(), Form::Current, &header).unwrap();
    for number in 0..500_000 {
        let frame = Frame::Stream { offset: number * 1448, length: 1448 };
        log.event(
            at(number * 7),
            &Event::PacketSent(&Packet::new(number, Bytes::new(1500), frame)),
        );
        let acked = [(number, number)];
        let packet = Packet::new(number, Bytes::new(52), Frame::Ack { acked: &acked });
        log.event(at(number * 7), &Event::PacketReceived(&packet));
    }
    log.finish().unwrap();
}
