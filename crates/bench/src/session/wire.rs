//! The protocol of the two ends of a benchmark. All integers are big-endian.

use super::{DirectionReport, Plan};
use exm_units::{Instant, Rate, Span};

/// A message of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// A measured datagram.
    Data {
        /// The run.
        run: u32,
        /// From 0.
        number: u64,
        /// The time of sending, by the clock of the sender's machine.
        sent_at: Instant,
    },
    /// Starts a run.
    Start {
        /// The number of the run, which is unique.
        run: u32,
        /// The measurement.
        plan: Plan,
        /// The identifier of the client's machine in this run, by which the server recognises its own; 0 if
        /// it has none.
        machine: u128,
    },
    /// The run has started.
    Started {
        /// The run.
        run: u32,
        /// The identifier of the server's machine.
        machine: u128,
    },
    /// The run is over.
    End {
        /// The run.
        run: u32,
    },
    /// The server's results.
    Report {
        /// The run.
        run: u32,
        /// The datagrams that the server sent and received.
        half: DirectionReport,
        /// The CPU time of its thread.
        work: Span,
    },
}

const DATA: u8 = 0;
const START: u8 = 1;
const STARTED: u8 = 2;
const END: u8 = 3;
const REPORT: u8 = 4;

/// Bytes of a [`Message::Data`]; further ones are padding.
pub(super) const DATA_LENGTH: usize = 1 + 4 + 8 + 8;

impl Message {
    /// Appends it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |kind: u8, run: u32| {
            out.push(kind);
            out.extend_from_slice(&run.to_be_bytes());
        };
        match *self {
            Message::Data { run, number, sent_at } => {
                put(DATA, run);
                out.extend(number.to_be_bytes());
                out.extend(sent_at.as_nanos().to_be_bytes());
            }
            Message::Start { run, plan, machine } => {
                put(START, run);
                out.push(u8::from(plan.up) | u8::from(plan.down) << 1);
                let rate = plan.rate.map_or(0, Rate::as_bps);
                let numbers = [plan.duration.as_nanos(), plan.skip.as_nanos(), rate];
                numbers.iter().for_each(|number| out.extend(number.to_be_bytes()));
                out.extend(machine.to_be_bytes());
            }
            Message::Started { run, machine } => {
                put(STARTED, run);
                out.extend(machine.to_be_bytes());
            }
            Message::End { run } => put(END, run),
            Message::Report { run, half, work } => {
                put(REPORT, run);
                let none = |span: Option<Span>| span.unwrap_or(Span::MAX).as_nanos();
                let (sent, received) = (half.sent, half.received);
                let delays = [none(half.delay_50), none(half.delay_95)];
                let numbers = [sent, received, half.throughput.as_bps(), delays[0], delays[1]];
                numbers.iter().for_each(|number| out.extend(number.to_be_bytes()));
                out.extend(work.as_nanos().to_be_bytes());
            }
        }
    }

    /// Parses `datagram`; bytes after the message are ignored.
    pub fn decode(datagram: &[u8]) -> Option<Message> {
        let (&kind, mut rest) = datagram.split_first()?;
        let rest = &mut rest;
        let run = take(rest).map(u32::from_be_bytes)?;
        Some(match kind {
            DATA => {
                let number = number(rest)?;
                Message::Data { run, number, sent_at: Instant::from_nanos(self::number(rest)?) }
            }
            START => {
                let [directions] = take(rest)?;
                let [duration, skip] = [span(rest)?, span(rest)?];
                let rate = Some(number(rest)?).filter(|&rate| rate > 0).map(Rate::from_bps);
                let (up, down) = (directions & 1 != 0, directions & 2 != 0);
                let plan = Plan { up, down, duration, skip, rate };
                Message::Start { run, plan, machine: u128::from_be_bytes(take(rest)?) }
            }
            STARTED => Message::Started { run, machine: u128::from_be_bytes(take(rest)?) },
            END => Message::End { run },
            REPORT => {
                let (sent, received) = (number(rest)?, number(rest)?);
                let throughput = Rate::from_bps(number(rest)?);
                let [delay_50, delay_95] =
                    [span(rest)?, span(rest)?].map(|s| Some(s).filter(|&s| s != Span::MAX));
                let half = DirectionReport { sent, received, throughput, delay_50, delay_95 };
                Message::Report { run, half, work: span(rest)? }
            }
            _ => return None,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest).map(u64::from_be_bytes)
}

fn span(rest: &mut &[u8]) -> Option<Span> {
    number(rest).map(Span::from_nanos)
}
