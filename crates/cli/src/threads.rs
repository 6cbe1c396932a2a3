//! [`Threads`]: the number of threads of a command.

use crate::shell::Failure;

/// The option of the commands that compute on several threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Threads {
    /// The maximum number of threads [default: one for each core]
    ///
    /// Results are the same on any number of threads.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Threads {
    /// Starts them, before the first work that is shared out.
    pub(crate) fn start(self) -> Result<(), Failure> {
        let Some(threads) = self.threads else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global()
            .map_err(|error| Failure::new(format!("cannot start {threads} threads: {error}")))
    }
}
