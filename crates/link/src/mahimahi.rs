//! [`MahimahiWriter`]: what happens at a queue, in the format of mahimahi's logs.

use crate::Service;
use exm_trace::{OPPORTUNITY, Opportunities};
use exm_units::{Instant, Rate, Span};
use std::io::{self, Write};

/// Writes a log in mahimahi's format, from which its scripts draw graphs: a line for each event, times in milliseconds.
/// `t + bytes` is an arrival at the queue, `t # bytes` a delivery opportunity, `t - bytes delay` a departure with the
/// time since the arrival, and `t d packets bytes` a drop. Lines that begin with `#` come first.
///
/// ```
/// use exm_link::{MahimahiWriter, Service};
/// use exm_units::{Instant, Rate, Span};
///
/// let at = |millis| Instant::ZERO + Span::from_millis(millis);
/// let service = Service::Fixed(Rate::from_mbps(1.0));
/// let mut log = MahimahiWriter::new(Vec::new(), &["base timestamp: 0".to_owned()], &service)?;
/// log.queued(at(1), 1500)?;
/// log.delivered(at(13), at(1), 1500)?;
/// log.finish(at(20))?;
/// assert_eq!(log.into_inner(), b"# base timestamp: 0\n1 + 1500\n12 # 1500\n13 - 1500 12\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct MahimahiWriter<W> {
    out: W,
    offered: Offered,
}

/// The delivery opportunities that have not been written yet.
#[derive(Debug)]
enum Offered {
    Trace(Opportunities),
    /// A fixed rate, with the number of opportunities before the next.
    Fixed(Rate, u64),
}

impl Offered {
    fn new(service: &Service) -> Offered {
        match service {
            Service::Fixed(rate) => Offered::Fixed(*rate, 1),
            Service::Trace(trace) => Offered::Trace(Opportunities::new(trace.clone())),
        }
    }

    /// The next opportunity, if it is not after `time`.
    fn take_until(&mut self, time: Instant) -> Option<Instant> {
        match self {
            Offered::Trace(opportunities) => {
                (opportunities.peek() <= time).then(|| opportunities.take())
            }
            Offered::Fixed(rate, number) => {
                let bit_nanos = u128::from(OPPORTUNITY.get()) * 8_000_000_000;
                let nanos = u128::from(*number) * bit_nanos / u128::from(rate.as_bps().max(1));
                let at = Instant::ZERO + Span::from_nanos(u64::try_from(nanos).ok()?);
                (at <= time).then(|| {
                    *number += 1;
                    at
                })
            }
        }
    }
}

impl<W: Write> MahimahiWriter<W> {
    /// Begins a log with `head`, whose lines are each put after `#`, of a link with this `service`. Mahimahi's scripts look
    /// for the line `base timestamp: 0`.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(mut out: W, head: &[String], service: &Service) -> io::Result<MahimahiWriter<W>> {
        head.iter().try_for_each(|line| writeln!(out, "# {line}"))?;
        Ok(MahimahiWriter { out, offered: Offered::new(service) })
    }

    /// A packet of `size` bytes arrives at the queue. Events must be written in the order of their times.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn queued(&mut self, at: Instant, size: u32) -> io::Result<()> {
        self.offer(at)?;
        writeln!(self.out, "{} + {size}", millis(at))
    }

    /// One that arrived at `queued_at` leaves.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn delivered(&mut self, at: Instant, queued_at: Instant, size: u32) -> io::Result<()> {
        self.offer(at)?;
        let delay = millis(at).saturating_sub(millis(queued_at));
        writeln!(self.out, "{} - {size} {delay}", millis(at))
    }

    /// One is dropped.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn dropped(&mut self, at: Instant, size: u32) -> io::Result<()> {
        self.offer(at)?;
        writeln!(self.out, "{} d 1 {size}", millis(at))
    }

    /// Nothing happens after `end`: writes the opportunities until then.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(&mut self, end: Instant) -> io::Result<()> {
        self.offer(end)?;
        self.out.flush()
    }

    /// What it writes to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes the opportunities up to `time`.
    fn offer(&mut self, time: Instant) -> io::Result<()> {
        while let Some(at) = self.offered.take_until(time) {
            writeln!(self.out, "{} # {}", millis(at), OPPORTUNITY.get())?;
        }
        Ok(())
    }
}

fn millis(time: Instant) -> u64 {
    time.as_nanos() / 1_000_000
}
