//! [`Relay`]: a link between two UDP endpoints of this machine, with a propagation delay, a bottleneck, losses, duplicates, reordering,
//! outages, and changes of the client's address. Shared by the benchmark and by the tests of the program.

use exm_os::{Clock, Waiter};
use exm_units::{Instant, Span};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The headers of IPv4 and UDP in bytes, which count as sent.
const HEADERS: u64 = 28;
/// How long the relay sleeps if nothing arrives.
const SLEEP: Span = Span::from_millis(200);

/// What the link does to datagrams, the same each way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    /// The propagation delay of one way.
    pub(crate) delay: Span,
    /// The probability of a loss, in percent. Each datagram is lost independently.
    pub(crate) loss: u64,
    /// The rate of the bottleneck in kbit/s, which has an unlimited queue; none: there is no bottleneck.
    pub(crate) rate: Option<u64>,
    /// The seed of the losses.
    pub(crate) seed: u64,
    /// The probability of a duplicate, in percent.
    pub(crate) duplicates: u64,
    /// The probability of an additional delay, in percent, by which a datagram arrives after others that were sent later.
    pub(crate) reordered: u64,
    /// Nothing passes.
    pub(crate) is_down: bool,
}

/// The additional delay of datagrams that are reordered.
const REORDERING: Span = Span::from_millis(30);

/// What was sent in one direction, losses included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) datagrams: u64,
    /// With the headers of IPv4 and UDP.
    pub(crate) bytes: u64,
    /// The sum of the queueing delays at the bottleneck, and the longest.
    pub(crate) queued: Span,
    pub(crate) longest: Span,
}

impl Counts {
    /// What was sent since `before`. The longest queueing delay is the one of all time.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        Counts {
            datagrams: self.datagrams - before.datagrams,
            bytes: self.bytes - before.bytes,
            queued: self.queued.saturating_sub(before.queued),
            longest: self.longest,
        }
    }
}

/// What a relay's thread and its owner know.
struct Shared {
    link: Link,
    /// How often the client's address has changed.
    moves: u32,
    counts: [Counts; 2],
}

/// A link between a client and a server, on a thread of its own until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// A relay to `server`.
    pub(crate) fn new(server: SocketAddr, link: Link) -> io::Result<Relay> {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        front.set_nonblocking(true)?;
        let back = connect(server)?;
        let address = front.local_addr()?;
        let shared = Arc::new(Mutex::new(Shared { link, moves: 0, counts: Default::default() }));
        let is_over = Arc::new(AtomicBool::new(false));
        let (sharing, ending) = (Arc::clone(&shared), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            let clock = Clock::start();
            let mut running = Running {
                clock,
                sockets: [front, back],
                client: None,
                ways: [Way::new(link.seed), Way::new(link.seed ^ u64::MAX)],
                link,
            };
            let waiter = Waiter::new(clock, Span::from_micros(50));
            let mut moves = 0;
            while !ending.load(Ordering::Relaxed) {
                running.step(&waiter);
                let mut shared = sharing.lock().expect("nobody panics");
                shared.counts = running.ways.each_ref().map(|way| way.counts);
                running.link = shared.link;
                if shared.moves != moves {
                    moves = shared.moves;
                    running.sockets[1] = connect(server).expect("a free port");
                }
            }
        });
        Ok(Relay { address, shared, is_over, thread: Some(thread) })
    }

    /// Where the client finds the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was sent to the server, and to the client.
    pub(crate) fn counts(&self) -> [Counts; 2] {
        self.shared.lock().expect("nobody panics").counts
    }

    /// Changes the link, for what is sent from a moment later on: within 200 ms.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Link)) {
        change(&mut self.shared.lock().expect("nobody panics").link);
    }

    /// Changes the address from which the client's datagrams come, within 200 ms. What is sent to the old one is lost.
    pub(crate) fn move_client(&self) {
        self.shared.lock().expect("nobody panics").moves += 1;
    }
}

/// A new socket that sends to `server` only.
fn connect(server: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One direction.
struct Way {
    /// Datagrams and when they arrive, in order.
    queue: VecDeque<(Instant, Vec<u8>)>,
    /// When the bottleneck has sent all before.
    free: Instant,
    state: u64,
    counts: Counts,
}

impl Way {
    fn new(seed: u64) -> Way {
        Way { queue: VecDeque::new(), free: Instant::ZERO, state: seed, counts: Counts::default() }
    }

    /// A number from 0 to 99 (SplitMix64).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % 100
    }

    fn add(&mut self, now: Instant, datagram: &[u8], link: Link) {
        let bytes = datagram.len() as u64 + HEADERS;
        self.counts.datagrams += 1;
        self.counts.bytes += bytes;
        let begin = self.free.max(now);
        if let Some(rate) = link.rate {
            self.free = begin + Span::from_micros(bytes * 8 * 1000 / rate.max(1));
            let queued = begin.saturating_since(now);
            self.counts.queued += queued;
            self.counts.longest = self.counts.longest.max(queued);
        }
        if self.draw() < link.loss || link.is_down {
            return;
        }
        let copies = if self.draw() < link.duplicates { 2 } else { 1 };
        for _ in 0..copies {
            let later = if self.draw() < link.reordered { REORDERING } else { Span::ZERO };
            let at = self.free.max(now) + link.delay + later;
            let place = self.queue.partition_point(|(other, _)| *other <= at);
            self.queue.insert(place, (at, datagram.to_vec()));
        }
    }
}

struct Running {
    clock: Clock,
    /// The client's side, and the server's.
    sockets: [UdpSocket; 2],
    client: Option<SocketAddr>,
    /// To the server, and to the client.
    ways: [Way; 2],
    link: Link,
}

impl Running {
    fn step(&mut self, waiter: &Waiter) {
        let next = self.ways.iter().filter_map(|way| way.queue.front()).map(|(at, _)| *at).min();
        let wake = next.unwrap_or(Instant::MAX).min(self.clock.now() + SLEEP);
        let files = [self.sockets[0].as_fd(), self.sockets[1].as_fd()];
        let readable = waiter.wait(files, wake).expect("sockets can be polled");
        let mut buffer = [0; 1 << 16];
        for (side, _) in readable.iter().enumerate().filter(|(_, readable)| **readable) {
            // Errors are those of a peer that is gone.
            while let Ok((length, from)) = self.sockets[side].recv_from(&mut buffer) {
                if side == 0 {
                    self.client = Some(from);
                }
                self.ways[side].add(self.clock.now(), &buffer[..length], self.link);
            }
        }
        let now = self.clock.now();
        for way in 0..2 {
            while self.ways[way].queue.front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, datagram)) = self.ways[way].queue.pop_front() else { break };
                let _ = match (way, self.client) {
                    (0, _) => self.sockets[1].send(&datagram),
                    (_, Some(client)) => self.sockets[0].send_to(&datagram, client),
                    (_, None) => Ok(0),
                };
            }
        }
    }
}
