//! The sender: asks its carrier, then its encoder, frame by frame.

use crate::carriers::{AHEAD, Carrier};
use crate::frames::MAX_FRAME;
use exm_os::{Clock, Waiter};
use exm_units::{Instant, Span};
use std::error::Error;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The time between two frames: 25 a second.
const INTERVAL: Span = Span::from_millis(40);
/// A smaller frame is not worth sending.
const LEAST_FRAME: f64 = 300.0;
/// How long it goes on once the encoder has ended, so that the last frames arrive.
const LINGER: Span = Span::from_secs(2);

/// A frame, after its number.
type Numbered = (u32, Vec<u8>);

/// The encoder, which is asked for one frame at a time.
struct Encoder {
    child: Child,
    output: ChildStdout,
    answer: Vec<u8>,
    /// The number of the frame that it was asked for and has not made.
    asked: Option<u32>,
}

impl Encoder {
    fn start(program: &str, arguments: &[&str]) -> Result<Encoder, Box<dyn Error>> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.spawn();
        let mut child = started.map_err(|error| format!("cannot start {program}: {error}"))?;
        let output = child.stdout.take().ok_or("the encoder has no output")?;
        Ok(Encoder { child, output, answer: Vec::new(), asked: None })
    }

    /// Asks for frame `number`, of about `bytes`.
    fn ask(&mut self, number: u32, bytes: u64) -> std::io::Result<()> {
        self.asked = Some(number);
        let input = self.child.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{number} {bytes}")?;
        input.flush()
    }

    /// Reads what its output has, which must be readable. Returns a complete frame with its number; an error at its end.
    fn read(&mut self) -> Result<Option<Numbered>, Box<dyn Error>> {
        let mut buffer = [0; 1 << 16];
        let read = self.output.read(&mut buffer)?;
        if read == 0 {
            return Err("the encoder has ended".into());
        }
        self.answer.extend(&buffer[..read]);
        let Some((length, rest)) = self.answer.split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_FRAME {
            return Err(format!("the encoder made a frame of {length} bytes").into());
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = rest[..length].to_vec();
        self.answer.drain(..4 + length);
        Ok(self.asked.take().map(|number| (number, frame)))
    }
}

/// How large the next frame should be: what the link delivers in the time of a frame by the forecast, if it may go now. What the
/// frames before it had too much is taken off.
fn size(carrier: &Carrier, debt: &mut f64) -> u64 {
    let offer = carrier.offer();
    let share = offer.soon as f64 * INTERVAL.as_secs_f64() / AHEAD.as_secs_f64();
    *debt = (*debt - share).max(-share);
    let bytes = (share - debt.max(0.0)).min(offer.now as f64);
    if bytes < LEAST_FRAME { 0 } else { bytes as u64 }
}

/// Sends until the encoder ends.
pub(crate) fn send(
    carrier: &str,
    address: &str,
    program: &str,
    arguments: &[&str],
) -> Result<(), Box<dyn Error>> {
    let clock = Clock::start();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut carrier = Carrier::open(carrier, address, clock)?;
    let mut encoder = Encoder::start(program, arguments)?;
    let (mut number, mut debt, mut due) = (0u32, 0.0, clock.now());
    let mut ends = Instant::MAX;
    while clock.now() < ends {
        carrier.service()?;
        let now = clock.now();
        if now >= due && ends == Instant::MAX {
            due += INTERVAL;
            // An encoder that is late with a frame misses the next one's turn.
            let bytes = if encoder.asked.is_some() { 0 } else { size(&carrier, &mut debt) };
            if bytes > 0 && encoder.ask(number, bytes).is_err() {
                ends = now + LINGER;
            }
            number += 1;
            continue;
        }
        let wake = carrier.next_wake(now).min(due).min(ends);
        if ends < Instant::MAX {
            waiter.wait([carrier.file()], wake.min(now + INTERVAL))?;
            continue;
        }
        let [_, is_ready] = waiter.wait([carrier.file(), encoder.output.as_fd()], wake)?;
        if is_ready {
            match encoder.read() {
                Ok(Some((number, frame))) => {
                    debt += frame.len() as f64;
                    carrier.send(number, &frame)?;
                }
                Ok(None) => {}
                Err(_) => ends = clock.now() + LINGER,
            }
        }
    }
    encoder.child.wait()?;
    Ok(())
}
