//! [`IdleInhibitor`]: keeps CPUs out of idle states.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Keeps idle CPUs out of sleep states while it exists (a PM QoS request for a latency of 0 us), so that
/// threads that wait for a time are woken without delay. Programs run no slower, but an idle CPU takes as
/// much power as a busy one.
#[derive(Debug)]
pub struct IdleInhibitor {
    /// The kernel withdraws the request when this is closed.
    _request: File,
}

impl IdleInhibitor {
    /// Makes the request.
    ///
    /// # Errors
    /// This process is not root, or the kernel has no `/dev/cpu_dma_latency`.
    pub fn acquire() -> io::Result<IdleInhibitor> {
        let mut request = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(IdleInhibitor { _request: request })
    }
}
