//! `exm tunnel unblock`: lifts a kill switch that was left behind.

use super::run::check_rights;
use crate::shell::{Failure, note};
use exm_os::KillSwitch;
use std::process::ExitCode;

const EXAMPLES: &str = "\
It deletes the nftables table exm-kill-switch, as \"nft delete table inet exm-kill-switch\" does.

Examples:
  exm tunnel unblock";

/// Lift the kill switch left behind by a killed \"exm tunnel connect --kill-switch\"
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        check_rights()?;
        if !KillSwitch::is_engaged() {
            note("no kill switch is engaged");
            return Ok(ExitCode::SUCCESS);
        }
        let Some(kill_switch) = KillSwitch::adopt()? else {
            let problem = "a running tunnel has the kill switch";
            return Err(Failure::new(problem).with_tip("end the tunnel, which lifts it"));
        };
        kill_switch.lift()?;
        note("the kill switch is lifted: traffic is no longer blocked");
        Ok(ExitCode::SUCCESS)
    }
}
