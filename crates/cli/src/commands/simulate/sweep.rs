//! The results of several values of a key.

use super::results::{FLOW_METRICS, Results};
use super::text::{cells, flow_lines};
use serde::Serialize;
use std::fmt;

/// The results of each value.
#[derive(Serialize)]
pub(super) struct Sweep {
    seed: u64,
    host: String,
    /// The key.
    sweep: String,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    value: String,
    #[serde(flatten)]
    results: Results,
}

impl Sweep {
    /// The results of values of `key`, at least one.
    pub(super) fn new(key: &str, points: Vec<(String, Results)>) -> Sweep {
        let mut hosts: Vec<&str> = points.iter().map(|(_, results)| &*results.host).collect();
        hosts.dedup();
        let (seed, host) = (points[0].1.seed, hosts.join(", "));
        let points = points.into_iter().map(|(value, results)| Point { value, results }).collect();
        Sweep { seed, host, sweep: key.to_owned(), points }
    }
}

/// One line for each value and group of flows.
impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Point { results: first, .. }) = self.points.first() else { return Ok(()) };
        if let Some(title) = &first.title {
            write!(f, "{title}: ")?;
        }
        writeln!(f, "{} values of {}, {}", self.points.len(), self.sweep, first.extent())?;
        writeln!(f, "{}", first.header())?;
        writeln!(f, "Means over runs and over the flows of a group.\n")?;
        let rows = self.points.iter().flat_map(|point| {
            point.results.means.groups.iter().map(|group| {
                let names = vec![point.value.clone(), group.name.clone(), group.controller.clone()];
                (names, cells(&group.values, &FLOW_METRICS))
            })
        });
        flow_lines(f, &[&self.sweep, "flow", "controller"], rows)
    }
}
