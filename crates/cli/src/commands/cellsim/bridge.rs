//! The link as a bridge between two network devices.

use super::Args;
use super::meters::Meters;
use crate::interrupt;
use crate::shell::Failure;
use exm_emulator::{Port, RunningLink, Setup, emulate};
use exm_os::{Netlink, PacketSocket, Signals, Waiter};
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// The receive buffer of a device: a tenth of a second at 2 Gbit/s.
const WAITING: usize = 32 << 20;
/// How often the display is updated.
const LOOK: Span = Span::from_millis(50);

/// Bridges two `devices` by the link of `setup` until interrupted.
pub(super) fn run(
    args: &Args,
    devices: &[String],
    setup: &Setup,
    described: [String; 2],
) -> Result<ExitCode, Failure> {
    let [first, second] = devices else {
        return Err(Failure::usage("a bridge has two devices: give --bridge eth1 eth2"));
    };
    if first == second {
        let problem = "a bridge has two different devices";
        return Err(Failure::invalid_value(second, "--bridge", problem));
    }
    let ports = [open(first)?, open(second)?];
    let logs = args.logs.begin(setup, described)?;
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut meters = Meters::new(&args.show, setup)?;
    let work = |link: &RunningLink| wait(args, link, &signals, &mut meters);
    let (waited, emulated) = emulate(setup, [&ports[0], &ports[1]], logs.observers(), work)?;
    drop(meters);
    let [up, down] = ports.map(|port| port.take_missed());
    let missed = [up?, down?];
    logs.finish(&emulated, missed)?;
    waited?;
    args.report(setup, &emulated, missed)?;
    Ok(ExitCode::SUCCESS)
}

fn open(device: &str) -> Result<Port, Failure> {
    let netlink = Netlink::open()?;
    let index = netlink
        .index(device)
        .map_err(|error| Failure::invalid_value(device, "--bridge", &error.to_string()))?;
    if !netlink.link(index)?.is_up {
        let failure = Failure::new(format!("the network device {device} is down"));
        return Err(failure.with_tip(format!("set it up first: ip link set {device} up")));
    }
    let opened = PacketSocket::open(index, WAITING).map_err(|error| {
        let failure = Failure::new(format!("cannot capture the packets of {device}: {error}"));
        if error.kind() == io::ErrorKind::PermissionDenied {
            failure.with_tip("run it as root, or give it the capability: setcap cap_net_raw=ep")
        } else {
            failure
        }
    });
    Ok(Port::Device(opened?))
}

/// Waits until it is interrupted.
fn wait(
    args: &Args,
    link: &RunningLink,
    signals: &Signals,
    meters: &mut Meters,
) -> Result<(), Failure> {
    let clock = link.clock();
    let waiter = Waiter::new(clock, Span::ZERO);
    let deadline = args.duration.map_or(Instant::MAX, |duration| clock.now() + duration);
    while signals.take().is_none() && !meters.is_quitted() && !link.has_stopped() {
        let now = clock.now();
        if now >= deadline {
            break;
        }
        meters.show(link)?;
        waiter.wait([signals.as_fd()], (now + LOOK).min(deadline))?;
    }
    Ok(())
}
