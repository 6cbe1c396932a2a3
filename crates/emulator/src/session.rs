//! [`emulate`]: runs an emulated link for the duration of a closure.

use crate::drive::drive;
use crate::lane::Lane;
use crate::{Direction, DirectionStats, Observer, Path, PathSpec, Port, Snapshot, Timing};
use exm_link::ImpossibleSetting;
use exm_os::Clock;
use exm_units::{Bytes, Instant, Span};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The name of the forwarding thread.
const THREAD: &str = "exm-link";

/// The configuration of a link.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The path from the program under test to the outside.
    pub up: PathSpec,
    /// The opposite path.
    pub down: PathSpec,
    /// The random seed.
    pub seed: u64,
    /// The precision of timing.
    pub timing: Timing,
    /// The time at the start during which throughput and delays are not counted.
    pub warm_up: Span,
    /// The memory for packets of each direction; packets beyond it are lost, and counted.
    pub memory: Bytes,
}

impl Setup {
    /// A link of two paths, with seed 1.
    pub fn new(up: PathSpec, down: PathSpec) -> Setup {
        let memory = Bytes::new(1 << 30);
        let (timing, warm_up) = (Timing::default(), Span::ZERO);
        Setup { up, down, seed: 1, timing, warm_up, memory }
    }

    /// The path of `direction`.
    pub fn path(&self, direction: Direction) -> &PathSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

/// Why emulation fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulateError {
    /// The configuration of a queue is impossible.
    #[error("the link {}: {source}", direction.name())]
    Queue {
        /// The direction.
        direction: Direction,
        /// The reason.
        source: ImpossibleSetting,
    },
    /// The forwarding thread cannot be started.
    #[error("cannot start a thread for the link: {0}")]
    Thread(io::Error),
    /// A device failed.
    #[error("the devices of the link can no longer be read: {0}")]
    Device(io::Error),
}

/// A running emulated link.
#[derive(Debug)]
pub struct RunningLink<'a> {
    clock: Clock,
    snapshots: &'a [Mutex<Snapshot>; 2],
    stopped: &'a AtomicBool,
}

impl RunningLink<'_> {
    /// The clock of all its times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// A recent snapshot of one direction.
    pub fn snapshot(&self, direction: Direction) -> Snapshot {
        self.snapshots[direction as usize]
            .lock()
            .map_or_else(|state| *state.into_inner(), |state| *state)
    }

    /// Whether it has stopped because a device failed.
    pub fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The results of an emulation.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// When it ended.
    pub end: Instant,
    /// The statistics of both directions, up first.
    pub stats: [DirectionStats; 2],
    /// How many packets were still on the link, up first.
    pub inside: [u64; 2],
}

/// Ends the forwarding thread, also when the work beside it panics: the scope of both would wait for it forever.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Emulates a link of `setup` between two `ports`, up from the first, while `work` runs; `observers` receive what
/// happens to packets, up first. All times, also those of traces, count from the start of the emulation.
///
/// # Errors
/// The configuration is impossible, or a device failed.
///
/// # Panics
/// If `work` does, once the link has ended.
pub fn emulate<'a, T>(
    setup: &Setup,
    ports: [&'a Port; 2],
    observers: [Box<dyn Observer + 'a>; 2],
    work: impl FnOnce(&RunningLink) -> T,
) -> Result<(T, Emulated), EmulateError> {
    let path = |direction| {
        let built = Path::new(setup.path(direction), setup.seed, direction as usize);
        built.map_err(|source| EmulateError::Queue { direction, source })
    };
    let (up, down) = (path(Direction::Up)?, path(Direction::Down)?);
    let memory = usize::try_from(setup.memory.get()).unwrap_or(usize::MAX);
    let from = Instant::ZERO + setup.warm_up;
    let [watch_up, watch_down] = observers;
    let (snapshots, stop, stopped) =
        (<[Mutex<Snapshot>; 2]>::default(), AtomicBool::new(false), AtomicBool::new(false));
    let clock = Clock::start();
    let stats = || DirectionStats::new(from);
    let mut up = Lane::new((ports[0], ports[1]), up, clock, memory, (stats(), watch_up));
    let mut down = Lane::new((ports[1], ports[0]), down, clock, memory, (stats(), watch_down));
    let (done, driven) = thread::scope(|scope| {
        let named = thread::Builder::new().name(THREAD.to_owned());
        let driver = named.spawn_scoped(scope, || {
            let driven = drive([&mut up, &mut down], setup.timing, clock, &snapshots, &stop);
            stopped.store(true, Ordering::Relaxed);
            driven
        });
        let driver = driver.map_err(EmulateError::Thread)?;
        let stopping = StopOnDrop(&stop);
        let done = work(&RunningLink { clock, snapshots: &snapshots, stopped: &stopped });
        drop(stopping);
        Ok((done, driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    })?;
    driven.map_err(EmulateError::Device)?;
    let end = clock.now();
    let ((up, up_inside), (down, down_inside)) = (up.finish(), down.finish());
    Ok((done, Emulated { end, stats: [up, down], inside: [up_inside, down_inside] }))
}
