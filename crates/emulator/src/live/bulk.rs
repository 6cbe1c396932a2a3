//! The senders of a run, until they are stopped.

use crate::live::meter::{Meters, locked};
use crate::live::setup::Run;
use crate::live::tcp::TcpFlows;
use crate::{End, Ends};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::Clock;
use exm_session::{Application, LoopControl, Session, Settings, Sink, Source, drive};
use exm_units::{Instant, Span};
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often threads check whether to stop.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// What runs a flow, once it is in the kernel.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// Sprout, in a session with these settings.
    Sprout(Settings),
    /// The kernel's TCP, with its congestion control of this name.
    Tcp(String),
}

/// An error of one end or both.
pub(crate) type Problem = Box<dyn Error + Send + Sync>;

/// Has `senders` send the flows of `run` from the inside of the link to the outside, with the random `seed`, until
/// `stop` is set. Returns how many application bytes arrived of each.
pub(crate) fn transfer(
    (run, senders, seed): (&Run<'_>, &[Control], u64),
    ends: &Ends,
    clock: Clock,
    meters: &Mutex<Meters>,
    stop: &AtomicBool,
) -> Result<Vec<u64>, Problem> {
    thread::scope(|scope| {
        let start = |(flow, sender): (usize, &Control)| {
            let (sender, source) = (sender.clone(), run.source(flow, seed));
            let (payload, duplex) = (run.payload(flow), run.flows[flow].0.duplex);
            scope.spawn(move || match &sender {
                Control::Sprout(settings) => {
                    locked(meters).start(flow, clock.now());
                    sprout(*settings, duplex, ends, clock, stop)
                }
                Control::Tcp(control) => {
                    TcpFlows { control, flow, payload, ends, clock, meters, stop }.run(source)
                }
            })
        };
        let running: Vec<_> = senders.iter().enumerate().map(start).collect();
        running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// A session that sends from the inside; if it is `duplex`, from the outside as well.
fn sprout(
    settings: Settings,
    duplex: bool,
    ends: &Ends,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<u64, Problem> {
    let Ends { inside, outside } = ends;
    let key = Key::generate()?;
    let within =
        |end: &End, open: &(dyn Fn() -> Result<Session, Problem> + Sync)| end.namespace.run(open);
    let listen = || {
        let port = PortRange::single(0);
        Ok(Session::listen(clock, key.clone(), settings, Some(outside.ip.into()), port)?)
    };
    let mut server = within(outside, &listen)?;
    let port = server.local_address()?.port();
    let length = Some(settings.max_payload());
    let mut received = Bulk { length: length.filter(|_| duplex), delivered: 0 };
    let mut sent = Bulk { length, delivered: 0 };
    let address: Ipv4Addr = outside.ip;
    both(
        stop,
        || {
            carry_on(&mut server, &mut received, clock, stop)?;
            Ok(received.delivered)
        },
        || {
            // A client opens further sockets, so its thread stays in its network.
            inside.namespace.enter()?;
            let servers = vec![SocketAddr::from((address, port))];
            let mut client = Session::connect(clock, key.clone(), settings, servers)?;
            carry_on(&mut client, &mut sent, clock, stop)
        },
    )
}

/// Runs both ends; if one fails, the other stops. Returns the result of the first.
pub(crate) fn both(
    stop: &AtomicBool,
    receive: impl FnOnce() -> Result<u64, Problem> + Send,
    send: impl FnOnce() -> Result<(), Problem> + Send,
) -> Result<u64, Problem> {
    let stopping = |failed: bool| {
        if failed {
            stop.store(true, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive().inspect_err(|_| stopping(true)));
        let sender = scope.spawn(|| send().inspect_err(|_| stopping(true)));
        let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.and(received)
    })
}

fn carry_on(
    session: &mut Session,
    bulk: &mut Bulk,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<(), Problem> {
    // No process writes to it.
    let (alarm, _writer) = io::pipe()?;
    let patience = Span::from_nanos(PATIENCE.as_nanos() as u64);
    drive(session, bulk, alarm.as_fd(), |_, _, _| match stop.load(Ordering::Relaxed) {
        true => LoopControl::Stop,
        false => LoopControl::WakeAt(clock.now() + patience),
    })?;
    Ok(())
}

/// An endless source of datagrams of one length, or of none, and a count of received bytes.
struct Bulk {
    length: Option<usize>,
    delivered: u64,
}

impl Application for Bulk {
    fn work(&mut self, _session: &mut Session) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Bulk {
    fn waiting(&mut self, _now: Instant) -> Option<usize> {
        self.length
    }

    fn pull(&mut self, _now: Instant, payload: &mut Vec<u8>) {
        payload.resize(payload.len() + self.length.unwrap_or(0), 0);
    }
}

impl Sink for Bulk {
    fn deliver(&mut self, _now: Instant, payload: &[u8]) {
        self.delivered += payload.len() as u64;
    }
}
