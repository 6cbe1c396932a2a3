//! [`Bench`]: the end that controls the measurement.

use super::arrivals::Arrivals;
use super::sending::{Sending, machine_time};
use super::server::LONGEST;
use super::wire::Message;
use super::{DirectionReport, Outcome, Plan, is_ours, machine, processor_time};
use exm_os::Clock;
use exm_session::{Application, Session, Sink, Source};
use exm_trace::delay::PacketDelays;
use exm_units::{Instant, Span};
use std::io;

/// The interval at which unanswered messages are repeated.
const AGAIN: Span = Span::from_millis(200);
/// How long datagrams in flight may take to arrive after the last was sent.
const DRAIN: Span = Span::from_secs(1);
/// A server that has not responded for this long is not there.
const FIRST_PATIENCE: Span = Span::from_secs(15);
/// A server that has responded and is then silent for this long has failed; links may have long
/// outages.
const PATIENCE: Span = Span::from_secs(60);

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// There is no session, or the server does not respond.
    #[error(
        "the server does not take part: is it running, reachable, of the same version, with the \
         same key, and by \"exm sprout serve --bench\"?"
    )]
    NoAnswer,
    /// The server has stopped responding.
    #[error("the server has not responded for {} s", PATIENCE.as_secs_f64())]
    Silent,
    /// It was interrupted.
    #[error("the measurement was stopped before its end")]
    Stopped,
}

/// Measures a session, see [`Plan`].
#[derive(Debug)]
pub struct Bench {
    clock: Clock,
    plan: Plan,
    run: u32,
    max_payload: usize,
    sending: Sending,
    stage: Stage,
    request_at: Instant,
    arrivals: Option<Arrivals>,
    one_clock: bool,
    rtts: PacketDelays,
    rtts_seen: u64,
    received: u64,
    work: Span,
    /// When the server's last message in this run arrived; before its start, when the start was
    /// first requested.
    last_received_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The server has been requested to start.
    Asking,
    /// Running until this time.
    Running(Instant),
    /// Over; the server has been requested to end.
    Ending,
    /// The server has reported.
    Done(DirectionReport, Span, Span),
    Failed(BenchError),
}

impl Bench {
    /// Runs `plan` over `session`. `run` is a unique number.
    pub fn new(session: &Session, plan: Plan, run: u32) -> Bench {
        let clock = session.clock();
        let now = clock.now();
        let duration = plan.duration.min(LONGEST);
        Bench {
            clock,
            plan: Plan { duration, skip: plan.skip.min(duration), ..plan },
            run,
            max_payload: session.settings().max_payload(),
            sending: Sending::new(clock),
            stage: Stage::Asking,
            request_at: now,
            arrivals: None,
            one_clock: false,
            rtts: PacketDelays::new(Instant::ZERO, Instant::MAX),
            rtts_seen: 0,
            received: 0,
            work: Span::ZERO,
            last_received_at: now,
        }
    }

    /// When it ends, while it runs.
    pub fn ends_at(&self) -> Option<Instant> {
        match self.stage {
            Stage::Running(until) => Some(until),
            _ => None,
        }
    }

    /// The result.
    ///
    /// # Errors
    /// The server did not take part, or the measurement has not finished.
    pub fn outcome(&self) -> Result<Outcome, BenchError> {
        let Stage::Done(theirs, their_work, our_work) = self.stage else {
            return Err(match self.stage {
                Stage::Failed(error) => error,
                Stage::Asking => BenchError::NoAnswer,
                _ => BenchError::Stopped,
            });
        };
        let span = (self.plan.duration + DRAIN).as_secs_f64();
        let up = self.plan.up.then_some(DirectionReport { sent: self.sending.sent(), ..theirs });
        let ours = self.arrivals.as_ref().map(|arrivals| arrivals.half(theirs.sent));
        Ok(Outcome {
            plan: self.plan,
            up,
            down: ours.filter(|_| self.plan.down),
            one_clock: self.one_clock,
            rtt_50: self.rtts.percentile(50.0),
            rtt_95: self.rtts.percentile(95.0),
            processor: [our_work, their_work].map(|work| work.as_secs_f64() / span),
        })
    }

    /// When it fails, unless a message of the server arrives before.
    fn gives_up_at(&self) -> Instant {
        match self.stage {
            Stage::Asking => self.last_received_at.saturating_add(FIRST_PATIENCE),
            Stage::Running(_) | Stage::Ending => self.last_received_at.saturating_add(PATIENCE),
            Stage::Done(..) | Stage::Failed(_) => Instant::MAX,
        }
    }

    fn begin(&mut self, now: Instant, theirs: u128) {
        self.one_clock = is_ours(self.run, theirs);
        let until = now.saturating_add(self.plan.duration);
        let times = [now.saturating_add(self.plan.skip), until];
        let [from, to] = times.map(|at| machine_time(self.clock, at));
        self.arrivals = Some(Arrivals::new(from, to, self.one_clock));
        if self.plan.up {
            self.sending.begin(self.run, self.max_payload, self.plan.rate, [now, until]);
        }
        self.work = processor_time();
        self.last_received_at = now;
        self.stage = Stage::Running(until);
    }

    fn send_request(&mut self, now: Instant) {
        let run = self.run;
        match self.stage {
            Stage::Running(until) if now >= until.saturating_add(DRAIN) => {
                self.stage = Stage::Ending;
                self.request_at = now;
            }
            _ => {}
        }
        if now < self.request_at {
            return;
        }
        match self.stage {
            Stage::Asking => {
                self.sending.queue(&Message::Start { run, plan: self.plan, machine: machine(run) });
            }
            Stage::Ending => self.sending.queue(&Message::End { run }),
            _ => return,
        }
        self.request_at = now.saturating_add(AGAIN);
    }
}

impl Application for Bench {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        let now = session.clock().now();
        let counters = session.counters();
        if counters.received > self.received {
            self.received = counters.received;
            // A session may exist with a server that does not serve benchmarks.
            if self.stage != Stage::Asking {
                self.last_received_at = now;
            }
        }
        if counters.rtts > self.rtts_seen {
            self.rtts_seen = counters.rtts;
            if let (Some(rtt), Stage::Running(_)) = (session.rtt(), self.stage) {
                self.rtts.record(now, rtt);
            }
        }
        // Messages that cannot be sent must not pile up.
        if self.sending.is_quiet() {
            self.send_request(now);
        }
        if now >= self.gives_up_at() {
            let has_begun = self.stage != Stage::Asking;
            let why = if has_begun { BenchError::Silent } else { BenchError::NoAnswer };
            self.stage = Stage::Failed(why);
        }
        Ok(())
    }

    fn next_wake(&self) -> Instant {
        let own = match self.stage {
            Stage::Running(until) => until.saturating_add(DRAIN),
            Stage::Asking | Stage::Ending if self.sending.is_quiet() => self.request_at,
            Stage::Asking | Stage::Ending => Instant::MAX,
            Stage::Done(..) | Stage::Failed(_) => Instant::ZERO,
        };
        own.min(self.gives_up_at()).min(self.sending.next_wake(self.clock.now()))
    }

    fn is_done(&self, _now: Instant) -> bool {
        matches!(self.stage, Stage::Done(..) | Stage::Failed(_))
    }
}

impl Source for Bench {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        self.sending.waiting(now)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        self.sending.pull(now, payload);
    }
}

impl Sink for Bench {
    fn deliver(&mut self, now: Instant, payload: &[u8]) {
        match Message::decode(payload) {
            Some(Message::Data { run, sent_at, .. }) if run == self.run => {
                // Datagrams that overtook the start message are not scored.
                if let Some(arrivals) = &mut self.arrivals {
                    arrivals.arrived(sent_at, machine_time(self.clock, now), payload.len());
                }
            }
            Some(Message::Started { run, machine })
                if run == self.run && self.stage == Stage::Asking =>
            {
                self.begin(now, machine);
            }
            Some(Message::Report { run, half, work })
                if run == self.run && self.stage == Stage::Ending =>
            {
                let ours = processor_time().saturating_sub(self.work);
                self.stage = Stage::Done(half, work, ours);
            }
            _ => {}
        }
    }
}
