//! [`Player`]: plays a scene.

use crate::change::{Change, Recorded};
use crate::files::File;
use crate::scene::{Scene, SceneError};
use exm_grammar::Buffer;
use exm_remy::{Action, RemyCc};
use exm_sim::controllers::AnyController;
use exm_sim::engine::{ChangeError, Observer, Simulation};
use exm_sim::metrics::Report;
use exm_sim::network::{FlowSpec, NetworkError};
use exm_sim::scenario::{Load, Scenario, parse_off, parse_on};
use exm_sim::traffic::{OnOff, Traffic};
use exm_units::{Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// The most snapshots that are kept; beyond, every other one is dropped.
const MOST_SNAPSHOTS: usize = 64;
/// The time between snapshots at first.
const FIRST_INTERVAL: Span = Span::from_millis(100);

/// Plays a scene: one simulation a lane, all at the same time, on the same arrivals. Changes are applied at their
/// times, and new ones recorded.
///
/// What it simulates depends on the scene alone, not on how it was stepped or observed: the scene of a player, played
/// again, gives the same packets.
#[derive(Clone, Debug)]
pub struct Player<O = ()> {
    scene: Scene,
    lanes: Vec<Lane<O>>,
    controllers: BTreeMap<String, AnyController>,
    /// How many of the changes have been applied.
    applied: usize,
    snapshots: Vec<Snapshot<O>>,
    interval: Span,
}

/// The simulation of a lane.
#[derive(Clone, Debug)]
pub struct Lane<O = ()> {
    scenario: Scenario,
    simulation: Simulation<O>,
    /// What each flow has to send while it is active.
    loads: Vec<Traffic>,
    /// How many flows are active.
    active: usize,
}

/// The state at a time.
#[derive(Clone, Debug)]
struct Snapshot<O> {
    at: Instant,
    lanes: Vec<Lane<O>>,
    applied: usize,
}

impl Player {
    /// A player at the start of `scene`, whose tables are loaded by `load`: now those that it names, those of its
    /// changes included.
    ///
    /// # Errors
    /// [`SceneError`] if the scene is impossible, or one of its changes as far as that is known before the start.
    pub fn new(scene: &Scene, load: &mut Load<'_>) -> Result<Player, SceneError> {
        Player::observed(scene, load, || ())
    }
}

impl<O: Observer + Clone> Player<O> {
    /// As [`Player::new`], with an observer of each lane. Snapshots keep observers, too.
    ///
    /// # Errors
    /// As [`Player::new`].
    pub fn observed(
        scene: &Scene,
        load: &mut Load<'_>,
        mut observer: impl FnMut() -> O,
    ) -> Result<Player<O>, SceneError> {
        let networks = scene.networks(load)?;
        let lanes = networks.into_iter().map(|(scenario, network)| {
            let all = network.flows().len();
            let loads = network.flows().iter().map(|spec| spec.traffic.clone()).collect();
            let active = scene.active_of(all)?;
            let network = network.changed(|_, specs| {
                for spec in specs.iter_mut().skip(active) {
                    spec.traffic = Traffic::none();
                }
            });
            let network = network.map_err(|error| SceneError::new("flows", error))?;
            let simulation = Simulation::observed(network, scenario.seed, observer());
            Ok(Lane { scenario, simulation, loads, active })
        });
        let mut player = Player {
            scene: scene.clone(),
            lanes: lanes.collect::<Result<_, SceneError>>()?,
            controllers: BTreeMap::new(),
            applied: 0,
            snapshots: Vec::new(),
            interval: FIRST_INTERVAL,
        };
        for recorded in &scene.changes {
            player.learn(&recorded.change, load)?;
        }
        player.dry_run()?;
        Ok(player)
    }

    /// Tries all changes, at once, on a copy.
    fn dry_run(&self) -> Result<(), SceneError> {
        let mut copy = self.clone();
        let changes = self.scene.changes.iter();
        changes.map(|recorded| &recorded.change).try_for_each(|change| copy.apply(change))
    }

    /// Loads the controller that `change` names, unless it is known.
    fn learn(&mut self, change: &Change, load: &mut Load<'_>) -> Result<(), SceneError> {
        if let Change::Controller { name, .. } = change
            && !self.controllers.contains_key(name)
        {
            let controller = self.scene.controller(name, load);
            self.controllers.insert(name.clone(), controller.map_err(wrong)?);
        }
        Ok(())
    }

    /// The scene, with the changes made so far and those that are recorded for later.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The present time.
    pub fn now(&self) -> Instant {
        self.lanes[0].simulation.now()
    }

    /// The end of the scene.
    pub fn end(&self) -> Instant {
        self.lanes[0].simulation.end()
    }

    /// The lanes: at least one.
    pub fn lanes(&self) -> &[Lane<O>] {
        &self.lanes
    }

    /// Calls `visit` with the observer of each lane.
    pub fn visit_observers(&mut self, visit: impl FnMut(&mut O)) {
        self.lanes.iter_mut().map(|lane| lane.simulation.observer_mut()).for_each(visit);
    }

    /// Adds a file to the scene, so that controllers may be named after it ([`Scene::files`]).
    ///
    /// # Errors
    /// [`SceneError`] if the scene has another file of that name: what was simulated may depend on it.
    pub fn add_file(&mut self, file: File) -> Result<(), SceneError> {
        let known = self.scene.files.iter().find(|known| known.name() == file.name());
        match known {
            Some(known) if *known != file => {
                let problem = format!("the scene has another \"{}\": rename it", file.name());
                Err(SceneError::new("file", problem))
            }
            Some(_) => Ok(()),
            None => {
                self.scene.add_file(file);
                Ok(())
            }
        }
    }

    /// How many of the recorded changes have been applied.
    pub fn applied(&self) -> usize {
        self.applied
    }

    /// Simulates all lanes up to `until`, or to the end if that is earlier: all events before it, and the changes up to
    /// it. A time in the past changes nothing.
    pub fn run_until(&mut self, until: Instant) {
        let until = until.min(self.end());
        while self.now() < until {
            self.take_snapshot();
            let next = [self.next_change(), self.next_snapshot()];
            let next = next.into_iter().flatten().fold(until, Instant::min);
            for lane in &mut self.lanes {
                lane.simulation.run_until(next);
            }
            self.apply_due();
        }
        // Also at the start, and at a snapshot, which is taken before the changes of its time.
        self.apply_due();
    }

    /// The time of the next recorded change, if there is one.
    fn next_change(&self) -> Option<Instant> {
        self.scene.changes.get(self.applied).map(|recorded| recorded.at)
    }

    /// When the next snapshot is due, once there is one.
    fn next_snapshot(&self) -> Option<Instant> {
        self.snapshots.last().map(|last| last.at.saturating_add(self.interval))
    }

    /// Applies the changes whose time has come.
    fn apply_due(&mut self) {
        while let Some(recorded) = self.scene.changes.get(self.applied)
            && recorded.at <= self.now()
        {
            let change = recorded.change.clone();
            // It cannot fail: after the same changes it succeeded before, in the dry run or when it was made.
            let _ = self.apply(&change);
            self.applied += 1;
        }
    }

    /// Processes the events of the next instant at which something happens in a lane, and returns that time; `None`
    /// if nothing more happens.
    pub fn step(&mut self) -> Option<Instant> {
        let events = self.lanes.iter().filter_map(|lane| lane.simulation.next_event());
        let next = events.chain(self.next_change()).min().filter(|next| *next < self.end());
        self.run_until(next.map_or(self.end(), |next| next + Span::from_nanos(1)));
        next
    }

    /// Goes to `time`, from the snapshot before it if it is in the past. Recorded changes stay recorded.
    pub fn seek(&mut self, time: Instant) {
        if time < self.now()
            && let Some(snapshot) = self.snapshots.iter().rev().find(|past| past.at <= time)
        {
            self.lanes.clone_from(&snapshot.lanes);
            self.applied = snapshot.applied;
        }
        self.run_until(time);
    }

    /// Changes the network now, records that, and forgets the changes that were recorded for later.
    ///
    /// # Errors
    /// [`SceneError`] if the change is impossible, or names a table that was not loaded before
    /// ([`Player::change_with`]). Nothing is changed then.
    pub fn change(&mut self, change: Change) -> Result<(), SceneError> {
        self.change_with(change, &mut |name, _| Err(format!("there is no controller \"{name}\"")))
    }

    /// As [`Player::change`]; a table that it names is loaded by `load`.
    ///
    /// # Errors
    /// [`SceneError`] if the change is impossible, and nothing is changed then.
    pub fn change_with(&mut self, change: Change, load: &mut Load<'_>) -> Result<(), SceneError> {
        self.learn(&change, load)?;
        let before = self.lanes.clone();
        if let Err(error) = self.apply(&change) {
            self.lanes = before;
            return Err(error);
        }
        let at = self.now();
        // A snapshot of this instant was taken before the change.
        self.snapshots.retain(|snapshot| snapshot.at <= at);
        self.scene.changes.truncate(self.applied);
        self.scene.changes.push(Recorded { at, change });
        self.applied += 1;
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> Result<(), SceneError> {
        if let Change::Controller { lane: Some(lane), .. } | Change::Rule { lane, .. } = change
            && *lane >= self.lanes.len()
        {
            return Err(wrong(format!("there is no lane {lane}: there are {}", self.lanes.len())));
        }
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.apply(change, index, &self.controllers)?;
        }
        Ok(())
    }

    /// Keeps the present state, if it is time to.
    fn take_snapshot(&mut self) {
        let at = self.now();
        if self.next_snapshot().is_some_and(|due| at < due) {
            return;
        }
        self.snapshots.push(Snapshot { at, lanes: self.lanes.clone(), applied: self.applied });
        if self.snapshots.len() > MOST_SNAPSHOTS {
            let mut index = 0;
            self.snapshots.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.interval = self.interval.saturating_add(self.interval);
        }
    }
}

impl<O: Observer> Lane<O> {
    /// Its scenario; the controllers are those of the start.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Its simulation.
    pub fn simulation(&self) -> &Simulation<O> {
        &self.simulation
    }

    /// The measurements so far.
    pub fn report(&self) -> Report {
        self.simulation.report()
    }

    /// How many flows are active: the first ones.
    pub fn active(&self) -> usize {
        self.active
    }

    /// What flow `flow` has to send while it is active.
    pub fn load(&self, flow: usize) -> Option<&Traffic> {
        self.loads.get(flow)
    }

    /// The RemyCC of flow `flow`, with the table that it follows now, if it is one.
    pub fn remycc(&self, flow: usize) -> Option<&RemyCc> {
        self.simulation.network().flows().get(flow)?.transport.controller()?.as_remy()
    }

    fn apply(
        &mut self,
        change: &Change,
        own: usize,
        controllers: &BTreeMap<String, AnyController>,
    ) -> Result<(), SceneError> {
        let simulation = &mut self.simulation;
        match change {
            Change::Rate { link, rate } => changed(simulation.set_rate(*link, *rate)),
            Change::Buffer { link, buffer } => self.set_buffer(*link, *buffer),
            Change::Queue { link, queue } => {
                changed(simulation.set_queue(*link, (**queue).clone()))
            }
            Change::Loss { link, probability } => changed(simulation.set_loss(*link, *probability)),
            Change::Delay { flow, rtt } => {
                self.flows(*flow)?.try_for_each(|flow| self.set_rtt(flow, *rtt))
            }
            Change::Flows(flows) => self.set_active(*flows),
            Change::On { flow, value } => {
                let new = parse_on(value, Path::new("")).map_err(wrong)?;
                self.flows(*flow)?.try_for_each(|flow| {
                    let (Traffic::OnOff(OnOff { on, .. })
                    | Traffic::Every { on, .. }
                    | Traffic::Schedule { on, .. }) = &mut self.loads[flow];
                    on.clone_from(&new);
                    self.offer(flow)
                })
            }
            Change::Off { flow, value } => {
                let new = parse_off(value, Path::new("")).map_err(wrong)?;
                self.flows(*flow)?.try_for_each(|flow| {
                    let Traffic::OnOff(process) = &mut self.loads[flow] else {
                        return Err(wrong(format!("flow {flow} starts at set times")));
                    };
                    process.off.clone_from(&new);
                    self.offer(flow)
                })
            }
            Change::Controller { lane, flow, name } => {
                if lane.is_some_and(|lane| lane != own) {
                    return Ok(());
                }
                let Some(controller) = controllers.get(name) else {
                    return Err(wrong(format!("there is no controller \"{name}\"")));
                };
                self.flows(*flow)?.try_for_each(|flow| {
                    changed(self.simulation.set_controller(flow, controller.clone()))
                })
            }
            Change::Rule { lane, flow, rule, action } => {
                if *lane == own {
                    return self.set_rule(*flow, *rule, action);
                }
                Ok(())
            }
        }
    }

    /// Flow `flow`, or all of them.
    fn flows(&self, flow: Option<usize>) -> Result<Range<usize>, SceneError> {
        let count = self.loads.len();
        match flow {
            None => Ok(0..count),
            Some(flow) if flow < count => Ok(flow..flow + 1),
            Some(flow) => Err(wrong(ChangeError::NoSuchFlow { flow, flows: count })),
        }
    }

    fn set_rtt(&mut self, flow: usize, rtt: Span) -> Result<(), SceneError> {
        let network = self.simulation.network();
        let spec = &network.flows()[flow];
        let along = spec.propagation(network.links()) - spec.extra_delay;
        if rtt < along {
            return Err(wrong(NetworkError::ShortRoundTrip { flow, rtt, along }));
        }
        changed(self.simulation.set_extra_delay(flow, rtt - along))
    }

    /// All flows that follow the same table as `flow` follow the edited one.
    fn set_rule(&mut self, flow: usize, rule: usize, action: &Action) -> Result<(), SceneError> {
        self.flows(Some(flow))?;
        let Some(table) = self.remycc(flow).map(|remy| remy.table().clone()) else {
            return Err(wrong(format!("flow {flow} follows no rule table")));
        };
        let mut edited = table.clone();
        if rule >= edited.rules().len() {
            let most = edited.rules().len();
            return Err(wrong(format!("there is no rule {rule}: the table has {most}, from 0")));
        }
        edited.set_action(rule, *action);
        let edited = RemyCc::new(&edited);
        for flow in self.flows(None)? {
            if self.remycc(flow).is_some_and(|remy| *remy.table() == table) {
                changed(self.simulation.set_rule_table(flow, &edited))?;
            }
        }
        Ok(())
    }

    /// A multiple of the BDP is one of the longest round trip of the flows across the link.
    fn set_buffer(&mut self, link: usize, buffer: Buffer) -> Result<(), SceneError> {
        let network = self.simulation.network();
        let links = network.links();
        let Some(spec) = links.get(link) else {
            return changed(Err(ChangeError::NoSuchLink { link, links: links.len() }));
        };
        let rate = spec.service.rate();
        let crosses = |spec: &&FlowSpec| spec.path.contains(&link) || spec.back.contains(&link);
        let flows = || network.flows().iter().filter(crosses);
        let rtt = flows().map(|spec| spec.propagation(links)).max();
        let packet = flows().map(|spec| spec.packet_size).max().unwrap_or(Bytes::PACKET);
        let limit = buffer.limit(rate, rtt.unwrap_or_default(), packet);
        changed(self.simulation.set_buffer(link, limit))
    }

    /// Gives flow `flow` its offered load, if it is active, or silences it.
    fn offer(&mut self, flow: usize) -> Result<(), SceneError> {
        let traffic = if flow < self.active { self.loads[flow].clone() } else { Traffic::none() };
        changed(self.simulation.set_traffic(flow, traffic))
    }

    fn set_active(&mut self, active: usize) -> Result<(), SceneError> {
        let most = self.loads.len();
        if active > most {
            return Err(wrong(format!("this network has {most} flows, and no more can be active")));
        }
        let before = std::mem::replace(&mut self.active, active);
        (before.min(active)..before.max(active)).try_for_each(|flow| self.offer(flow))
    }
}

fn wrong(problem: impl std::fmt::Display) -> SceneError {
    SceneError::new("change", problem)
}

fn changed(result: Result<(), ChangeError>) -> Result<(), SceneError> {
    result.map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{RuleTable, SignalSet};
    use exm_sim::engine;
    use exm_table::{Provenance, TableFile};
    use exm_trace::Trace;
    use exm_units::Fnv1a;
    use proptest::prelude::*;

    fn no_tables(name: &str, _: &Path) -> Result<AnyController, String> {
        Err(format!("there is no table {name}"))
    }

    fn player(text: &str) -> Player {
        Player::new(&text.parse().expect("a scene"), &mut no_tables).expect("a player")
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// A hash of what all flows measured, since the whole would fill pages.
    fn measured(player: &Player) -> Vec<String> {
        let of_lane = |lane: &Lane| {
            let report = lane.report();
            let counts: Vec<[u64; 3]> =
                report.flows.iter().map(|flow| [flow.sent, flow.delivered, flow.lost]).collect();
            let hash = Fnv1a::of(format!("{:?}", report.flows).as_bytes());
            format!("{counts:?} {hash}")
        };
        player.lanes().iter().map(of_lane).collect()
    }

    const BUSY: &str = "link=10Mbps&rtt=50ms&buffer=1 BDP&loss=0.1%25&flows=3&on=exp 1 s&off=exp 0.5 s&\
                        cc=cubic,bbr&cc=reno&until=6s&change=1s,rate,2Mbps&change=1.5s,flows,5&\
                        change=2s,queue,codel&change=2.5s,cc.1.0,vegas&change=3s,delay,120ms&\
                        change=3.5s,buffer,2 BDP&change=4s,on,exp 100 kB&change=4.2s,loss,1%25&\
                        change=4.5s,off.1,0.1 s&change=5s,flows,1";

    #[test]
    fn without_changes_it_is_the_simulation() {
        for scene in [
            "flows=8&cc=cubic,reno,bbr&until=5s",
            "scenario=mixed&until=5s",
            "scenario=cellular&until=70s",
        ] {
            let mut player = player(scene);
            let scenario = player.lanes()[0].scenario().clone();
            let network = player.lanes()[0].simulation().network().clone();
            player.run_until(player.end());
            let report = engine::run(&network, scenario.seed);
            assert!(player.lanes()[0].report() == report, "{scene}");
        }
    }

    #[test]
    fn how_it_was_stepped_makes_no_difference() {
        let mut whole = player(BUSY);
        whole.run_until(whole.end());
        let mut stepped = player(BUSY);
        while stepped.now() < at(1_200) {
            stepped.step();
        }
        for millis in (1_200..6_000).step_by(7) {
            stepped.run_until(at(millis));
        }
        stepped.run_until(stepped.end());
        assert_eq!(measured(&stepped), measured(&whole));
    }

    #[test]
    fn a_longer_scene_has_the_same_beginning() {
        let short = BUSY.replace("until=6s", "until=4s");
        let (mut short, mut long) = (player(&short), player(BUSY));
        short.run_until(at(4_000));
        long.run_until(at(4_000));
        assert_eq!(measured(&short), measured(&long));
    }

    #[test]
    fn a_recorded_scene_repeats_what_was_done() {
        let mut live = player("flows=2&cc=cubic&cc=reno&until=6s");
        for (millis, change) in [(700, "rate,3Mbps"), (1_300, "flows,4"), (1_300, "cc.0.1,bbr")] {
            live.run_until(at(millis));
            live.change(change.parse().expect("a change")).expect("possible");
        }
        // Between two events of one instant there is no time at which to change something.
        live.step();
        live.change("delay,30ms".parse().expect("a change")).expect("possible");
        live.run_until(live.end());
        let mut again = player(&live.scene().to_string());
        again.run_until(again.end());
        assert_eq!(measured(&again), measured(&live));
        assert_eq!(again.scene(), live.scene());
    }

    #[test]
    fn a_change_in_the_past_forgets_those_after_it() {
        let mut player = player(BUSY);
        player.run_until(at(5_500));
        player.seek(at(2_200));
        assert_eq!(player.now(), at(2_200));
        assert_eq!(player.scene().changes.len(), 10, "going back forgets none");
        player.change("loss,0".parse().expect("a change")).expect("possible");
        assert_eq!(player.scene().changes.len(), 4);
        assert_eq!(player.lanes()[0].active(), 5);
    }

    #[test]
    fn impossible_changes_change_nothing() {
        let mut player = player("scenario=cellular&until=61s");
        player.run_until(at(100));
        let before = measured(&player);
        for (change, problem) in [
            ("rate,5Mbps", "follows a trace"),
            ("rate.7,5Mbps", "there is no link 7"),
            ("delay,1ms", "40 ms"),
            ("flows,2", "no more can be active"),
            ("on.3,always", "there is no flow 3"),
            ("cc,cubic", "Sprout"),
            ("cc.1,cubic", "there is no lane 1"),
            ("cc,qubic", "there is no controller"),
            ("on,sometimes", "sometimes"),
        ] {
            let error = player.change(change.parse().expect(change)).expect_err(change);
            assert!(error.to_string().contains(problem), "{change}: {error}");
        }
        assert_eq!(measured(&player), before);
        assert!(player.scene().changes.is_empty());
        let scene: Scene = "change=1s,rate.3,5Mbps".parse().expect("a scene");
        let error = Player::new(&scene, &mut no_tables).expect_err("it is found before the start");
        assert!(error.to_string().contains("there is no link 3"), "{error}");
    }

    /// A table that doubles its window up to `increment` packets beyond half of it.
    fn own_table(increment: i32) -> TableFile {
        let action = Action { multiple: 0.5, increment, intersend_ms: 0.0 };
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
        TableFile { table, provenance: Provenance::default() }
    }

    #[test]
    fn rules_are_edited_while_it_runs() {
        let mut scene: Scene = "flows=2&cc=mine&cc=mine,cubic&until=6s".parse().expect("a scene");
        scene.add_file(File::of_table("mine", &own_table(10)).expect("a file"));
        let mut live = Player::new(&scene, &mut no_tables).expect("a player");
        live.run_until(at(2_000));
        live.change("rule.0.1.0,0.5 20 1ms".parse().expect("a change")).expect("possible");
        let increments = |player: &Player| -> Vec<Option<i32>> {
            let flows = [(0, 0), (0, 1), (0, 7), (1, 0), (1, 1)];
            let rule =
                |lane: usize, flow| Some(player.lanes()[lane].remycc(flow)?.table().rules()[0]);
            flows.map(|(lane, flow)| rule(lane, flow).map(|rule| rule.action.increment)).to_vec()
        };
        let edited = [Some(20), Some(20), Some(20), Some(10), None];
        assert_eq!(increments(&live), edited);
        for (change, problem) in [
            ("rule.0.0.1,1 1 1ms", "there is no rule 1"),
            ("rule.1.1.0,1 1 1ms", "flow 1 follows no rule table"),
            ("rule.2.0.0,1 1 1ms", "there is no lane 2"),
            ("rule.0.9.0,1 1 1ms", "there is no flow 9"),
        ] {
            let error = live.change(change.parse().expect(change)).expect_err(change);
            assert!(error.to_string().contains(problem), "{change}: {error}");
        }
        live.run_until(live.end());
        let mut again = player(&live.scene().to_string());
        again.run_until(again.end());
        assert_eq!(measured(&again), measured(&live));
        assert_eq!(increments(&again), edited);
    }

    #[test]
    fn a_file_can_be_added_while_it_runs() {
        let mut live = player("flows=1&cc=cubic&until=4s");
        live.run_until(at(1_000));
        let mine = |increment| File::of_table("mine", &own_table(increment)).expect("a file");
        assert_eq!(live.add_file(mine(10)), Ok(()));
        assert_eq!(live.add_file(mine(10)), Ok(()), "it is the same");
        live.add_file(mine(11)).expect_err("what was simulated would change");
        live.change("cc,mine".parse().expect("a change")).expect("possible");
        live.run_until(live.end());
        let mut again = player(&live.scene().to_string());
        again.run_until(again.end());
        assert_eq!(measured(&again), measured(&live));
    }

    #[test]
    fn a_trace_can_be_brought_along() {
        let times = (1..=500).map(|n| at(n * 7)).collect();
        let trace = File::of_trace("train", &Trace::new(times).expect("a trace")).expect("a file");
        let mut player = player(&format!("trace=train&file={trace}&until=10s"));
        player.run_until(player.end());
        let delivered = player.lanes()[0].report().flows[0].delivered;
        assert!((1_200..=1_429).contains(&delivered), "{delivered} packets, one in 7 ms");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Wherever one goes, in whatever order, each time has one state.
        #[test]
        fn seeking_finds_the_same_state(
            times in prop::collection::vec(prop_oneof![0..6_000_u64, (0..12_u64).prop_map(|n| n * 500)], 1..8)
        ) {
            let mut wandering = player(BUSY);
            for &millis in &times {
                wandering.seek(at(millis));
                prop_assert_eq!(wandering.now(), at(millis));
            }
            let mut straight = player(BUSY);
            straight.run_until(at(*times.last().expect("one at least")));
            prop_assert_eq!(measured(&wandering), measured(&straight));
        }
    }
}
