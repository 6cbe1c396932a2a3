//! The end that sends.

use super::Args;
use super::listen::until_signal;
use super::report::{Tally, Tried};
use crate::commands::kernel::load::kernel_name;
use crate::fixed::{Fitted, largest_window};
use crate::interrupt;
use crate::outputs::{check_output, write_file};
use crate::pictures::Format;
use crate::progress::{Progress, beside_bar};
use crate::sessions::servers;
use crate::shell::{Failure, note};
use exm_datagram::Key;
use exm_kernel::Algorithm;
use exm_os::Signals;
use exm_trial::{Turn, TurnError, order};
use exm_units::Span;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The shortest turn that says anything.
const SHORTEST: Span = Span::from_millis(500);

/// A congestion control to try.
struct Control {
    /// Its name for people.
    shown: String,
    /// Its name in the kernel.
    name: String,
    /// Whether the user named it.
    is_wanted: bool,
}

impl Args {
    /// Tries all in turn.
    pub(super) fn send(&self, host: &str, format: Option<Format>) -> Result<ExitCode, Failure> {
        if let Some(plot) = &self.plot {
            check_output(plot, &[], true)?;
        }
        let key = self.key.key()?;
        let servers = servers(host)?;
        let signals = Signals::catch()?;
        interrupt::hand_over();
        let (controls, loaded) = self.controls()?;
        let ((tried, failure), signal) =
            until_signal(&signals, |stop| match self.find(&servers, controls, (&key, stop)) {
                Ok((server, controls)) => self.take_turns(host, server, &controls, (&key, stop)),
                Err(failure) => (None, Some(failure)),
            });
        drop(loaded);
        if let Some(tried) = &tried {
            self.printing.print(tried)?;
            if let (Some(plot), Some(format)) = (&self.plot, format) {
                write_file(plot, &format.encode(tried.picture())?)?;
            }
        }
        match (signal, failure) {
            (Some(signal), _) => Ok(ExitCode::from(signal.exit_code())),
            (None, Some(failure)) => Err(failure),
            (None, None) => Ok(ExitCode::SUCCESS),
        }
    }

    /// What is tried, and the tables among it, which stay in the kernel as long as they are held.
    fn controls(&self) -> Result<(Vec<Control>, Vec<Algorithm>), Failure> {
        let is_default = self.with.iter().eq(["cubic", "bbr"]);
        let own = self.with.iter().filter(|name| !name.is_empty()).map(|name| Control {
            shown: name.clone(),
            name: name.clone(),
            is_wanted: !is_default,
        });
        let (mut controls, mut loaded) = (own.collect::<Vec<_>>(), Vec::new());
        for (index, table) in self.tables.iter().enumerate() {
            let Fitted { table, label, .. } = crate::fixed::fitted(table, largest_window)?;
            let name = kernel_name(&format!("try{index}_{label}"));
            loaded.push(Algorithm::load(&name, &table, &label)?);
            controls.push(Control { shown: label, name, is_wanted: true });
        }
        Ok((controls, loaded))
    }

    /// The length of a turn.
    fn turn(&self, controls: usize) -> Result<Span, Failure> {
        let turns = controls as u64 * u64::from(self.rounds);
        let turn = Span::from_nanos(self.duration.as_nanos() / turns.max(1));
        if turn >= SHORTEST {
            return Ok(turn);
        }
        let problem =
            format!("it leaves {turn} for each of {turns} turns, and {SHORTEST} are the least");
        let tip = "give a longer time by --duration, or fewer rounds";
        Err(Failure::usage(format!("'{}' for '--duration': {problem}", self.duration))
            .with_tip(tip))
    }

    /// The first of `servers` that listens, and those of `controls` that this kernel offers: one that it does not is
    /// left out if nobody asked for it.
    fn find(
        &self,
        servers: &[SocketAddr],
        controls: Vec<Control>,
        (key, stop): (&Key, &AtomicBool),
    ) -> Result<(SocketAddr, Vec<Control>), Failure> {
        let duration = self.turn(controls.len())?;
        let (mut found, mut offered) = (None, Vec::new());
        for control in controls {
            let candidates = found.as_ref().map_or(servers, std::slice::from_ref);
            let turn = |server| Turn {
                server,
                key,
                control: &control.name,
                duration,
                max_rate: self.max_rate,
            };
            match first_that_takes(candidates, |server| turn(server).check(stop)) {
                Ok(server) => {
                    found = Some(server);
                    offered.push(control);
                }
                Err(TurnError::Control { control: name, source }) if !control.is_wanted => {
                    note(&format!("{name} is left out: this kernel does not offer it ({source})"));
                }
                Err(error) => return Err(explained(error)),
            }
        }
        let nothing =
            || Failure::usage("there is nothing to try").with_tip("name a table, or use --with");
        Ok((found.ok_or_else(nothing)?, offered))
    }

    /// What all turns came to, as far as they were taken; and why no more of them were.
    fn take_turns(
        &self,
        host: &str,
        server: SocketAddr,
        controls: &[Control],
        (key, stop): (&Key, &AtomicBool),
    ) -> (Option<Tried>, Option<Failure>) {
        let duration = match self.turn(controls.len()) {
            Ok(duration) => duration,
            Err(failure) => return (None, Some(failure)),
        };
        let turn = |control| Turn { server, key, control, duration, max_rate: self.max_rate };
        let order = order(controls.len(), usize::from(self.rounds));
        let most = turn("").most() as f64 * order.len() as f64 * 1e-6;
        note(&format!(
            "sending to {host} for {} by TCP, {} at most ({most:.0} MB), in {} turns of {duration}",
            self.duration,
            self.max_rate,
            order.len(),
        ));
        let names = controls.iter().map(|control| Tally::new(&control.shown)).collect();
        let mut tried = Tried::new(host, duration, names);
        let progress = Progress::new(order.len() as u64);
        for which in order {
            let control = &controls[which];
            match turn(&control.name).run(stop) {
                _ if stop.load(Ordering::Relaxed) => break,
                Ok(measured) => tried.add(which, &measured),
                Err(error @ TurnError::Lost(_)) => {
                    beside_bar(|| note(&format!("a turn of {}: {error}", control.shown)));
                    tried.fail(which);
                }
                Err(error) => {
                    progress.finish();
                    return (tried.any(), Some(explained(error)));
                }
            }
            progress.advance(1);
        }
        progress.finish();
        let lost = || Failure::new("every connection was lost");
        let any = tried.any();
        let failure = any.is_none().then(lost);
        (any, failure)
    }
}

/// The first of `servers`, of which there is one at least, that `check` accepts, or the last one's error.
fn first_that_takes(
    servers: &[SocketAddr],
    check: impl Fn(SocketAddr) -> Result<(), TurnError>,
) -> Result<SocketAddr, TurnError> {
    let mut last = Err(TurnError::Stopped);
    for &server in servers {
        last = check(server).map(|()| server);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// `error` with a remedy.
fn explained(error: TurnError) -> Failure {
    let tip = match &error {
        TurnError::Control { source, .. } => match source.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "the system lets only root use it: add it to net.ipv4.tcp_allowed_congestion_control, \
                 or run this as root"
            }
            _ => "sysctl net.ipv4.tcp_available_congestion_control lists those that the kernel has",
        },
        TurnError::Connect { .. } => {
            "see that \"exm kernel try --listen\" runs there, and that firewalls let its TCP port through"
        }
        TurnError::Stranger(_) => {
            "see that \"exm kernel try --listen\" of the same version runs there with the same key"
        }
        TurnError::TooMuch { .. } => {
            "give a shorter time by --duration, more --rounds, or a lower --max-rate"
        }
        _ => return Failure::from(error),
    };
    Failure::from(error).with_tip(tip)
}
