//! [`Link`]: a slow link in front of a server of the same machine.

use crate::common::now;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// How long the link sleeps where nothing is due: what its times are exact to.
const NAP: Duration = Duration::from_micros(100);

/// A link in front of a server: datagrams to it wait for a bottleneck, and both ways take time.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    /// Of the bottleneck, in megabits per second.
    pub(crate) mbps: f64,
    /// One way.
    pub(crate) delay: Duration,
    /// The longest time that a datagram waits for the bottleneck; what would wait longer is dropped.
    pub(crate) queue: Duration,
}

impl Link {
    /// The network of the examples: 15 Mbps, an RTT of 150 ms, and a queue of 200 ms.
    pub(crate) const EXAMPLE: Link =
        Link { mbps: 15.0, delay: Duration::from_millis(75), queue: Duration::from_millis(200) };

    /// Puts the link before `server`, for one client and as long as the program runs. Returns the address that is
    /// the server's for the client.
    pub(crate) fn before(self, server: SocketAddr) -> io::Result<SocketAddr> {
        let (front, back) =
            (UdpSocket::bind(("127.0.0.1", 0))?, UdpSocket::bind(("127.0.0.1", 0))?);
        back.connect(server)?;
        front.set_nonblocking(true)?;
        back.set_nonblocking(true)?;
        let address = front.local_addr()?;
        thread::spawn(move || self.run(&front, &back));
        Ok(address)
    }

    fn run(self, front: &UdpSocket, back: &UdpSocket) {
        let (mut there, mut here) = (VecDeque::new(), VecDeque::new());
        let mut client = None;
        let mut buffer = vec![0; 65_536];
        let mut free_at = now();
        loop {
            let now = now();
            while let Ok((length, from)) = front.recv_from(&mut buffer) {
                client = Some(from);
                if free_at < now + self.queue {
                    free_at = free_at.max(now) + self.service(length);
                    there.push_back((free_at + self.delay, buffer[..length].to_vec()));
                }
            }
            while let Ok(length) = back.recv(&mut buffer) {
                here.push_back((now + self.delay, buffer[..length].to_vec()));
            }
            // A datagram that cannot be sent is lost, as on any link.
            each_due(&mut there, now, |datagram| drop(back.send(datagram)));
            each_due(&mut here, now, |datagram| drop(client.map(|to| front.send_to(datagram, to))));
            thread::sleep(NAP);
        }
    }

    fn service(self, bytes: usize) -> Duration {
        Duration::from_secs_f64(bytes as f64 * 8e-6 / self.mbps)
    }
}

fn each_due(way: &mut VecDeque<(Instant, Vec<u8>)>, now: Instant, mut send: impl FnMut(&[u8])) {
    while way.front().is_some_and(|&(due, _)| due <= now) {
        if let Some((_, datagram)) = way.pop_front() {
            send(&datagram);
        }
    }
}
