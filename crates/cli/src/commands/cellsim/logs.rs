//! The logs that a run is asked to write.

use crate::shell::{self, Failure};
use exm_emulator::{
    Direction, Emulated, Log, LogError, MahimahiLog, Origin, Rest, RowLog, Setup, Watch,
    fingerprint,
};
use exm_os::Clock;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct LogFlags {
    /// Log what became of each packet, as comma-separated text that explains its columns
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Log in mahimahi's format into FILE.up and FILE.down, for its scripts
    #[arg(long, value_name = "FILE")]
    mahimahi_log: Option<PathBuf>,
}

/// The logs of a run.
pub(super) struct Logs(Vec<Log>);

impl LogFlags {
    /// Begins them.
    pub(super) fn begin(&self, setup: &Setup, paths: [String; 2]) -> Result<Logs, Failure> {
        let origin = Origin {
            command: shell::command_line(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: setup.seed,
            configuration: fingerprint(setup),
            paths,
            began: Clock::calendar_nanos(),
        };
        let mut logs = Vec::new();
        if let Some(file) = &self.log {
            logs.push(RowLog::create(file, &origin)?);
        }
        if let Some(file) = &self.mahimahi_log {
            let services = [&setup.up.service, &setup.down.service];
            logs.push(MahimahiLog::create(file, &origin, services)?);
        }
        Ok(Logs(logs))
    }
}

impl Logs {
    /// Who watches each direction for them.
    pub(super) fn watches(&self) -> [Box<dyn Watch>; 2] {
        Direction::BOTH.map(|direction| {
            let all: Vec<_> = self.0.iter().map(|log| log.watch(direction)).collect();
            Box::new(all) as Box<dyn Watch>
        })
    }

    /// Ends them, those that can be.
    pub(super) fn finish(self, emulated: &Emulated, missed: [u64; 2]) -> Result<(), LogError> {
        let rest = Rest { inside: emulated.inside, missed };
        let ended: Vec<_> = self.0.into_iter().map(|log| log.finish(emulated.end, &rest)).collect();
        ended.into_iter().collect()
    }
}
