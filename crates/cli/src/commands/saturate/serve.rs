//! `exm saturate serve`: the end that takes part in recordings.

use crate::interrupt;
use crate::sessions::ServerFlags;
use crate::shell::{Failure, note};
use exm_os::{Clock, Signals};
use exm_saturator::Server;
use exm_saturator::net::ServerPort;
use exm_units::Span;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often the client is checked.
const LOOK: Span = Span::from_millis(500);

const EXAMPLES: &str = "\
It serves one recording at a time, for any client with the key; a new recording replaces the last.
Clients without the key get no reply.

Examples:
  exm saturate serve --new-key --key-file key
  exm saturate serve --key-file key --port 60001";

/// Wait for a client with the key, and keep the link to it full
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let key = self.server.key()?;
        let clock = Clock::start();
        let mut port = ServerPort::open(clock, self.server.bind, self.server.port)
            .map_err(|error| ServerFlags::refused(&error))?;
        self.server.announce(port.address()?.port(), &key, false)?;
        let mut server = Server::new(key);
        let signals = Signals::catch()?;
        interrupt::hand_over();
        let mut client = None;
        let mut next = clock.now();
        loop {
            if let Some(signal) = signals.take() {
                return Ok(ExitCode::from(signal.exit_code()));
            }
            port.turn(&mut server, signals.as_fd(), next)?;
            let now = clock.now();
            if now < next {
                continue;
            }
            next = now + LOOK;
            let present = server.client(now);
            if present != client {
                client = present;
                let (sent, received) = server.counts();
                note(&match client {
                    Some(client) => {
                        // Without the IPv6 mapping of dual-stack sockets.
                        let client = SocketAddr::new(client.ip().to_canonical(), client.port());
                        format!("{:.1} s: recording with {client}", now.as_secs_f64())
                    }
                    None => format!(
                        "{:.1} s: the recording is over: {sent} packets sent, {received} received by now",
                        now.as_secs_f64()
                    ),
                });
            }
        }
    }
}
