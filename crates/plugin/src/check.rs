//! [`check()`]: tries a controller with event scripts, and says what is wrong with it.

use crate::script::{self, Event};
use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Start};
use exm_units::{Instant, Packets, Span};
use std::fmt;

/// How bad a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The controller cannot be used like this.
    Error,
    /// It can be used, and will probably not do what its author wants.
    Warning,
}

impl Severity {
    /// Its name: "error" or "warning".
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Something that is wrong with a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and the remedy.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.name(), self.what)
    }
}

/// How many events each of the random scripts has, and how many scripts there are.
const EVENTS: usize = 5000;
const SCRIPTS: u64 = 4;
/// A window that no path needs: 100 Gbit/s over 120 ms.
const HUGE: Packets = Packets::new(1_000_000);
/// Pauses between two sends that are longer than this look like a confusion of units.
const LONG: Span = Span::from_secs(60);

/// What is wrong with `controller`, which has started no flow yet: errors first, and nothing twice. Random event
/// scripts look for failures and for decisions that differ between two runs; a calm path with time-outs looks for
/// windows that never close, or never open. `can_be_copied` says whether a copy continues from the same state, as
/// one of every controller but a program does.
pub fn check(controller: &impl Controller, can_be_copied: bool) -> Vec<Finding> {
    let mut findings = Findings::default();
    for seed in 1..=SCRIPTS {
        let script = script::random(EVENTS, seed);
        let mut first = controller.clone();
        let decisions = script::play(&mut first, &script);
        findings.failure(&first);
        findings.decisions(&decisions);
        if first.failure().is_some() {
            continue;
        }
        if decisions != script::play(&mut controller.clone(), &script) {
            findings.error(
                "it decides differently when it is given the same events again: it must depend on events and the \
                 seed alone, neither on clocks nor on addresses or the order of hash tables",
            );
        }
        if can_be_copied {
            copy(controller, &script, &mut findings);
        }
    }
    if !findings.has_errors() {
        calm(controller, &mut findings);
    }
    findings.sorted()
}

/// Whether a copy made in the middle of `script` goes on as the original.
fn copy(controller: &impl Controller, script: &[Event], findings: &mut Findings) {
    let (before, after) = script.split_at(script.len() / 2);
    let mut original = controller.clone();
    script::play(&mut original, before);
    let mut copied = original.clone();
    findings.failure(&copied);
    if script::play(&mut original, after) != script::play(&mut copied, after) {
        findings.error("a copy of it goes on differently: it has state outside of what is copied");
    }
}

/// A path of 100 ms on which all is well, then a time-out, then nothing.
fn calm(controller: &impl Controller, findings: &mut Findings) {
    const RTT: Span = Span::from_millis(100);
    let mut controller = controller.clone();
    let mut now = Instant::ZERO + RTT;
    let mut start = Start::new(now);
    start.rtt = Some(RTT);
    let begun = controller.on_start(&start);
    if is_silent(&begun) {
        findings.error(
            "at the start of a flow its window is 0 and it asks for no wake-up: it never sends anything",
        );
        return;
    }
    let mut last = begun;
    for sequence in 0..1000 {
        now += Span::from_millis(1);
        let mut ack = Ack::new(sequence, Instant::from_nanos(now.as_nanos() - RTT.as_nanos()), now);
        ack.in_flight = last.cwnd.min(Packets::new(100));
        last = controller.on_ack(&ack);
    }
    let opened = last;
    let mut timeout = Congestion::new(CongestionKind::Timeout, now, now + Span::from_secs(1));
    timeout.packets = opened.cwnd;
    for _ in 0..3 {
        timeout.now += Span::from_secs(1);
        last = controller.on_congestion(&timeout);
    }
    findings.failure(&controller);
    if is_silent(&last) {
        findings.error(
            "after time-outs its window is 0 and it asks for no wake-up: with nothing in flight no ACK will arrive, \
             so it never sends again",
        );
    } else if opened == begun && last == begun {
        findings.warning("it always decides the same, whatever arrives");
    } else if last.cwnd >= opened.cwnd && last.intersend <= opened.intersend {
        findings.warning(
            "it does not slow down after three time-outs in a row: on a full link it would keep the queue full",
        );
    }
}

fn is_silent(decision: &Decision) -> bool {
    decision.cwnd == Packets::ZERO && decision.wake_at.is_none()
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, severity: Severity, what: String) {
        let finding = Finding { severity, what };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    fn error(&mut self, what: &str) {
        self.add(Severity::Error, what.to_owned());
    }

    fn warning(&mut self, what: &str) {
        self.add(Severity::Warning, what.to_owned());
    }

    fn has_errors(&self) -> bool {
        self.0.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// One error is enough: scripts differ only in when it happens.
    fn failure(&mut self, controller: &impl Controller) {
        if let Some(failure) = controller.failure().filter(|_| !self.has_errors()) {
            self.error(&format!("{failure} of an event script"));
        }
    }

    fn decisions(&mut self, decisions: &[Decision]) {
        if let Some(huge) = decisions.iter().find(|decision| decision.cwnd > HUGE) {
            self.warning(&format!(
                "it asks for a window of {} packets: windows are counted in packets, not in bytes",
                huge.cwnd.get()
            ));
        }
        if let Some(long) = decisions.iter().find(|decision| decision.intersend > LONG) {
            self.warning(&format!(
                "it asks for {} between two sends: times are in nanoseconds",
                long.intersend
            ));
        }
        // A script lasts for seconds.
        let past = |decision: &&Decision| {
            decision.wake_at.is_some_and(|at| at < Instant::ZERO + Span::from_millis(1))
        };
        if decisions.iter().skip(decisions.len() / 2).filter(past).count() > decisions.len() / 4 {
            self.warning(
                "it asks for wake-ups at times long past: they are absolute times as of \"now\", not durations",
            );
        }
    }

    fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| finding.severity);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_cc::{Aimd, Bbr, Bbr1, Compound, Cubic, Dctcp, Ledbat, Reno, Vegas};

    #[test]
    fn nothing_is_wrong_with_the_controllers_that_people_designed() {
        fn nothing(controller: &impl Controller) {
            assert_eq!(check(controller, true), []);
        }
        nothing(&Aimd::new());
        nothing(&Bbr::default());
        nothing(&Bbr1::default());
        nothing(&Compound::new());
        nothing(&Cubic::new());
        nothing(&Dctcp::new());
        nothing(&Ledbat::new());
        nothing(&Reno::new());
        nothing(&Vegas::new());
    }

    /// Decides by a function of how many events there were.
    #[derive(Clone)]
    struct Own(fn(u64, Instant) -> Decision, u64);

    impl Own {
        fn next(&mut self, now: Instant) -> Decision {
            self.1 += 1;
            self.0(self.1, now)
        }
    }

    impl Controller for Own {
        fn on_start(&mut self, start: &Start) -> Decision {
            self.1 = 0;
            self.next(start.now)
        }
        fn on_ack(&mut self, ack: &Ack) -> Decision {
            self.next(ack.now)
        }
        fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
            self.next(congestion.now)
        }
        fn on_tick(&mut self, now: Instant) -> Decision {
            self.next(now)
        }
    }

    fn window(cwnd: u64) -> Decision {
        Decision { cwnd: Packets::new(cwnd), intersend: Span::ZERO, wake_at: None }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (decide, severity, expected) in [
            (
                (|_, _| window(0)) as fn(u64, Instant) -> Decision,
                Severity::Error,
                "it never sends anything",
            ),
            (|_, _| window(5), Severity::Warning, "it always decides the same"),
            (|n, _| window(5 + n), Severity::Warning, "does not slow down after three time-outs"),
            (|n, _| window(if n > 900 { 0 } else { 9 }), Severity::Error, "never sends again"),
            (|_, _| window(15_000_000), Severity::Warning, "not in bytes"),
            (
                |n, _| Decision { intersend: Span::from_secs(99), ..window(9 + n % 7) },
                Severity::Warning,
                "times are in nanoseconds",
            ),
            (
                |n, _| Decision { wake_at: Some(Instant::from_nanos(500)), ..window(9 + n % 7) },
                Severity::Warning,
                "absolute times",
            ),
        ] {
            let findings = check(&Own(decide, 0), true);
            let found =
                |finding: &Finding| finding.severity == severity && finding.what.contains(expected);
            assert!(findings.iter().any(found), "{expected}: {findings:?}");
        }
    }

    #[test]
    fn what_depends_on_more_than_events_is_found() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let shared = Own(|_, _| window(1 + CALLS.fetch_add(1, Ordering::Relaxed) % 100), 0);
        let findings = check(&shared, true);
        assert!(findings[0].what.contains("given the same events again"), "{findings:?}");
    }
}
