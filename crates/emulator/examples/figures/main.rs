//! Measures the precision and the throughput of the emulator on this machine:
//!
//! ```sh
//! sudo -E cargo run --release -p exm-emulator --example figures
//! ```
//!
//! Each row is a link with the kernel's TCP or UDP from one network namespace to another. UDP is sent and
//! received here, in chunks of up to 64 kB that the kernel segments and coalesces (`UDP_SEGMENT`,
//! `UDP_GRO`), because one system call per datagram is too slow for 2 Gbit/s. `--runs N` repeats each row,
//! `--seconds N` is its duration after the first two seconds, `--spin DURATION` and `--gather DURATION` are
//! the emulator's options, and any other argument selects the rows whose names contain it.

#[cfg(target_os = "linux")]
mod load;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use exm_emulator::Timing;

    let (mut runs, mut seconds, mut timing, mut only) = (3, 8, Timing::default(), String::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a value"));
        match word.as_str() {
            "--runs" => runs = value()?.parse()?,
            "--seconds" => seconds = value()?.parse()?,
            "--spin" => timing.spin = value()?.parse()?,
            "--gather" => timing.gather = value()?.parse()?,
            _ => only = word,
        }
    }
    println!("Mbps counts payload; lateness, in us, is the median, 99 and 99.9 %; CPU is");
    println!("the emulator's thread, as a fraction of one processor; losses are by cause.");
    println!("{:<28} {:>9} {:>18} {:>7}  lost", "", "Mbps", "late", "CPU, %");
    for row in load::ROWS.iter().filter(|row| row.name.contains(&only)) {
        for _ in 0..runs {
            println!("{:<28} {}", row.name, load::measure(row, seconds, timing)?);
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("network namespaces are Linux's: there is nothing to measure here");
}
