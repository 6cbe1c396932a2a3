//! [`Viewer`]: answers the page's commands, and collects its frames.

mod command;
mod describe;
mod frame;
mod import;
mod table;

use crate::lessons;
use crate::library::Library;
use command::{By, Command};
use exm_ratatouille::{Change, Measured, Monitor, Scene, SceneError};
use exm_units::{Instant, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many samples measures are of: 256 RTTs, 16 samples each.
const MEASURED: usize = 4_096;
/// The sample interval until the page asks for one.
const FIRST_INTERVAL: Span = Span::from_millis(10);

/// What the page talks to: the scene that is open, and everything that comes with the program.
#[derive(Debug)]
pub struct Viewer {
    library: Library,
    open: Option<Monitor>,
    /// The lane and the flow of which frames tell more.
    watched: (usize, usize),
    interval: Span,
    /// The measures of each flow, as they were last computed.
    measured: BTreeMap<(usize, usize), Measured>,
    /// The flow of which they were computed last.
    last_measured: (usize, usize),
}

impl Default for Viewer {
    fn default() -> Viewer {
        Viewer {
            library: Library::default(),
            open: None,
            watched: (0, 0),
            interval: FIRST_INTERVAL,
            measured: BTreeMap::new(),
            last_measured: (0, 0),
        }
    }
}

/// Why a command was refused.
#[derive(Debug)]
struct Refusal {
    /// The key of the scene or of the command that is to blame.
    key: String,
    problem: String,
}

impl Refusal {
    fn new(key: &str, problem: impl std::fmt::Display) -> Refusal {
        Refusal { key: key.to_owned(), problem: problem.to_string() }
    }
}

impl From<SceneError> for Refusal {
    fn from(error: SceneError) -> Refusal {
        Refusal::new(error.key(), error.problem())
    }
}

impl Viewer {
    /// Executes a command, and returns its answer; both are JSON.
    pub fn call(&mut self, command: &str) -> String {
        let answer = serde_json::from_str(command)
            .map_err(|error| Refusal::new("command", error))
            .and_then(|command| self.execute(command));
        let value = answer.unwrap_or_else(
            |Refusal { key, problem }| json!({ "error": { "key": key, "problem": problem } }),
        );
        value.to_string()
    }

    fn execute(&mut self, command: Command) -> Result<Value, Refusal> {
        match command {
            Command::Open { scene, at } => self.open(&scene.parse()?, at)?,
            Command::Change { change } => self.change(change.parse()?)?,
            Command::Lanes { lanes } => self.set_lanes(lanes)?,
            Command::Watch { lane, flow } => self.watch(lane, flow)?,
            Command::Seek { time } => {
                let interval = self.interval;
                self.monitor()?.seek(instant(time), interval);
                return self.now();
            }
            Command::Step { by } => {
                self.step(by)?;
                return self.now();
            }
            Command::Import { name, text, base64 } => return self.import(&name, text, base64),
            Command::Describe => {}
            Command::Table { lane, flow } => return self.table(lane, flow),
            Command::Save { lane, flow } => return self.save(lane, flow),
            Command::Names => return Ok(self.library.names()),
            Command::Lessons => return Ok(lessons::all()),
            Command::Report => return self.report(),
        }
        self.describe()
    }

    /// The open scene.
    fn monitor(&mut self) -> Result<&mut Monitor, Refusal> {
        self.open.as_mut().ok_or_else(|| Refusal::new("command", "open a scene first"))
    }

    fn shown(&self) -> Result<&Monitor, Refusal> {
        self.open.as_ref().ok_or_else(|| Refusal::new("command", "open a scene first"))
    }

    fn open(&mut self, scene: &Scene, at: Option<f64>) -> Result<(), Refusal> {
        let library = &mut self.library;
        let mut load = |name: &str, _: &_| library.controller(name);
        let mut monitor = Monitor::new(scene, &mut load, MEASURED)?;
        monitor.advance(instant(at.unwrap_or(0.0)), self.interval, u64::MAX);
        self.open = Some(monitor);
        self.measured.clear();
        self.last_measured = (0, 0);
        let (lane, flow) = self.watched;
        self.watch(lane, flow).or_else(|_| self.watch(0, 0))
    }

    fn change(&mut self, change: Change) -> Result<(), Refusal> {
        let Viewer { open, library, .. } = self;
        let Some(monitor) = open else { return Err(Refusal::new("command", "open a scene first")) };
        Ok(monitor.change(change, &mut |name, _| library.controller(name))?)
    }

    /// Starts again with other lanes, up to the present time; changes of single lanes that are no more are dropped.
    fn set_lanes(&mut self, lanes: Vec<Vec<String>>) -> Result<(), Refusal> {
        let count = lanes.len();
        if count == 0 {
            return Err(Refusal::new("lanes", "give one at least"));
        }
        let player = self.shown()?.player();
        let (mut scene, now) = (player.scene().clone(), player.now());
        scene.lanes = lanes;
        scene.changes.retain(|recorded| match recorded.change {
            Change::Controller { lane: Some(lane), .. } | Change::Rule { lane, .. } => lane < count,
            _ => true,
        });
        self.open(&scene, Some(seconds(now)))
    }

    fn watch(&mut self, lane: usize, flow: usize) -> Result<(), Refusal> {
        let monitor = self.monitor()?;
        let lanes = monitor.player().lanes();
        let flows = lanes.get(lane).map_or(0, |lane| lane.simulation().network().flows().len());
        if flow >= flows {
            return Err(Refusal::new("watch", format!("there is no flow {flow} in lane {lane}")));
        }
        monitor.watch((lane, flow));
        self.watched = (lane, flow);
        Ok(())
    }

    fn step(&mut self, by: By) -> Result<(), Refusal> {
        let ((lane, flow), interval) = (self.watched, self.interval);
        let monitor = self.monitor()?;
        match by {
            By::Event => {
                monitor.step();
            }
            By::Ack => {
                monitor.step_to_ack(lane, flow);
            }
            By::Rtt => {
                let simulation = monitor.player().lanes()[lane].simulation();
                let network = simulation.network();
                let rtt = network.flows()[flow].propagation(network.links());
                let rtt = simulation.flow(flow).and_then(|sample| sample.rtt).unwrap_or(rtt);
                let until = monitor.player().now().saturating_add(rtt);
                monitor.advance(until, interval, u64::MAX);
            }
        }
        Ok(())
    }

    fn now(&self) -> Result<Value, Refusal> {
        Ok(json!({ "now": seconds(self.shown()?.player().now()) }))
    }

    /// Simulates up to `until` seconds or about `packets` packets, with samples at the multiples of `interval` seconds,
    /// and returns the time reached.
    pub fn advance(&mut self, until: f64, interval: f64, packets: f64) -> f64 {
        let Some(monitor) = &mut self.open else { return 0.0 };
        if interval > 0.0 {
            self.interval = Span::from_secs_f64(interval);
        }
        monitor.advance(instant(until), self.interval, packets.max(0.0) as u64);
        seconds(monitor.player().now())
    }

    /// Appends a frame to `frame`, in the format of this crate's description.
    pub fn frame(&mut self, frame: &mut Vec<f64>) {
        self.measure();
        if let Some(monitor) = &mut self.open {
            frame::write(frame, monitor, self.watched, &self.measured);
        }
    }

    /// Computes the measures of the watched flow, and of one other in turn: a period takes long to find.
    fn measure(&mut self) {
        let Some(monitor) = &self.open else { return };
        let lanes = monitor.player().lanes().iter().enumerate();
        let flows: Vec<(usize, usize)> = lanes
            .flat_map(|(index, lane)| (0..lane.active()).map(move |flow| (index, flow)))
            .collect();
        let after = flows.iter().find(|flow| **flow > self.last_measured);
        self.last_measured = after.or(flows.first()).copied().unwrap_or_default();
        for (lane, flow) in [self.watched, self.last_measured] {
            self.measured.insert((lane, flow), monitor.measured(lane, flow));
        }
    }
}

/// A time in seconds, as the nearest double.
fn seconds(time: Instant) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// A duration in seconds, as the nearest double.
fn span(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// The time `seconds` after the start; the start for what is no time.
fn instant(seconds: f64) -> Instant {
    Instant::ZERO.saturating_add(Span::from_secs_f64(seconds.max(0.0)))
}

#[cfg(test)]
mod tests;
