//! `exm saturate serve`: the end with a good connection.

use crate::commands::sprout::KeyFlags;
use crate::interrupt;
use crate::shell::{Failure, note};
use exm_datagram::{Key, PortRange};
use exm_os::{Clock, Signals};
use exm_saturator::Server;
use exm_saturator::net::ServerPort;
use exm_units::Span;
use std::io::Write;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often it is looked who is there.
const LOOK: Span = Span::from_millis(500);

const EXAMPLES: &str = "\
It serves one recording at a time, of whoever has the key; a new one takes the place of the last.
Strangers get no answer.

Examples:
  exm saturate serve --new-key
  exm saturate serve --key-file key --port 60001";

/// Wait for a client that has the key, and keep the link to it full
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The address to listen at [default: all that this machine has]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// The UDP port to listen on, or a range of which the first free one is taken
    #[arg(long, value_name = "PORT", default_value_t = PortRange::SERVERS)]
    port: PortRange,
    /// Make a key, and print it: the client needs it
    #[arg(long, group = "key", help_heading = "Key")]
    new_key: bool,
    #[command(flatten)]
    key: KeyFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let key = if self.new_key { Key::generate()? } else { self.key.key()? };
        let text = self.new_key.then(|| key.to_text());
        let clock = Clock::start();
        let mut port = ServerPort::open(clock, self.bind, self.port)?;
        note(&format!("listening on UDP port {}", port.address()?.port()));
        if let Some(text) = text {
            // Not by a note: it is read by programs, too.
            let _ = writeln!(std::io::stderr(), "key: {}", text.as_str());
        }
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
                    Some(client) => format!("{:.1} s: recording with {client}", now.as_secs_f64()),
                    None => format!(
                        "{:.1} s: the recording is over: {sent} packets sent, {received} received",
                        now.as_secs_f64()
                    ),
                });
            }
        }
    }
}
