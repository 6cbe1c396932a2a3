//! Loading: the program and its table become a congestion control of the kernel.

use crate::btf::{Kind, Types};
use crate::error::{KernelError, check_version, system};
use crate::image::{Image, SIZE};
use crate::object::{Code, Object};
use exm_os::{BpfLink, BpfMap, BpfMapSpec, BpfProgram, BpfProgramSpec, Btf};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// Kinds of maps and programs, and a flag (`linux/bpf.h`).
pub(crate) const MAP_ARRAY: u32 = 2;
pub(crate) const MAP_ARRAY_OF_MAPS: u32 = 12;
const MAP_STRUCT_OPS: u32 = 26;
const PROGRAM_TRACING: u32 = 26;
const PROGRAM_STRUCT_OPS: u32 = 27;
const ATTACH_ITER: u32 = 28;
const FLAG_LINK: u32 = 1 << 13;

/// The name of the map with the operations, by which ours are known from those of others.
pub(crate) const OPERATIONS: &str = "exm_remycc";
/// Users without rights may choose it (`TCP_CONG_NON_RESTRICTED`).
const NON_RESTRICTED: u32 = 1;
pub(crate) const LICENCE: &CStr = c"Dual MIT/GPL";
/// The only key of the maps.
const KEY: [u8; 4] = [0; 4];

/// The kernel's types, and the operations of congestion control in them.
pub(crate) struct Kernel {
    bytes: Vec<u8>,
}

/// A structure of operations in the kernel.
pub(crate) struct Operations<'a> {
    types: Types<'a>,
    /// `struct tcp_congestion_ops`, what wraps it in a map, and where it is in there.
    id: u32,
    wrapper: u32,
    data: usize,
}

impl Kernel {
    pub(crate) fn read() -> Result<Kernel, KernelError> {
        check_version()?;
        let bytes = fs::read("/sys/kernel/btf/vmlinux").map_err(|_| KernelError::NoTypes)?;
        Ok(Kernel { bytes })
    }

    pub(crate) fn operations(&self) -> Result<Operations<'_>, KernelError> {
        const WRAPPER: &str = "bpf_struct_ops_tcp_congestion_ops";
        let types = Types::new(&self.bytes).ok_or(KernelError::NoTypes)?;
        let find = |name| types.find(Kind::Struct, name).ok_or(KernelError::Missing(name));
        let (id, wrapper) = (find("tcp_congestion_ops")?, find(WRAPPER)?);
        let data = types.members(wrapper).get("data").ok_or(KernelError::Missing(WRAPPER))?.offset;
        Ok(Operations { types, id, wrapper, data })
    }
}

/// What loading shares between programs.
struct Loading<'a> {
    object: &'a Object,
    btf: Btf,
    tables: &'a BpfMap,
}

impl Loading<'_> {
    fn program(
        &self,
        name: &str,
        kind: u32,
        attach: (u32, u32),
    ) -> Result<BpfProgram, KernelError> {
        let code: Code = self.object.code(name).expect("the prebuilt object has every program");
        let name = name.rsplit('/').next().unwrap_or(name);
        BpfProgram::load(&BpfProgramSpec {
            kind,
            attach: attach.0,
            attach_btf_id: attach.1,
            instructions: &code.with_maps(|_| self.tables.as_fd().as_raw_fd()),
            licence: LICENCE,
            name,
            btf: &self.btf,
            functions: &code.functions,
            relocations: &code.relocations,
            sleepable: false,
        })
        .map_err(system("loading a BPF program"))
    }
}

/// A map with the image of a table.
pub(crate) fn table_map(image: &Image) -> Result<BpfMap, KernelError> {
    let spec = BpfMapSpec {
        kind: MAP_ARRAY,
        key_size: 4,
        value_size: SIZE as u32,
        max_entries: 1,
        name: "exm_table",
        ..BpfMapSpec::default()
    };
    let map = BpfMap::create(&spec).map_err(system("creating a BPF map"))?;
    map.set(&KEY, &image.0).map_err(system("writing a table into a BPF map"))?;
    Ok(map)
}

/// The map from which the program takes its table.
pub(crate) fn map_of_tables(table: &BpfMap) -> Result<BpfMap, KernelError> {
    let spec = BpfMapSpec {
        kind: MAP_ARRAY_OF_MAPS,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        name: "exm_tables",
        inner: Some(table),
        ..BpfMapSpec::default()
    };
    let map = BpfMap::create(&spec).map_err(system("creating a BPF map of maps"))?;
    set_table(&map, table)?;
    Ok(map)
}

/// Has the program take `table` from its next ACK on.
pub(crate) fn set_table(tables: &BpfMap, table: &BpfMap) -> Result<(), KernelError> {
    tables.set_map(&KEY, table).map_err(system("putting a table in use"))
}

/// The table in a map of tables.
pub(crate) fn current_table(tables: &BpfMap) -> std::io::Result<Vec<u8>> {
    let id = tables.get(&KEY)?;
    let id = u32::from_ne_bytes(id.try_into().map_err(|_| std::io::ErrorKind::InvalidData)?);
    BpfMap::with_id(id)?.get(&KEY)
}

/// Loads the program with `image`, as the congestion control `name`; returns what holds it, and the map of its table.
pub(crate) fn load(name: &str, image: &Image) -> Result<(BpfLink, BpfMap), KernelError> {
    let kernel = Kernel::read()?;
    let operations = kernel.operations()?;
    let object = Object::remy();
    let btf = Btf::load(&object.types).map_err(system("loading the types of a BPF program"))?;
    let tables = map_of_tables(&table_map(image)?)?;
    let loading = Loading { object: &object, btf, tables: &tables };
    let programs = operations.load(&loading)?;
    let map = operations.map(&loading.btf)?;
    map.set(&KEY, &operations.value(name, &programs)).map_err(|error| taken(name, error))?;
    let link = BpfLink::attach(&map).map_err(|error| taken(name, error))?;
    Ok((link, tables))
}

fn taken(name: &str, error: std::io::Error) -> KernelError {
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => KernelError::Taken(name.to_owned()),
        _ => system("registering a congestion control")(error),
    }
}

impl Operations<'_> {
    /// The programs, by the members of the structure that they are for.
    fn load(
        &self,
        loading: &Loading<'_>,
    ) -> Result<BTreeMap<&'static str, BpfProgram>, KernelError> {
        const ALWAYS: [&str; 7] = [
            "init",
            "set_state",
            "cwnd_event",
            "ssthresh",
            "undo_cwnd",
            "min_tso_segs",
            "cong_control",
        ];
        let members = self.types.members(self.id);
        let load = |name: &'static str| {
            let member = members.get(name).ok_or(KernelError::Missing(name))?;
            // Before Linux 6.10 it was called with the connection and the rate sample alone.
            let old = name == "cong_control" && self.types.parameters(member.kind) == Some(2);
            let section = format!("struct_ops/{name}{}", if old { "_2" } else { "" });
            let program = loading.program(&section, PROGRAM_STRUCT_OPS, (member.index, self.id))?;
            Ok((name, program))
        };
        ALWAYS.into_iter().map(load).collect()
    }

    fn map(&self, btf: &Btf) -> Result<BpfMap, KernelError> {
        let spec = BpfMapSpec {
            kind: MAP_STRUCT_OPS,
            key_size: 4,
            value_size: self.types.size(self.wrapper) as u32,
            max_entries: 1,
            flags: FLAG_LINK,
            name: OPERATIONS,
            kernel_value: Some((btf, self.wrapper)),
            ..BpfMapSpec::default()
        };
        BpfMap::create(&spec).map_err(system("creating a BPF map of operations"))
    }

    /// The structure: its name, its flags, and the descriptors of the programs.
    fn value(&self, name: &str, programs: &BTreeMap<&'static str, BpfProgram>) -> Vec<u8> {
        let mut value = vec![0; self.types.size(self.wrapper)];
        let members = self.types.members(self.id);
        let mut set = |member: &str, bytes: &[u8]| {
            if let Some(member) = members.get(member) {
                let at = self.data + member.offset;
                value[at..at + bytes.len()].copy_from_slice(bytes);
            }
        };
        set("name", name.as_bytes());
        set("flags", &NON_RESTRICTED.to_ne_bytes());
        for (member, program) in programs {
            let descriptor = program.as_fd().as_raw_fd() as u64;
            set(member, &descriptor.to_ne_bytes());
        }
        value
    }

    /// The name in a structure of operations that was read, and the number of the program for `member`.
    pub(crate) fn read(&self, value: &[u8], member: &str) -> Option<(String, u32)> {
        let members = self.types.members(self.id);
        let field = |name: &str, size: usize| {
            let at = self.data + members.get(name)?.offset;
            value.get(at..at + size)
        };
        let name = field("name", 16)?.split(|&byte| byte == 0).next()?;
        let program = u32::from_ne_bytes(field(member, 4)?.try_into().ok()?);
        Some((String::from_utf8_lossy(name).into_owned(), program))
    }
}

/// What the program that lists connections writes.
pub(crate) fn read_connections() -> Result<Vec<u8>, KernelError> {
    const ITERATOR: &str = "bpf_iter_tcp";
    let kernel = Kernel::read()?;
    let types = Types::new(&kernel.bytes).ok_or(KernelError::NoTypes)?;
    let id = types.find(Kind::Func, ITERATOR).ok_or(KernelError::Missing(ITERATOR))?;
    let object = Object::remy();
    let btf = Btf::load(&object.types).map_err(system("loading the types of a BPF program"))?;
    let empty = BpfMapSpec {
        kind: MAP_ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..BpfMapSpec::default()
    };
    let tables = BpfMap::create(&empty).map_err(system("creating a BPF map"))?;
    let loading = Loading { object: &object, btf, tables: &tables };
    let program = loading.program("iter/tcp", PROGRAM_TRACING, (ATTACH_ITER, id))?;
    program.read_iterator().map_err(system("listing the connections"))
}
