//! [`BenchServer`]: the end that takes part in measurements.

use super::arrivals::Arrivals;
use super::sending::{Sending, machine_time};
use super::wire::Message;
use super::{DirectionReport, Plan, is_ours, machine, processor_time};
use exm_os::Clock;
use exm_session::{Application, Session, Sink, Source};
use exm_units::{Instant, Span};
use std::io;

/// The longest run.
pub(super) const LONGEST: Span = Span::from_secs(86_400);

/// Serves benchmarks, one after the other.
#[derive(Debug)]
pub struct BenchServer {
    clock: Clock,
    max_payload: usize,
    sending: Sending,
    run: Option<Run>,
    finished: u64,
}

#[derive(Debug)]
struct Run {
    number: u32,
    plan: Plan,
    arrivals: Arrivals,
    /// The thread's CPU time at the beginning.
    work: Span,
    report: Option<(DirectionReport, Span)>,
}

impl BenchServer {
    /// A server over `session`.
    pub fn new(session: &Session) -> BenchServer {
        let clock = session.clock();
        let max_payload = session.settings().max_payload();
        BenchServer { clock, max_payload, sending: Sending::new(clock), run: None, finished: 0 }
    }

    /// The number of finished runs.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// The plan of the present or last run.
    pub fn plan(&self) -> Option<Plan> {
        self.run.as_ref().map(|run| run.plan)
    }

    fn start(&mut self, now: Instant, number: u32, plan: Plan, theirs: u128) {
        let is_known = self.run.as_ref().is_some_and(|run| run.number == number);
        if !is_known {
            let duration = plan.duration.min(LONGEST);
            let [from, until] = [plan.skip.min(duration), duration]
                .map(|span| machine_time(self.clock, now.saturating_add(span)));
            let arrivals = Arrivals::new(from, until, is_ours(number, theirs));
            let work = processor_time();
            self.run = Some(Run { number, plan, arrivals, work, report: None });
            self.sending = Sending::new(self.clock);
            if plan.down {
                let times = [now, now.saturating_add(duration)];
                self.sending.begin(number, self.max_payload, plan.rate, times);
            }
        }
        self.sending.queue(&Message::Started { run: number, machine: machine(number) });
    }

    fn end(&mut self, number: u32) {
        let sent = self.sending.sent();
        let Some(run) = self.run.as_mut().filter(|run| run.number == number) else { return };
        let (half, work) = *run.report.get_or_insert_with(|| {
            self.finished += 1;
            (run.arrivals.half(sent), processor_time().saturating_sub(run.work))
        });
        self.sending.queue(&Message::Report { run: number, half, work });
    }
}

impl Application for BenchServer {
    fn work(&mut self, _session: &mut Session) -> io::Result<()> {
        Ok(())
    }

    fn next_wake(&self) -> Instant {
        self.sending.next_wake(self.clock.now())
    }
}

impl Source for BenchServer {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        self.sending.waiting(now)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        self.sending.pull(now, payload);
    }
}

impl Sink for BenchServer {
    fn deliver(&mut self, now: Instant, payload: &[u8]) {
        match Message::decode(payload) {
            Some(Message::Data { run: number, sent_at, .. }) => {
                let at = machine_time(self.clock, now);
                if let Some(run) = self.run.as_mut().filter(|run| run.number == number) {
                    run.arrivals.arrived(sent_at, at, payload.len());
                }
            }
            Some(Message::Start { run, plan, machine }) => self.start(now, run, plan, machine),
            Some(Message::End { run }) => self.end(run),
            _ => {}
        }
    }
}
