//! [`Algorithm`]: a congestion control of the kernel that is a table.

use crate::connection::{self, Connection};
use crate::error::{KernelError, system};
use crate::image::{self, Image, TableInfo};
use crate::loader::{self, Kernel, MAP_ARRAY_OF_MAPS, OPERATIONS, Operations};
use exm_os::{BpfLink, BpfMap, BpfProgram};
use exm_remy::fixed::FixedTable;
use rustix::fs::statfs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file system in which what is loaded outlives the command that loads it.
const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// Its magic number (`BPF_FS_MAGIC`).
const FILE_SYSTEM_MAGIC: u32 = 0xcafe_4a11;
/// The longest name of a congestion control, bytes.
const LONGEST_NAME: usize = 15;

/// A congestion control of the kernel that is a table.
///
/// Any program on the machine may use it by its name (`setsockopt` with `TCP_CONGESTION`, the sysctl
/// `net.ipv4.tcp_congestion_control`, `ip route … congctl`). Where this value is of [`Algorithm::load`], it is there
/// as long as the value, unless it is pinned.
#[derive(Debug)]
pub struct Algorithm {
    name: String,
    link: BpfLink,
    /// The map from which the program takes its table.
    tables: BpfMap,
}

impl Algorithm {
    /// Loads `table`, whose name for people is `label`, as the congestion control `name`.
    ///
    /// # Errors
    /// A name that is taken or that the kernel does not accept; a table that is too large; a kernel without BPF
    /// congestion control; missing rights.
    pub fn load(name: &str, table: &FixedTable, label: &str) -> Result<Algorithm, KernelError> {
        check_name(name)?;
        let image = Image::new(table, label)?;
        let (link, tables) = loader::load(name, &image)?;
        Ok(Algorithm { name: name.to_owned(), link, tables })
    }

    /// All that are in the kernel, by name.
    ///
    /// # Errors
    /// Missing rights, or a kernel without BPF congestion control.
    pub fn all() -> Result<Vec<Algorithm>, KernelError> {
        let kernel = Kernel::read()?;
        let operations = kernel.operations()?;
        let links = BpfLink::all().map_err(system("listing what is loaded"))?;
        let mut found = Vec::new();
        for link in links {
            found.extend(of_link(link, &operations).map_err(system("reading what is loaded"))?);
        }
        found.sort_by(|a: &Algorithm, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// The one called `name`.
    ///
    /// # Errors
    /// [`KernelError::Unknown`] if there is none; as [`Algorithm::all`].
    pub fn named(name: &str) -> Result<Algorithm, KernelError> {
        let all = Algorithm::all()?;
        let unknown = || KernelError::Unknown(name.to_owned());
        all.into_iter().find(|algorithm| algorithm.name == name).ok_or_else(unknown)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known of the table in force.
    ///
    /// # Errors
    /// Missing rights.
    pub fn table(&self) -> Result<TableInfo, KernelError> {
        let bytes =
            loader::current_table(&self.tables).map_err(system("reading the table in force"))?;
        image::info(&bytes).ok_or_else(|| KernelError::Unknown(self.name.clone()))
    }

    /// Puts another table in force, from the next ACK of every connection on.
    ///
    /// # Errors
    /// A table that is too large; missing rights.
    pub fn replace(&self, table: &FixedTable, label: &str) -> Result<(), KernelError> {
        let map = loader::table_map(&Image::new(table, label)?)?;
        loader::set_table(&self.tables, &map)
    }

    /// Has it outlive this value and this process, until it is unloaded or the machine restarts; mounts the
    /// BPF file system where there is none. Returns its file there.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn pin(&self) -> Result<PathBuf, KernelError> {
        let path = pin_path(&self.name);
        mount_file_system().map_err(system("mounting the BPF file system at /sys/fs/bpf"))?;
        self.link.pin(&path).map_err(system("pinning in /sys/fs/bpf"))?;
        Ok(path)
    }

    /// Its file in the BPF file system, if it is pinned.
    pub fn pinned(&self) -> Option<PathBuf> {
        let path = pin_path(&self.name);
        let is_it = BpfLink::pinned_id(&path).is_ok_and(|id| id == self.link.id());
        is_it.then_some(path)
    }

    /// Whether it is still in the kernel: another process may have unloaded it.
    pub fn is_loaded(&self) -> bool {
        self.link.is_attached()
    }

    /// How many ACKs its program followed, and for how many nanoseconds in all, while the sysctl
    /// `kernel.bpf_stats_enabled` was set.
    ///
    /// # Errors
    /// Missing rights.
    pub fn run_time(&self) -> Result<(u64, u64), KernelError> {
        let kernel = Kernel::read()?;
        let map = BpfMap::with_id(self.link.map_id()).map_err(system("finding the program"))?;
        let value = map.get(&[0; 4]).map_err(system("finding the program"))?;
        let (_, program) = kernel
            .operations()?
            .read(&value, "cong_control")
            .ok_or(KernelError::Missing("cong_control"))?;
        let program = BpfProgram::with_id(program).map_err(system("finding the program"))?;
        program.run_time().map_err(system("reading the time of the program"))
    }

    /// Takes it away: no new connection can choose it, and those that have it keep it until they end.
    ///
    /// # Errors
    /// Another process holds it, and the kernel (before 6.11) takes it away from nobody.
    pub fn unload(self) -> Result<(), KernelError> {
        if let Some(path) = self.pinned() {
            fs::remove_file(path).map_err(system("removing the pin in /sys/fs/bpf"))?;
        }
        self.link.detach().map_err(system("taking a congestion control away"))
    }
}

/// The one that `link` holds, if it is ours.
fn of_link(link: BpfLink, operations: &Operations<'_>) -> io::Result<Option<Algorithm>> {
    // One that was detached or has gone meanwhile.
    let Ok(map) = BpfMap::with_id(link.map_id()) else { return Ok(None) };
    if map.name() != OPERATIONS {
        return Ok(None);
    }
    let value = map.get(&[0; 4])?;
    let Some((name, program)) = operations.read(&value, "cong_control") else { return Ok(None) };
    for id in BpfProgram::with_id(program)?.map_ids()? {
        let tables = BpfMap::with_id(id)?;
        if tables.kind() == MAP_ARRAY_OF_MAPS {
            return Ok(Some(Algorithm { name, link, tables }));
        }
    }
    Ok(None)
}

/// The connections of this network namespace that a loaded table controls.
///
/// # Errors
/// Missing rights, or a kernel without BPF.
pub fn connections() -> Result<Vec<Connection>, KernelError> {
    let names: Vec<String> = Algorithm::all()?.into_iter().map(|one| one.name).collect();
    let is_ours = |name: &str| names.iter().any(|ours| ours == name);
    Ok(connection::parse(&loader::read_connections()?, is_ours))
}

/// Whether the kernel takes this name.
pub(crate) fn check_name(name: &str) -> Result<(), KernelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
        return Err(KernelError::Name(name.to_owned()));
    }
    Ok(())
}

/// Names of congestion controls are plain, so they are names of files.
fn pin_path(name: &str) -> PathBuf {
    Path::new(FILE_SYSTEM).join(format!("exm-{name}"))
}

fn mount_file_system() -> io::Result<()> {
    if statfs(FILE_SYSTEM)?.f_type as u32 == FILE_SYSTEM_MAGIC {
        return Ok(());
    }
    let none = rustix::mount::MountFlags::empty();
    rustix::mount::mount("bpf", FILE_SYSTEM, "bpf", none, None)?;
    Ok(())
}
