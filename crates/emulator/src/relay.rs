//! [`Relay`]: relays DNS queries to the machine's resolver from a network that cannot reach it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use exm_os::{Clock, Namespace, Waiter};
use exm_units::Span;

/// The port of DNS.
const PORT: u16 = 53;
/// The largest UDP message.
const MESSAGE: usize = 65_535;
/// The most messages taken from one side at a time, so that the other gets its turn.
const BATCH: usize = 64;
/// How often it checks whether to stop.
const PATIENCE: Span = Span::from_millis(100);

/// Relays DNS queries over UDP (RFC 1035) from an address in one network to a resolver in another. A reply
/// goes to the last client that used its query ID.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listens at `address` in `network`, and relays to `resolver` in the caller's network.
    pub(crate) fn new(
        network: &Namespace,
        address: Ipv4Addr,
        resolver: SocketAddr,
    ) -> io::Result<Relay> {
        let asked = network.run(|| UdpSocket::bind((address, PORT)))?;
        let asking = UdpSocket::bind(match resolver {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        })?;
        asking.connect(resolver)?;
        asked.set_nonblocking(true)?;
        asking.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || serve(&asked, &asking, &stopped));
        Ok(Relay { stop, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Relays messages until `stop` is set. Clients retry after any failure.
fn serve(asked: &UdpSocket, asking: &UdpSocket, stop: &AtomicBool) {
    let clock = Clock::start();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut buffer = vec![0; MESSAGE];
    // The clients by query ID.
    let mut askers: Vec<Option<SocketAddr>> = vec![None; 1 << 16];
    let number = |message: &[u8]| {
        message.first_chunk::<2>().map(|bytes| usize::from(u16::from_be_bytes(*bytes)))
    };
    while !stop.load(Ordering::Relaxed) {
        if waiter.wait([asked.as_fd(), asking.as_fd()], clock.now() + PATIENCE).is_err() {
            return;
        }
        for _ in 0..BATCH {
            let Ok((length, asker)) = asked.recv_from(&mut buffer) else { break };
            if let Some(number) = number(&buffer[..length]) {
                askers[number] = Some(asker);
                let _ = asking.send(&buffer[..length]);
            }
        }
        for _ in 0..BATCH {
            let Ok(length) = asking.recv(&mut buffer) else { break };
            let asker = number(&buffer[..length]).and_then(|number| askers[number].take());
            if let Some(asker) = asker {
                let _ = asked.send_to(&buffer[..length], asker);
            }
        }
    }
}
