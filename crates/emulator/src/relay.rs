//! [`Relay`]: asking the machine's own resolver for names from a network that cannot reach it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use exm_os::{Clock, Namespace, Waiter};
use exm_units::Span;

/// The port of names.
const PORT: u16 = 53;
/// The largest message: of UDP's.
const MESSAGE: usize = 65_535;
/// So many are taken from one side at a time, lest the other wait for ever.
const BATCH: usize = 64;
/// How often it looks whether it is to stop.
const PATIENCE: Span = Span::from_millis(100);

/// Answers questions for names that are asked at an address of one network by asking a resolver in
/// another (RFC 1035, over UDP). Answers go to whoever asked last with that number.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Answers at `address` of `network`, asking `resolver` in the network that the caller is in.
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

/// Passes messages on until told to `stop`. Whatever goes wrong with one, those who asked ask again.
fn serve(asked: &UdpSocket, asking: &UdpSocket, stop: &AtomicBool) {
    let clock = Clock::start();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut buffer = vec![0; MESSAGE];
    // Who asked, by the number that messages begin with.
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
