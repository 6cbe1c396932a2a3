//! `exm kernel load`: a table becomes a congestion control.

use crate::fixed::{Fitted, TableArgs};
use crate::interrupt;
use crate::shell::{Failure, Printing, note};
use exm_kernel::{Algorithm, TableInfo};
use exm_os::Signals;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Without --pin, the command stays until it is interrupted (Ctrl-C), and takes the table with it; connections
that use it keep it until they end. With --pin, it returns at once, and the table stays until
exm kernel unload or a restart of the machine.

Examples:
  exm kernel load coexist --name remy1
  exm kernel load designed.json --name remy1 --pin";
/// How often it looks whether another command unloaded the table.
const LOOK: Duration = Duration::from_millis(200);

/// Load a table, as a congestion control that any program may choose by its name
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The name of the congestion control, 15 characters at most [default: that of the table]
    #[arg(long)]
    name: Option<String>,
    /// Return at once, and leave it loaded until "exm kernel unload"
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    printing: Printing,
}

/// What was loaded.
#[derive(Serialize)]
struct Loaded {
    name: String,
    table: String,
    rules: usize,
    max_window: u32,
    pinned: Option<PathBuf>,
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loaded { name, table, rules, max_window, pinned } = self;
        writeln!(
            f,
            "{name}: {table}, {rules} rules, windows of {max_window} packets at most\n\
             for one program:   iperf3 -C {name} -c HOST\n\
             for all new ones:  sysctl net.ipv4.tcp_congestion_control={name}\n\
             its connections:   exm kernel show {name}"
        )?;
        match pinned {
            Some(path) => {
                writeln!(f, "it stays until:    exm kernel unload {name} ({})", path.display())
            }
            None => writeln!(f, "it stays until:    Ctrl-C"),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let Fitted { table, label, .. } = self.table.read()?;
        let name = self.name.unwrap_or_else(|| kernel_name(&label));
        // Before it is there, so that no signal finds it in between.
        let signals = Signals::catch()?;
        interrupt::hand_over();
        let algorithm = Algorithm::load(&name, &table, &label)?;
        let pinned = self.pin.then(|| algorithm.pin()).transpose()?;
        let TableInfo { label, rules, max_window } = algorithm.table()?;
        let wait = pinned.is_none();
        self.printing.print(&Loaded { name, table: label, rules, max_window, pinned })?;
        if wait { stay(&algorithm, &signals) } else { Ok(ExitCode::SUCCESS) }
    }
}

/// Waits for a signal, or for another command that unloads it.
fn stay(algorithm: &Algorithm, signals: &Signals) -> Result<ExitCode, Failure> {
    loop {
        if let Some(signal) = signals.take() {
            return Ok(ExitCode::from(signal.exit_code()));
        }
        if !algorithm.is_loaded() {
            note(&format!("{} was unloaded by another command", algorithm.name()));
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(LOOK);
    }
}

/// A name for a congestion control after a table: what the kernel takes of its name.
pub(super) fn kernel_name(label: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain: String = label.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    plain.chars().take(15).collect()
}
