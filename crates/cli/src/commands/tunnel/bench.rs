//! `exm tunnel bench`: a call beside a download, with and without a tunnel.

use super::RISK;
use crate::commands::cellsim::LinkFlags;
use crate::commands::duration;
use crate::interrupt;
use crate::layout;
use crate::progress::Progress;
use crate::sessions::SproutFlags;
use crate::shell::{Failure, Printing};
use exm_bench::tunnel::{BenchError, BenchPlan, Call, Measured, Transport, measure};
use exm_os::Rights;
use exm_store::Columns;
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The benchmark emulates a link between two network namespaces, in real time. A download over the kernel's
TCP shares it with a two-way call, a datagram of 1200 bytes every 20 ms from either end (480 kbps), first
without and then with a tunnel (section 2.4.7 of Winstein's thesis). Delay is the 95th percentile over
time of the end-to-end delay: the age of the call's most recently sent packet that has arrived.

Examples:
  exm tunnel bench --down lte --up lte
  exm tunnel bench --down lte.down --up lte.up --warm-up 20s --duration 60s --json";

/// Measure a call beside a download with and without a tunnel, on an emulated link
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("warm_up", |arg| arg.default_value("60s")),
    mut_arg("risk", |arg| arg.default_value(RISK)),
)]
pub(crate) struct Args {
    /// The duration of each measurement, with and without the tunnel
    #[arg(long, alias = "for", value_name = "DURATION", default_value = "60s", value_parser = duration)]
    duration: Span,
    /// The congestion control of the kernel's TCP
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,
    #[command(flatten)]
    link: LinkFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    sprout: SproutFlags,
}

impl Args {
    /// Acquires the privileges, which requires a process without threads.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        Rights::acquire()?;
        Ok(())
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (link, described) = self.link.setup()?;
        let (warm_up, settings) = (link.warm_up, self.sprout.settings()?);
        let (congestion, duration) = (self.congestion.clone(), self.duration);
        let plan = BenchPlan { link, settings, congestion, duration };
        let millis = |span: Span| span.as_nanos() / 1_000_000;
        let whole = millis(warm_up + duration);
        let progress = Progress::new(2 * whole);
        interrupt::heed();
        let mut done = 0;
        let measured = [Transport::Direct, Transport::Tunnel].map(|way| {
            let begun = done;
            measure(&plan, way, |at| {
                let now = begun + millis(at).min(whole);
                progress.advance(now - done);
                done = now;
                !interrupt::asked()
            })
        });
        progress.finish();
        interrupt::heed_no_more();
        let [direct, tunnel] = measured;
        match (direct, tunnel) {
            (Err(BenchError::Stopped), _) | (_, Err(BenchError::Stopped)) => {
                Ok(ExitCode::from(130))
            }
            (direct, tunnel) => {
                let report = Report::new(&plan, described, [&direct?, &tunnel?]);
                self.printing.print(&report)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

#[derive(Serialize)]
struct Report {
    seed: u64,
    link_up: String,
    link_down: String,
    congestion: String,
    warm_up_seconds: f64,
    seconds: f64,
    direct: Column,
    tunnel: Column,
}

#[derive(Serialize)]
struct Column {
    download_kbps: f64,
    call_up: CallPart,
    call_down: CallPart,
}

#[derive(Clone, Copy, Serialize)]
struct CallPart {
    sent_kbps: f64,
    received_kbps: f64,
    delay_median_ms: Option<f64>,
    delay_95_ms: Option<f64>,
}

impl Report {
    fn new(plan: &BenchPlan, [up, down]: [String; 2], measured: [&Measured; 2]) -> Report {
        let part = |call: &Call| CallPart {
            sent_kbps: call.sent.as_bps() as f64 / 1e3,
            received_kbps: call.received.as_bps() as f64 / 1e3,
            delay_median_ms: call.delay_50.map(Span::as_millis_f64),
            delay_95_ms: call.delay_95.map(Span::as_millis_f64),
        };
        let [direct, tunnel] = measured.map(|measured| Column {
            download_kbps: measured.download.as_bps() as f64 / 1e3,
            call_up: part(&measured.up),
            call_down: part(&measured.down),
        });
        Report {
            seed: plan.link.seed,
            link_up: up,
            link_down: down,
            congestion: plan.congestion.clone(),
            warm_up_seconds: plan.link.warm_up.as_secs_f64(),
            seconds: plan.duration.as_secs_f64(),
            direct,
            tunnel,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        columns.line(["", "direct", "by tunnel", "change"].map(str::to_owned));
        let mut line = |name: &str, unit: &str, of: &dyn Fn(&Column) -> Option<f64>| {
            let values = [of(&self.direct), of(&self.tunnel)];
            let [direct, tunnel] = values
                .map(|value| value.map_or("-".to_owned(), |value| format!("{value:.0} {unit}")));
            let change = match values {
                [Some(direct), Some(tunnel)] if direct > 0.0 => {
                    format!("{:+.1} %", 100.0 * (tunnel / direct - 1.0))
                }
                _ => "-".to_owned(),
            };
            columns.line([name.to_owned(), direct, tunnel, change]);
        };
        line("download", "kbps", &|column| Some(column.download_kbps));
        for (way, part) in [("down", 0), ("up", 1)] {
            let of = |column: &Column| [column.call_down, column.call_up][part];
            let name = |what: &str| format!("call {way}, {what}");
            line(&name("rate"), "kbps", &|column| Some(of(column).received_kbps));
            line(&name("95 % delay"), "ms", &|column| of(column).delay_95_ms);
            line(&name("median delay"), "ms", &|column| of(column).delay_median_ms);
        }
        write!(f, "{}", layout::table(&columns))?;
        writeln!(f, "\nThe call sends {:.0} kbps each way.", self.tunnel.call_down.sent_kbps)
    }
}
