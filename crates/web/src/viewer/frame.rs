//! Frames: what has happened since the last one, as numbers. The format is in this crate's description.

use super::{seconds, span};
use exm_ratatouille::{
    FlowEvent, FlowEventKind, FlowState, HeldBy, LinkState, Measured, Monitor, RuleUse, Samples,
};
use exm_remy::Signal;
use exm_sim::engine::{Limited, PacketSample, SproutSample, Whereabouts};
use exm_sprout::TICK;
use exm_units::Instant;
use std::collections::BTreeMap;

/// The most packets in a frame.
const MOST_PACKETS: usize = 4_000;
/// The most rows of events, sends and ACKs in a frame.
const MOST_ROWS: usize = 20_000;

/// Appends a frame about all of `monitor`, and more of flow `watched.1` in lane `watched.0`.
pub(super) fn write(
    frame: &mut Vec<f64>,
    monitor: &mut Monitor,
    watched: (usize, usize),
    measured: &BTreeMap<(usize, usize), Measured>,
) {
    let samples = monitor.take_samples();
    let records = monitor.take_records();
    let packets = packets(monitor);
    let stride = stride(&packets);
    let player = monitor.player();
    let mut frame = Frame(frame);
    frame.section(0, 3, [[seconds(player.now()), seconds(player.end()), stride as f64]]);
    frame.samples(&samples);
    let events = records.iter().enumerate().flat_map(|(lane, records)| {
        latest(&records.events).iter().map(move |event| event_row(lane, event))
    });
    frame.section(3, 4, events);
    if let Some(records) = records.get(watched.0) {
        let sends = latest(&records.sends).iter();
        frame.section(4, 2, sends.map(|send| [seconds(send.at), held_by(send.held_by)]));
        frame.acks(latest(&records.acks), monitor, watched);
    }
    let kept = packets.iter().filter(|(_, sample)| sample.packet.sequence.is_multiple_of(stride));
    let now = player.now();
    frame.section(6, 6, kept.map(|(lane, sample)| packet_row(*lane, sample, now)));
    let lanes = 0..player.lanes().len();
    let flows = lanes.flat_map(|lane| monitor.flow_states(lane));
    frame.section(7, 16, flows.map(|state| flow_row(&state, monitor, measured)));
    let lane = player.lanes().get(watched.0);
    if let Some(sprout) = lane.and_then(|lane| lane.simulation().sprout(watched.1)) {
        let spec = &player.lanes()[watched.0].simulation().network().flows()[watched.1];
        frame.sprout(&sprout, spec.packet_size.get() as f64 * 8.0);
    }
}

/// The latest records, as many as a frame may have.
fn latest<T>(records: &[T]) -> &[T] {
    &records[records.len().saturating_sub(MOST_ROWS)..]
}

/// The packets of all lanes.
fn packets(monitor: &Monitor) -> Vec<(usize, PacketSample)> {
    let lanes = monitor.player().lanes().iter().enumerate();
    lanes
        .flat_map(|(index, lane)| {
            lane.simulation().packets().into_iter().map(move |sample| (index, sample))
        })
        .collect()
}

/// The smallest power of two for which few enough packets have a sequence number that is a multiple of it.
fn stride(packets: &[(usize, PacketSample)]) -> u64 {
    let kept = |stride: u64| {
        let is_kept = |sample: &PacketSample| sample.packet.sequence.is_multiple_of(stride);
        packets.iter().filter(|(_, sample)| is_kept(sample)).count()
    };
    let mut stride = 1;
    while stride < 1 << 32 && kept(stride) > MOST_PACKETS {
        stride *= 2;
    }
    stride
}

/// A frame that is being written.
struct Frame<'a>(&'a mut Vec<f64>);

impl Frame<'_> {
    /// Appends a section of rows of `columns` numbers each.
    fn section<R: IntoIterator<Item = f64>>(
        &mut self,
        number: u32,
        columns: usize,
        rows: impl IntoIterator<Item = R>,
    ) {
        let head = self.0.len();
        self.0.extend([f64::from(number), 0.0, columns as f64]);
        rows.into_iter().for_each(|row| self.0.extend(row));
        let rows = (self.0.len() - head - 3) / columns;
        self.0[head + 1] = rows as f64;
    }

    fn samples(&mut self, samples: &Samples) {
        let flow = |state: &FlowState| {
            let FlowState { sample, ideal, .. } = state;
            let head = std::iter::once(seconds(sample.at)).chain(shared_columns(state));
            head.chain([sample.delivered as f64, *ideal])
        };
        self.section(1, 10, samples.flows.iter().map(flow));
        let link = |state: &LinkState| {
            [
                seconds(state.at),
                state.lane as f64,
                state.link as f64,
                state.packets as f64,
                state.bytes as f64,
                state.rate.as_bps() as f64,
                state.dropped as f64,
                state.marked as f64,
            ]
        };
        self.section(2, 8, samples.links.iter().map(link));
    }

    /// The ACKs of the watched flow, with a column for each signal of its table.
    fn acks(&mut self, acks: &[RuleUse], monitor: &Monitor, (lane, flow): (usize, usize)) {
        let remycc = monitor.player().lanes()[lane].remycc(flow);
        let Some(signals) = remycc.map(|remycc| remycc.table().signals()) else { return };
        let signals: Vec<Signal> = signals.iter().collect();
        let row = |ack: &RuleUse| {
            let head =
                [seconds(ack.at), ack.rule as f64, ack.cwnd.get() as f64, span(ack.intersend)];
            let values: Vec<f64> =
                signals.iter().map(|signal| ack.signals[signal.index()]).collect();
            head.into_iter().chain(values)
        };
        self.section(5, 4 + signals.len(), acks.iter().map(row));
    }

    fn sprout(&mut self, sample: &SproutSample, packet_bits: f64) {
        if let Some(belief) = &sample.belief {
            let rates = belief.rates();
            self.section(8, 2, rates.map(|(rate, probability)| [rate * packet_bits, probability]));
        }
        let ticks = sample.forecast.delivered.iter().zip(&sample.followed.delivered).enumerate();
        let row = |(tick, (made, followed)): (usize, (&exm_units::Bytes, &exm_units::Bytes))| {
            [(tick + 1) as f64 * span(TICK), made.get() as f64, followed.get() as f64]
        };
        self.section(9, 3, ticks.map(row));
        let state = [
            sample.mean_rate.as_bps() as f64,
            sample.window.get() as f64,
            sample.in_flight.get() as f64,
        ];
        self.section(10, 3, [state]);
    }
}

fn event_row(lane: usize, event: &FlowEvent) -> [f64; 4] {
    let kind = match event.kind {
        FlowEventKind::Dropped => 0.0,
        FlowEventKind::Lost => 1.0,
        FlowEventKind::Marked => 2.0,
        FlowEventKind::Started => 3.0,
        FlowEventKind::Stopped => 4.0,
        FlowEventKind::Retransmitted => 5.0,
    };
    [seconds(event.at), lane as f64, event.flow as f64, kind]
}

fn packet_row(lane: usize, sample: &PacketSample, now: Instant) -> [f64; 6] {
    let part = |from: Instant, to: Instant| {
        let whole = to.saturating_since(from);
        let done = now.saturating_since(from);
        if whole.is_zero() { 1.0 } else { (span(done) / span(whole)).min(1.0) }
    };
    let (place, position, link) = match sample.whereabouts {
        Whereabouts::Waiting { link, place } => (0.0, place as f64, link),
        // When a transmission began is not known; it ends soon.
        Whereabouts::Transmitting { link, .. } => (1.0, 0.5, link),
        Whereabouts::Propagating { link, left_at, arrives_at } => {
            (2.0, part(left_at, arrives_at), link)
        }
        Whereabouts::Arriving { link, left_at, arrives_at, back } => {
            let there = Instant::from_nanos(arrives_at.as_nanos() - back.as_nanos());
            if now < there {
                (3.0, part(left_at, there), link)
            } else {
                (4.0, part(there, arrives_at), link)
            }
        }
        Whereabouts::Returning { link, left_at, arrives_at } => {
            (4.0, part(left_at, arrives_at), link)
        }
        _ => (0.0, f64::NAN, 0),
    };
    let sequence = sample.packet.sequence as f64;
    [lane as f64, sample.flow as f64, place, position, link as f64, sequence]
}

/// What sections 1 and 7 both have of a flow.
fn shared_columns(FlowState { lane, sample, .. }: &FlowState) -> [f64; 7] {
    [
        *lane as f64,
        sample.flow as f64,
        f64::from(u8::from(sample.on)),
        sample.in_flight.get() as f64,
        sample.cwnd.get() as f64,
        span(sample.intersend),
        sample.rtt.map_or(f64::NAN, span),
    ]
}

fn flow_row(
    state: &FlowState,
    monitor: &Monitor,
    measured: &BTreeMap<(usize, usize), Measured>,
) -> impl Iterator<Item = f64> + use<> {
    let FlowState { lane, sample, ideal, .. } = state;
    let limited = match sample.limited {
        Limited::Window => 0.0,
        Limited::Pace => 1.0,
        Limited::Off => 3.0,
        _ => 2.0,
    };
    let lanes = monitor.player().lanes();
    let spec = &lanes[*lane].simulation().network().flows()[sample.flow];
    let bits = spec.packet_size.get() as f64 * 8.0;
    let measured = measured.get(&(*lane, sample.flow)).copied().unwrap_or_default();
    let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let rest = [
        sample.rule.map_or(f64::NAN, |rule| rule as f64),
        limited,
        or_nan(monitor.throughput(*lane, sample.flow)) * bits,
        *ideal,
        or_nan(measured.in_flight),
        or_nan(measured.period),
        or_nan(measured.ramp_up),
        or_nan(measured.by_window),
        or_nan(measured.by_pace),
    ];
    shared_columns(state).into_iter().chain(rest)
}

fn held_by(gate: HeldBy) -> f64 {
    match gate {
        HeldBy::Window => 0.0,
        HeldBy::Pace => 1.0,
        HeldBy::Data => 2.0,
    }
}
