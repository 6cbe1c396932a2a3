//! Several designs of one command, one after the other.

use super::args::DesignArgs;
use super::finished::Finished;
use super::{End, files};
use crate::shell::{self, Failure};
use exm_design::{Designer, Model};
use serde::Serialize;
use std::path::PathBuf;

/// One of several designs.
pub(super) struct Member {
    /// What sets it apart: "seed 1".
    pub(super) name: String,
    /// Its options, as if it were given alone.
    pub(super) args: DesignArgs,
    pub(super) model: Model,
}

/// Takes all designs to the end of their budgets. With --resume, those that have a checkpoint go on from it,
/// and the others begin. `check` gets one of those resumed, if any, and what it refuses is refused before
/// any file is touched.
pub(super) fn run(
    args: &DesignArgs,
    mut members: Vec<Member>,
    check: impl FnOnce(Option<&Designer>) -> Result<(), Failure>,
) -> Result<Vec<Finished>, Failure> {
    if args.specimens == Some(0) {
        let problem = "several designs are compared by held-out networks: --specimens cannot be 0";
        return Err(Failure::usage(problem).with_tip("leave --specimens out for 256 networks"));
    }
    let has_checkpoint = |member: &Member| member.args.files().checkpoint.is_file();
    // Where nothing is to be resumed, the first reports it.
    if members.iter().any(has_checkpoint) {
        for member in &mut members {
            member.args.resume = args.resume && has_checkpoint(member);
        }
    }
    let designers = members.iter().map(|member| member.args.designer(member.model.clone()));
    let designers: Vec<Designer> = designers.collect::<Result<_, Failure>>()?;
    check(members.iter().zip(&designers).find(|(m, _)| m.args.resume).map(|(_, d)| d))?;
    let search = |(member, designer): (&Member, Designer)| {
        if !args.quiet {
            shell::tell(&format!("{}: {}\n", member.name, member.args.output.display()));
        }
        member.args.search(designer)
    };
    members.iter().zip(designers).map(search).collect()
}

/// Removes the checkpoints of finished designs.
pub(super) fn clean(finished: &[Finished]) -> Result<(), Failure> {
    finished.iter().try_for_each(|one| files::remove(&one.files.checkpoint))
}

/// One of several finished designs, as the summary shows it.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) steps: u64,
    /// Of all its tables together.
    pub(super) rules: usize,
    pub(super) cpu_seconds: f64,
    end: String,
    /// The first, which is the only one unless the model designs several.
    pub(super) table: PathBuf,
    log: PathBuf,
    checkpoint: Option<PathBuf>,
}

impl Row {
    pub(super) fn new(args: &DesignArgs, finished: &Finished) -> Row {
        let Finished { files, end, .. } = finished;
        Row {
            steps: finished.designer().steps(),
            rules: finished.rules(),
            cpu_seconds: finished.phases.sum(),
            end: end.to_string(),
            table: finished.outputs[0].clone(),
            log: files.log.clone(),
            checkpoint: (!args.clean).then(|| files.checkpoint.clone()),
        }
    }
}

/// On how many networks all of them are scored.
pub(super) fn specimens(finished: &[Finished]) -> usize {
    finished.iter().map(|one| one.specimens).min().expect("there are designs")
}

/// Why designs ended, where that is the same for all.
pub(super) fn common_end(finished: &[Finished]) -> Option<End> {
    let first = finished.first()?.end;
    finished.iter().all(|one| one.end == first).then_some(first)
}
