//! [`EmulatorBackend`]: runs experiments in real time.

use crate::live::bulk::{Control, Problem, transfer};
use crate::live::meter::{Meter, Meters, Reading};
use crate::live::setup::{Run, Sender};
use crate::live::twin::twin_network;
use crate::{DirectionStats, Ends, EndsError, OutsideNetwork, emulate};
use exm_experiment::{Backend, BackendError, Case, Measured, SimulatedTwin};
use exm_kernel::{Algorithm, KernelError};
use exm_os::{Rights, RightsError, read_net_sysctl};
use exm_remy::fixed::FixedTable;
use exm_sim::engine::omniscient;
use exm_sim::metrics::{FlowReport, LinkReport, Report};
use exm_sim::network::{FlowSpec, LinkSpec};
use exm_sim::{MeasuredOver, times};
use exm_units::{Bytes, Instant, Span};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How often it checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs experiments on emulated links, each run between two networks of its own.
#[derive(Debug)]
pub struct EmulatorBackend {
    /// The congestion controls of the kernel.
    controls: Vec<String>,
}

/// Why live runs are impossible.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// This process may not create networks.
    #[error("live runs need network namespaces: {0}")]
    Rights(#[from] RightsError),
    /// Networks cannot be created.
    #[error("live runs need network namespaces: {0}")]
    Ends(#[from] EndsError),
    /// The kernel does not list its congestion controls.
    #[error("the kernel's congestion controls cannot be read: {0}")]
    Controls(#[from] io::Error),
}

impl EmulatorBackend {
    /// Acquires the privileges that it needs, as [`Rights::acquire`] does, so a process that is not root must
    /// call it before it starts threads; and checks that networks can be created.
    ///
    /// # Errors
    /// [`OpenError`] if they cannot.
    pub fn open() -> Result<EmulatorBackend, OpenError> {
        Rights::acquire()?;
        Ends::new(OutsideNetwork::Namespace)?;
        let controls = read_net_sysctl("ipv4/tcp_available_congestion_control")?;
        Ok(EmulatorBackend { controls: controls.split_whitespace().map(str::to_owned).collect() })
    }
}

impl Backend for EmulatorBackend {
    fn twin(&self, case: &Case) -> Result<SimulatedTwin, String> {
        let run = Run::of(case, &self.controls)?;
        // A table that the kernel does not take is refused before anything runs.
        Loaded::new(&run).map_err(|error| error.to_string())?;
        let senders: Vec<Sender> = run.flows.into_iter().map(|(_, sender)| sender).collect();
        let network = case.network.clone();
        Ok(SimulatedTwin::new(move |seed| twin_network(&network, &senders, seed)))
    }

    fn run(
        &self,
        case: &Case,
        seed: u64,
        step: Option<Span>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, BackendError> {
        let failed = |source| BackendError { scheme: case.scheme_name().to_owned(), source };
        let run = Run::of(case, &self.controls).map_err(|reason| failed(reason.into()))?;
        measure(case, &run, (seed, step), is_stopped).map_err(failed)
    }
}

/// The senders of a run in the kernel. Tables are in it as long as this value.
struct Loaded {
    controls: Vec<Control>,
    _tables: Vec<Algorithm>,
}

impl Loaded {
    /// Loads the tables of `run`, each under a name that no other run has.
    fn new(run: &Run<'_>) -> Result<Loaded, KernelError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (mut controls, mut tables) = (Vec::new(), Vec::<(Arc<FixedTable>, Algorithm)>::new());
        for (_, sender) in &run.flows {
            controls.push(match sender {
                Sender::Sprout(settings) => Control::Sprout(*settings),
                Sender::Tcp(name) => Control::Tcp(name.clone()),
                Sender::Table(table) => {
                    let known = tables.iter().find(|(other, _)| other == table);
                    if let Some((_, algorithm)) = known {
                        Control::Tcp(algorithm.name().to_owned())
                    } else {
                        let count = COUNT.fetch_add(1, Ordering::Relaxed);
                        let name = format!("exm{}_{count}", std::process::id());
                        let algorithm = Algorithm::load(&name, table, "a live run")?;
                        tables.push((Arc::clone(table), algorithm));
                        Control::Tcp(name)
                    }
                }
            });
        }
        Ok(Loaded { controls, _tables: tables.into_iter().map(|(_, one)| one).collect() })
    }
}

fn measure(
    case: &Case,
    run: &Run<'_>,
    (seed, step): (u64, Option<Span>),
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Measured>, Problem> {
    let (from, until) = case.network.scored();
    let meters = Meters::new(run.flows.iter().map(|_| Meter::new(from, until, step)));
    let loaded = Loaded::new(run)?;
    let ends = Ends::new(OutsideNetwork::Namespace)?;
    let stop = AtomicBool::new(false);
    let observers: [Box<dyn crate::Observer + '_>; 2] = [Box::new(Reading(&meters)), Box::new(())];
    let ((bytes, is_whole), emulated) =
        emulate(&run.setup(seed), ends.ports(), observers, |link| {
            let clock = link.clock();
            thread::scope(|scope| {
                let work = scope.spawn(|| {
                    transfer((run, &loaded.controls, seed), &ends, clock, &meters, &stop)
                });
                let goes_on = || {
                    clock.now() < until
                        && !work.is_finished()
                        && !link.has_stopped()
                        && !is_stopped()
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
    let mut meters = Meters::into_flows(meters);
    let timelines = meters.iter_mut().map(Meter::timeline).collect();
    let over = |over| times(meters.iter().map(|meter| &meter.periods), until, over);
    let (on, active) = (over(MeasuredOver::Papers), over(MeasuredOver::Arrivals));
    let mut flows: Vec<FlowReport> =
        run.flows.iter().map(|(flow, _)| flow_report(case, run, flow)).collect();
    for (report, (on, active)) in flows.iter_mut().zip(on.into_iter().zip(active)) {
        (report.on_time, report.share_time) = (on.time, on.share);
        (report.active_time, report.active_share_time) = (active.time, active.share);
    }
    for ((report, meter), bytes) in flows.iter_mut().zip(meters).zip(bytes) {
        fill(report, meter, Bytes::new(bytes));
    }
    let there = link_report(run.there, &emulated.stats[0], emulated.end);
    let back = run.back.map(|back| link_report(back, &emulated.stats[1], emulated.end));
    let links = [there].into_iter().chain(back).collect();
    let mut report = Report::new(case.network.duration(), seed, flows, links);
    report.in_network = emulated.inside.iter().sum();
    Ok(Some(Measured { report, timelines }))
}

/// The result of a flow before anything is measured.
fn flow_report(case: &Case, run: &Run<'_>, flow: &FlowSpec) -> FlowReport {
    let mut report = FlowReport::default();
    report.over = case.network.over();
    report.bottleneck = run.there.service.rate();
    report.omniscient = run.back.and_then(|_| omniscient(&case.network, flow));
    report
}

/// Enters what `meter` observed of its packets, and that `bytes` application bytes arrived.
fn fill(report: &mut FlowReport, meter: Meter, bytes: Bytes) {
    report.sent = meter.delivered + meter.lost + meter.dropped;
    report.arrived = meter.delivered;
    report.delivered = meter.delivered;
    report.bytes = bytes;
    report.lost = meter.lost;
    report.dropped = vec![meter.dropped];
    report.completion = meter.completion;
    report.queueing_delay = meter.queueing;
    report.end_to_end = Some(meter.end_to_end.finish());
}

fn link_report(spec: &LinkSpec, stats: &DirectionStats, end: Instant) -> LinkReport {
    use crate::Cause;
    let secs = end.saturating_since(Instant::ZERO).as_secs_f64();
    let offered = spec.service.rate().as_bps() as f64 * secs;
    let lost = [Cause::Loss, Cause::Burst].map(|cause| stats.lost(cause).packets);
    let queueing = stats.queueing.mean().unwrap_or(Span::ZERO).as_secs_f64();
    let mut report = LinkReport::default();
    report.name = spec.name.clone();
    report.arrived = stats.arrived.packets;
    report.transmitted = stats.delivered.packets;
    report.bytes = Bytes::new(stats.delivered.bytes);
    report.dropped = stats.total_lost().packets - lost.iter().sum::<u64>();
    report.marked = stats.marked;
    report.lost = lost.iter().sum();
    report.utilisation = stats.delivered.bytes as f64 * 8.0 / offered;
    // Little's law.
    report.mean_queue = queueing * stats.delivered.packets as f64 / secs;
    report.max_queue = stats.max_queue.packets;
    report
}
