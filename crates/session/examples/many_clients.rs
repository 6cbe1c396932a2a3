//! What one server of many clients costs: `cargo run --release -p exm-session --example many_clients -- 100`.
//!
//! It starts the clients as another process, connects them over loopback, sends to all of them for some seconds as
//! much as each session's forecast allows, and prints the memory for each client, the throughput of all, and how
//! evenly it was shared.

#[cfg(target_os = "linux")]
mod linux {
    use exm_datagram::Key;
    use exm_endpoint::PortRange;
    use exm_os::{AnyOf, Clock, Waiter};
    use exm_session::{Listener, Mailbox, PeerId, PeerTraffic, Session, Settings, State, WhenFull};
    use exm_units::{Bytes, Instant, Span};
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::fd::AsFd;
    use std::process::Command;

    const PAYLOAD: usize = 1200;
    const SECONDS: u64 = 5;

    fn key(number: u32) -> Key {
        let mut bytes = [5; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Key::from_bytes(bytes)
    }

    /// Sends without end once it may, and counts.
    #[derive(Default)]
    struct Endless {
        sends: bool,
        sent: BTreeMap<PeerId, u64>,
    }

    impl PeerTraffic for Endless {
        fn waiting(&mut self, _peer: PeerId, _now: Instant) -> Option<usize> {
            self.sends.then_some(PAYLOAD)
        }

        fn pull(&mut self, peer: PeerId, _now: Instant, payload: &mut Vec<u8>) {
            *self.sent.entry(peer).or_default() += PAYLOAD as u64;
            payload.extend_from_slice(&[1; PAYLOAD]);
        }

        fn deliver(&mut self, _peer: PeerId, _now: Instant, _payload: &[u8]) {}
    }

    /// A number in a file of /proc, after `name`.
    fn of_process(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// The clients, until they are killed.
    pub(crate) fn clients(count: u32, port: u16) -> Result<(), Box<dyn Error>> {
        let clock = Clock::start();
        let connect = |number| {
            let server = (Ipv4Addr::LOCALHOST, port).into();
            Session::connect(clock, key(number), Settings::default(), vec![server])
        };
        let mut sessions = (0..count).map(connect).collect::<Result<Vec<_>, _>>()?;
        let mut mailbox = Mailbox::new(Bytes::ZERO, WhenFull::Refuse);
        let files: Vec<_> = sessions.iter().map(AsFd::as_fd).collect();
        let ready = AnyOf::new(&files)?;
        let waiter = Waiter::new(clock, Span::ZERO);
        loop {
            for session in &mut sessions {
                session.service(&mut mailbox);
                mailbox.delivered.clear();
            }
            let wake = sessions.iter().map(Session::next_wake).min().unwrap_or(Instant::MAX);
            waiter.wait([ready.as_fd()], wake)?;
        }
    }

    /// The server, and its measurements.
    pub(crate) fn server(count: u32) -> Result<(), Box<dyn Error>> {
        let (clock, local) = (Clock::start(), IpAddr::from(Ipv4Addr::LOCALHOST));
        let settings = Settings::default();
        let mut listener = Listener::bind(clock, settings, Some(local), PortRange::single(0))?;
        let before = of_process("VmRSS:");
        let peers: Vec<PeerId> = (0..count).map(|number| listener.add(key(number))).collect();
        let port = listener.local_address()?.port().to_string();
        let program = std::env::current_exe()?;
        let mut others = Command::new(program).args([count.to_string(), port]).spawn()?;
        let waiter = Waiter::new(clock, Span::ZERO);
        let mut traffic = Endless::default();
        let mut run = |traffic: &mut Endless, until: Instant| -> std::io::Result<usize> {
            let mut connected = 0;
            while clock.now() < until && (traffic.sends || connected < peers.len()) {
                listener.service(traffic);
                waiter.wait([listener.as_fd()], listener.next_wake().min(until))?;
                let state = |&peer: &PeerId| listener.stats(peer).map(|stats| stats.state);
                if !traffic.sends {
                    let is_up = |peer: &&PeerId| state(peer) == Some(State::Established);
                    connected = peers.iter().filter(is_up).count();
                }
            }
            Ok(connected)
        };
        let connected = run(&mut traffic, clock.now() + Span::from_secs(60))?;
        let joined = clock.now();
        println!("{connected} of {count} clients connected after {:.1} s", joined.as_secs_f64());
        let idle = of_process("VmRSS:");
        traffic.sends = true;
        let end = clock.now() + Span::from_secs(SECONDS);
        run(&mut traffic, end)?;
        let busy = of_process("VmRSS:");
        others.kill()?;
        others.wait()?;
        let each = |after: u64| (after.saturating_sub(before)) as f64 / f64::from(count);
        println!("memory of each client: {:.0} kB idle, {:.0} kB busy", each(idle), each(busy));
        let sent: Vec<u64> =
            peers.iter().map(|id| traffic.sent.get(id).copied().unwrap_or(0)).collect();
        let total: u64 = sent.iter().sum();
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / SECONDS as f64;
        println!(
            "sent to all {:.0} Mbit/s, to the least {:.2}, to the most {:.2}",
            mbps(total),
            mbps(sent.iter().copied().min().unwrap_or(0)),
            mbps(sent.iter().copied().max().unwrap_or(0)),
        );
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => linux::server(100),
        [count] => linux::server(count.parse()?),
        [count, port, ..] => linux::clients(count.parse()?, port.parse()?),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
