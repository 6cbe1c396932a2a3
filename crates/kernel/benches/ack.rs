//! What an ACK costs in the kernel: each shipped table controls a connection over loopback, and the kernel counts the time
//! of its program. As root: `cargo bench -p exm-kernel`.

#[cfg(target_os = "linux")]
mod linux {
    use exm_kernel::Algorithm;
    use exm_os::{Namespace, Netlink};
    use exm_remy::fixed::FixedTable;
    use exm_table::TableFile;
    use rustix::net::sockopt::set_tcp_congestion;
    use std::error::Error;
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";
    const TIME: Duration = Duration::from_millis(500);

    type Problem = Box<dyn Error + Send + Sync>;

    pub(crate) fn run() -> Result<(), Problem> {
        let before = fs::read_to_string(SWITCH)?;
        fs::write(SWITCH, "1")?;
        let measured = measure();
        fs::write(SWITCH, before)?;
        measured
    }

    fn measure() -> Result<(), Problem> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../design/remyccs");
        let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut paths: Vec<PathBuf> = files.collect::<Result<_, std::io::Error>>()?;
        paths.retain(|path| path.extension().is_some_and(|kind| kind == "json"));
        paths.sort();
        println!("{:28} {:>6} {:>6} {:>9} {:>10}", "table", "rules", "depth", "ACKs", "ns an ACK");
        for path in paths {
            let file = TableFile::load(&path)?;
            // A table with signals that a kernel does not measure.
            let Ok(table) = FixedTable::new(&file.table, 100) else { continue };
            let (acks, nanos) = cost(&table)?;
            println!(
                "{:28} {:6} {:6} {acks:9} {:10.0}",
                path.file_stem().unwrap_or_default().to_string_lossy(),
                table.actions().len(),
                table.depth(),
                nanos as f64 / acks as f64
            );
        }
        Ok(())
    }

    /// The ACKs of a connection, and the time of the program that followed them, ns.
    #[expect(clippy::disallowed_methods, reason = "a kernel runs in real time")]
    fn cost(table: &FixedTable) -> Result<(u64, u64), Problem> {
        let algorithm = Algorithm::load("exm_bench", table, "a benchmark")?;
        Namespace::new()?.run(|| {
            let netlink = Netlink::open()?;
            netlink.set_up(netlink.index("lo")?)?;
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let mut sender = TcpStream::connect(listener.local_addr()?)?;
            let (mut receiver, _) = listener.accept()?;
            set_tcp_congestion(&sender, algorithm.name())?;
            let begin = Instant::now();
            let mut buffer = [0; 65536];
            while begin.elapsed() < TIME {
                sender.write_all(&buffer[..1448])?;
                receiver.read_exact(&mut buffer[..1448])?;
            }
            Ok::<(), Problem>(())
        })?;
        Ok(algorithm.run_time()?)
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::run() {
        println!("not measured: {error}");
    }
}
