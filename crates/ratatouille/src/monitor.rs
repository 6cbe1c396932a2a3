//! [`Monitor`]: plays a scene for somebody who looks on.

use crate::change::Change;
use crate::files::File;
use crate::measures::{Measured, Measures, Sample};
use crate::player::{Lane, Player};
use crate::scene::{Scene, SceneError};
use crate::watch::{Records, Watch};
use exm_link::Service;
use exm_sim::engine::FlowSample;
use exm_sim::network::FlowSpec;
use exm_sim::scenario::Load;
use exm_units::{Instant, Rate, Span};

/// How many samples for measures are taken in the shortest propagation RTT.
const SAMPLES_PER_RTT: u64 = 16;
/// The shortest time between them: a path without propagation delay has no RTT to divide.
const SHORTEST_INTERVAL: Span = Span::from_micros(100);
/// How many RTTs a measured throughput is a mean of.
const THROUGHPUT_RTTS: usize = 4;
/// The capacity of a trace is averaged over this time at least.
const TRACE_WINDOW: Span = Span::from_millis(100);
/// Samples of one frame beyond this number are not kept.
const MOST_SAMPLES: usize = 100_000;

/// A [`Player`] that takes samples at regular times, and measures each flow.
///
/// ```
/// use exm_ratatouille::Monitor;
/// use exm_units::{Instant, Span};
///
/// let scene = "link=2Mbps&rtt=150ms&buffer=1 BDP&cc=reno&until=120s".parse()?;
/// let mut no_tables = |name: &str, _: &std::path::Path| Err(format!("there is no table {name}"));
/// let mut monitor = Monitor::new(&scene, &mut no_tables, 10_000)?;
/// monitor.advance(Instant::ZERO + Span::from_secs(120), Span::from_millis(10), u64::MAX);
/// let measured = monitor.measured(0, 0);
/// assert!(measured.period.unwrap() > 20.0, "RTTs: a sawtooth is slow");
/// assert!(monitor.take_samples().flows.len() > 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    player: Player<Watch>,
    /// By lane and flow.
    measures: Vec<Vec<Measures>>,
    /// How many samples are kept for measures.
    most: usize,
    /// The time between them.
    interval: Span,
    /// The propagation RTTs that the measures are of, and how many changes had been applied then.
    rtts: Vec<Vec<Span>>,
    applied: usize,
    samples: Samples,
    watched: Option<(usize, usize)>,
}

/// Samples of flows and links.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Samples {
    /// Of each active flow of each lane, in order of time.
    pub flows: Vec<FlowState>,
    /// Of each link of each lane, in order of time.
    pub links: Vec<LinkState>,
}

/// A flow at one time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FlowState {
    /// Its lane.
    pub lane: usize,
    /// What the engine reports of it.
    pub sample: FlowSample,
    /// The ideal number of packets in flight: the BDP of the bottleneck divided by the number of flows that are on.
    pub ideal: f64,
}

/// A link at one time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LinkState {
    /// The time.
    pub at: Instant,
    /// Its lane.
    pub lane: usize,
    /// Its number.
    pub link: usize,
    /// Packets that wait.
    pub packets: u64,
    /// Bytes that wait.
    pub bytes: u64,
    /// Its rate; of a trace over the last tenth of a second, or since the last sample if that is longer.
    pub rate: Rate,
    /// Packets that its queue dropped so far.
    pub dropped: u64,
    /// Packets that its queue marked so far.
    pub marked: u64,
}

impl Monitor {
    /// A monitor at the start of `scene`, with tables loaded by `load`; measures are of the last `most` samples, 16 of
    /// which are taken in an RTT.
    ///
    /// # Errors
    /// [`SceneError`] if the scene is impossible.
    pub fn new(scene: &Scene, load: &mut Load<'_>, most: usize) -> Result<Monitor, SceneError> {
        let player = Player::observed(scene, load, Watch::default)?;
        let mut monitor = Monitor {
            player,
            measures: Vec::new(),
            most,
            interval: SHORTEST_INTERVAL,
            rtts: Vec::new(),
            applied: 0,
            samples: Samples::default(),
            watched: None,
        };
        monitor.prepare();
        Ok(monitor)
    }

    /// The player.
    pub fn player(&self) -> &Player<Watch> {
        &self.player
    }

    /// As [`Player::change_with`].
    ///
    /// # Errors
    /// [`SceneError`] if the change is impossible.
    pub fn change(&mut self, change: Change, load: &mut Load<'_>) -> Result<(), SceneError> {
        self.player.change_with(change, load)?;
        self.prepare();
        Ok(())
    }

    /// As [`Player::add_file`].
    ///
    /// # Errors
    /// [`SceneError`] if the scene has another file of that name.
    pub fn add_file(&mut self, file: File) -> Result<(), SceneError> {
        self.player.add_file(file)
    }

    /// Watches flow `watched.1` of lane `watched.0` from now on: its sends, and the rules that it applies.
    pub fn watch(&mut self, watched: (usize, usize)) {
        self.watched = Some(watched);
        self.renew_watch();
    }

    /// Observers of a snapshot watch what was watched then.
    fn renew_watch(&mut self) {
        let (watched, mut lane) = (self.watched, 0);
        self.player.visit_observers(|observer| {
            observer.watch(watched.filter(|watched| watched.0 == lane).map(|watched| watched.1));
            lane += 1;
        });
    }

    /// What was recorded in each lane since it was last taken.
    pub fn take_records(&mut self) -> Vec<Records> {
        let mut records = Vec::new();
        self.player.visit_observers(|observer| records.push(observer.take()));
        records
    }

    /// Simulates up to `until`, or until about `packets` packets have been sent, whichever comes first. Samples are taken at
    /// the multiples of `interval`; without an interval, none.
    pub fn advance(&mut self, until: Instant, interval: Span, packets: u64) {
        let until = until.min(self.player.end());
        let most = self.sent().saturating_add(packets);
        while self.player.now() < until && self.sent() <= most {
            let now = self.player.now();
            let [next_sample, next_measure] =
                [interval, self.interval].map(|interval| next_multiple(now, interval));
            let next = next_sample.min(next_measure);
            self.player.run_until(next.min(until));
            if self.player.applied() != self.applied {
                self.prepare();
            }
            if next == next_measure && self.player.now() == next {
                self.measure();
            }
            if next == next_sample && self.player.now() == next {
                self.sample(interval);
            }
        }
    }

    /// How many packets all lanes have sent.
    fn sent(&self) -> u64 {
        self.player.lanes().iter().map(|lane| lane.simulation().observer().sent()).sum()
    }

    /// Goes to `time`. In the past, what was measured later is forgotten; in the future, samples are taken.
    pub fn seek(&mut self, time: Instant, interval: Span) {
        if time >= self.player.now() {
            return self.advance(time, interval, u64::MAX);
        }
        self.player.seek(time);
        self.take_records();
        self.renew_watch();
        self.samples = Samples::default();
        self.measures.iter_mut().flatten().for_each(|measures| measures.rewind(time));
        self.prepare();
    }

    /// As [`Player::step`].
    pub fn step(&mut self) -> Option<Instant> {
        self.player.step()
    }

    /// Steps until flow `flow` of lane `lane` has received an ACK, and returns when; `None` if it receives no more.
    pub fn step_to_ack(&mut self, lane: usize, flow: usize) -> Option<Instant> {
        let delivered = |monitor: &Monitor| {
            let simulation = monitor.player.lanes().get(lane)?.simulation();
            simulation.flow(flow).map(|sample| (sample.delivered, sample.rtt))
        };
        let before = delivered(self)?;
        loop {
            let at = self.step()?;
            if delivered(self)? != before {
                return Some(at);
            }
        }
    }

    /// The samples since they were last taken.
    pub fn take_samples(&mut self) -> Samples {
        std::mem::take(&mut self.samples)
    }

    /// The measures of a flow so far; nothing where there is no such flow.
    pub fn measured(&self, lane: usize, flow: usize) -> Measured {
        self.measures_of(lane, flow).map(Measures::measured).unwrap_or_default()
    }

    fn measures_of(&self, lane: usize, flow: usize) -> Option<&Measures> {
        self.measures.get(lane)?.get(flow)
    }

    /// The packets that a flow delivered in a second, over the last RTTs.
    pub fn throughput(&self, lane: usize, flow: usize) -> Option<f64> {
        self.measures_of(lane, flow)?.throughput(THROUGHPUT_RTTS)
    }

    /// Lets measures begin anew from now on, but for ramp-ups: for those of a steady state.
    pub fn settle(&mut self) {
        self.measures.iter_mut().flatten().for_each(Measures::settle);
    }

    /// Begins the measures anew if propagation delays have changed.
    fn prepare(&mut self) {
        self.applied = self.player.applied();
        let of_lane = |lane: &Lane<Watch>| -> Vec<Span> {
            let network = lane.simulation().network();
            network.flows().iter().map(|flow| flow.propagation(network.links())).collect()
        };
        let rtts: Vec<Vec<Span>> = self.player.lanes().iter().map(of_lane).collect();
        if rtts == self.rtts {
            return;
        }
        let shortest = rtts.iter().flatten().min().copied().unwrap_or_default();
        self.interval = (shortest / SAMPLES_PER_RTT).max(SHORTEST_INTERVAL);
        let new = |rtt: &Span| Measures::new(*rtt, self.interval, self.most);
        self.measures = rtts.iter().map(|lane| lane.iter().map(new).collect()).collect();
        self.rtts = rtts;
    }

    fn measure(&mut self) {
        for (lane, measures) in self.player.lanes().iter().zip(&mut self.measures) {
            let on = count_on(lane);
            let simulation = lane.simulation();
            for (flow, measures) in measures.iter_mut().enumerate().take(lane.active()) {
                let Some(sample) = simulation.flow(flow) else { continue };
                measures.add(Sample {
                    at: sample.at,
                    on: sample.on,
                    in_flight: sample.in_flight.get() as f64,
                    ideal: ideal(lane, flow, on),
                    delivered: sample.delivered,
                    gates: simulation.observer().gates(flow),
                });
            }
        }
    }

    fn sample(&mut self, interval: Span) {
        if self.samples.flows.len() > MOST_SAMPLES {
            return;
        }
        for (index, lane) in self.player.lanes().iter().enumerate() {
            self.samples.flows.extend(flow_states(index, lane));
            self.samples.links.extend(link_states(index, lane, interval));
        }
    }

    /// The active flows of `lane` now.
    pub fn flow_states(&self, lane: usize) -> Vec<FlowState> {
        let of_lane = self.player.lanes().get(lane);
        of_lane.map(|of_lane| flow_states(lane, of_lane).collect()).unwrap_or_default()
    }
}

/// The first multiple of `interval` after `now`.
fn next_multiple(now: Instant, interval: Span) -> Instant {
    match now.as_nanos().checked_div(interval.as_nanos()) {
        Some(count) => Instant::from_nanos((count + 1).saturating_mul(interval.as_nanos())),
        None => Instant::MAX,
    }
}

fn flow_states(index: usize, lane: &Lane<Watch>) -> impl Iterator<Item = FlowState> {
    let on = count_on(lane);
    (0..lane.active()).filter_map(move |flow| {
        let sample = lane.simulation().flow(flow)?;
        Some(FlowState { lane: index, sample, ideal: ideal(lane, flow, on) })
    })
}

fn link_states(
    index: usize,
    lane: &Lane<Watch>,
    interval: Span,
) -> impl Iterator<Item = LinkState> {
    let simulation = lane.simulation();
    let specs = simulation.network().links().iter().enumerate();
    specs.filter_map(move |(link, spec)| {
        let sample = simulation.link(link)?;
        let counts = simulation.observer().link_counts(link);
        let window = interval.max(TRACE_WINDOW);
        Some(LinkState {
            at: sample.at,
            lane: index,
            link,
            packets: sample.packets,
            bytes: sample.bytes,
            rate: rate_before(&spec.service, sample.at, window),
            dropped: counts.dropped,
            marked: counts.marked,
        })
    })
}

/// The rate of a link in the `window` before `now`.
fn rate_before(service: &Service, now: Instant, window: Span) -> Rate {
    match service {
        Service::Fixed(rate) => *rate,
        Service::Trace(trace) => {
            let since = Instant::ZERO + (now - Instant::ZERO).saturating_sub(window);
            let seconds = (now - since).as_secs_f64();
            let bits = trace.capacity(since, now).get() as f64 * 8.0;
            Rate::from_bps(if seconds > 0.0 { (bits / seconds) as u64 } else { 0 })
        }
    }
}

/// How many flows of `lane` are on.
fn count_on(lane: &Lane<Watch>) -> usize {
    let simulation = lane.simulation();
    let is_on = |&flow: &usize| simulation.flow(flow).is_some_and(|sample| sample.on);
    (0..lane.active()).filter(is_on).count()
}

/// The ideal number of packets in flight of `flow` if `on` flows are on, this one included if it is not.
fn ideal(lane: &Lane<Watch>, flow: usize, on: usize) -> f64 {
    let network = lane.simulation().network();
    let spec: &FlowSpec = &network.flows()[flow];
    let rates = spec.path.iter().map(|&link| network.links()[link].service.rate().as_bps());
    let bits = rates.min().unwrap_or(0) as f64 * spec.propagation(network.links()).as_secs_f64();
    bits / 8.0 / spec.packet_size.get() as f64 / on.max(1) as f64
}
