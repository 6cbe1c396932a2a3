//! The scheme "omniscient": senders that know the network, whose results are computed and not simulated.

use crate::case::Case;
use crate::experiment::Scheme;
use crate::rows::{FlowRow, LinkRow, RunRow};
use exm_sim::MeasuredOver;
use exm_sim::fluid::{Bound, Fluid, FluidLink};
use exm_sim::network::{FlowSpec, Network};
use exm_sim::scenario::Scenario;
use exm_units::Rate;

/// The name that stands for them in place of a controller.
pub(crate) const NAME: &str = "omniscient";
/// The controller that the networks of their cases have, which is never run.
const STAND_IN: &str = "aimd";

impl Scheme {
    /// Whether its senders are omniscient.
    pub(crate) fn is_omniscient(&self) -> bool {
        self.controllers == [NAME]
    }
}

/// The controller with which a network is made for the scheme's `controller`.
pub(crate) fn stand_in(controller: &str) -> &str {
    if controller == NAME { STAND_IN } else { controller }
}

/// What stands for the senders of `network`, which was made from `scenario`.
///
/// # Errors
/// Why there is no bound on this network.
pub(crate) fn fluid(scenario: &Scenario, network: &Network) -> Result<Fluid, String> {
    if let Some(other) = scenario.flows.iter().find(|group| group.controller != STAND_IN) {
        let (name, controller) = (&other.name, &other.controller);
        return Err(format!(
            "omniscient senders share a network among themselves alone, and the flows \"{name}\" run {controller}"
        ));
    }
    Fluid::of(network).map_err(|problem| problem.to_string())
}

impl RunRow {
    /// The row of the senders that `fluid` stands for, with the traffic of `seed`: each has its proportionally fair
    /// share at once, and none ever queues.
    pub(crate) fn omniscient(case: &Case, fluid: &Fluid, seed: u64) -> RunRow {
        let bounds = fluid.run(seed);
        let flows = case.groups_of_flows().zip(&bounds).zip(case.network.flows()).enumerate();
        let flows = flows.map(|(number, (((index, group), bound), spec))| {
            let base_ms = group.rtt.as_secs_f64() * 1e3;
            let slowest = fluid.slowest(number).packets_per_ms;
            let over = case.network.over();
            of_bound(index, base_ms, bound, &Path { spec, slowest, over })
        });
        RunRow { seed, flows: flows.collect(), links: links(fluid, &bounds) }
    }
}

/// What the results of a sender are measured by.
struct Path<'a> {
    spec: &'a FlowSpec,
    /// The rate of its slowest link, in packets a millisecond.
    slowest: f64,
    over: MeasuredOver,
}

fn of_bound(group: usize, base_ms: f64, bound: &Bound, path: &Path<'_>) -> FlowRow {
    let (time_ms, share_ms) = bound.measured(path.over);
    let was_on = bound.was_on();
    // Of user data: headers do not count.
    let mbps = |packets_per_ms: f64| {
        let size = path.spec.packet_size;
        let rate = Rate::from_bps((packets_per_ms * size.get() as f64 * 8_000.0) as u64);
        path.spec.transport.goodput(rate, size).as_bps() as f64 * 1e-6
    };
    let throughput_mbps = was_on.then(|| mbps(bound.delivered / time_ms));
    let whole_mbps = path.slowest * path.spec.packet_size.get() as f64 * 8e-3;
    let share = was_on.then(|| mbps(bound.delivered / share_ms) / whole_mbps);
    let lost = bound.delivered * bound.loss / (1.0 - bound.loss);
    FlowRow {
        on_s: bound.on_ms * 1e-3,
        throughput_mbps,
        share,
        queueing_ms: was_on.then_some(0.0),
        queueing_50_ms: was_on.then_some(0.0),
        queueing_95_ms: was_on.then_some(0.0),
        rtt_ms: was_on.then_some(bound.rtt_ms),
        rtt_ratio: was_on.then(|| bound.rtt_ms / base_ms).filter(|ratio| ratio.is_finite()),
        sent: (bound.delivered + lost) as u64,
        delivered: bound.delivered as u64,
        lost: lost as u64,
        ..FlowRow::of_group(group)
    }
}

/// What the links carry.
fn links(fluid: &Fluid, bounds: &[Bound]) -> Vec<LinkRow> {
    let duration_ms = fluid.duration.as_millis_f64();
    let carried = |link: usize| -> f64 {
        let crossing =
            fluid.senders.iter().zip(bounds).filter(|(sender, _)| sender.path.contains(&link));
        crossing.map(|(_, bound)| bound.delivered / (1.0 - bound.loss)).sum()
    };
    let row = |(number, link): (usize, &FluidLink)| LinkRow {
        utilisation: (carried(number) / (link.packets_per_ms * duration_ms)).min(1.0),
        mean_queue: 0.0,
        max_queue: 0,
        transmitted: carried(number) as u64,
        dropped: 0,
        marked: 0,
        lost: (carried(number) * link.loss) as u64,
    };
    fluid.links.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Options, Plan};
    use std::path::Path;

    const FILE: &str = r#"
duration = "100 s"
[[link]]
name = "l"
rate = "12 Mbps"
[[flow]]
name = "both"
count = 2
rtt = "100 ms"
controller = "scheme"
host = "tcp"
traffic = { on = "always" }
[experiment]
[[experiment.scheme]]
name = "bound"
controller = "omniscient"
"#;

    fn planned(text: &str) -> Result<Plan, String> {
        let experiment = Experiment::parse(text, "x.toml", Path::new(""));
        let experiment = experiment.map_err(|error| error.to_string())?;
        let load = &mut |name: &str, _: &Path| Err(format!("no table {name}"));
        Plan::new(experiment, &Options::default(), load).map_err(|error| error.to_string())
    }

    #[test]
    fn senders_have_their_share_and_no_queue() {
        let plan = planned(FILE).unwrap();
        let case = &plan.cases[0];
        let row = RunRow::omniscient(case, case.fluid.as_ref().unwrap(), 1);
        assert_eq!((row.flows.len(), row.links.len()), (2, 1));
        for flow in &row.flows {
            // Of 1500 bytes, 1448 are user data; what is sent in the last RTT does not arrive.
            let expected = 6.0 * 1448.0 / 1500.0;
            let throughput = flow.throughput_mbps.unwrap();
            assert!((throughput / expected - 0.999).abs() < 5e-4, "{throughput}");
            assert_eq!((flow.queueing_ms, flow.rtt_ms), (Some(0.0), Some(101.0)));
        }
        assert!((row.links[0].utilisation - 0.999).abs() < 5e-4);
    }

    #[test]
    fn what_they_cannot_share_is_refused() {
        let beside = "[[flow]]\nname = \"other\"\nrtt = \"10 ms\"\ncontroller = \"cubic\"\ntraffic.on = \"always\"\n[experiment]";
        for (from, to, expected) in [
            ("[experiment]", beside, "the flows \"other\" run cubic"),
            ("rate = \"12 Mbps\"", "trace = \"lte\"", "one follows a trace"),
            ("\"omniscient\"", "[\"omniscient\", \"cubic\"]", "a scheme of their own"),
        ] {
            let problem = planned(&FILE.replacen(from, to, 1)).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
            assert!(problem.starts_with("x.toml:"), "{problem}");
        }
    }
}
