//! The description of the open scene, and its report.

use super::{Refusal, Viewer, seconds, span};
use exm_design::{Conditions, OutOfRange};
use exm_grammar::Buffer;
use exm_link::{Limit, Service};
use exm_ratatouille::{Change, Lane, Network, Player, Recorded, Scene, Watch};
use exm_sim::engine::Observer;
use exm_sim::metrics::FlowReport;
use exm_sim::network::LinkSpec;
use exm_units::{Bytes, Instant, Rate};
use serde_json::{Value, json};

/// What changes have made of a scene so far, as text.
#[derive(Debug, PartialEq)]
struct Present {
    /// The controllers by lane and flow, and whether their rules were edited.
    controllers: Vec<Vec<(String, bool)>>,
    /// The offered load of all flows: `None` where they differ, or a scenario says it.
    on: Option<String>,
    off: Option<String>,
}

impl Viewer {
    /// The description of this crate's text.
    pub(super) fn describe(&self) -> Result<Value, Refusal> {
        let player = self.shown()?.player();
        let (scene, lanes) = (player.scene(), player.lanes());
        let present = Present::of(scene, lanes, player.applied());
        let changes = scene.changes.iter().map(
            |Recorded { at, change }| json!({ "at": seconds(*at), "text": change.to_string() }),
        );
        let (lane, flow) = self.watched;
        let flows = |(lane, names): (&Lane<Watch>, &Vec<(String, bool)>)| flows_of(lane, names);
        Ok(json!({
            "scene": scene.to_string(),
            "now": seconds(player.now()),
            "end": seconds(player.end()),
            "seed": lanes[0].scenario().seed,
            "speed": scene.speed,
            "most_flows": lanes[0].simulation().network().flows().len(),
            "active": lanes[0].active(),
            "on": present.on,
            "off": present.off,
            "links": links_of(&lanes[0], scene),
            "lanes": lanes.iter().zip(&present.controllers).map(flows).collect::<Value>(),
            "watched": { "lane": lane, "flow": flow },
            "changes": changes.collect::<Value>(),
            "applied": player.applied(),
            "warnings": self.warnings(lanes, &present),
        }))
    }

    /// A line for each RemyCC that runs outside its design range.
    fn warnings(&self, lanes: &[Lane<Watch>], present: &Present) -> Vec<String> {
        let mut lines = Vec::new();
        for (lane, names) in lanes.iter().zip(&present.controllers) {
            let Ok(network) = lane.active_network() else { continue };
            for (flow, (name, _)) in names.iter().enumerate().take(lane.active()) {
                let Some(design) = self.library.design_of(name) else { continue };
                let outside = Conditions::of_flow(&network, flow).outside(design);
                let outside: Vec<String> = outside.iter().map(OutOfRange::to_string).collect();
                let line = format!("outside the design range of {name}: {}", outside.join(", "));
                if !outside.is_empty() && !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        lines
    }

    /// What `exm simulate` would report if the scene ended now: it is simulated again, since a report of a part
    /// would compare it with the time of the whole.
    pub(super) fn report(&mut self) -> Result<Value, Refusal> {
        let player = self.shown()?.player();
        let now = player.now() - Instant::ZERO;
        let present = Present::of(player.scene(), player.lanes(), player.applied());
        let mut scene = player.scene().clone();
        scene.changes.truncate(player.applied());
        scene.until = Some(now);
        if now.is_zero() {
            return Ok(json!({ "lanes": [] }));
        }
        let library = &mut self.library;
        let mut player = Player::new(&scene, &mut |name, _| library.controller(name))?;
        player.run_until(player.end());
        let lanes = player.lanes();
        let of_lane = |(lane, names): (&Lane, &Vec<(String, bool)>)| {
            let report = lane.report();
            let flows = report.flows.iter().zip(names).filter(|(flow, _)| !flow.on_time.is_zero());
            let flows = flows.map(|(flow, (controller, _))| flow_report(flow, controller));
            json!({ "name": lane_name(lane, names), "flows": flows.collect::<Value>() })
        };
        Ok(
            json!({ "lanes": lanes.iter().zip(&present.controllers).map(of_lane).collect::<Value>() }),
        )
    }
}

fn flow_report(flow: &FlowReport, controller: &str) -> Value {
    json!({
        "name": controller,
        "throughput": flow.throughput().map(Rate::as_bps),
        "rtt": flow.rtt.mean().map(span),
        "share": flow.normalised_throughput(),
        "sent": flow.sent,
        "lost": flow.lost + flow.dropped_in_all(),
        "retransmitted": flow.retransmitted,
    })
}

impl Present {
    /// After the first `applied` changes of `scene`.
    fn of(scene: &Scene, lanes: &[Lane<Watch>], applied: usize) -> Present {
        let names = |lane: &Lane<Watch>| -> Vec<(String, bool)> {
            let groups = lane.scenario().flows.iter();
            let flows = groups.flat_map(|group| vec![group.controller.clone(); group.count]);
            flows.map(|name| (name, false)).collect()
        };
        let text = |key: &str, default: Option<&str>| match &scene.network {
            Network::Link(keys) => {
                let given = keys.iter().rev().find(|(known, _)| *known == key);
                given.map(|(_, value)| value.clone()).or(default.map(str::to_owned))
            }
            _ => None,
        };
        let mut present = Present {
            controllers: lanes.iter().map(names).collect(),
            on: text("on", Some("always")),
            off: text("off", None),
        };
        scene.changes.iter().take(applied).for_each(|recorded| present.apply(&recorded.change));
        present
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::On { flow, value } => self.on = flow.is_none().then(|| value.clone()),
            Change::Off { flow, value } => self.off = flow.is_none().then(|| value.clone()),
            Change::Controller { lane, flow, name } => {
                for (index, names) in self.controllers.iter_mut().enumerate() {
                    let is_meant = |own: usize| flow.is_none_or(|flow| flow == own);
                    if lane.is_none_or(|lane| lane == index) {
                        let flows = names.iter_mut().enumerate().filter(|(own, _)| is_meant(*own));
                        flows.for_each(|(_, entry)| *entry = (name.clone(), false));
                    }
                }
            }
            Change::Rule { lane, flow, .. } => {
                let Some(names) = self.controllers.get_mut(*lane) else { return };
                let Some(edited) = names.get(*flow).cloned() else { return };
                let same = names.iter_mut().filter(|entry| **entry == edited);
                same.for_each(|(_, is_edited)| *is_edited = true);
            }
            _ => {}
        }
    }
}

/// The controllers of the active flows of a lane, each once, in order.
fn lane_name<O: Observer>(lane: &Lane<O>, names: &[(String, bool)]) -> String {
    let mut different: Vec<&str> = Vec::new();
    for (name, _) in names.iter().take(lane.active().max(1)) {
        if !different.contains(&name.as_str()) {
            different.push(name);
        }
    }
    different.join(", ")
}

fn flows_of(lane: &Lane<Watch>, names: &[(String, bool)]) -> Value {
    let network = lane.simulation().network();
    let groups = lane.scenario().flows.iter();
    let titles = groups.flat_map(|group| vec![group.name.as_str(); group.count]);
    let flows = network.flows().iter().zip(names).zip(titles).map(|((spec, name), title)| {
        let host = spec.transport.host();
        let host = host.map_or_else(|| "Sprout".to_owned(), |host| host.to_string());
        let is_table = spec.transport.controller().is_some_and(|own| own.as_remy().is_some());
        json!({
            "name": title,
            "controller": name.0,
            "host": host,
            "rtt": span(spec.propagation(network.links())),
            "table": is_table,
            "edited": name.1,
        })
    });
    json!({ "name": lane_name(lane, names), "flows": flows.collect::<Value>() })
}

fn links_of(lane: &Lane<Watch>, scene: &Scene) -> Value {
    let network = lane.simulation().network();
    let trace = match &scene.network {
        Network::Link(keys) => keys.iter().rev().find(|(key, _)| *key == "trace"),
        _ => None,
    };
    let trace = trace.map_or("a trace", |(_, name)| name.as_str());
    let packet = network.flows().iter().map(|flow| flow.packet_size).max();
    let packet = packet.unwrap_or(Bytes::PACKET).get();
    let links = network.links().iter().map(|spec: &LinkSpec| {
        let follows = matches!(spec.service, Service::Trace(_)).then_some(trace);
        let packets = match spec.buffer {
            Limit::Packets(packets) => Some(packets.get()),
            Limit::Bytes(bytes) => Some(bytes.get() / packet),
            Limit::Unlimited => None,
        };
        json!({
            "name": spec.name,
            "rate": spec.service.rate().as_bps(),
            "trace": follows,
            "delay": span(spec.delay),
            "buffer": Buffer::from(spec.buffer).to_string(),
            "buffer_packets": packets,
            "queue": spec.queue.to_string(),
            "loss": spec.loss.get(),
        })
    });
    links.collect()
}
