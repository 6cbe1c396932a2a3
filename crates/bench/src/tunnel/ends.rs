//! [`Tunnel`]: a tunnel over the link, each end in a thread of its own.

use super::BenchError;
use exm_datagram::Key;
use exm_emulator::Ends;
use exm_endpoint::PortRange;
use exm_os::{Clock, Namespace, set_realtime_priority};
use exm_session::{Application, LoopControl, Session, Settings, drive};
use exm_tunnel::{Client, ClientPlan, FlowState, Network, Pipe, Server, ServerPlan};
use exm_units::{Instant, Span};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the two ends may take to connect.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often an end that is not connected is checked.
const LOOKING: Span = Span::from_millis(5);

/// A tunnel over the link.
pub(super) struct Tunnel {
    client: End,
    server: End,
    network: Network,
}

/// An end in a thread of its own.
struct End {
    /// Closed to stop the end.
    stop: UnixStream,
    thread: JoinHandle<Result<Vec<FlowState>, BenchError>>,
}

impl Tunnel {
    /// Opens a tunnel, and waits until both ends have connected.
    pub(super) fn open(ends: &Ends, settings: Settings) -> Result<Tunnel, BenchError> {
        let broken = |error| BenchError::Broken(io::Error::other(error));
        let key = Key::generate().map_err(|error| broken(error.to_string()))?;
        let (server_key, ip) = (key.clone(), ends.outside.ip);
        let open = move || {
            let any = PortRange::single(0);
            let session =
                Session::listen(Clock::start(), server_key, settings, Some(ip.into()), any)?;
            let plan = ServerPlan { is_private: true, ..ServerPlan::default() };
            let server = Server::new(&session, &plan)?;
            Ok((session, server))
        };
        let (server, address) =
            End::run(&ends.outside.namespace, open, |session: &Session, server: &Server| {
                let address = session.local_address().ok()?;
                Some((address, Some(server.pipe())))
            })?;
        let open = move || {
            let servers = vec![SocketAddr::new(ip.into(), address.port())];
            let mut session = Session::connect(Clock::start(), key, settings, servers)?;
            let client = Client::new(&mut session, ClientPlan::default())?;
            Ok((session, client))
        };
        let (client, network) = End::run(&ends.inside.namespace, open, |_, client: &Client| {
            Some((client.network()?, client.pipe()))
        })?;
        Ok(Tunnel { client, server, network })
    }

    /// The addresses of both ends.
    pub(super) fn network(&self) -> Network {
        self.network
    }

    /// Closes it; returns the states of both ends' queues, the client's first.
    pub(super) fn close(self) -> Result<[Vec<FlowState>; 2], BenchError> {
        // Both ends are stopped even if one has failed.
        let [client, server] = [self.client, self.server].map(End::close);
        Ok([client?, server?])
    }
}

/// What an end reports once it is ready, and its pipe.
type Ready<'a, T> = Option<(T, Option<&'a Pipe>)>;

impl End {
    /// Runs what `open` opens in `network`, and waits until `ready` returns something.
    fn run<E: Application, T: Copy + Send + 'static>(
        network: &Namespace,
        open: impl FnOnce() -> Result<(Session, E), BenchError> + Send + 'static,
        ready: impl for<'a> Fn(&Session, &'a E) -> Ready<'a, T> + Send + 'static,
    ) -> Result<(End, T), BenchError> {
        let network = Namespace::at(&network.path()).map_err(BenchError::Broken)?;
        let (stop, stopped) = UnixStream::pair().map_err(BenchError::Broken)?;
        stopped.set_nonblocking(true).map_err(BenchError::Broken)?;
        let (sender, reports) = channel();
        let thread = thread::spawn(move || {
            network.enter().map_err(BenchError::Broken)?;
            set_realtime_priority();
            let (session, application) = open()?;
            carry(session, application, &stopped, &ready, &sender)
        });
        let end = End { stop, thread };
        match reports.recv_timeout(PATIENCE) {
            Ok(report) => Ok((end, report)),
            Err(_) => {
                let late = BenchError::Broken(io::ErrorKind::TimedOut.into());
                Err(end.close().err().unwrap_or(late))
            }
        }
    }

    fn close(self) -> Result<Vec<FlowState>, BenchError> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Runs until the other end of `stopped` is closed.
fn carry<E: Application, T: Copy>(
    mut session: Session,
    mut application: E,
    stopped: &UnixStream,
    ready: &impl for<'a> Fn(&Session, &'a E) -> Ready<'a, T>,
    sender: &Sender<T>,
) -> Result<Vec<FlowState>, BenchError> {
    let (clock, mut stream, mut is_reported) = (session.clock(), stopped, false);
    let look = |session: &Session, application: &E, alarmed: bool| {
        if alarmed && stream.read(&mut [0; 1]).is_ok() {
            return LoopControl::Stop;
        }
        if !is_reported && let Some((report, _)) = ready(session, application) {
            is_reported = sender.send(report).is_ok();
        }
        LoopControl::WakeAt(if is_reported { Instant::MAX } else { clock.now() + LOOKING })
    };
    drive(&mut session, &mut application, stopped.as_fd(), look).map_err(BenchError::Broken)?;
    let pipe = ready(&session, &application).and_then(|(_, pipe)| pipe);
    Ok(pipe.map(|pipe| pipe.queues().flows().collect()).unwrap_or_default())
}
