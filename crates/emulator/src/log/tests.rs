use super::*;
use exm_link::Service;
use exm_trace::Trace;
use exm_units::{Rate, Span};
use std::sync::Arc;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Span::from_micros(micros)
}

fn origin() -> Origin {
    Origin {
        command: "exm cellsim".to_owned(),
        version: "1".to_owned(),
        seed: 7,
        configuration: "0123".to_owned(),
        paths: ["a.up, drop-tail".to_owned(), "12 Mbps".to_owned()],
        began: 5_000_000_000,
    }
}

fn watched(log: Log) {
    let mut up = log.observer(Direction::Up);
    let mut down = log.observer(Direction::Down);
    let packet = |number, size| PacketInfo {
        number,
        flow: 0xab,
        size,
        sent_at: at(1000),
        queued_at: at(21_000),
    };
    let flow =
        Flow { protocol: 17, from: ([10, 0, 0, 1].into(), 5), to: ([10, 0, 0, 2].into(), 53) };
    up.flow(0xab, &flow);
    up.queued(&packet(0, 1500));
    up.queued(&packet(1, 100));
    let (due_at, received_at) = (at(30_000), at(30_025));
    up.delivered(&Delivery { packet: packet(0, 1500), due_at, received_at, marked: true });
    up.dropped(&packet(1, 100), at(40_000), Cause::Queue);
    down.dropped(&packet(0, 40), at(1200), Cause::Loss);
    drop((up, down));
    let rest = Unlogged { inside: [3, 0], missed: [0, 2], left_out: 0 };
    assert_eq!(log.finish(at(42_000), &rest).unwrap(), 0);
}

/// The file's text, the file being removed.
fn taken(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::remove_file(file).unwrap();
    text
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("exm-{name}-{}", std::process::id()))
}

/// A killed process leaves no file that looks like a whole log.
#[test]
fn a_log_gets_its_name_once_it_is_complete() {
    let file = std::env::temp_dir().join(format!("exm-partial-{}", std::process::id()));
    let unfinished = std::path::PathBuf::from(format!("{}.partial", file.display()));
    let log = RowLog::create(&file, &origin()).unwrap();
    assert!(unfinished.exists() && !file.exists());
    log.finish(at(0), &Unlogged::default()).unwrap();
    assert!(!unfinished.exists() && file.exists());
    std::fs::remove_file(file).unwrap();
}

#[test]
fn rows_have_the_measurements() {
    let file = file("rows");
    watched(RowLog::create(&file, &origin()).unwrap());
    let text = taken(&file);
    let (head, rows): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
    assert!(head[..9].contains(&"# seed: 7") && head.contains(&"# up: a.up, drop-tail"), "{text}");
    assert!(head.contains(&"# flow 000000ab udp 10.0.0.1:5 > 10.0.0.2:53"), "{text}");
    assert!(text.ends_with(
        "# ended: 42000000 ns\n# up: 3 packets still on the link, 0 missed\n\
         # down: 0 packets still on the link, 2 missed\n"
    ));
    assert_eq!(
        rows,
        [
            "direction,number,flow,bytes,sent_ns,queued_ns,scheduled_ns,left_ns,queueing_ns,\
             total_ns,late_ns,fate",
            "up,0,000000ab,1500,1000000,21000000,30000000,30025000,9000000,29025000,25000,marked",
            "up,1,000000ab,100,1000000,21000000,,40000000,,39000000,,queue",
            "down,0,000000ab,40,1000000,21000000,,1200000,,200000,,loss",
        ]
    );
}

#[test]
fn mahimahi_has_its_lines_in_order() {
    let file = file("mahimahi");
    let trace = Trace::new(vec![at(30_000), at(30_000), at(41_000)]).unwrap();
    let services = [Service::Trace(Arc::new(trace)), Service::Fixed(Rate::from_mbps(1.0))];
    watched(MahimahiLog::create(&file, &origin(), [&services[0], &services[1]]).unwrap());
    let text = |way: &str| taken(Path::new(&format!("{}.{way}", file.display())));
    let (up, down) = (text("up"), text("down"));
    assert!(up.starts_with("# exm cellsim (uplink) [a.up, drop-tail]\n"), "{up}");
    assert!(up.contains("\n# base timestamp: 0\n"), "{up}");
    let lines = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = [
        "21 + 1500",
        "21 + 100",
        "30 # 1500",
        "30 # 1500",
        "30 - 1500 9",
        "40 d 1 100",
        "41 # 1500",
    ];
    assert_eq!(lines(&up), expected);
    // 1500 bytes at 1 Mbps are 12 ms.
    assert_eq!(lines(&down), ["1 d 1 40", "12 # 1500", "24 # 1500", "36 # 1500"]);
}

#[test]
fn write_errors_are_reported() {
    let error = RowLog::create(Path::new("/no/such/folder/log"), &origin()).unwrap_err();
    assert!(error.to_string().starts_with("the log /no/such/folder/log cannot be created: "));
    let log = RowLog::create(Path::new("/dev/full"), &origin()).unwrap();
    let error = log.finish(at(0), &Unlogged::default()).unwrap_err().to_string();
    assert!(error.starts_with("the log /dev/full is incomplete: "), "{error}");
}

/// A disk that accepts nothing until it is released.
struct Stuck {
    released: std::sync::mpsc::Receiver<()>,
    flows: u64,
    others: u64,
    outcome: std::sync::mpsc::Sender<[u64; 3]>,
}

impl Format for Stuck {
    fn write(&mut self, _: Direction, event: &Event) -> io::Result<()> {
        let _ = self.released.recv();
        match event {
            Event::Flow(..) => self.flows += 1,
            _ => self.others += 1,
        }
        Ok(())
    }

    fn finish(&mut self, _: Instant, rest: &Unlogged) -> io::Result<()> {
        self.outcome.send([self.flows, self.others, rest.left_out]).map_err(io::Error::other)
    }
}

#[test]
fn the_backlog_of_a_slow_disk_is_bounded_and_the_rest_counted() {
    const EVENTS: u64 = 600_000;
    let ((release, released), (sender, outcome)) =
        (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let log =
        Log::start(vec![file("stuck")], Stuck { released, flows: 0, others: 0, outcome: sender });
    let mut up = log.observer(Direction::Up);
    let packet = PacketInfo { number: 0, flow: 7, size: 40, sent_at: at(0), queued_at: at(0) };
    for number in 0..EVENTS {
        up.queued(&PacketInfo { number, ..packet });
    }
    // After half of the room was used up: flow events are kept.
    let flow = Flow { protocol: 6, from: ([10, 0, 0, 1].into(), 1), to: ([10, 0, 0, 2].into(), 2) };
    up.flow(7, &flow);
    for number in 0..EVENTS {
        up.queued(&PacketInfo { number, ..packet });
    }
    drop(release);
    drop(up);
    let left_out = log.finish(at(1), &Unlogged::default()).unwrap();
    let [flows, others, reported] = outcome.recv().unwrap();
    assert_eq!((flows, others + left_out, reported), (1, 2 * EVENTS, left_out));
    let most = ((MOST_WAITING + 2) * BATCH) as u64;
    assert!((1..=most).contains(&others), "{others} of {most} waited");
}

/// What a simulated sender sent: times and sizes.
#[derive(Default)]
struct Sends(Vec<(Instant, u32)>);

/// The simulator's log of a link, and what arrived there.
struct Simulated<'a>(exm_sim::mahimahi::MahimahiLog<Vec<u8>>, &'a mut Sends);

impl exm_sim::engine::Observer for Simulated<'_> {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &exm_sim::engine::Event) {
        if let exm_sim::engine::EventKind::Sent { packet, .. } = event.kind {
            self.1.0.push((event.at, packet.size.get() as u32));
        }
        self.0.event(event);
    }
}

/// Passes what happens on a path to the observer of a log.
struct Logged(Box<dyn Observer>);

fn info(packet: &exm_link::Packet) -> PacketInfo {
    let &exm_link::Packet { sequence, size, sent_at, at, .. } = packet;
    PacketInfo { number: sequence, flow: 0, size, sent_at, queued_at: at }
}

impl crate::Outcome for Logged {
    fn queued(&mut self, packet: &exm_link::Packet) {
        self.0.queued(&info(packet));
    }

    fn departed(&mut self, at: Instant, packet: exm_link::Packet) {
        let packet = info(&packet);
        self.0.delivered(&Delivery { packet, due_at: at, received_at: at, marked: false });
    }

    fn dropped(&mut self, at: Instant, packet: exm_link::Packet, cause: Cause) {
        self.0.dropped(&info(&packet), at, cause);
    }
}

/// The same packets over the same link, simulated and emulated, give the same lines.
#[test]
fn the_simulator_writes_the_same_log() {
    use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
    let trace = Trace::new((1..1000).map(|number| at(number * 1700)).collect()).unwrap();
    for service in [Service::Fixed(Rate::from_mbps(12.0)), Service::Trace(Arc::new(trace))] {
        let limit = exm_link::Limit::Packets(exm_units::Packets::new(20));
        let cubic = exm_sim::controllers::AnyController::named("cubic").unwrap();
        let flow = FlowSpec::new(Host::Tcp.transport(cubic)).extra_delay(Span::from_millis(40));
        let link = LinkSpec::new(service.clone()).buffer(limit);
        let network = Network::new(vec![link], vec![flow], Span::from_secs(3)).unwrap();
        let mut sends = Sends::default();
        let log = exm_sim::mahimahi::MahimahiLog::new(Vec::new(), &network, 0, "test").unwrap();
        let mut simulated = Simulated(log, &mut sends);
        let report = exm_sim::engine::run_observed(&network, 1, &mut simulated);
        assert!(report.links[0].dropped > 10);
        let simulated = String::from_utf8(simulated.0.finish().unwrap()).unwrap();

        let mut spec = crate::PathSpec::new(service.clone());
        spec.limit = limit;
        let mut path = crate::Path::new(&spec, 1, 0).unwrap();
        for (number, &(at, size)) in sends.0.iter().enumerate() {
            path.send(at, exm_link::Packet::new(0, number as u64, size, at));
        }
        let file = file("same");
        let log = MahimahiLog::create(&file, &origin(), [&service, &service]).unwrap();
        let mut logged = Logged(log.observer(Direction::Up));
        path.advance(at(2_999_999), &mut logged);
        drop(logged);
        log.finish(at(3_000_000), &Unlogged::default()).unwrap();
        let emulated = taken(Path::new(&format!("{}.up", file.display())));
        std::fs::remove_file(format!("{}.down", file.display())).unwrap();
        let body = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(body(&simulated).len() > 5000);
        assert_eq!(body(&simulated), body(&emulated));
    }
}
