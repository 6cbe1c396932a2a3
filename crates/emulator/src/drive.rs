//! Moving packets in real time.

use crate::lane::{Lane, Read};
use crate::{Snapshot, Timing};
use exm_os::{AwakeProcessors, Clock, Waiter, set_realtime_priority};
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest it sleeps, so that it notices being told to stop.
const LONGEST_SLEEP: Span = Span::from_millis(20);
/// For how long processors stay awake after the last packet that was waited for.
const LINGER: Span = Span::from_secs(1);
/// How often others are told how it is doing.
const TELLING: Span = Span::from_millis(20);

/// Moves the packets of two lanes until told to `stop`.
///
/// # Errors
/// A device is gone.
pub(crate) fn drive(
    mut lanes: [&mut Lane; 2],
    timing: Timing,
    clock: Clock,
    told: &[Mutex<Snapshot>; 2],
    stop: &AtomicBool,
) -> io::Result<()> {
    if timing.urgent {
        set_realtime_priority();
    }
    let (punctual, sleeper) = (Waiter::new(clock, timing.spin), Waiter::new(clock, Span::ZERO));
    let files = lanes.each_ref().map(|lane| lane.port().as_fd());
    let (mut telling, mut round) = (Instant::ZERO, Instant::ZERO);
    let mut awake = Wakefulness { allowed: timing.urgent, held: None, until: Instant::ZERO };
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
            telling = now + TELLING;
            tell(&lanes, told, now);
        }
        // What is due soon after the last may as well be written with what is due after it; where that
        // is so, being punctual would only take time that is needed.
        let nexts = lanes.each_ref().map(|lane| lane.next(timing.gather));
        let gathers = nexts.iter().any(|(due, earliest)| due < earliest);
        let wake = nexts.map(|(due, earliest)| due.max(earliest)).into_iter().min();
        let (wake, rest) = (wake.unwrap_or(Instant::MAX), now + LONGEST_SLEEP);
        let waiter = if gathers || rest < wake { &sleeper } else { &punctual };
        awake.see_to(now, wake <= rest);
        let wake = wake.min(rest);
        // And where frames come so fast, several are read at once.
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

/// Processors that are kept awake while packets are waited for: one that has gone to sleep is woken
/// late, and that most of all where it is virtual.
struct Wakefulness {
    allowed: bool,
    held: Option<AwakeProcessors>,
    until: Instant,
}

impl Wakefulness {
    /// At `now` a packet is waited for, or none is.
    fn see_to(&mut self, now: Instant, is_needed: bool) {
        if is_needed {
            self.until = now + LINGER;
            if self.allowed && self.held.is_none() {
                self.held = AwakeProcessors::hold().ok();
                // Where it cannot be had, packets are a little later.
                self.allowed = self.held.is_some();
            }
        } else if now >= self.until {
            self.held = None;
        }
    }
}

/// Tells others how the lanes are doing.
fn tell(lanes: &[&mut Lane; 2], told: &[Mutex<Snapshot>; 2], now: Instant) {
    for (lane, told) in lanes.iter().zip(told) {
        // Who reads it is slow at worst, and then is told the next time.
        if let Ok(mut told) = told.try_lock() {
            *told = lane.snapshot(now);
        }
    }
}
