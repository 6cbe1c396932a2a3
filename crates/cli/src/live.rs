//! [`LiveFlags`]: runs in real time.

use crate::shell::Failure;
use exm_experiment::{Live, Plan, PlanError};

/// The options of the commands that can make their runs in real time.
#[derive(Debug, clap::Args)]
pub(crate) struct LiveFlags {
    /// Make the runs in real time, on emulated links with Sprout over UDP and the kernel's TCP, and
    /// compare them with simulated ones
    #[cfg(target_os = "linux")]
    #[arg(long)]
    live: bool,
    /// Execute this many live runs at the same time
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "N", requires = "live", default_value = "1")]
    at_once: std::num::NonZeroUsize,
    /// The backend of live runs, once it is known to work.
    #[cfg(target_os = "linux")]
    #[arg(skip)]
    backend: Option<exm_emulator::live::EmulatorBackend>,
}

impl LiveFlags {
    /// Acquires the privileges for live runs, which requires a process without threads.
    #[cfg(target_os = "linux")]
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        if self.live {
            self.backend = Some(exm_emulator::live::EmulatorBackend::open()?);
        }
        Ok(())
    }

    /// The backend of live runs, if they are requested.
    pub(crate) fn backend(&self) -> Option<Live<'_>> {
        #[cfg(target_os = "linux")]
        return self.backend.as_ref().map(|backend| Live { backend, at_once: self.at_once });
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// `plan`, in real time if that is requested.
    pub(crate) fn plan(&self, plan: Plan) -> Result<Plan, PlanError> {
        match self.backend() {
            Some(live) => plan.live(live.backend),
            None => Ok(plan),
        }
    }

    /// How the option is written, if it is given.
    pub(crate) fn word(&self) -> Option<&'static str> {
        self.backend().map(|_| "--live")
    }
}
