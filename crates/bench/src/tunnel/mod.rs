//! A call beside a download, with and without a tunnel: the measurement of section 2.4.7 of the thesis, with
//! common programs.
//!
//! The two hosts are connected by an emulated link in real time. The download uses the kernel's TCP, as fast
//! as possible, from the far end. In the call each end sends a datagram of 1200 bytes every 20 ms, 480
//! kbit/s. The measurement is made over the link itself ([`Transport::Direct`]) and through a tunnel over the
//! link ([`Transport::Tunnel`]).

mod call;
mod download;
mod ends;

use call::Caller;
use ends::Tunnel;
use exm_emulator::{
    EmulateError, Emulated, Ends, EndsError, OutsideNetwork, RunningLink, Setup, emulate,
};
use exm_os::{Clock, Namespace};
use exm_session::{SessionError, Settings};
use exm_tunnel::{FlowState, TunnelError};
use exm_units::{Instant, Rate, Span};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Traffic begins this long after the start of the link, or once the tunnel is up.
const SETTING_UP: Span = Span::from_secs(1);
/// How often progress is checked.
const LOOKING: Duration = Duration::from_millis(50);

/// A measurement.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// The link; down is from the server to the client. Its [`Setup::warm_up`] is not counted.
    pub link: Setup,
    /// The settings of the tunnel's session.
    pub settings: Settings,
    /// The congestion control of the kernel's TCP, such as `cubic`.
    pub congestion: String,
    /// The scored duration.
    pub duration: Span,
}

/// The path of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over the link itself.
    Direct,
    /// Through a tunnel over the link.
    Tunnel,
}

/// The result of one direction of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The rate of IP packets sent in the scored time.
    pub sent: Rate,
    /// The rate of IP packets received in that time.
    pub received: Rate,
    /// The median of the end-to-end delay (thesis, section 2.4.1).
    pub delay_50: Option<Span>,
    /// The 95th percentile of the same.
    pub delay_95: Option<Span>,
}

/// The result with one transport.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// The goodput of the download.
    pub download: Rate,
    /// From the client to the server.
    pub up: Call,
    /// From the server to the client.
    pub down: Call,
    /// The flows in the tunnel's queues, the client's first; empty without a tunnel.
    pub flows: [Vec<FlowState>; 2],
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The networks cannot be created.
    #[error("{0}")]
    Ends(#[from] EndsError),
    /// The link failed.
    #[error("{0}")]
    Link(#[from] EmulateError),
    /// The session cannot be opened.
    #[error("{0}")]
    Session(#[from] SessionError),
    /// The tunnel cannot be set up.
    #[error("{0}")]
    Tunnel(#[from] TunnelError),
    /// The tunnel was not established, or failed.
    #[error("the tunnel failed: {0}")]
    Broken(io::Error),
    /// The kernel has no such congestion control.
    #[error(
        "the kernel's TCP knows no congestion control \"{name}\" ({source}): give one of those in \
         /proc/sys/net/ipv4/tcp_available_congestion_control"
    )]
    Congestion {
        /// The name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The call or the download failed.
    #[error("{what} failed: {source}")]
    Traffic {
        /// Which of the two.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// It was interrupted.
    #[error("the measurement was stopped before its end")]
    Stopped,
}

impl BenchError {
    fn of(what: &'static str) -> impl Fn(io::Error) -> BenchError {
        move |source| BenchError::Traffic { what, source }
    }
}

/// The times of a measurement, by the link's clock.
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

/// One end of the link: its network and its address.
#[derive(Clone, Copy)]
struct Host<'a> {
    network: &'a Namespace,
    ip: IpAddr,
}

/// Runs the measurement `plan`. `goes_on` is called with the elapsed time some times a second, and stops the
/// measurement by returning false. It needs root's privileges, see [`exm_os::Rights`].
///
/// # Errors
/// The link, the tunnel or its traffic failed, or the measurement was stopped.
pub fn measure(
    plan: &BenchPlan,
    transport: Transport,
    mut goes_on: impl FnMut(Span) -> bool,
) -> Result<Measured, BenchError> {
    let ends = Ends::new(OutsideNetwork::Namespace)?;
    let work = |link: &RunningLink<'_>| carry(plan, transport, (&ends, link), &mut goes_on);
    let (measured, Emulated { .. }) =
        emulate(&plan.link, ends.ports(), [Box::new(()), Box::new(())], work)?;
    measured
}

/// Runs the traffic over a running link.
fn carry(
    plan: &BenchPlan,
    transport: Transport,
    (ends, link): (&Ends, &RunningLink<'_>),
    goes_on: &mut dyn FnMut(Span) -> bool,
) -> Result<Measured, BenchError> {
    let clock = link.clock();
    let tunnel = match transport {
        Transport::Direct => None,
        Transport::Tunnel => Some(Tunnel::open(ends, plan.settings)?),
    };
    let from = Instant::ZERO + plan.link.warm_up;
    let begin = (Instant::ZERO + SETTING_UP).max(clock.now());
    let times = Times { clock, begin, from, until: from + plan.duration };
    let ips: [IpAddr; 2] = match &tunnel {
        None => [ends.inside.ip.into(), ends.outside.ip.into()],
        Some(tunnel) => [tunnel.network().client().into(), tunnel.network().server().into()],
    };
    let near = Host { network: &ends.inside.namespace, ip: ips[0] };
    let far = Host { network: &ends.outside.namespace, ip: ips[1] };
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

/// Runs the call and the download between two hosts until `looking` returns.
fn traffic(
    plan: &BenchPlan,
    [near, far]: [Host<'_>; 2],
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
