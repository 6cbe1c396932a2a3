//! The system call bpf(2).
//!
//! Each command reads a structure of its own, whose layout `linux/bpf.h` fixes: here, a `repr(C)` structure
//! without padding, of at least eight bytes. Pointers in it are to slices that outlive the call, with their lengths.

use crate::bpf::{BpfMapSpec, BpfProgramSpec};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is attached to operations of a structure of the kernel (`BPF_STRUCT_OPS`), and to an iterator
/// (`BPF_TRACE_ITER`).
pub(crate) const STRUCT_OPS: u32 = 44;
pub(crate) const TRACE_ITER: u32 = 28;
/// The kind of a link to operations (`BPF_LINK_TYPE_STRUCT_OPS`).
const LINK_STRUCT_OPS: u32 = 9;

/// A flag of a program (`BPF_F_SLEEPABLE`).
const SLEEPABLE: u32 = 1 << 4;

/// Commands (`enum bpf_cmd`).
mod command {
    pub(super) const MAP_CREATE: u32 = 0;
    pub(super) const MAP_LOOKUP: u32 = 1;
    pub(super) const MAP_UPDATE: u32 = 2;
    pub(super) const PROG_LOAD: u32 = 5;
    pub(super) const OBJ_PIN: u32 = 6;
    pub(super) const OBJ_GET: u32 = 7;
    pub(super) const PROG_RUN: u32 = 10;
    pub(super) const PROG_BY_ID: u32 = 13;
    pub(super) const MAP_BY_ID: u32 = 14;
    pub(super) const INFO: u32 = 15;
    pub(super) const BTF_LOAD: u32 = 18;
    pub(super) const LINK_CREATE: u32 = 28;
    pub(super) const LINK_BY_ID: u32 = 30;
    pub(super) const LINK_NEXT: u32 = 31;
    pub(super) const ITER_CREATE: u32 = 33;
    pub(super) const LINK_DETACH: u32 = 34;
}

/// Calls bpf(2).
///
/// # Safety
/// `attributes` must be the structure that the kernel expects of `command`, with valid pointers.
unsafe fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<i32> {
    let attributes = std::ptr::from_mut(attributes);
    // SAFETY: the size is that of the structure; the rest is the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// As [`bpf`], for commands that return a file descriptor.
///
/// # Safety
/// As [`bpf`].
unsafe fn bpf_fd<T>(command: u32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; a descriptor that was returned is new and ours.
    unsafe { bpf(command, attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr() as u64
}

/// A name with its terminating zero.
fn short_name(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes[..15].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    bytes
}

pub(crate) fn load_btf(data: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        btf: u64,
        log: u64,
        size: u32,
        log_size: u32,
        log_level: u32,
        flags: u32,
    }
    let size = data.len() as u32;
    let mut attributes =
        Attributes { btf: address(data), log: 0, size, log_size: 0, log_level: 0, flags: 0 };
    // SAFETY: the data outlive the call, with their size.
    unsafe { bpf_fd(command::BTF_LOAD, &mut attributes) }
}

pub(crate) fn create_map(
    spec: &BpfMapSpec<'_>,
    inner: Option<BorrowedFd<'_>>,
    kernel_value: Option<(BorrowedFd<'_>, u32)>,
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
        flags: u32,
        inner: i32,
        numa_node: u32,
        name: [u8; 16],
        interface: u32,
        btf: i32,
        key_type: u32,
        value_type: u32,
        kernel_value_type: u32,
        extra: [u32; 1],
    }
    let mut attributes = Attributes {
        kind: spec.kind,
        key_size: spec.key_size,
        value_size: spec.value_size,
        max_entries: spec.max_entries,
        flags: spec.flags,
        inner: inner.map_or(0, |fd| fd.as_raw_fd()),
        numa_node: 0,
        name: short_name(spec.name),
        interface: 0,
        btf: kernel_value.map_or(0, |(fd, _)| fd.as_raw_fd()),
        key_type: 0,
        value_type: 0,
        kernel_value_type: kernel_value.map_or(0, |(_, id)| id),
        extra: [0],
    };
    // SAFETY: no pointer is passed.
    unsafe { bpf_fd(command::MAP_CREATE, &mut attributes) }
}

/// An access to a map, with its key.
pub(crate) enum Element<'a> {
    Get(&'a [u8], &'a mut [u8]),
    Set(&'a [u8], &'a [u8]),
}

/// Reads or writes an element of a map. [`BpfMap`](crate::BpfMap) checks the sizes of key and value.
pub(crate) fn map_element(map: BorrowedFd<'_>, element: Element<'_>) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        map: u64,
        key: u64,
        value: u64,
        flags: u64,
    }
    let (command, key, value) = match element {
        Element::Get(key, value) => (command::MAP_LOOKUP, key, value.as_mut_ptr() as u64),
        Element::Set(key, value) => (command::MAP_UPDATE, key, address(value)),
    };
    // The descriptor is the low half of the first field on little-endian machines, and padding follows it.
    let map = u64::from(map.as_raw_fd() as u32);
    let map = if cfg!(target_endian = "big") { map << 32 } else { map };
    let mut attributes = Attributes { map, key: address(key), value, flags: 0 };
    // SAFETY: key and value outlive the call, and are of the sizes that the map has.
    unsafe { bpf(command, &mut attributes) }.map(drop)
}

pub(crate) fn load_program(spec: &BpfProgramSpec<'_>, btf: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut log = Vec::new();
    let quiet = load_program_with(spec, btf, &mut log);
    // The kernel says why when asked; asking from the start would cost time where all is well.
    let refused = |error: &io::Error| {
        matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES | libc::E2BIG))
    };
    if !quiet.as_ref().is_err_and(refused) {
        return quiet;
    }
    log.resize(1 << 24, 0);
    load_program_with(spec, btf, &mut log).map_err(|error| {
        let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n");
        io::Error::new(error.kind(), format!("{error}:\n{last}"))
    })
}

fn load_program_with(
    spec: &BpfProgramSpec<'_>,
    btf: BorrowedFd<'_>,
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        instructions: u32,
        instructions_at: u64,
        licence: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        expected_attach: u32,
        btf: i32,
        function_size: u32,
        functions_at: u64,
        functions: u32,
        line_size: u32,
        lines_at: u64,
        lines: u32,
        attach_btf_id: u32,
        attach_program: u32,
        relocations: u32,
        descriptors_at: u64,
        relocations_at: u64,
        relocation_size: u32,
        log_true_size: u32,
    }
    const INSTRUCTION: usize = 8;
    const FUNCTION: usize = 8;
    const RELOCATION: usize = 16;
    let count = |bytes: &[u8], size: usize| (bytes.len() / size) as u32;
    let mut attributes = Attributes {
        kind: spec.kind,
        instructions: count(spec.instructions, INSTRUCTION),
        instructions_at: address(spec.instructions),
        licence: spec.licence.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        kernel_version: 0,
        flags: if spec.sleepable { SLEEPABLE } else { 0 },
        name: short_name(spec.name),
        interface: 0,
        expected_attach: spec.attach,
        btf: btf.as_raw_fd(),
        function_size: FUNCTION as u32,
        functions_at: address(spec.functions),
        functions: count(spec.functions, FUNCTION),
        line_size: 0,
        lines_at: 0,
        lines: 0,
        attach_btf_id: spec.attach_btf_id,
        attach_program: 0,
        relocations: count(spec.relocations, RELOCATION),
        descriptors_at: 0,
        relocations_at: address(spec.relocations),
        relocation_size: RELOCATION as u32,
        log_true_size: 0,
    };
    // SAFETY: each pointer is to a slice that outlives the call, with the number of its elements, or zero with none.
    unsafe { bpf_fd(command::PROG_LOAD, &mut attributes) }
}

pub(crate) fn run_program(program: BorrowedFd<'_>, context: &mut [u8]) -> io::Result<u32> {
    #[repr(C)]
    struct Attributes {
        program: i32,
        result: u32,
        sizes: [u32; 2],
        data: [u64; 2],
        repeat: u32,
        duration: u32,
        context_size: u32,
        context_size_out: u32,
        context: u64,
        context_out: u64,
        flags: u32,
        cpu: u32,
        batch: u32,
        padding: u32,
    }
    let mut attributes = Attributes {
        program: program.as_raw_fd(),
        result: 0,
        sizes: [0; 2],
        data: [0; 2],
        repeat: 0,
        duration: 0,
        context_size: context.len() as u32,
        context_size_out: 0,
        context: context.as_mut_ptr() as u64,
        context_out: 0,
        flags: 0,
        cpu: 0,
        batch: 0,
        padding: 0,
    };
    // SAFETY: the kernel reads and writes the context within its size, and it outlives the call.
    unsafe { bpf(command::PROG_RUN, &mut attributes) }?;
    Ok(attributes.result)
}

/// Objects with numbers.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Program,
    Map,
    Link,
}

#[repr(C)]
struct ById {
    id: u32,
    next: u32,
    flags: u32,
    unused: u32,
}

pub(crate) fn with_id(kind: Kind, id: u32) -> io::Result<OwnedFd> {
    let command = match kind {
        Kind::Program => command::PROG_BY_ID,
        Kind::Map => command::MAP_BY_ID,
        Kind::Link => command::LINK_BY_ID,
    };
    let mut attributes = ById { id, next: 0, flags: 0, unused: 0 };
    // SAFETY: no pointer is passed.
    unsafe { bpf_fd(command, &mut attributes) }
}

/// The numbers of all links.
pub(crate) fn link_ids() -> io::Result<Vec<u32>> {
    let mut attributes = ById { id: 0, next: 0, flags: 0, unused: 0 };
    let mut ids = Vec::new();
    loop {
        // SAFETY: no pointer is passed.
        match unsafe { bpf(command::LINK_NEXT, &mut attributes) } {
            Ok(_) => {
                ids.push(attributes.next);
                attributes.id = attributes.next;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ids),
            Err(error) => return Err(error),
        }
    }
}

/// The beginning of `struct bpf_map_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MapInfo {
    pub(crate) kind: u32,
    pub(crate) id: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    max_entries: u32,
    flags: u32,
    name: [u8; 16],
}

impl MapInfo {
    pub(crate) fn name(&self) -> String {
        let bytes = self.name.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// The beginning of `struct bpf_link_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkInfo {
    kind: u32,
    pub(crate) id: u32,
    program: u32,
    padding: u32,
    /// For a link to operations.
    pub(crate) map_id: u32,
    unused: u32,
}

impl LinkInfo {
    pub(crate) fn is_struct_ops(&self) -> bool {
        self.kind == LINK_STRUCT_OPS
    }
}

/// `struct bpf_prog_info` as far as the counts of runs.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ProgramInfo {
    kind: u32,
    id: u32,
    tag: [u8; 8],
    lengths: [u32; 2],
    instructions: [u64; 2],
    load_time: u64,
    user: u32,
    maps: u32,
    maps_at: u64,
    name: [u8; 16],
    interface: u32,
    gpl: u32,
    namespace: [u64; 2],
    counts: [u32; 2],
    symbols: [u64; 2],
    btf: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_count: u32,
    lines: [u64; 2],
    jited_line_count: u32,
    line_sizes: [u32; 2],
    tags: u32,
    tags_at: u64,
    run_time: u64,
    runs: u64,
}

/// Fills `info`, which begins as the kernel's structure for the object does, and whose pointers are valid.
///
/// # Safety
/// The pointers in `info` must be valid for what the kernel writes there.
unsafe fn fill_info<T>(object: BorrowedFd<'_>, info: &mut T) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        object: i32,
        size: u32,
        info: u64,
    }
    let mut attributes = Attributes {
        object: object.as_raw_fd(),
        size: size_of::<T>() as u32,
        info: std::ptr::from_mut(info) as u64,
    };
    // SAFETY: the kernel writes no more than the size, into a value that outlives the call.
    unsafe { bpf(command::INFO, &mut attributes) }.map(drop)
}

pub(crate) fn map_info(map: BorrowedFd<'_>) -> io::Result<MapInfo> {
    let mut info = MapInfo::default();
    // SAFETY: there are no pointers in it.
    unsafe { fill_info(map, &mut info) }?;
    Ok(info)
}

pub(crate) fn link_info(link: BorrowedFd<'_>) -> io::Result<LinkInfo> {
    let mut info = LinkInfo::default();
    // SAFETY: the first fields of a link are no pointers; of other kinds, the pointers are zero.
    unsafe { fill_info(link, &mut info) }?;
    Ok(info)
}

/// The numbers of the maps that a program uses, 64 at most.
pub(crate) fn program_map_ids(program: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut ids = [0_u32; 64];
    let mut info = ProgramInfo {
        maps: ids.len() as u32,
        maps_at: ids.as_mut_ptr() as u64,
        ..ProgramInfo::default()
    };
    // SAFETY: the one pointer that is not zero is to an array that outlives the call, with its length.
    unsafe { fill_info(program, &mut info) }?;
    let used = ids.len().min(info.maps as usize);
    Ok(ids[..used].to_vec())
}

/// The number of runs, and their time in all, ns.
pub(crate) fn program_run_time(program: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let mut info = ProgramInfo::default();
    // SAFETY: all pointers are zero, and all lengths.
    unsafe { fill_info(program, &mut info) }?;
    Ok((info.runs, info.run_time))
}

/// Attaches a program, or the operations in a map.
pub(crate) fn create_link(object: BorrowedFd<'_>, attach: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        object: i32,
        target: u32,
        attach: u32,
        flags: u32,
        extra: [u64; 2],
    }
    let mut attributes =
        Attributes { object: object.as_raw_fd(), target: 0, attach, flags: 0, extra: [0; 2] };
    // SAFETY: the pointer that an iterator may have is zero.
    unsafe { bpf_fd(command::LINK_CREATE, &mut attributes) }
}

#[repr(C)]
struct OfLink {
    link: i32,
    flags: u32,
}

pub(crate) fn create_iterator(link: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attributes = OfLink { link: link.as_raw_fd(), flags: 0 };
    // SAFETY: no pointer is passed.
    unsafe { bpf_fd(command::ITER_CREATE, &mut attributes) }
}

pub(crate) fn detach_link(link: BorrowedFd<'_>) -> io::Result<()> {
    let mut attributes = OfLink { link: link.as_raw_fd(), flags: 0 };
    // SAFETY: no pointer is passed.
    unsafe { bpf(command::LINK_DETACH, &mut attributes) }.map(drop)
}

#[repr(C)]
struct Pin {
    path: u64,
    object: u32,
    flags: u32,
}

fn path_name(path: &Path) -> io::Result<CString> {
    let name: &OsStr = path.as_os_str();
    CString::new(name.as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

pub(crate) fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = path_name(path)?;
    let mut attributes =
        Pin { path: path.as_ptr() as u64, object: object.as_raw_fd() as u32, flags: 0 };
    // SAFETY: the path ends with a zero, and outlives the call.
    unsafe { bpf(command::OBJ_PIN, &mut attributes) }.map(drop)
}

pub(crate) fn open_pin(path: &Path) -> io::Result<OwnedFd> {
    let path = path_name(path)?;
    let mut attributes = Pin { path: path.as_ptr() as u64, object: 0, flags: 0 };
    // SAFETY: the path ends with a zero, and outlives the call.
    unsafe { bpf_fd(command::OBJ_GET, &mut attributes) }
}
