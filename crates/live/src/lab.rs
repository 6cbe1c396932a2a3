//! [`EmulatorLab`]: where runs are made in real time.

use crate::bulk::{Problem, transfer};
use crate::likeness::alike;
use crate::meter::{Meter, Reading};
use crate::setup::Run;
use exm_emulator::{Account, Emulated, Ends, EndsError, World, emulate};
use exm_experiment::{Case, Lab, LabError, Likeness, Measured};
use exm_os::{Rights, RightsError, read_net};
use exm_sim::engine::omniscient;
use exm_sim::metrics::{FlowReport, LinkReport, Report};
use exm_sim::network::LinkSpec;
use exm_units::{Bytes, Instant, Span};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long it sleeps before it looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Makes runs on emulated links, each between two networks of its own.
#[derive(Debug)]
pub struct EmulatorLab {
    /// The kernel's congestion controls.
    controls: Vec<String>,
}

/// Why nothing can be run live here.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// This process may not make networks.
    #[error("live runs take networks of their own: {0}")]
    Rights(#[from] RightsError),
    /// It may, but cannot.
    #[error("live runs take networks of their own: {0}")]
    Ends(#[from] EndsError),
    /// The kernel does not tell what congestion controls it has.
    #[error("the kernel does not tell its congestion controls: {0}")]
    Controls(#[from] io::Error),
}

impl EmulatorLab {
    /// Takes the rights that it needs, as [`Rights::take`] does and therefore before there are threads
    /// where this process is not root, and sees whether networks can be made.
    ///
    /// # Errors
    /// [`OpenError`] where they cannot.
    pub fn open() -> Result<EmulatorLab, OpenError> {
        Rights::take()?;
        Ends::new(World::Namespace)?;
        let controls = read_net("ipv4/tcp_available_congestion_control")?;
        Ok(EmulatorLab { controls: controls.split_whitespace().map(str::to_owned).collect() })
    }
}

impl Lab for EmulatorLab {
    fn likeness(&self, case: &Case) -> Result<Likeness, String> {
        let Run { sender, .. } = Run::of(case, &self.controls)?;
        let network = case.network.clone();
        Ok(Likeness::new(move |seed| alike(&network, &sender, seed)))
    }

    fn run(
        &self,
        case: &Case,
        seed: u64,
        step: Option<Span>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, LabError> {
        let failed = |source| LabError { scheme: case.scheme_name().to_owned(), source };
        let run = Run::of(case, &self.controls).map_err(|reason| failed(reason.into()))?;
        measure(case, &run, (seed, step), is_stopped).map_err(failed)
    }
}

fn measure(
    case: &Case,
    run: &Run<'_>,
    (seed, step): (u64, Option<Span>),
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Measured>, Problem> {
    let (from, until) = case.network.scored();
    let meter = Mutex::new(Meter::new(from, until, step));
    let ends = Ends::new(World::Namespace)?;
    let stop = AtomicBool::new(false);
    let watches: [Box<dyn exm_emulator::Watch + '_>; 2] = [Box::new(Reading(&meter)), Box::new(())];
    let ((bytes, is_whole), emulated) = emulate(&run.setup(seed), ends.ports(), watches, |link| {
        let clock = link.clock();
        thread::scope(|scope| {
            let work = scope.spawn(|| transfer(&run.sender, &ends, clock, &stop));
            let goes_on = || {
                clock.now() < until && !work.is_finished() && !link.has_stopped() && !is_stopped()
            };
            while goes_on() {
                let left = until.saturating_since(clock.now());
                thread::sleep(PATIENCE.min(Duration::from_nanos(left.as_nanos())));
            }
            let is_whole = clock.now() >= until;
            stop.store(true, Ordering::Relaxed);
            let bytes = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (bytes, is_whole)
        })
    })?;
    let bytes = bytes?;
    if !is_whole {
        return Ok(None);
    }
    let mut meter = meter.into_inner().unwrap_or_else(PoisonError::into_inner);
    let courses = vec![meter.course()];
    let report = Report {
        duration: case.network.duration(),
        seed,
        flows: vec![flow_report(case, run, (meter, Bytes::new(bytes)), &emulated)],
        links: vec![
            link_report(run.there, &emulated.accounts[0], emulated.end),
            link_report(run.back, &emulated.accounts[1], emulated.end),
        ],
        in_network: emulated.inside.iter().sum(),
        events: 0,
    };
    Ok(Some(Measured { report, courses }))
}

/// What became of the flow: `meter` saw its packets, and so many `bytes` of its user's arrived.
fn flow_report(
    case: &Case,
    run: &Run<'_>,
    (meter, bytes): (Meter, Bytes),
    emulated: &Emulated,
) -> FlowReport {
    let duration = case.network.duration();
    FlowReport {
        sent: emulated.accounts[0].arrived.packets,
        arrived: meter.delivered,
        delivered: meter.delivered,
        bytes,
        lost: meter.lost,
        dropped: vec![meter.dropped],
        on_time: duration,
        share_time: duration.as_secs_f64(),
        queueing_delay: meter.queueing,
        bottleneck: run.there.service.rate(),
        end_to_end: Some(meter.end_to_end.finish()),
        omniscient: omniscient(&case.network, run.flow),
        ..FlowReport::default()
    }
}

fn link_report(spec: &LinkSpec, account: &Account, end: Instant) -> LinkReport {
    use exm_emulator::Cause;
    let secs = end.saturating_since(Instant::ZERO).as_secs_f64();
    let offered = spec.service.rate().as_bps() as f64 * secs;
    let lost = [Cause::Loss, Cause::Burst].map(|cause| account.lost(cause).packets);
    let queueing = account.queueing.mean().unwrap_or(Span::ZERO).as_secs_f64();
    LinkReport {
        name: spec.name.clone(),
        arrived: account.arrived.packets,
        transmitted: account.delivered.packets,
        bytes: Bytes::new(account.delivered.bytes),
        dropped: account.lost_in_all().packets - lost.iter().sum::<u64>(),
        marked: account.marked,
        lost: lost.iter().sum(),
        utilisation: account.delivered.bytes as f64 * 8.0 / offered,
        // Little's law.
        mean_queue: queueing * account.delivered.packets as f64 / secs,
        max_queue: account.max_queue.packets,
    }
}
