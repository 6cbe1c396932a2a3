//! Translates a case of an experiment into an emulated link and a sender.

use crate::{PathSpec, Propagation, Setup};
use exm_experiment::Case;
use exm_link::Service;
use exm_random::{Distribution, Purpose, Stream};
use exm_remy::fixed::FixedTable;
use exm_session::Settings;
use exm_sim::builtin::Builtin;
use exm_sim::controllers::AnyController;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Transport};
use exm_sim::scenario::FlowGroup;
use exm_sim::traffic::{OnFor, OnOff, Traffic, TrafficSource};
use exm_units::{Bytes, Rate, Span};
use std::sync::Arc;

/// The sender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sender {
    /// Sprout, in a session with these settings.
    Sprout(Settings),
    /// The kernel's TCP, with its congestion control of this name.
    Tcp(String),
    /// The kernel's TCP, with this table as its congestion control.
    Table(Arc<FixedTable>),
}

/// What a run of a case needs: its flows, all of which cross the same links.
pub(crate) struct Run<'a> {
    pub(crate) flows: Vec<(&'a FlowSpec, Sender)>,
    pub(crate) there: &'a LinkSpec,
    /// Without one, ACKs find no queue.
    pub(crate) back: Option<&'a LinkSpec>,
}

/// The largest window of a table in a live run, in packets: far more than the emulator's links hold.
const MAX_WINDOW: u32 = 10_000;

/// The rate of a way back without a queue.
const NO_QUEUE: Rate = Rate::from_bps(100_000_000_000);

impl<'a> Run<'a> {
    /// What a run of `case` needs with a kernel that has these congestion controls; or why it cannot be run.
    pub(crate) fn of(case: &'a Case, controls: &[String]) -> Result<Run<'a>, String> {
        let groups = &case.scenario.flows;
        let of_groups = groups.iter().flat_map(|group| std::iter::repeat_n(group, group.count));
        let senders = of_groups.zip(case.network.flows());
        let flows: Vec<(&FlowSpec, Sender)> = senders
            .map(|(group, flow)| Ok((flow, sender(group, flow, controls)?)))
            .collect::<Result<_, String>>()?;
        let Some((first, _)) = flows.first() else { return Err("it has no flows".to_owned()) };
        let link = |&number: &usize| &case.network.links()[number];
        let (there, back) = match (&first.path[..], &first.back[..]) {
            ([there], []) => (link(there), None),
            ([there], [back]) => (link(there), Some(link(back))),
            _ => return Err("live runs have one link there and one or none back".to_owned()),
        };
        if let Some(key) = std::iter::once(there).chain(back).flat_map(LinkSpec::effects).next() {
            return Err(format!("live runs have no links with \"{key}\": leave it out"));
        }
        check_flows(&flows, case.network.duration())?;
        Ok(Run { flows, there, back })
    }

    /// The configuration of the link, with data going up.
    pub(crate) fn setup(&self, seed: u64) -> Setup {
        let path = |link: &LinkSpec, extra: Span| PathSpec {
            propagation: Propagation::Fixed(link.delay + extra),
            loss: link.loss,
            queue: link.queue.clone(),
            limit: link.buffer,
            ..PathSpec::new(link.service.clone())
        };
        let extra = self.flows[0].0.extra_delay;
        let no_queue = || PathSpec {
            propagation: Propagation::Fixed(extra),
            ..PathSpec::new(Service::Fixed(NO_QUEUE))
        };
        let down = self.back.map_or_else(no_queue, |link| path(link, extra));
        Setup { seed, ..Setup::new(path(self.there, Span::ZERO), down) }
    }

    /// The traffic of a flow, as in the simulator's run with this seed.
    pub(crate) fn source(&self, flow: usize, seed: u64) -> TrafficSource {
        let stream = Stream::new(seed, Purpose::Traffic, flow);
        TrafficSource::new(self.flows[flow].0.traffic.clone(), stream, self.payload(flow))
    }

    /// The payload of a flow's packets.
    pub(crate) fn payload(&self, flow: usize) -> Bytes {
        let spec = self.flows[flow].0;
        spec.transport.payload(spec.packet_size)
    }
}

/// Whether it stays on until the end once it is on.
fn is_always_on(flow: &FlowSpec, duration: Span) -> bool {
    match &flow.traffic {
        Traffic::OnOff(OnOff { on: OnFor::Always, .. }) => true,
        Traffic::OnOff(OnOff { on: OnFor::Time(Distribution::Fixed(time)), .. }) => {
            *time >= duration.as_secs_f64()
        }
        _ => false,
    }
}

/// Why these flows cannot share a live run, if they cannot.
fn check_flows(flows: &[(&FlowSpec, Sender)], duration: Span) -> Result<(), String> {
    let (first, _) = flows[0];
    for (flow, sender) in flows {
        if matches!(sender, Sender::Sprout(_)) && !is_always_on(flow, duration) {
            return Err("Sprout is run live where it is always on".to_owned());
        }
        if flow.foresight.is_some() {
            return Err("an oracle exists only in the simulator".to_owned());
        }
        if matches!(&flow.transport, Transport::Tcp { settings, .. } if settings.persistent) {
            return Err(
                "live runs have a connection for each flow, none that carries several".to_owned()
            );
        }
        let is_alike = (&flow.path, &flow.back, flow.extra_delay)
            == (&first.path, &first.back, first.extra_delay);
        if !is_alike {
            return Err(
                "the flows of a live run cross the same links, with the same RTT".to_owned()
            );
        }
        if flows.len() > 1 && matches!(sender, Sender::Sprout(_)) {
            return Err("Sprout is run live as the only flow".to_owned());
        }
    }
    Ok(())
}

fn sender(group: &FlowGroup, flow: &FlowSpec, controls: &[String]) -> Result<Sender, String> {
    match &flow.transport {
        Transport::Sprout(settings) => {
            let mtu = u16::try_from(flow.packet_size.get()).unwrap_or(u16::MAX);
            let settings = Settings::new(*settings, mtu).map_err(|error| error.to_string())?;
            Ok(Sender::Sprout(settings))
        }
        Transport::Tcp { .. } if flow.transport.host() == Some(Host::Quic) => {
            Err("a sender over QUIC exists only in the simulator".to_owned())
        }
        Transport::Tcp { .. } if flow.packet_size != Bytes::new(1500) => {
            Err("the kernel's packets have 1500 bytes".to_owned())
        }
        Transport::Tcp { controller: AnyController::Remy(remycc), .. } => {
            let table = FixedTable::new(remycc.table(), MAX_WINDOW);
            table.map(|table| Sender::Table(Arc::new(table))).map_err(|error| error.to_string())
        }
        Transport::Tcp { .. } if with_parameters(&group.controller).is_some() => {
            let name = with_parameters(&group.controller).unwrap_or_default();
            Err(format!(
                "the kernel's {name} takes no parameters, and {} has some: give {name}, or run it in the \
                 simulator",
                group.controller
            ))
        }
        Transport::Tcp { .. } => {
            let name = kernels(&group.controller);
            match controls.iter().any(|known| known == name) {
                true => Ok(Sender::Tcp(name.to_owned())),
                false => Err(format!(
                    "this kernel has no congestion control that is {} (it has {})",
                    group.controller,
                    controls.join(", ")
                )),
            }
        }
        _ => Err("a sender without TCP exists only in the simulator".to_owned()),
    }
}

/// The name of the built-in controller in `text`, if parameters follow it.
fn with_parameters(text: &str) -> Option<&'static str> {
    Builtin::name_in(text).filter(|name| *name != text.trim())
}

/// Our names and the kernel's of the same controllers, where they differ: the kernel's BBR is version 1, ours
/// is version 3, and the kernel's Cubic uses HyStart.
const NAMES: [(&str, &str); 3] = [("bbr1", "bbr"), ("bbr", "bbr3"), ("cubic-linux", "cubic")];

/// The kernel's name of our controller `name`.
fn kernels(name: &str) -> &str {
    NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, kernels)| kernels)
}

/// Our name of the controller that is closest to the kernel's `name`.
pub(crate) fn ours(name: &str) -> &str {
    NAMES.iter().find(|(_, kernels)| *kernels == name).map_or(name, |(ours, _)| ours)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use exm_experiment::{Experiment, Options, Plan};
    use std::path::Path;

    const FILE: &str = r#"
        duration = "2 s"
        [[link]]
        name = "data"
        from = "a"
        to = "b"
        rate = "8 Mbps"
        delay = "20 ms"
        loss = "1 %"
        buffer = "100 packets"
        [[link]]
        name = "return"
        from = "b"
        to = "a"
        rate = "2 Mbps"
        delay = "10 ms"
        [[flow]]
        path = ["data"]
        back = ["return"]
        rtt = "45 ms"
        controller = "scheme"
        traffic = { on = "always" }
        [experiment]
        [[experiment.scheme]]
        name = "it"
        controller = "cubic"
    "#;

    /// An experiment of one case, with `from` replaced by `to`.
    pub(crate) fn plan(from: &str, to: &str) -> Plan {
        assert!(FILE.contains(from), "{from}");
        let text = FILE.replacen(from, to, 1);
        let experiment = Experiment::parse(&text, "a.toml", Path::new("")).expect("is valid");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        plan.expect("is valid")
    }

    fn run(from: &str, to: &str) -> Result<(Sender, Setup), String> {
        let plan = plan(from, to);
        let controls = ["reno", "cubic", "bbr"].map(str::to_owned);
        Run::of(&plan.cases[0], &controls).map(|run| (run.flows[0].1.clone(), run.setup(7)))
    }

    #[test]
    fn links_are_as_in_the_scenario() {
        let (sender, setup) = run("", "").expect("can be run");
        assert_eq!((sender, setup.seed), (Sender::Tcp("cubic".to_owned()), 7));
        assert_eq!(setup.up.loss.get(), 0.01);
        assert_eq!(setup.up.limit, exm_link::Limit::Packets(exm_units::Packets::new(100)));
        assert_eq!(setup.up.propagation, Propagation::Fixed(Span::from_millis(20)));
        assert_eq!(setup.down.propagation, Propagation::Fixed(Span::from_millis(25)));
    }

    #[test]
    fn schemes_keep_their_identity_in_live_runs() {
        let name = |cc: &str| match run("\"cubic\"", &format!("\"{cc}\"")) {
            Ok((Sender::Tcp(name), _)) => name,
            Ok((Sender::Sprout(settings), _)) => format!("{}", settings.mtu()),
            Ok((Sender::Table(table), _)) => format!("{} rules", table.actions().len()),
            Err(reason) => reason,
        };
        assert_eq!((name("bbr1"), name("cubic-linux")), ("bbr".to_owned(), "cubic".to_owned()));
        assert_eq!(name("sprout"), "1500");
        let of_traffic = |on: &str| {
            let (from, to) = ("\"cubic\"", "\"sprout\"");
            let text = FILE.replace("on = \"always\"", on).replace(from, to);
            let experiment = Experiment::parse(&text, "a.toml", Path::new("")).expect("is valid");
            let plan = Plan::new(experiment, &Options::default(), &mut |_, _| Err(String::new()));
            Run::of(&plan.expect("is valid").cases[0], &[]).map(|_| ())
        };
        assert_eq!(of_traffic("on = \"9 s\", off = \"20 ms\""), Ok(()), "it lasts to the end");
        assert!(of_traffic("on = \"1 s\", off = \"20 ms\"").is_err());
        for missing in ["bbr", "vegas"] {
            assert!(name(missing).contains("(it has reno, cubic, bbr)"), "{missing}");
        }
    }

    #[test]
    fn our_closest_controller_has_the_kernels_name() {
        for name in ["reno", "cubic", "bbr", "bbr3", "vegas"] {
            assert_eq!(kernels(ours(name)), name);
        }
    }

    #[test]
    fn cases_that_cannot_be_run_live_are_rejected() {
        let flow = "[[flow]]\n        path = [\"data\"]\n        back = [\"return\"]";
        let two_links = "[[link]]\nname = \"next\"\nfrom = \"b\"\nto = \"c\"\nrate = \"8 Mbps\"\n\
                         [[flow]]\npath = [\"data\", \"next\"]";
        for (from, to, part) in [
            (flow, two_links, "one link there and one or none back"),
            ("rtt", "tcp = { persistent = true }\nrtt", "a connection for each flow"),
            ("rtt", "packet_size = \"576 B\"\nrtt", "1500 bytes"),
            ("rtt", "host = \"bare\"\nrtt", "only in the simulator"),
            ("\"cubic\"", "\"cubic beta=0.8\"", "the kernel's cubic takes no parameters"),
        ] {
            let reason = run(from, to).expect_err(to);
            assert!(reason.contains(part), "{to}: {reason}");
        }
    }
}
