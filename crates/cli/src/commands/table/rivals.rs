//! Compares two tables on the networks around the model of the first.

use crate::layout;
use exm_design::stress::{ForeignTrial, Rivalry, Trial, throughput_ratio};
use exm_measure::{Estimate, mean};
use exm_store::{Columns, counted};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Below this mean RTT, in propagation RTTs, a network lets a table keep its queue short.
const SHORT_QUEUE: f64 = 2.0;

/// A table beside another one.
#[derive(Serialize)]
pub(super) struct Beside {
    against: PathBuf,
    objective: String,
    networks: Vec<Row>,
    /// On how many networks it is behind, beyond the confidence interval.
    behind: usize,
    /// By how many points it is ahead, in the mean over the networks.
    lead: f64,
    /// The largest RTT ratio of networks on which the other's is below 2; `None` if there are none.
    worst_rtt: Option<(f64, f64)>,
    /// The minimum of Jain's index.
    least_jain: (f64, f64),
    /// The comparison on networks with foreign delay.
    foreign: Foreign,
}

/// A comparison on networks with foreign delay.
#[derive(Serialize)]
struct Foreign {
    networks: usize,
    /// By how many points the table is ahead, in the mean over the networks, and the 95 % interval.
    lead: f64,
    interval: (f64, f64),
    /// The throughput of the table over the other's, in the geometric mean.
    throughput: f64,
}

impl Foreign {
    fn new([table, other]: &[Vec<ForeignTrial>; 2]) -> Foreign {
        let pairs = table.iter().zip(other);
        let leads: Vec<f64> = pairs.map(|(a, b)| a.score - b.score).collect();
        let lead = Estimate::of(&leads);
        Foreign {
            networks: leads.len(),
            lead: lead.mean,
            interval: lead.interval(),
            throughput: throughput_ratio(table, other),
        }
    }
}

#[derive(Serialize)]
struct Row {
    network: String,
    /// By how many points the table is ahead, and the 95 % interval.
    lead: f64,
    interval: (f64, f64),
    table: Got,
    against: Got,
    #[serde(skip)]
    is_behind: bool,
}

/// What senders got.
#[derive(Clone, Copy, Serialize)]
struct Got {
    rtt_ratio: f64,
    used: f64,
    jain: f64,
}

impl Got {
    fn of(trial: &Trial) -> Got {
        Got { rtt_ratio: trial.rtt_ratio, used: trial.used, jain: trial.jain }
    }
}

impl Beside {
    pub(super) fn new(
        against: &Path,
        objective: String,
        rivalries: &[Rivalry],
        foreign: &[Vec<ForeignTrial>; 2],
    ) -> Beside {
        let row = |rivalry: &Rivalry| Row {
            network: rivalry.network.name.clone(),
            lead: rivalry.lead.mean,
            interval: rivalry.lead.interval(),
            table: Got::of(&rivalry.table),
            against: Got::of(&rivalry.rival),
            is_behind: rivalry.is_behind(),
        };
        let mut networks: Vec<Row> = rivalries.iter().map(row).collect();
        networks.sort_by(|a, b| a.lead.total_cmp(&b.lead));
        let short = networks.iter().filter(|row| row.against.rtt_ratio < SHORT_QUEUE);
        let worst_rtt = short.map(|row| (row.table.rtt_ratio, row.against.rtt_ratio));
        let jain = networks.iter().map(|row| (row.table.jain, row.against.jain));
        Beside {
            against: against.to_owned(),
            objective,
            behind: networks.iter().filter(|row| row.is_behind).count(),
            lead: mean(networks.iter().map(|row| row.lead)).unwrap_or(0.0),
            worst_rtt: worst_rtt.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))),
            least_jain: jain.fold((1.0, 1.0), |a, b| (b.0.min(a.0), b.1.min(a.1))),
            networks,
            foreign: Foreign::new(foreign),
        }
    }
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Beside { against, objective, networks, behind, lead, .. } = self;
        let all = counted(networks.len() as u64, "network", "networks");
        writeln!(
            f,
            "\nagainst {} by {objective}, on {all} near and further out:",
            against.display()
        )?;
        writeln!(f, "  ahead by {lead:.2} points in the mean; behind on {behind}")?;
        if let Some((table, other)) = self.worst_rtt {
            writeln!(
                f,
                "  worst RTT {table:.2} times propagation, the other's {other:.2}, where that is below {SHORT_QUEUE}"
            )?;
        }
        let (table, other) = self.least_jain;
        writeln!(f, "  least Jain index {table:.2}, the other's {other:.2}")?;
        let Foreign { networks: count, lead, interval, throughput } = &self.foreign;
        let reach = (interval.1 - interval.0) / 2.0;
        writeln!(
            f,
            "  with foreign delay ahead by {lead:.2} ±{reach:.2} points in the mean over {count} networks, at {:.0} % of \
             the other's throughput",
            100.0 * throughput
        )?;
        if *behind == 0 {
            return Ok(());
        }
        let mut columns = Columns::new(1);
        let heads = ["  behind on", "lead", "RTT", "other's", "used", "other's", "Jain", "other's"];
        columns.line(heads.map(str::to_owned));
        for row in networks.iter().filter(|row| row.is_behind) {
            let Row { network, lead, interval, table, against, .. } = row;
            let reach = (interval.1 - interval.0) / 2.0;
            columns.line([
                format!("  {network}"),
                format!("{lead:.2} ±{reach:.2}"),
                format!("{:.2}", table.rtt_ratio),
                format!("{:.2}", against.rtt_ratio),
                format!("{:.0} %", 100.0 * table.used),
                format!("{:.0} %", 100.0 * against.used),
                format!("{:.2}", table.jain),
                format!("{:.2}", against.jain),
            ]);
        }
        write!(f, "{}", layout::table(&columns))
    }
}
