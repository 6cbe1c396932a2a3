//! [`Confined`]: a program in a network of its own, which does not outlive this process.

use crate::{Identity, Namespace, sys};
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getppid};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// How a program is confined.
///
/// It runs in a namespace of processes of its own, whose first process dies with the thread that
/// started it, and all others with that one: whatever the program started is gone with us.
#[derive(Clone, Copy, Debug)]
pub struct Confined<'a> {
    /// The network it sees, where that is not the caller's.
    pub network: Option<&'a Namespace>,
    /// What it reads in `/etc/resolv.conf`, where there is such a file.
    pub resolv_conf: Option<&'a str>,
    /// Who it is, where this process is root only in a user namespace of its own: as a rule, who
    /// this process was before.
    pub identity: Option<Identity>,
}

/// A confined program that runs. When this is dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl Confined<'_> {
    /// Runs `command`. It dies with the calling thread, which should therefore be one that lives as
    /// long as it is to.
    ///
    /// # Errors
    /// It cannot be executed, or may not be confined.
    pub fn run(&self, mut command: Command) -> io::Result<Running> {
        let exists = Path::new(RESOLV_CONF).exists();
        let inside = Inside {
            parent: nix::unistd::getpid(),
            network: self.network.map(Namespace::fd).transpose()?,
            resolv_conf: self.resolv_conf.filter(|_| exists).map(str::to_owned),
            identity: self.identity.map(Maps::new),
        };
        sys::before_exec(&mut command, move || inside.enter());
        Ok(Running { child: command.spawn()? })
    }
}

impl Running {
    /// Its number, of the process that waits for it: what signals are sent to.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child itself, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Asks it to end, by SIGTERM.
    ///
    /// # Errors
    /// It has ended.
    pub fn terminate(&self) -> io::Result<()> {
        let number = i32::try_from(self.id()).map_err(io::Error::other)?;
        Ok(kill(Pid::from_raw(number), Signal::SIGTERM)?)
    }

    /// How it ended, if it did. A program that a signal ended has 128 and its number for its code, as
    /// shells say it.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that is needed between `fork` and `exec`, where nothing may be allocated.
struct Inside {
    parent: Pid,
    network: Option<OwnedFd>,
    resolv_conf: Option<String>,
    identity: Option<Maps>,
}

/// The lines that say who a process is in a user namespace of its own.
struct Maps {
    users: String,
    groups: String,
}

impl Maps {
    /// It is `identity` inside and root outside.
    fn new(identity: Identity) -> Maps {
        Maps { users: format!("{} 0 1", identity.user), groups: format!("{} 0 1", identity.group) }
    }
}

impl Inside {
    /// In a new process, forks two more: the first waits, as the parent knows it; the second is the
    /// first of a namespace of processes, and keeps it alive; the third returns, to be the program.
    fn enter(&self) -> io::Result<()> {
        die_with_parent(|| getppid() == self.parent)?;
        if let Some(network) = &self.network {
            setns(network, CloneFlags::CLONE_NEWNET)?;
        }
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID)?;
        self.mount()?;
        // Its other end is closed when the waiting process is gone.
        let (alive, held) = nix::unistd::pipe()?;
        if let sys::Fork::Parent(first) = sys::fork_again()? {
            sys::end_with(first, Some(held));
        }
        drop(held);
        // The parent has no number in this namespace to know it by.
        die_with_parent(|| !is_closed(&alive))?;
        drop(alive);
        mount_proc();
        if let sys::Fork::Parent(program) = sys::fork_again()? {
            sys::end_with(program, None);
        }
        self.become_somebody()
    }

    fn mount(&self) -> io::Result<()> {
        const NONE: Option<&str> = None;
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE)?;
        if let Some(content) = &self.resolv_conf {
            // A file that is gone with the namespace: in a file system that is mounted where there
            // is a directory for sure, and is kept by the file alone.
            mount(Some("exm"), "/proc", Some("tmpfs"), MsFlags::empty(), NONE)?;
            let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_CLOEXEC;
            let file = open("/proc/resolv.conf", flags, Mode::from_bits_retain(0o644))?;
            File::from(file).write_all(content.as_bytes())?;
            mount(Some("/proc/resolv.conf"), RESOLV_CONF, NONE, MsFlags::MS_BIND, NONE)?;
            umount2("/proc", MntFlags::MNT_DETACH)?;
        }
        Ok(())
    }

    fn become_somebody(&self) -> io::Result<()> {
        let Some(maps) = &self.identity else { return Ok(()) };
        unshare(CloneFlags::CLONE_NEWUSER)?;
        for (file, text) in [
            ("/proc/self/setgroups", "deny"),
            ("/proc/self/gid_map", &maps.groups),
            ("/proc/self/uid_map", &maps.users),
        ] {
            File::options().write(true).open(file)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// This process dies when its parent does, which may have been before: then it is not alive.
fn die_with_parent(is_alive: impl FnOnce() -> bool) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if is_alive() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe)) }
}

/// Whether the other end of a pipe is closed.
fn is_closed(pipe: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(pipe.as_fd(), PollFlags::empty())];
    matches!(poll(&mut polled, PollTimeout::ZERO), Ok(count) if count > 0)
}

/// So that programs find themselves in `/proc`. Where that may not be, as in some containers, they
/// see the processes outside.
fn mount_proc() {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>);
}
