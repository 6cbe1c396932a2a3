//! [`Confined`]: runs a program in a network namespace, bound to the life of this process.

use crate::namespace::enter_network;
use crate::{Identity, Namespace, sys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};
use rustix::thread::UnshareFlags;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// How a program is confined.
///
/// It runs in a PID namespace of its own. The first process in that dies with the thread that started
/// it, and all others die with the first: nothing that the program starts outlives this process.
#[derive(Clone, Copy, Debug)]
pub struct Confined<'a> {
    /// Its network namespace, if not the caller's.
    pub network: Option<&'a Namespace>,
    /// The content of its `/etc/resolv.conf`, if that file exists.
    pub resolv_conf: Option<&'a str>,
    /// Its user and group, if this process is root only in a user namespace of its own; usually those
    /// that this process had before.
    pub identity: Option<Identity>,
}

/// A running confined program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl Confined<'_> {
    /// Runs `command`. It dies with the calling thread, which must therefore live as long as the program
    /// should.
    ///
    /// # Errors
    /// The program cannot be executed, or namespaces cannot be created.
    pub fn run(&self, mut command: Command) -> io::Result<Running> {
        let exists = Path::new(RESOLV_CONF).exists();
        let inside = Inside {
            parent: getpid(),
            network: self.network.map(Namespace::fd).transpose()?,
            resolv_conf: self.resolv_conf.filter(|_| exists).map(str::to_owned),
            identity: self.identity.map(IdMaps::new),
        };
        sys::before_exec(&mut command, move || inside.enter());
        Ok(Running { child: command.spawn()? })
    }
}

impl Running {
    /// The PID of the process that waits for the program, to which signals are sent.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child process, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends SIGTERM to it.
    ///
    /// # Errors
    /// It has ended.
    pub fn terminate(&self) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::TERM)?)
    }

    /// Its exit status, if it has ended. If a signal ended it, the exit code is 128 plus the number of the
    /// signal, as in shells.
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

/// What is needed between `fork` and `exec`, where nothing may be allocated.
struct Inside {
    parent: Pid,
    network: Option<OwnedFd>,
    resolv_conf: Option<String>,
    identity: Option<IdMaps>,
}

/// The user and group ID maps of a user namespace (user_namespaces(7)).
struct IdMaps {
    users: String,
    groups: String,
}

impl IdMaps {
    /// Maps `identity` inside to root outside.
    fn new(identity: Identity) -> IdMaps {
        IdMaps {
            users: format!("{} 0 1", identity.user),
            groups: format!("{} 0 1", identity.group),
        }
    }
}

impl Inside {
    /// Called in the new process, forks two more: the first waits, as its PID is the one that the parent
    /// knows; the second is the init process of the PID namespace; the third returns and becomes the
    /// program.
    fn enter(&self) -> io::Result<()> {
        die_with_parent(|| getppid() == Some(self.parent))?;
        if let Some(network) = &self.network {
            enter_network(network.as_fd())?;
        }
        sys::unshare(UnshareFlags::NEWNS | UnshareFlags::NEWPID)?;
        self.mount()?;
        // Its other end is closed when the waiting process is gone.
        let (alive, held) = rustix::pipe::pipe()?;
        if let sys::Fork::Parent(first) = sys::fork_again()? {
            sys::exit_with(first, Some(held));
        }
        drop(held);
        // The parent has no PID in this namespace by which to recognise it.
        die_with_parent(|| !is_closed(&alive))?;
        drop(alive);
        mount_proc();
        if let sys::Fork::Parent(program) = sys::fork_again()? {
            sys::exit_with(program, None);
        }
        self.map_identity()
    }

    fn mount(&self) -> io::Result<()> {
        let slave = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
        mount_change(c"/", slave)?;
        if let Some(content) = &self.resolv_conf {
            // The file disappears with the namespace: it is on a tmpfs that is mounted over a directory
            // that always exists, and that only the bind mount keeps alive.
            mount(c"exm", c"/proc", c"tmpfs", MountFlags::empty(), None)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
            let file = open(c"/proc/resolv.conf", flags, Mode::from_raw_mode(0o644))?;
            File::from(file).write_all(content.as_bytes())?;
            mount_bind(c"/proc/resolv.conf", RESOLV_CONF)?;
            unmount(c"/proc", UnmountFlags::DETACH)?;
        }
        Ok(())
    }

    /// Becomes the user that this process was before it created its user namespace.
    fn map_identity(&self) -> io::Result<()> {
        let Some(maps) = &self.identity else { return Ok(()) };
        sys::unshare(UnshareFlags::NEWUSER)?;
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

/// Has the kernel kill this process when its parent dies; fails if the parent is dead already.
fn die_with_parent(is_alive: impl FnOnce() -> bool) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if is_alive() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe)) }
}

/// Whether the other end of a pipe is closed.
fn is_closed(pipe: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::empty())];
    matches!(poll(&mut polled, Some(&Timespec::default())), Ok(count) if count > 0)
}

/// Mounts `/proc` of the new PID namespace. Where that is not allowed, as in some containers, programs see
/// the processes outside.
fn mount_proc() {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount(c"proc", c"/proc", c"proc", flags, None);
}
