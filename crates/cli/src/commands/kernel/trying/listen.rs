//! The end that receives.

use super::Args;
use crate::interrupt;
use crate::sessions::ServerFlags;
use crate::shell::{Failure, note};
use exm_datagram::Key;
use exm_os::{Signal, Signals};
use exm_trial::{Event, Limits, Listener};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often it looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

impl Args {
    /// Receives until a signal arrives.
    pub(super) fn receive(&self) -> Result<ExitCode, Failure> {
        let key = if self.new_key { Key::generate()? } else { self.key.key()? };
        let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let address = SocketAddr::new(self.bind.unwrap_or(any), self.port);
        let listener = Listener::bind(address, key.clone(), Limits::default())
            .map_err(|error| ServerFlags::refused(&error))?;
        note(&format!("listening on TCP port {}", listener.address()?.port()));
        if self.new_key {
            self.key.hand_out(&key)?;
        }
        let signals = Signals::catch()?;
        interrupt::hand_over();
        let (ended, signal) = until_signal(&signals, |stop| listener.run(stop, &tell));
        ended?;
        Ok(signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.exit_code())))
    }
}

fn tell(event: Event) {
    // Without the IPv6 mapping of dual-stack sockets.
    let plain = |from: SocketAddr| SocketAddr::new(from.ip().to_canonical(), from.port());
    match event {
        Event::Began(_) => {}
        Event::Ended(from, bytes) => {
            note(&format!("{}: {:.1} MB received", plain(from), bytes as f64 * 1e-6));
        }
        Event::Refused(from) => {
            note(&format!(
                "{}: refused, or it broke off: see that both keys are the same",
                plain(from)
            ));
        }
    }
}

/// Does `work`, which ends soon after what it gets is set: by the first signal, which is returned.
pub(super) fn until_signal<T>(
    signals: &Signals,
    work: impl FnOnce(&AtomicBool) -> T,
) -> (T, Option<Signal>) {
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Some(signal) = signals.take() {
                    stop.store(true, Ordering::Relaxed);
                    return Some(signal);
                }
                thread::sleep(LOOK);
            }
            None
        });
        let result = work(&stop);
        done.store(true, Ordering::Relaxed);
        (result, watching.join().unwrap_or_default())
    })
}
