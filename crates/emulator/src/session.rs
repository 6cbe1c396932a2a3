//! [`emulate`]: an emulated link for as long as something is done with it.

use crate::drive::drive;
use crate::lane::Lane;
use crate::{Account, Direction, Path, PathSpec, Port, Snapshot, Timing, Watch};
use exm_link::ImpossibleSetting;
use exm_os::Clock;
use exm_units::{Bytes, Instant, Span};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What the thread that moves packets is called, in lists of threads.
const THREAD: &str = "exm-link";

/// What a link is like.
#[derive(Clone, Debug)]
pub struct Setup {
    /// From the program under test to the world.
    pub up: PathSpec,
    /// The other way.
    pub down: PathSpec,
    /// What its chances are drawn from.
    pub seed: u64,
    /// How precise it is.
    pub timing: Timing,
    /// How long from the start throughput and delays are not counted.
    pub warm_up: Span,
    /// How much it may hold each way; what comes beyond is lost, and counted.
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

/// Why a link cannot be emulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulateError {
    /// A queue that cannot be.
    #[error("the link {}: {source}", direction.name())]
    Queue {
        /// Of which direction.
        direction: Direction,
        /// Why.
        source: ImpossibleSetting,
    },
    /// The system starts no thread for it.
    #[error("no thread can be started for the link: {0}")]
    Thread(io::Error),
    /// A device failed.
    #[error("the link's devices cannot be read any more: {0}")]
    Device(io::Error),
}

/// A link that is being emulated.
#[derive(Debug)]
pub struct Live<'a> {
    clock: Clock,
    told: &'a [Mutex<Snapshot>; 2],
    stopped: &'a AtomicBool,
}

impl Live<'_> {
    /// The clock of all its times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// How a direction was doing a moment ago.
    pub fn snapshot(&self, direction: Direction) -> Snapshot {
        self.told[direction as usize].lock().map_or_else(|told| *told.into_inner(), |told| *told)
    }

    /// Whether it has stopped by itself, because a device failed.
    pub fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// What a link did.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// When it was stopped.
    pub end: Instant,
    /// What each direction carried, lost and delayed, up first.
    pub accounts: [Account; 2],
    /// How many packets were in it still, up first.
    pub inside: [u64; 2],
}

/// Emulates a link of `setup` between two `ports`, up from the first, for as long as `work` takes;
/// `watches` are told what becomes of packets, up first. All times count from the start of it, and
/// with them those of traces.
///
/// # Errors
/// There can be no such link, or a device failed.
pub fn emulate<'a, T>(
    setup: &Setup,
    ports: [&'a Port; 2],
    watches: [Box<dyn Watch + 'a>; 2],
    work: impl FnOnce(&Live) -> T,
) -> Result<(T, Emulated), EmulateError> {
    let path = |direction| {
        let built = Path::new(setup.path(direction), setup.seed, direction as usize);
        built.map_err(|source| EmulateError::Queue { direction, source })
    };
    let (up, down) = (path(Direction::Up)?, path(Direction::Down)?);
    let memory = usize::try_from(setup.memory.get()).unwrap_or(usize::MAX);
    let from = Instant::ZERO + setup.warm_up;
    let [watch_up, watch_down] = watches;
    let (told, stop, stopped) =
        (<[Mutex<Snapshot>; 2]>::default(), AtomicBool::new(false), AtomicBool::new(false));
    let clock = Clock::start();
    let account = || Account::new(from);
    let mut up = Lane::new((ports[0], ports[1]), up, clock, memory, (account(), watch_up));
    let mut down = Lane::new((ports[1], ports[0]), down, clock, memory, (account(), watch_down));
    let (done, driven) = thread::scope(|scope| {
        let named = thread::Builder::new().name(THREAD.to_owned());
        let driver = named.spawn_scoped(scope, || {
            let driven = drive([&mut up, &mut down], setup.timing, clock, &told, &stop);
            stopped.store(true, Ordering::Relaxed);
            driven
        });
        let driver = driver.map_err(EmulateError::Thread)?;
        let done = work(&Live { clock, told: &told, stopped: &stopped });
        stop.store(true, Ordering::Relaxed);
        Ok((done, driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    })?;
    driven.map_err(EmulateError::Device)?;
    let end = clock.now();
    let ((up, up_inside), (down, down_inside)) = (up.finish(), down.finish());
    Ok((done, Emulated { end, accounts: [up, down], inside: [up_inside, down_inside] }))
}
