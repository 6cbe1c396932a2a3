//! Whole tunnels of many clients to one server: `cargo run --release -p exm-tunnel --example many_tunnels -- 100 0.5`.
//!
//! As root on Linux. Each client has a network namespace of its own, with a link to the server's; all download as much
//! as they can from a host behind the server. A second argument limits each client's link, in Mbit/s. Then one of them, whose key is valid, sends malformed packets as
//! fast as it may, and floods the server with datagrams of no key. Printed are the memory that a client costs the
//! server, and the throughput of all and of each without and beside the hostile one. The server has a core of its own, as
//! it would not share one with its clients.

#[cfg(target_os = "linux")]
mod linux {
    use exm_datagram::Key;
    use exm_endpoint::PortRange;
    use exm_os::{Clock, Namespace, Rights};
    use exm_session::{Listener, LoopControl, Mailbox, Session, Settings, WhenFull, drive};
    use exm_tunnel::{
        Client, ClientPlan, Clients, Lease, Message, Network, ServerPlan, SharedServer,
        drive_shared,
    };
    use exm_units::{Bytes, Instant, Span};
    use std::error::Error;
    use std::io::{self, Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

    const SERVER: &str = "10.255.0.1:60001";
    const HOST: &str = "203.0.113.2:5001";
    /// How long each throughput is measured.
    const PHASE: Duration = Duration::from_secs(10);
    /// How long all clients may take to connect.
    const PATIENCE: Span = Span::from_secs(60);

    fn sh(network: &Namespace, script: &str) -> io::Result<()> {
        let status = network.run(|| Command::new("sh").args(["-ec", script]).status())?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("this fails: {script}"))),
        }
    }

    /// The server's network, with a host behind it.
    fn networks() -> io::Result<(Namespace, Namespace)> {
        let (server, host) = (Namespace::new()?, Namespace::new()?);
        let at = host.path().display().to_string();
        sh(
            &server,
            &format!(
                "ip link set lo up; ip address add 10.255.0.1/32 dev lo
                 ip link add h0 type veth peer name h0 netns {at}
                 ip address add 203.0.113.1/24 dev h0; ip link set h0 up
                 ip route add default via 203.0.113.2"
            ),
        )?;
        sh(&host, "ip link set lo up; ip address add 203.0.113.2/24 dev h0; ip link set h0 up")?;
        Ok((server, host))
    }

    /// The network of client `number`, from 1 to 254, whose link has `mbps` if that is set.
    fn client_network(server: &Namespace, number: u32, mbps: Option<f64>) -> io::Result<Namespace> {
        let client = Namespace::new()?;
        let at = server.path().display().to_string();
        sh(
            &client,
            &format!(
                "ip link set lo up; ip link add w0 type veth peer name c{number} netns {at}
                 ip address add 10.{number}.0.2/24 dev w0; ip link set w0 up"
            ),
        )?;
        let link =
            format!("ip address add 10.{number}.0.1/24 dev c{number}; ip link set c{number} up");
        sh(server, &link)?;
        if let Some(mbps) = mbps {
            let bps = (mbps * 1e6) as u64;
            let limit = format!("rate {bps}bit burst 5kb latency 300ms");
            sh(server, &format!("tc qdisc add dev c{number} root tbf {limit}"))?;
        }
        sh(&client, &format!("ip route add default via 10.{number}.0.1"))?;
        Ok(client)
    }

    /// The server, in a process of its own whose memory can be measured, until it is killed.
    pub(crate) fn server(file: &Path) -> Result {
        let ports = PortRange::single(60001);
        let mut listener = Listener::bind(Clock::start(), Settings::default(), None, ports)?;
        let mut server = SharedServer::new(&mut listener, &ServerPlan::default(), file)?;
        let (_open, never) = UnixStream::pair()?;
        let monitor = |_: &Listener, _: &mut SharedServer, _| LoopControl::WakeAt(Instant::MAX);
        Ok(drive_shared(&mut listener, &mut server, never.as_fd(), monitor)?)
    }

    /// Moves `process` with all its threads to `cores`.
    fn pin(process: u32, cores: &str) -> io::Result<()> {
        let id = process.to_string();
        let output = Command::new("taskset").args(["-a", "-p", "-c", cores, &id]).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// The process of the server, which ends with this.
    struct Process(Child);

    impl Drop for Process {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    impl Process {
        fn start(network: &Namespace, file: &Path) -> io::Result<Process> {
            let program = std::env::current_exe()?;
            network.run(|| Command::new(program).arg("serve").arg(file).spawn()).map(Process)
        }

        /// The CPU time that it has used, s.
        fn cpu_time(&self) -> f64 {
            let path = format!("/proc/{}/stat", self.0.id());
            let stat = std::fs::read_to_string(path).unwrap_or_default();
            // Its name, in parentheses, may contain anything.
            let rest = stat.rsplit(')').next().unwrap_or("");
            let ticks = rest.split_whitespace().skip(11).take(2);
            ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
        }

        /// Its resident memory, bytes.
        fn memory(&self) -> f64 {
            let path = format!("/proc/{}/status", self.0.id());
            let status = std::fs::read_to_string(path).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("");
            let kilobytes = line.split_whitespace().next().and_then(|number| number.parse().ok());
            1024.0 * kilobytes.unwrap_or(0.0)
        }
    }

    /// Sends without end to everybody who connects.
    fn source(host: &Namespace) -> io::Result<()> {
        let listener = host.run(|| TcpListener::bind(HOST))?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream: TcpStream = stream;
                thread::spawn(move || while stream.write_all(&[0; 1 << 16]).is_ok() {});
            }
        });
        Ok(())
    }

    fn connect(key: Key) -> io::Result<Session> {
        let server = SERVER.parse().map_err(io::Error::other)?;
        Session::connect(Clock::start(), key, Settings::default(), vec![server])
            .map_err(io::Error::other)
    }

    /// Runs the client of `lease` in `network`, and downloads through its tunnel; counts the bytes.
    fn client(network: &Namespace, lease: &Lease) -> Arc<AtomicU64> {
        let received = Arc::new(AtomicU64::new(0));
        let (path, key, count) = (network.path(), lease.key.clone(), Arc::clone(&received));
        thread::spawn(move || {
            let run = || -> io::Result<()> {
                Namespace::at(&path)?.enter()?;
                let mut session = connect(key)?;
                let mut client = Client::new(&mut session, ClientPlan::default())?;
                let (_open, never) = UnixStream::pair()?;
                let mut is_up = false;
                let monitor = |_: &Session, client: &Client, _| {
                    if client.pipe().is_some() && !std::mem::replace(&mut is_up, true) {
                        download(&path, &count);
                    }
                    LoopControl::WakeAt(Instant::MAX)
                };
                drive(&mut session, &mut client, never.as_fd(), monitor)
            };
            if let Err(error) = run() {
                eprintln!("a client has ended: {error}");
            }
        });
        received
    }

    /// Downloads in a thread of its own.
    fn download(network: &Path, count: &Arc<AtomicU64>) {
        let (path, count) = (network.to_owned(), Arc::clone(count));
        thread::spawn(move || {
            let run = || -> io::Result<()> {
                Namespace::at(&path)?.enter()?;
                let mut stream = TcpStream::connect(HOST)?;
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let read = stream.read(&mut buffer)?;
                    count.fetch_add(read as u64, Ordering::Relaxed);
                }
            };
            if let Err(error) = run() {
                eprintln!("a download has ended: {error}");
            }
        });
    }

    /// Sends malformed packets within the session of `lease`, and garbage beside it, which it counts.
    fn hostile(network: &Namespace, lease: &Lease) -> Arc<AtomicU64> {
        let sent = Arc::new(AtomicU64::new(0));
        let (path, key, count) = (network.path(), lease.key.clone(), Arc::clone(&sent));
        thread::spawn(move || -> io::Result<()> {
            Namespace::at(&path)?.enter()?;
            let mut session = connect(key)?;
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            let payloads =
                [Message::Hello { mtu: 68 }.encode(), vec![1, 1, 0], vec![3; 40], vec![0x45; 900]];
            let mut traffic = Mailbox::new(Bytes::new(100_000), WhenFull::DropHead);
            for (number, payload) in payloads.iter().cycle().enumerate() {
                let _ = traffic.queue.try_send(payload.clone());
                session.service(&mut traffic);
                traffic.delivered.clear();
                let mut garbage = [0x40; 65];
                garbage[5..13].copy_from_slice(&(number as u64).to_be_bytes());
                let _ = socket.send_to(&garbage, SERVER);
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        sent
    }

    /// Measures the throughput of each client over one phase, and prints it with the CPU time of the server.
    fn measure(title: &str, process: &Process, received: &[Arc<AtomicU64>]) {
        let read = || -> Vec<u64> { received.iter().map(|r| r.load(Ordering::Relaxed)).collect() };
        let (before, cpu_time) = (read(), process.cpu_time());
        thread::sleep(PHASE);
        let passed = read().into_iter().zip(before).map(|(after, before)| after - before);
        let mut mbps: Vec<f64> =
            passed.map(|bytes| bytes as f64 * 8e-6 / PHASE.as_secs_f64()).collect();
        mbps.sort_by(f64::total_cmp);
        let total: f64 = mbps.iter().sum();
        let squares: f64 = mbps.iter().map(|rate| rate * rate).sum();
        let count = mbps.len();
        println!(
            "{title}: all {total:.0} Mbit/s; least {:.2}, median {:.2}, most {:.2}; Jain's index {:.3}; \
             server {:.0} % of a core",
            mbps[0],
            mbps[count / 2],
            mbps[count - 1],
            total * total / (count as f64 * squares),
            100.0 * (process.cpu_time() - cpu_time) / PHASE.as_secs_f64(),
        );
    }

    fn leases(file: &Path, count: u32) -> Result<Vec<Lease>> {
        let network = Network::new("100.96.0.0/16".parse()?).ok_or("no network")?;
        let clients = Clients::change(file, |_| {
            let mut clients = Clients::new(network)?;
            for number in 1..=count {
                clients.add(&format!("client{number}"))?;
            }
            Ok((clients.clone(), clients))
        })?;
        Ok(clients.leases().to_vec())
    }

    /// The file of clients, which is removed at the end.
    struct ClientsFile(PathBuf);

    impl Drop for ClientsFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    pub(crate) fn run(count: u32, mbps: Option<f64>) -> Result {
        if !Rights::has_network() {
            return Err("this makes networks, which only root may".into());
        }
        if !(2..=254).contains(&count) {
            return Err("give a number of clients from 2 to 254".into());
        }
        let name = format!("many-tunnels-{}.toml", std::process::id());
        let file = ClientsFile(std::env::temp_dir().join(name));
        let leases = leases(&file.0, count)?;
        let (server, host) = networks()?;
        let links = (1..=count).map(|number| client_network(&server, number, mbps));
        let links = links.collect::<io::Result<Vec<Namespace>>>()?;
        source(&host)?;
        let process = Process::start(&server, &file.0)?;
        let cores = thread::available_parallelism()?.get();
        if cores > 1 {
            pin(process.0.id(), "0")?;
            pin(std::process::id(), &format!("1-{}", cores - 1))?;
        }
        thread::sleep(Duration::from_secs(1));
        let (before, clock) = (process.memory(), Clock::start());
        let (bad, good) = leases.split_last().ok_or("no clients")?;
        let (bad_link, good_links) = links.split_last().ok_or("no clients")?;
        let received: Vec<_> =
            good_links.iter().zip(good).map(|(link, lease)| client(link, lease)).collect();
        let waits = |r: &Arc<AtomicU64>| r.load(Ordering::Relaxed) == 0;
        while received.iter().any(waits) && clock.now() < Instant::ZERO + PATIENCE {
            thread::sleep(Duration::from_millis(50));
        }
        let silent = received.iter().filter(|r| waits(r)).count();
        let (all, seconds) = (received.len(), clock.now().as_secs_f64());
        println!("{} of {all} clients download after {seconds:.1} s", all - silent);
        if silent > 0 {
            return Err(format!("{silent} clients have not connected").into());
        }
        measure("alone", &process, &received);
        let each = (process.memory() - before) / f64::from(count - 1) / 1e3;
        println!("memory of the server for each client: {each:.0} kB");
        let garbage = hostile(bad_link, bad);
        thread::sleep(Duration::from_secs(2));
        let before = garbage.load(Ordering::Relaxed);
        measure("beside the hostile one", &process, &received);
        let sent = garbage.load(Ordering::Relaxed) - before;
        println!("its datagrams of no key: {:.0} a second", sent as f64 / PHASE.as_secs_f64());
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => linux::run(100, None),
        ["serve", file] => linux::server(std::path::Path::new(file)),
        [count] => linux::run(count.parse()?, None),
        [count, mbps] => linux::run(count.parse()?, Some(mbps.parse()?)),
        _ => Err("give a number of clients, and the rate of their links in Mbit/s".into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
