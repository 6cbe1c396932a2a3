//! BPF objects of the kernel: types ([`Btf`]), maps ([`BpfMap`]), programs ([`BpfProgram`]) and links ([`BpfLink`]).
//!
//! Each is a file descriptor: when the last one for it is closed, the kernel removes what it stands for, unless
//! something else uses it, such as a pin in a BPF file system.

use crate::sys::bpf as sys;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Type information (BTF) that was given to the kernel.
#[derive(Debug)]
pub struct Btf(OwnedFd);

impl Btf {
    /// Gives `data` to the kernel.
    ///
    /// # Errors
    /// The system's error: missing rights, or data that the kernel does not accept.
    pub fn load(data: &[u8]) -> io::Result<Btf> {
        sys::load_btf(data).map(Btf)
    }
}

/// What a map is made from; the numbers are those of `linux/bpf.h`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BpfMapSpec<'a> {
    /// The kind, such as 2 for `BPF_MAP_TYPE_ARRAY`.
    pub kind: u32,
    /// The size of a key, bytes.
    pub key_size: u32,
    /// The size of a value, bytes.
    pub value_size: u32,
    /// The most entries.
    pub max_entries: u32,
    /// Flags, such as `BPF_F_LINK`.
    pub flags: u32,
    /// A name of up to 15 bytes, for people.
    pub name: &'a str,
    /// For a map of maps: one like those that it will hold.
    pub inner: Option<&'a BpfMap>,
    /// For a map that holds a structure of the kernel: the program's types, and the number of the structure in
    /// the kernel's.
    pub kernel_value: Option<(&'a Btf, u32)>,
}

/// A map.
#[derive(Debug)]
pub struct BpfMap {
    fd: OwnedFd,
    info: sys::MapInfo,
}

impl BpfMap {
    /// Creates a map.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(spec: &BpfMapSpec<'_>) -> io::Result<BpfMap> {
        let inner = spec.inner.map(AsFd::as_fd);
        let kernel_value = spec.kernel_value.map(|(btf, id)| (btf.0.as_fd(), id));
        BpfMap::of(sys::create_map(spec, inner, kernel_value)?)
    }

    /// The map of number `id`.
    ///
    /// # Errors
    /// The system's error; `ENOENT` if there is none.
    pub fn with_id(id: u32) -> io::Result<BpfMap> {
        BpfMap::of(sys::with_id(sys::Kind::Map, id)?)
    }

    fn of(fd: OwnedFd) -> io::Result<BpfMap> {
        let info = sys::map_info(fd.as_fd())?;
        Ok(BpfMap { fd, info })
    }

    /// The kernel's number of the map.
    pub fn id(&self) -> u32 {
        self.info.id
    }

    /// The kind, as in [`BpfMapSpec`].
    pub fn kind(&self) -> u32 {
        self.info.kind
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.info.name()
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// The system's error; `ENOENT` if there is none, `EINVAL` for a key of another size.
    pub fn get(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        self.check(key, self.info.key_size)?;
        let mut value = vec![0; self.info.value_size as usize];
        sys::map_element(self.as_fd(), sys::Element::Get(key, &mut value))?;
        Ok(value)
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// The system's error; `EINVAL` for a key or a value of another size.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.check(key, self.info.key_size)?;
        self.check(value, self.info.value_size)?;
        sys::map_element(self.as_fd(), sys::Element::Set(key, value))
    }

    /// Puts `inner` into this map of maps.
    ///
    /// # Errors
    /// As [`BpfMap::set`].
    pub fn set_map(&self, key: &[u8], inner: &BpfMap) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        self.set(key, &inner.fd.as_raw_fd().to_ne_bytes())
    }

    fn check(&self, bytes: &[u8], size: u32) -> io::Result<()> {
        let fits = bytes.len() == size as usize;
        if fits { Ok(()) } else { Err(io::Error::from(io::ErrorKind::InvalidInput)) }
    }
}

impl AsFd for BpfMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a program is made from; the numbers are those of `linux/bpf.h`.
#[derive(Clone, Copy, Debug)]
pub struct BpfProgramSpec<'a> {
    /// The kind, such as 27 for `BPF_PROG_TYPE_STRUCT_OPS`.
    pub kind: u32,
    /// What it will be attached to: for an operation of a structure its index.
    pub attach: u32,
    /// The type of the kernel that it will be attached to.
    pub attach_btf_id: u32,
    /// Instructions, eight bytes each.
    pub instructions: &'a [u8],
    /// Its licence.
    pub licence: &'a std::ffi::CStr,
    /// A name of up to 15 bytes, for people.
    pub name: &'a str,
    /// The types of the program.
    pub btf: &'a Btf,
    /// The functions: instruction and type, eight bytes each.
    pub functions: &'a [u8],
    /// Where the kernel has to adapt it to its own structures, sixteen bytes each.
    pub relocations: &'a [u8],
    /// Whether it may wait, as a program must that is run by [`BpfProgram::run`].
    pub sleepable: bool,
}

/// A program.
#[derive(Debug)]
pub struct BpfProgram(OwnedFd);

impl BpfProgram {
    /// Gives a program to the kernel, which verifies it.
    ///
    /// # Errors
    /// The system's error; where the kernel refuses the program itself, with the last lines of its reasons.
    pub fn load(spec: &BpfProgramSpec<'_>) -> io::Result<BpfProgram> {
        sys::load_program(spec, spec.btf.0.as_fd()).map(BpfProgram)
    }

    /// The program of number `id`.
    ///
    /// # Errors
    /// The system's error; `ENOENT` if there is none.
    pub fn with_id(id: u32) -> io::Result<BpfProgram> {
        sys::with_id(sys::Kind::Program, id).map(BpfProgram)
    }

    /// The numbers of the maps that it uses.
    ///
    /// # Errors
    /// The system's error.
    pub fn map_ids(&self) -> io::Result<Vec<u32>> {
        sys::program_map_ids(self.as_fd())
    }

    /// How often it ran, and for how many nanoseconds in all, while the sysctl `kernel.bpf_stats_enabled` was set.
    ///
    /// # Errors
    /// The system's error.
    pub fn run_time(&self) -> io::Result<(u64, u64)> {
        sys::program_run_time(self.as_fd())
    }

    /// Runs a program of the kind `BPF_PROG_TYPE_SYSCALL`, which reads and writes `context`, and returns what it
    /// returns.
    ///
    /// # Errors
    /// The system's error.
    pub fn run(&self, context: &mut [u8]) -> io::Result<u32> {
        sys::run_program(self.as_fd(), context)
    }

    /// Runs an iterator, and reads what it writes.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_iterator(&self) -> io::Result<Vec<u8>> {
        let link = sys::create_link(self.as_fd(), sys::TRACE_ITER)?;
        let mut bytes = Vec::new();
        std::fs::File::from(sys::create_iterator(link.as_fd())?).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl AsFd for BpfProgram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A link: while it lives, what it attached is in use.
#[derive(Debug)]
pub struct BpfLink {
    fd: OwnedFd,
    info: sys::LinkInfo,
}

impl BpfLink {
    /// Puts the operations in `map`, of the kind `BPF_MAP_TYPE_STRUCT_OPS`, in use.
    ///
    /// # Errors
    /// The system's error; `EEXIST` if operations of that name are in use.
    pub fn attach(map: &BpfMap) -> io::Result<BpfLink> {
        BpfLink::of(sys::create_link(map.as_fd(), sys::STRUCT_OPS)?)
    }

    /// The links to operations that are in use.
    ///
    /// # Errors
    /// The system's error.
    pub fn all() -> io::Result<Vec<BpfLink>> {
        let mut links = Vec::new();
        for id in sys::link_ids()? {
            match sys::with_id(sys::Kind::Link, id).and_then(BpfLink::of) {
                Ok(link) if link.info.is_struct_ops() => links.push(link),
                Ok(_) => {}
                // It has gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(links)
    }

    fn of(fd: OwnedFd) -> io::Result<BpfLink> {
        let info = sys::link_info(fd.as_fd())?;
        Ok(BpfLink { fd, info })
    }

    /// The kernel's number of the link.
    pub fn id(&self) -> u32 {
        self.info.id
    }

    /// The number of the map with the operations; zero once it is detached.
    pub fn map_id(&self) -> u32 {
        self.info.map_id
    }

    /// Whether the operations are still in use: another process may have detached them.
    pub fn is_attached(&self) -> bool {
        sys::link_info(self.fd.as_fd()).is_ok_and(|info| info.map_id != 0)
    }

    /// Takes the operations out of use, whoever holds the link.
    ///
    /// # Errors
    /// The system's error; `EOPNOTSUPP` before Linux 6.11.
    pub fn detach(&self) -> io::Result<()> {
        sys::detach_link(self.fd.as_fd())
    }

    /// Keeps the link under `path` in a BPF file system, until that file is removed.
    ///
    /// # Errors
    /// The system's error; `EEXIST` if the file exists.
    pub fn pin(&self, path: &Path) -> io::Result<()> {
        sys::pin(self.fd.as_fd(), path)
    }

    /// The number of the link that is pinned at `path`.
    ///
    /// # Errors
    /// The system's error; `EINVAL` if something else is pinned there.
    pub fn pinned_id(path: &Path) -> io::Result<u32> {
        Ok(sys::link_info(sys::open_pin(path)?.as_fd())?.id)
    }
}
