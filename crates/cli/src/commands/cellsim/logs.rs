//! The logs of a run.

use super::link::LinkFlags;
use crate::outputs::check_output;
use crate::shell::{self, Failure, note};
use exm_emulator::{
    Direction, Emulated, Log, MahimahiLog, Observer, Origin, RowLog, Setup, Unlogged, fingerprint,
};
use exm_os::Clock;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct LogFlags {
    /// Log the fate of each packet, as CSV with a description of its columns
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Log in mahimahi's format into FILE.up and FILE.down, for its scripts
    #[arg(long, value_name = "FILE")]
    mahimahi_log: Option<PathBuf>,
    /// Overwrite existing logs
    #[arg(long, short)]
    force: bool,
}

/// The logs of a run.
pub(super) struct Logs(Vec<Log>);

impl LogFlags {
    /// Checks whether the logs may be written, before anything else is done.
    ///
    /// # Errors
    /// A file exists and is not to be overwritten, is one of the input files of `link`, or cannot be a log.
    pub(super) fn check(&self, link: &LinkFlags) -> Result<(), Failure> {
        let mahimahi = self.mahimahi_log.iter().flat_map(|file| MahimahiLog::files(file));
        let logs: Vec<PathBuf> = self.log.iter().cloned().chain(mahimahi).collect();
        for (index, log) in logs.iter().enumerate() {
            let earlier = logs[..index].iter().map(PathBuf::as_path);
            let others: Vec<&Path> = link.inputs().chain(earlier).collect();
            check_output(log, &others, self.force)?;
        }
        Ok(())
    }

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
    /// The observers of both directions.
    pub(super) fn observers(&self) -> [Box<dyn Observer>; 2] {
        Direction::BOTH.map(|direction| {
            let all: Vec<_> = self.0.iter().map(|log| log.observer(direction)).collect();
            Box::new(all) as Box<dyn Observer>
        })
    }

    /// Ends them, as far as possible, and reports what they do not contain.
    pub(super) fn finish(self, emulated: &Emulated, missed: [u64; 2]) -> Result<(), Failure> {
        let rest = Unlogged { inside: emulated.inside, missed, left_out: 0 };
        let ended: Vec<_> = self
            .0
            .into_iter()
            .map(|log| (log.files()[0].clone(), log.finish(emulated.end, &rest)))
            .collect();
        for (file, ended) in ended {
            let left_out = ended?;
            if left_out > 0 {
                note(&format!(
                    "the log {} lacks {left_out} events: the disk was slower than the link",
                    file.display()
                ));
            }
        }
        Ok(())
    }
}
