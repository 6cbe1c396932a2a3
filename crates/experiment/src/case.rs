//! [`Case`]: one network of a plan; [`Asked`]: the optional measurements of its runs.

use crate::twin::SimulatedTwin;
use exm_sim::fluid::Fluid;
use exm_sim::network::Network;
use exm_sim::scenario::{FlowGroup, Scenario};
use exm_units::{Fnv1a, Span};

/// Consecutive windows of throughput start this fraction of a window apart: ten samples a window.
pub(crate) const STEPS: usize = 10;

/// Measurements that runs make only where they are needed, since they cost time or space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// How soon flows reach their fair share; the averaging window of throughput.
    pub(crate) convergence: Option<Span>,
    /// Throughput and delay over time; the averaging window of throughput.
    pub(crate) timeline: Option<Span>,
    /// The distribution of flow completion times.
    pub(crate) completions: bool,
    /// How soon flows use capacity that others have freed; the averaging window of throughput.
    pub(crate) claims: Option<Span>,
}

impl Asked {
    /// The time between samples of a run, or none if it needs no samples.
    pub(crate) fn step(&self) -> Option<Span> {
        self.convergence.or(self.timeline).or(self.claims).map(step)
    }
}

/// One network: a scheme, with one of its tables, under the settings of a variant at a point of the sweep.
#[derive(Clone, Debug)]
pub struct Case {
    /// The number of the variant.
    pub variant: usize,
    /// The number of the scheme.
    pub scheme: usize,
    /// The number of the scheme's table, if it has several.
    pub design: usize,
    /// The number of the point.
    pub point: usize,
    /// Its scenario.
    pub scenario: Scenario,
    /// Its network.
    pub network: Network,
    /// For each group of flows, whether its controller is the scheme's.
    pub is_own: Vec<bool>,
    /// The trace of the first flow's path: the name of its file, or "synthetic lte".
    pub trace: Option<String>,
    /// What stands for its senders, if they are omniscient.
    pub(crate) fluid: Option<Fluid>,
    /// Its simulated twin, if a [`Backend`](crate::Backend) runs it.
    pub(crate) twin: Option<SimulatedTwin>,
    pub(crate) name: String,
    pub(crate) scheme_name: String,
    pub(crate) hash: Fnv1a,
}

impl Case {
    /// The name of its scheme.
    pub fn scheme_name(&self) -> &str {
        &self.scheme_name
    }

    /// Of each flow of its network the group, with its number in the scenario.
    pub(crate) fn groups_of_flows(&self) -> impl Iterator<Item = (usize, &FlowGroup)> {
        let groups = self.scenario.flows.iter().enumerate();
        groups.flat_map(|(index, group)| std::iter::repeat_n((index, group), group.count))
    }

    /// The case with the network that simulates its run of this `seed`.
    pub(crate) fn simulated(&self, seed: u64) -> Case {
        let mut case = self.clone();
        if let Some(twin) = &self.twin {
            case.network = twin.network(seed);
        }
        case
    }
}

/// The time between samples where throughput is measured over `window`.
pub(crate) fn step(window: Span) -> Span {
    Span::from_nanos((window.as_nanos() / STEPS as u64).max(1))
}
