//! `exm controller check`: tries a controller.

use crate::codes::FAILED;
use crate::ranges;
use crate::shell::{Failure, Printing};
use crate::{complete, layout};
use exm_cc::Controller;
use exm_design::DesignRanges;
use exm_link::{Limit, Service};
use exm_plugin::{Finding, Outside, Severity, check};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_units::{Packets, Rate, Span};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Random event scripts look for failures (traps, endless loops, access outside its memory, impossible
windows) and for decisions that differ between two runs; a calm path with time-outs looks for windows that
never open or never close. Then it has a link of 10 Mbps and 50 ms with 100 packets of buffer to itself
for 30 s.

Exit codes: 0 if there is no error, even if there are warnings; 1 if there is one.

Examples:
  exm controller check mine.wasm
  exm controller check 'mine.wasm increase=2' --json
  exm controller check 'program:python3 mine.py'";

/// Try a controller with event scripts and on a link, and say what is wrong with it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The controller: a module, program:COMMAND, a table, or a name with or without parameters
    #[arg(value_name = "CC", add = complete::controllers())]
    cc: String,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (controller, is_sandboxed) = self.controller()?;
        let mut findings = check(&controller, is_sandboxed);
        let link = if findings.iter().any(|finding| finding.severity == Severity::Error) {
            None
        } else {
            OnLink::of(controller.clone())
                .inspect_err(|finding| findings.push(finding.clone()))
                .ok()
        };
        findings.sort_by_key(|finding| finding.severity);
        let has_error = findings.iter().any(|finding| finding.severity == Severity::Error);
        let checked = Checked {
            controller: self.cc,
            is_sandboxed,
            fingerprint: controller.fingerprint().map(|print| format!("{print:016x}")),
            findings: findings.iter().map(Found::of).collect(),
            link,
        };
        self.printing.print(&checked)?;
        Ok(if has_error { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    }

    /// The controller, and whether it can do no harm. Its failures are findings, not the command's.
    fn controller(&self) -> Result<(AnyController, bool), Failure> {
        let (name, path) = (self.cc.as_str(), Path::new(&self.cc));
        if let Some(outside) = Outside::load(name, path) {
            let outside = outside.map_err(Failure::new)?;
            return Ok((outside.controller().into(), outside.is_sandboxed()));
        }
        let builtin =
            AnyController::parse(name).map_err(|error| Failure::usage(error.to_string()))?;
        let controller = match builtin {
            Some(controller) => controller,
            None => ranges::controller(&mut DesignRanges::default(), name, path)
                .map_err(Failure::usage)?,
        };
        Ok((controller, true))
    }
}

/// What is printed.
#[derive(Serialize)]
struct Checked {
    controller: String,
    #[serde(rename = "sandboxed")]
    is_sandboxed: bool,
    /// Identifies a module's code and its parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    findings: Vec<Found>,
    /// None if there was an error before.
    link: Option<OnLink>,
}

#[derive(Serialize)]
struct Found {
    severity: &'static str,
    what: String,
}

impl Found {
    fn of(finding: &Finding) -> Found {
        Found { severity: finding.severity.name(), what: finding.what.clone() }
    }
}

/// What it does on the link.
#[derive(Serialize)]
struct OnLink {
    throughput_mbps: f64,
    queueing_delay_ms: f64,
    retransmitted: u64,
    timeouts: u64,
}

impl OnLink {
    fn of(controller: AnyController) -> Result<OnLink, Finding> {
        let rate = Service::Fixed(Rate::from_mbps(10.0));
        let link = LinkSpec::bottleneck(rate, Limit::Packets(Packets::new(100)));
        let flow =
            FlowSpec::new(Host::Tcp.transport(controller)).extra_delay(Span::from_millis(50));
        let network = Network::new(vec![link], vec![flow], Span::from_secs(30));
        let report = engine::run(&network.expect("it is possible"), 1);
        let error = |what: String| Finding { severity: Severity::Error, what };
        if let Some(failure) = report.failure() {
            return Err(error(format!("{failure} on a link of 10 Mbps and 50 ms")));
        }
        let flow = &report.flows[0];
        let throughput_mbps = flow.throughput().map_or(0.0, Rate::as_mbps);
        if throughput_mbps < 0.01 {
            return Err(error("it gets nothing through a link of 10 Mbps and 50 ms".to_owned()));
        }
        Ok(OnLink {
            throughput_mbps,
            queueing_delay_ms: flow.queueing_delay.mean().map_or(0.0, Span::as_millis_f64),
            retransmitted: flow.retransmitted,
            timeouts: flow.timeouts,
        })
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Found { severity, what } in &self.findings {
            f.write_str(&layout::paragraph(&format!("{severity}: {what}")))?;
        }
        if self.findings.is_empty() {
            writeln!(f, "{}: nothing is wrong with it", self.controller)?;
        }
        if !self.is_sandboxed {
            writeln!(f, "It is not sandboxed: it can do whatever you can.")?;
        }
        let Some(link) = &self.link else { return Ok(()) };
        f.write_str(&layout::paragraph(&format!(
            "Alone on 10 Mbps and 50 ms for 30 s: {:.2} Mbps, mean queueing delay {:.1} ms, {} retransmissions, {} \
             time-outs",
            link.throughput_mbps, link.queueing_delay_ms, link.retransmitted, link.timeouts
        )))
    }
}
