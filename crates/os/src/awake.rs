//! [`AwakeProcessors`]: processors that do not sleep.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// As long as this is there, processors that have nothing to do stay awake (the kernel's PM QoS, a
/// latency of 0 us), so that whoever waits for a time is woken without delay. No program runs slower
/// for it, but each idle processor takes as much power as a busy one.
#[derive(Debug)]
pub struct AwakeProcessors {
    /// The kernel takes the request back as it is closed.
    _request: File,
}

impl AwakeProcessors {
    /// Keeps them awake.
    ///
    /// # Errors
    /// This process may not (it takes root's rights), or the kernel has no `/dev/cpu_dma_latency`.
    pub fn hold() -> io::Result<AwakeProcessors> {
        let mut request = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(AwakeProcessors { _request: request })
    }
}
