//! The loop that forwards packets in real time.

use crate::lane::{Lane, Read};
use crate::{Snapshot, Timing};
use exm_os::{Clock, IdleInhibitor, Waiter, set_realtime_priority};
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest sleep, after which it checks whether to stop.
const MAX_SLEEP: Span = Span::from_millis(20);
/// How long CPUs are kept awake after the last packet.
const LINGER: Span = Span::from_secs(1);
/// How often snapshots are published.
const SNAPSHOT_INTERVAL: Span = Span::from_millis(20);

/// Forwards the packets of two lanes until `stop` is set.
///
/// # Errors
/// A device is gone.
pub(crate) fn drive(
    mut lanes: [&mut Lane; 2],
    timing: Timing,
    clock: Clock,
    snapshots: &[Mutex<Snapshot>; 2],
    stop: &AtomicBool,
) -> io::Result<()> {
    if timing.urgent {
        set_realtime_priority();
    }
    let (punctual, sleeper) = (Waiter::new(clock, timing.spin), Waiter::new(clock, Span::ZERO));
    let files = lanes.each_ref().map(|lane| lane.port().as_fd());
    let (mut telling, mut round) = (Instant::ZERO, Instant::ZERO);
    let mut awake = IdlePolicy { allowed: timing.urgent, held: None, until: Instant::ZERO };
    let mut ready = [true; 2];
    while !stop.load(Ordering::Relaxed) {
        let mut read = [Read::Nothing; 2];
        for ((lane, ready), read) in lanes.iter_mut().zip(ready).zip(&mut read) {
            lane.release();
            if ready {
                *read = lane.turn()?;
                lane.release();
            }
        }
        let now = clock.now();
        if now >= telling {
            telling = now + SNAPSHOT_INTERVAL;
            publish(&lanes, snapshots, now);
        }
        // A packet that is due soon after the last one is written together with those due after it; then
        // precise waiting would only cost CPU time.
        let nexts = lanes.each_ref().map(|lane| lane.next(timing.gather));
        let gathers = nexts.iter().any(|(due, earliest)| due < earliest);
        let wake = nexts.map(|(due, earliest)| due.max(earliest)).into_iter().min();
        let (wake, rest) = (wake.unwrap_or(Instant::MAX), now + MAX_SLEEP);
        let waiter = if gathers || rest < wake { &sleeper } else { &punctual };
        awake.update(now, wake <= rest);
        let wake = wake.min(rest);
        // If frames arrive this fast, several are read at once.
        let fast = now < round + timing.gather && read.contains(&Read::All);
        if read.contains(&Read::Some) {
            ready = [true; 2];
        } else if fast {
            sleeper.wait([], (round + timing.gather).min(wake))?;
            ready = [true; 2];
        } else {
            ready = waiter.wait(files, wake)?;
        }
        round = clock.now();
    }
    Ok(())
}

/// Keeps CPUs out of idle states while packets are expected: waking an idle CPU takes long, above all in virtual
/// machines.
struct IdlePolicy {
    allowed: bool,
    held: Option<IdleInhibitor>,
    until: Instant,
}

impl IdlePolicy {
    /// Whether a packet is expected at `now`.
    fn update(&mut self, now: Instant, is_needed: bool) {
        if is_needed {
            self.until = now + LINGER;
            if self.allowed && self.held.is_none() {
                self.held = IdleInhibitor::acquire().ok();
                // Without it packets are a little later.
                self.allowed = self.held.is_some();
            }
        } else if now >= self.until {
            self.held = None;
        }
    }
}

/// Publishes snapshots of the lanes.
fn publish(lanes: &[&mut Lane; 2], snapshots: &[Mutex<Snapshot>; 2], now: Instant) {
    for (lane, snapshot) in lanes.iter().zip(snapshots) {
        // If a reader holds the lock, it gets the next snapshot.
        if let Ok(mut snapshot) = snapshot.try_lock() {
            *snapshot = lane.snapshot(now);
        }
    }
}
