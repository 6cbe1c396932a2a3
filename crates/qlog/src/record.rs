//! Records as they stand in the file.

use crate::{Event, Form, Frame, Metrics, Packet, Trigger};
use exm_units::{Bytes, Instant, Span};
use serde::{Serialize, Serializer};

/// An event with its time.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    /// In milliseconds.
    time: f64,
    name: &'static str,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Packet {
        header: HeaderData,
        raw: Raw,
        frames: [FrameData<'a>; 1],
    },
    Lost {
        header: HeaderData,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'static str>,
    },
    Metrics(MetricsData),
    State {
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<&'a str>,
        new: &'a str,
    },
}

#[derive(Serialize)]
struct HeaderData {
    packet_type: &'static str,
    packet_number: u64,
}

#[derive(Serialize)]
struct Raw {
    length: u64,
}

#[derive(Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
enum FrameData<'a> {
    Stream {
        stream_id: u64,
        offset: u64,
        length: u64,
    },
    Datagram {
        length: u64,
    },
    Ack {
        #[serde(skip_serializing_if = "Ranges::is_empty")]
        acked_ranges: Ranges<'a>,
    },
    Ping,
}

/// Ranges of packet numbers.
struct Ranges<'a> {
    ranges: &'a [(u64, u64)],
    /// Whether a range of one number is that number alone: the present drafts recommend it, older readers expect two.
    short: bool,
}

impl Ranges<'_> {
    fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl Serialize for Ranges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ranges.iter().map(|&(first, last)| {
            if self.short && first == last {
                Range::One([first])
            } else {
                Range::Two([first, last])
            }
        }))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Range {
    One([u64; 1]),
    Two([u64; 2]),
}

/// Times in milliseconds, amounts in bytes, the rate in bits a second.
#[derive(Serialize)]
struct MetricsData {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<u64>,
}

impl MetricsData {
    fn new(metrics: &Metrics) -> MetricsData {
        let millis = |span: Option<Span>| span.map(Span::as_millis_f64);
        let bytes = |amount: Option<Bytes>| amount.map(Bytes::get);
        MetricsData {
            min_rtt: millis(metrics.min_rtt),
            smoothed_rtt: millis(metrics.smoothed_rtt),
            latest_rtt: millis(metrics.latest_rtt),
            congestion_window: bytes(metrics.congestion_window),
            bytes_in_flight: bytes(metrics.bytes_in_flight),
            packets_in_flight: metrics.packets_in_flight,
            ssthresh: bytes(metrics.ssthresh),
            pacing_rate: metrics.pacing_rate.map(exm_units::Rate::as_bps),
        }
    }
}

/// The names of the events: sent, received, lost, metrics, state.
fn names(form: Form) -> [&'static str; 5] {
    match form {
        Form::Current => [
            "quic:packet_sent",
            "quic:packet_received",
            "quic:packet_lost",
            "quic:recovery_metrics_updated",
            "quic:congestion_state_updated",
        ],
        Form::Older => [
            "transport:packet_sent",
            "transport:packet_received",
            "recovery:packet_lost",
            "recovery:metrics_updated",
            "recovery:congestion_state_updated",
        ],
    }
}

impl<'a> Record<'a> {
    /// The record of `event` at that time, in state `old` if there was one before.
    pub(crate) fn new(
        form: Form,
        at: Instant,
        event: &Event<'a>,
        old: Option<&'a str>,
    ) -> Record<'a> {
        let [sent, received, lost, metrics, state] = names(form);
        let (name, data) = match *event {
            Event::PacketSent(packet) => (sent, packet_data(form, packet)),
            Event::PacketReceived(packet) => (received, packet_data(form, packet)),
            Event::PacketLost { number, trigger } => (lost, loss(number, trigger)),
            Event::Metrics(values) => (metrics, Data::Metrics(MetricsData::new(values))),
            Event::State(new) => (state, Data::State { old, new }),
        };
        Record { time: at.as_millis_f64(), name, data }
    }
}

fn header(packet_number: u64) -> HeaderData {
    HeaderData { packet_type: "1RTT", packet_number }
}

fn packet_data<'a>(form: Form, packet: &Packet<'a>) -> Data<'a> {
    let frame = match packet.frame {
        Frame::Stream { offset, length } => FrameData::Stream { stream_id: 0, offset, length },
        Frame::Datagram { length } => FrameData::Datagram { length },
        Frame::Ack { acked } => {
            let short = form == Form::Current;
            FrameData::Ack { acked_ranges: Ranges { ranges: acked, short } }
        }
        Frame::Ping => FrameData::Ping,
    };
    let raw = Raw { length: packet.size.get() };
    Data::Packet { header: header(packet.number), raw, frames: [frame] }
}

fn loss(number: u64, trigger: Option<Trigger>) -> Data<'static> {
    let trigger = trigger.map(|trigger| match trigger {
        Trigger::ReorderingThreshold => "reordering_threshold",
        Trigger::TimeThreshold => "time_threshold",
        Trigger::Timeout => "pto_expired",
    });
    Data::Lost { header: header(number), trigger }
}
