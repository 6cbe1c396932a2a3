//! A call beside a download, with and without a tunnel: the measurement of section 2.4.7 of the thesis,
//! with programs that everybody has.
//!
//! The link is an emulated one between two networks made for it, in real time. The download is the
//! kernel's own TCP, as much as it gets, from the far end. The call is two-way: either end sends a
//! datagram of 1200 bytes every 20 ms, which is 480 kbit/s. Once both go over the link as it is
//! ([`Way::Direct`]), and once a tunnel carries them ([`Way::Tunnel`]).

mod call;
mod download;
mod tunnel;

use crate::error::TunnelError;
use crate::flows::FlowState;
use call::Caller;
use exm_emulator::{EmulateError, Emulated, Ends, EndsError, Live, Setup, World, emulate};
use exm_os::{Clock, Namespace};
use exm_session::{SessionError, Settings};
use exm_units::{Instant, Rate, Span};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tunnel::Tunnel;

/// Traffic begins so long after the link, or once a tunnel has been set up where that takes longer.
const SETTING_UP: Span = Span::from_secs(1);
/// How often it is looked whether to go on.
const LOOKING: Duration = Duration::from_millis(50);

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// The link; down is from the server to the client. Its [`Setup::warm_up`] is not counted.
    pub link: Setup,
    /// How the tunnel's session works.
    pub settings: Settings,
    /// How the kernel's TCP controls congestion: a name that it knows, such as `cubic`.
    pub congestion: String,
    /// How long is counted after that.
    pub duration: Span,
}

/// How the traffic goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over the link as it is.
    Direct,
    /// By a tunnel over the link.
    Tunnel,
}

/// What became of one direction of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The IP packets that were sent, over the time that is counted.
    pub sent: Rate,
    /// Those that arrived in that time.
    pub received: Rate,
    /// The end-to-end delay (thesis, section 2.4.1) that was not exceeded half of the time.
    pub delay_50: Option<Span>,
    /// The same that was not exceeded 95 % of the time.
    pub delay_95: Option<Span>,
}

/// What was measured, one way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// How fast the download was, of what TCP delivered.
    pub download: Rate,
    /// From the client to the server.
    pub up: Call,
    /// From the server to the client.
    pub down: Call,
    /// What the tunnel's queues did with each flow, those of the client first; none where there was no
    /// tunnel.
    pub flows: [Vec<FlowState>; 2],
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No networks.
    #[error("{0}")]
    Ends(#[from] EndsError),
    /// No link.
    #[error("{0}")]
    Link(#[from] EmulateError),
    /// No session.
    #[error("{0}")]
    Session(#[from] SessionError),
    /// No tunnel.
    #[error("{0}")]
    Tunnel(#[from] TunnelError),
    /// The tunnel was not set up, or broke off.
    #[error("the tunnel failed: {0}")]
    Broken(io::Error),
    /// The kernel has no such congestion control.
    #[error(
        "the kernel's TCP knows no congestion control \"{name}\" ({source}): give one of those in \
         /proc/sys/net/ipv4/tcp_available_congestion_control"
    )]
    Congestion {
        /// What was asked for.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The call or the download could not be begun, or broke off.
    #[error("{what} failed: {source}")]
    Traffic {
        /// Which.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It was stopped.
    #[error("the measurement was stopped before its end")]
    Stopped,
}

impl BenchError {
    fn of(what: &'static str) -> impl Fn(io::Error) -> BenchError {
        move |source| BenchError::Traffic { what, source }
    }
}

/// When things happen, by the link's clock.
#[derive(Clone, Copy, Debug)]
struct Times {
    clock: Clock,
    begin: Instant,
    from: Instant,
    until: Instant,
}

impl Times {
    fn counts(&self, at: Instant) -> bool {
        self.from <= at && at < self.until
    }

    fn rate(&self, bytes: u64) -> Rate {
        let seconds = self.until.saturating_since(self.from).as_secs_f64();
        Rate::from_bps((8.0 * bytes as f64 / seconds.max(1e-9)).round() as u64)
    }
}

/// One end of the link with its traffic: where, and under which address.
#[derive(Clone, Copy)]
struct Place<'a> {
    network: &'a Namespace,
    ip: IpAddr,
}

/// Measures as `plan` says. `goes_on` is told how far it is, some times a second, and may stop it. To be
/// called with root's rights, see [`exm_os::Rights`].
///
/// # Errors
/// There can be no such link, or its traffic failed, or it was stopped.
pub fn measure(
    plan: &BenchPlan,
    way: Way,
    mut goes_on: impl FnMut(Span) -> bool,
) -> Result<Measured, BenchError> {
    let ends = Ends::new(World::Namespace)?;
    let work = |live: &Live<'_>| carry(plan, way, (&ends, live), &mut goes_on);
    let (measured, Emulated { .. }) =
        emulate(&plan.link, ends.ports(), [Box::new(()), Box::new(())], work)?;
    measured
}

/// Traffic over a link that is there.
fn carry(
    plan: &BenchPlan,
    way: Way,
    (ends, live): (&Ends, &Live<'_>),
    goes_on: &mut dyn FnMut(Span) -> bool,
) -> Result<Measured, BenchError> {
    let clock = live.clock();
    let tunnel = match way {
        Way::Direct => None,
        Way::Tunnel => Some(Tunnel::open(ends, plan.settings)?),
    };
    let from = Instant::ZERO + plan.link.warm_up;
    let begin = (Instant::ZERO + SETTING_UP).max(clock.now());
    let times = Times { clock, begin, from, until: from + plan.duration };
    let ips: [IpAddr; 2] = match &tunnel {
        None => [ends.inside.ip.into(), ends.world.ip.into()],
        Some(tunnel) => [tunnel.network().client().into(), tunnel.network().server().into()],
    };
    let near = Place { network: &ends.inside.namespace, ip: ips[0] };
    let far = Place { network: &ends.world.namespace, ip: ips[1] };
    let stop = AtomicBool::new(false);
    let looking = || {
        while clock.now() < times.until && !stop.load(Ordering::Relaxed) {
            thread::sleep(LOOKING);
            if !goes_on(clock.now().saturating_since(Instant::ZERO)) {
                return Err(BenchError::Stopped);
            }
        }
        Ok(())
    };
    let traffic = traffic(plan, [near, far], times, &stop, looking);
    let flows = tunnel.map(Tunnel::close).transpose()?.unwrap_or_default();
    let (download, [up, down]) = traffic?;
    Ok(Measured { download, up, down, flows })
}

/// The call and the download between two places, as long as `looking` takes.
fn traffic(
    plan: &BenchPlan,
    [near, far]: [Place<'_>; 2],
    times: Times,
    stop: &AtomicBool,
    looking: impl FnOnce() -> Result<(), BenchError>,
) -> Result<(Rate, [Call; 2]), BenchError> {
    let [caller, callee] = Caller::pair(near, far).map_err(BenchError::of("the call"))?;
    let listener = download::listen(far, &plan.congestion)?;
    thread::scope(|scope| {
        let calls = [(&caller, &callee), (&callee, &caller)].map(|(from, to)| {
            let sent = scope.spawn(move || from.send(times, stop));
            (sent, scope.spawn(move || to.receive(times, stop)))
        });
        let served = scope.spawn(|| download::serve(&listener, times.clock, stop));
        let address = listener.local_addr();
        let fetched = scope.spawn(move || download::fetch(near, address?, times, stop));
        let looked = looking();
        stop.store(true, Ordering::Relaxed);
        let calls = calls.map(|(sent, received)| {
            let (sent, received) = (joined(sent), joined(received));
            sent.and_then(|sent| Ok((sent, received?))).map_err(BenchError::of("the call"))
        });
        let served = joined(served).map_err(BenchError::of("the download"));
        let fetched = joined(fetched).map_err(BenchError::of("the download"));
        looked?;
        served?;
        let [up, down] = calls;
        let ends = [up?, down?].map(|(sent, scores)| Call {
            sent: times.rate(sent),
            received: scores.throughput,
            delay_50: scores.percentile(50.0),
            delay_95: scores.percentile(95.0),
        });
        Ok((times.rate(fetched?), ends))
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
