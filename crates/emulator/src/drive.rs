//! Moving packets in real time.

use crate::lane::{Lane, Read};
use crate::{Snapshot, Timing};
use exm_os::{Clock, Waiter, be_first_in_line};
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest it sleeps, so that it notices being told to stop.
const LONGEST_SLEEP: Span = Span::from_millis(20);
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
        be_first_in_line();
    }
    let waiter = Waiter::new(clock, timing.spin);
    let files = lanes.each_ref().map(|lane| lane.port().as_fd());
    let (mut telling, mut round) = (Instant::ZERO, Instant::ZERO);
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
        let next = lanes.iter().map(|lane| lane.next()).min().unwrap_or(Instant::MAX);
        // What is due so soon may as well be written with what is due after it.
        let wake = next.max(now + timing.gather).min(now + LONGEST_SLEEP);
        // And where frames come so fast, several are read at once.
        let fast = now < round + timing.gather && read.contains(&Read::All);
        if read.contains(&Read::Some) {
            ready = [true; 2];
        } else if fast {
            waiter.wait([], (round + timing.gather).min(wake))?;
            ready = [true; 2];
        } else {
            ready = waiter.wait(files, wake)?;
        }
        round = clock.now();
    }
    Ok(())
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
