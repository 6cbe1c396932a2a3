//! Runs a program inside the link.

use super::Args;
use super::inside::Inside;
use super::meters::Meters;
use crate::interrupt;
use crate::shell::{self, Failure, quoted};
use exm_emulator::{Ends, InternetAccess, OutsideNetwork, RunningLink, Setup, Uplink, emulate};
use exm_os::{Confined, Running, Signal, Signals, Waiter};
use exm_units::{Instant, Span};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

/// How often the program is checked.
const LOOK: Span = Span::from_millis(10);
/// How long a program may take to end after it was asked to.
const GRACE: Span = Span::from_secs(2);

/// Runs the program of `args` inside the link of `setup`.
pub(super) fn run(args: &Args, setup: &Setup, described: [String; 2]) -> Result<ExitCode, Failure> {
    let world = args.outside()?;
    let ends = Ends::new(world)?;
    let outside = Uplink::connect(&ends, world)?;
    print_outside_network(args, world, &outside);
    let logs = args.logs.begin(setup, described)?;
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut meters = Meters::new(&args.show, setup)?;
    let work = |link: &RunningLink| attend(args, (&ends, &outside), link, &signals, &mut meters);
    let done = emulate(setup, ends.ports(), logs.observers(), work);
    meters.finish()?;
    let (ended, emulated) = done?;
    let missed = ends.missed()?;
    logs.finish(&emulated, missed)?;
    let code = ended?;
    args.report(setup, &emulated, missed)?;
    Ok(code)
}

/// Reports what the program cannot reach.
fn print_outside_network(args: &Args, world: OutsideNetwork, outside: &Uplink) {
    if let (InternetAccess::Unavailable(why), false) = (&outside.reach, args.show.quiet) {
        let what = match world {
            OutsideNetwork::Host => "only this machine is reachable from inside the link",
            OutsideNetwork::Namespace if args.peer.is_some() => {
                "only the --peer is reachable from inside the link"
            }
            OutsideNetwork::Namespace => "only the outside end is reachable from inside the link",
        };
        shell::note(&format!("{what}: {why}"));
    }
}

/// Runs the program and its peer until it ends or is stopped. Returns the exit code.
fn attend(
    args: &Args,
    (ends, outside): (&Ends, &Uplink),
    link: &RunningLink,
    signals: &Signals,
    meters: &mut Meters,
) -> Result<ExitCode, Failure> {
    let mut peer = match &args.peer {
        Some(peer) => Some(start_peer(args, ends, peer, meters)?),
        None => None,
    };
    if let Some(peer) = &mut peer {
        meters.follow(peer);
    }
    let mut running = start(args, ends, outside, meters)?;
    meters.follow(&mut running);
    let clock = link.clock();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut deadline = args.duration.map_or(Instant::MAX, |duration| clock.now() + duration);
    let mut asked = false;
    let mut is_over = false;
    let mut interrupted: Option<Instant> = None;
    loop {
        if let Some(status) = running.ended()? {
            return Ok(if is_over { ExitCode::SUCCESS } else { code(status) });
        }
        if link.has_stopped() {
            return Ok(ExitCode::FAILURE);
        }
        let now = clock.now();
        let to_end = match signals.take() {
            // The terminal has sent the signal to the program as well, whose end ends this; a second one ends
            // both at once.
            Some(Signal::Interrupt) => {
                let since = now.saturating_since(*interrupted.get_or_insert(now));
                Duration::from_nanos(since.as_nanos()) > interrupt::SAME
            }
            Some(Signal::Terminate | Signal::HangUp) => true,
            None => false,
        };
        if asked && now >= deadline {
            // It is killed when it is dropped.
            return Ok(if is_over { ExitCode::SUCCESS } else { ExitCode::from(128 + 9) });
        }
        if !asked && (to_end || meters.is_quitted() || now >= deadline) {
            asked = true;
            // Reaching the --duration is a success.
            is_over = !to_end && !meters.is_quitted();
            deadline = now + GRACE;
            running.terminate()?;
        }
        meters.show(link)?;
        waiter.wait([signals.as_fd()], now + LOOK)?;
    }
}

/// Starts the program.
fn start(args: &Args, ends: &Ends, outside: &Uplink, meters: &Meters) -> Result<Running, Failure> {
    let inside = Inside::new(&args.command);
    if inside.is_interactive && !args.show.quiet {
        shell::note("this shell is inside the link: leave it with exit");
    }
    let mut command = inside.command();
    command.env("EXM_PEER", ends.outside.ip.to_string());
    command.env("EXM_PEER6", ends.outside.ip6.to_string());
    command.env("EXM_ADDRESS", ends.inside.ip.to_string());
    if let Some(machine) = outside.machine {
        command.env("EXM_HOST", machine.to_string());
    }
    meters.redirect(&mut command);
    let confined = Confined {
        network: Some(&ends.inside.namespace),
        resolv_conf: outside.resolv_conf.as_deref(),
        identity: args.identity(),
    };
    confined.run(command).map_err(|error| cannot_run(&inside.words, &error))
}

/// Starts the peer at the other end.
fn start_peer(args: &Args, ends: &Ends, peer: &str, meters: &Meters) -> Result<Running, Failure> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", peer])
        .env_remove(crate::sessions::KEY)
        .env("EXM_PEER", ends.inside.ip.to_string());
    command.env("EXM_ADDRESS", ends.outside.ip.to_string());
    command.stdin(std::process::Stdio::null());
    if args.show.quiet || args.show.json {
        command.stdout(std::process::Stdio::null());
    } else {
        // Beside the output of COMMAND.
        command.stdout(io::stderr());
    }
    meters.redirect(&mut command);
    let network = Some(&ends.outside.namespace);
    let confined = Confined { network, resolv_conf: None, identity: args.identity() };
    confined.run(command).map_err(|error| cannot_run(&[peer.into()], &error))
}

fn cannot_run(command: &[OsString], error: &io::Error) -> Failure {
    let words: Vec<_> = command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    let failure = Failure::new(format!("cannot run {}: {error}", words.join(" ")));
    // The exit codes of shells.
    let code = match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    };
    failure.with_code(code)
}

fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
