//! `exm tunnel status`: what the running tunnels of this machine do.

mod rates;
mod report;
mod watch;

use crate::shell::{Failure, Printing};
use exm_tunnel::Status;
use rates::Look;
use report::Report;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Running tunnels of this machine are found by their sockets in /run/exm, which only root may read. Rates
are those of half a second, other numbers those since the tunnel was started; those of JSON all are.

The sockets speak HTTP: /status is the JSON of one tunnel, /metrics the same for Prometheus.

Examples:
  exm tunnel status
  exm tunnel status exm0 --json
  exm tunnel status --watch
  curl --unix-socket /run/exm/tunnel-exm0.sock http://localhost/metrics";

/// Where the sockets are; as [`exm_os::runtime_folder`], which creates it.
const FOLDER: &str = "/run/exm";
/// The time between the two looks by which rates are known.
const BETWEEN: Duration = Duration::from_millis(500);

/// Show what the running tunnels of this machine do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The network device of a tunnel [default: all]
    #[arg(value_name = "DEVICE")]
    device: Option<String>,
    /// Show a live picture of one tunnel, until q or Ctrl-C is pressed; a line a second if the output is no terminal
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print a line a second instead of a live picture
    #[arg(long, requires = "watch", help_heading = "Output")]
    plain: bool,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let first = self.look()?;
        if self.watch {
            let [one] = &first[..] else { return Err(several(&first)) };
            let is_live = !self.plain && io::stdout().is_terminal();
            return watch::watch(one, is_live);
        }
        if self.printing.is_json() {
            self.printing.print(&Report::new(first))?;
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(BETWEEN);
        let second = self.look()?;
        let looks = second.into_iter().map(|status| {
            let before = first.iter().find(|before| before.process == status.process);
            Look::new(before, status)
        });
        self.printing.print(&Report::of(looks.collect()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// The status of the tunnels asked for, at least one.
    fn look(&self) -> Result<Vec<Status>, Failure> {
        let all = read_all()?;
        let Some(device) = &self.device else { return running(all) };
        let (found, others): (Vec<Status>, Vec<Status>) =
            running(all)?.into_iter().partition(|status| status.device.as_ref() == Some(device));
        if found.is_empty() {
            let problem = format!("no running tunnel has the device {device}");
            return Err(Failure::new(problem).with_tip(format!("running: {}", names(&others))));
        }
        Ok(found)
    }
}

/// The status of all running tunnels.
fn read_all() -> Result<Vec<Status>, Failure> {
    Status::read_all(Path::new(FOLDER)).map_err(|error| {
        let failure = Failure::new(format!("the tunnels cannot be asked: {error}"));
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                failure.with_tip("run it as root: sudo exm tunnel status")
            }
            _ => failure,
        }
    })
}

fn running(all: Vec<Status>) -> Result<Vec<Status>, Failure> {
    if all.is_empty() {
        let problem = "no tunnel runs on this machine";
        let tip = "start one by \"exm tunnel serve\" or \"exm tunnel connect\", which have their sockets in /run/exm";
        return Err(Failure::new(problem).with_tip(tip));
    }
    Ok(all)
}

fn several(all: &[Status]) -> Failure {
    let problem = format!("several tunnels run: {}", names(all));
    Failure::new(problem).with_tip("name the device of one: exm tunnel status DEVICE --watch")
}

/// The devices of `all`.
fn names(all: &[Status]) -> String {
    all.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The device of a tunnel, in words.
fn name(status: &Status) -> String {
    match &status.device {
        Some(device) => device.clone(),
        None => format!("one without a device yet (process {})", status.process),
    }
}
