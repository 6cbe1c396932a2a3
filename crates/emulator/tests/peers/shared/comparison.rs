//! [`Comparison`]: one transfer, by the kernel and by us.

use super::kernel::{Measured, TransferError, transfer};
use super::record::{Record, Summary};
use super::{ALONE, Scenario, simulated};
use exm_sim::controllers::AnyController;
use exm_units::{Instant, Packets, Rate, Span};
use std::{fmt, thread};

/// A congestion control, by its names in the kernel and here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    /// The kernel's.
    pub(crate) kernel: &'static str,
    /// Ours ([`AnyController::named`]).
    pub(crate) ours: &'static str,
}

/// The congestion controls that are compared: the kernel's three most used, and our implementations of
/// the same. Its Cubic uses HyStart, and its BBR is version 1.
pub(crate) const CONTROLS: [Control; 3] = [
    Control { kernel: "reno", ours: "reno" },
    Control { kernel: "cubic", ours: "cubic-linux" },
    Control { kernel: "bbr", ours: "bbr1" },
];

impl Control {
    /// Whether congestion cuts its window, which then goes in cycles from cut to cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.kernel != "bbr"
    }
}

impl fmt::Display for Control {
    /// The kernel's name for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel)
    }
}

/// The scenarios: a buffer of one bandwidth-delay product, which keeps the link busy, and one of a third
/// of it, which does not.
pub(crate) const SCENARIOS: [Scenario; 2] = [
    Scenario {
        name: "buffer of one BDP",
        rate: Rate::from_bps(12_000_000),
        rtt: Span::from_millis(40),
        buffer: Packets::new(40),
        starts: ALONE,
        duration: Span::from_secs(24),
        settled: Span::from_secs(4),
    },
    Scenario {
        name: "buffer of a third",
        rate: Rate::from_bps(12_000_000),
        rtt: Span::from_millis(80),
        buffer: Packets::new(27),
        starts: ALONE,
        duration: Span::from_secs(26),
        settled: Span::from_secs(4),
    },
];

/// The scenarios for several flows of one controller: two buffers, and flows that join one by one.
pub(crate) const SEVERAL: [Scenario; 3] = [
    Scenario {
        name: "40 Mbps, 60 ms, 1 BDP",
        rate: Rate::from_bps(40_000_000),
        rtt: Span::from_millis(60),
        buffer: Packets::new(200),
        starts: &[Span::ZERO; 3],
        duration: Span::from_secs(30),
        settled: Span::from_secs(5),
    },
    Scenario {
        name: "20 Mbps, 40 ms, 2 BDP",
        rate: Rate::from_bps(20_000_000),
        rtt: Span::from_millis(40),
        buffer: Packets::new(133),
        starts: &[Span::ZERO; 3],
        duration: Span::from_secs(30),
        settled: Span::from_secs(5),
    },
    Scenario {
        name: "20 Mbps, 40 ms, 1 BDP, starts at 0, 2 and 4 s",
        rate: Rate::from_bps(20_000_000),
        rtt: Span::from_millis(40),
        buffer: Packets::new(67),
        starts: &[Span::ZERO, Span::from_secs(2), Span::from_secs(4)],
        duration: Span::from_secs(30),
        settled: Span::from_secs(8),
    },
];

/// If the slowest thousandth of packets is later than this, which is at most a quarter of the propagation
/// delay, the bottleneck was late.
const TOO_LATE: Span = Span::from_millis(5);

/// One transfer, by the kernel and by us.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// The control.
    pub(crate) control: Control,
    /// The kernel's transfer.
    pub(crate) kernel: Measured,
    /// Our transfer.
    pub(crate) simulated: Record,
}

impl Comparison {
    /// Runs both with each of the cases' congestion controls, all at the same time, each in a network of
    /// its own; it takes as long as the longest.
    ///
    /// # Panics
    /// If a case cannot be simulated.
    pub(crate) fn all(cases: &[(Scenario, Control)]) -> Vec<Result<Comparison, TransferError>> {
        thread::scope(|scope| {
            let runs: Vec<_> = cases.iter().map(|&(s, c)| scope.spawn(move || one(s, c))).collect();
            let joined = runs.into_iter().map(|run| run.join().expect("no transfer panics"));
            joined.collect()
        })
    }

    /// The compared summaries of the kernel's transfer and of ours. One flow of Reno or Cubic is averaged
    /// over whole cycles of the window; BBR, whose cycles differ in length, and several flows, over the
    /// whole time.
    pub(crate) fn summaries(&self) -> [Summary; 2] {
        [&self.kernel.record, &self.simulated].map(|record| {
            let (from, to) = self.span(record);
            record.between(from, to)
        })
    }

    /// The interval in which a record is compared.
    pub(crate) fn span(&self, record: &Record) -> (Instant, Instant) {
        let all = (Instant::ZERO + self.scenario.settled, Instant::ZERO + self.scenario.duration);
        match &record.flows[..] {
            [flow] if self.control.is_cut() => flow.cycles(all.0, all.1).unwrap_or(all),
            _ => all,
        }
    }

    /// How late the bottleneck was, if that was too late for a meaningful comparison.
    pub(crate) fn lateness(&self) -> Option<Span> {
        Some(self.kernel.late).filter(|&late| late > TOO_LATE)
    }
}

fn one(scenario: Scenario, control: Control) -> Result<Comparison, TransferError> {
    let kernel = transfer(&scenario, control.kernel)?;
    let controller = AnyController::named(control.ours).expect("we have the same controllers");
    let settings = simulated::kernel_settings();
    let simulated = simulated::transfer(&scenario, &controller, settings, 1);
    let simulated = simulated.expect("the scenario is possible");
    Ok(Comparison { scenario, control, kernel, simulated })
}
