//! `exm table plot`: a table as a map of two of its signals, and a simulation's way through it.

use crate::complete;
use crate::outputs::{check_only_output, write_output};
use crate::pictures::Format;
use crate::shell::{self, Failure};
use crate::{shipped, tables};
use exm_design::DesignRanges;
use exm_design::rule_map::{self, Seen, View};
use exm_remy::{RemyCc, RuleTable, Signal};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_units::Span;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The table runs all senders of the scenario, on the scenario's hosts. The picture is a cut through the
rules: the signals that are not on its axes have their median value in the simulation, so that each
point belongs to one rule. A box's label is the fraction of all senders' ACKs that
fired its rule. The lines are the first three flows of the first sender; the first begins at the dot.

Colours of growth: the effect of an ACK on the simulation's median window, from half of
it (red) to twice (blue). Colours of pace: the minimum time between two packets.

Examples:
  exm table plot general-delta1 -o general.svg
  exm table plot cc.json --network office.toml --x rtt_ratio --y ack_ewma --colour pace -o cc.png";

/// Draw a rule table: its actions over two signals, and how often each rule fires
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    /// Where to write the picture: .svg, .png or .pdf; - is the standard output, as SVG
    #[arg(short, long = "out", value_name = "FILE")]
    output: PathBuf,
    /// The network that the table is simulated on: a scenario's file, or the name of a shipped one
    #[arg(long, value_name = "SCENARIO", default_value = "dumbbell")]
    network: PathBuf,
    /// How much time to simulate [default: the scenario's]
    #[arg(long, value_name = "DURATION", value_parser = crate::commands::duration)]
    duration: Option<Span>,
    /// The random seed [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The signal on the horizontal axis
    #[arg(long, value_name = "SIGNAL", default_value = "rtt_ratio")]
    x: Signal,
    /// The signal on the vertical axis
    #[arg(long, value_name = "SIGNAL", default_value = "ack_ewma")]
    y: Signal,
    /// What colours show
    #[arg(long, value_enum, default_value_t = Colour::Growth)]
    colour: Colour,
    /// Overwrite an existing picture
    #[arg(long, short)]
    force: bool,
}

/// What colours show.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Colour {
    /// How an ACK changes the window
    Growth,
    /// The minimum time between two packets
    Pace,
}

impl From<Colour> for rule_map::Colour {
    fn from(colour: Colour) -> rule_map::Colour {
        match colour {
            Colour::Growth => rule_map::Colour::Growth,
            Colour::Pace => rule_map::Colour::Pace,
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let format = Format::of(&self.output, "--out")?;
        if self.x == self.y {
            let problem = "it is the signal to the right already: give another";
            return Err(Failure::invalid_value(self.y.name(), "--y", problem));
        }
        check_only_output(&self.output, &[&self.table, &self.network], self.force)?;
        let file = tables::load(&self.table)?;
        let mut ranges = DesignRanges::default();
        ranges.note(&self.table.display().to_string(), &file);
        let (seen, network) = self.simulated(&file.table, &ranges)?;
        let view = View { x: self.x, y: self.y, colour: self.colour.into() };
        let name = self.table.file_stem().unwrap_or_default().to_string_lossy();
        let svg = view.map(&name, &file.table, &seen, &network).svg();
        write_output(&self.output, &format.encode(svg)?)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Simulates the scenario with `table` as the controller of all senders; also its title.
    fn simulated(
        &self,
        table: &RuleTable,
        ranges: &DesignRanges,
    ) -> Result<(Seen, String), Failure> {
        let mut scenario = shipped::scenario(&self.network)?;
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        let name = self.table.display().to_string();
        for group in &mut scenario.flows {
            group.controller.clone_from(&name);
        }
        let remy = AnyController::from(RemyCc::new(table));
        let network = scenario.network(&mut |_, _| Ok(remy.clone()))?;
        ranges.warnings([(&scenario, &network)]).iter().for_each(|warning| shell::warn(warning));
        let mut seen = Seen::default();
        engine::run_observed(&network, self.seed.unwrap_or(scenario.seed), &mut seen);
        if seen.is_empty() {
            let problem = format!("no flow of {} receives two ACKs", self.network.display());
            return Err(Failure::new(problem).with_tip("simulate longer: --duration"));
        }
        let title = scenario.title.unwrap_or_else(|| self.network.display().to_string());
        Ok((seen, title))
    }
}
