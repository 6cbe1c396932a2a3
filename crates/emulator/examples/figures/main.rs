//! Measures how precise the emulator is and how much it carries, on this machine:
//!
//! ```sh
//! sudo -E cargo run --release -p exm-emulator --example figures
//! ```
//!
//! Each row is a link with the kernel's own TCP or UDP from one network namespace to another. UDP is
//! sent and received here, in pieces of up to 64 kB that the kernel cuts and joins (`UDP_SEGMENT`,
//! `UDP_GRO`), because what takes a system call for each datagram does not keep up with 2 Gbit/s. `--runs N`
//! repeats each row, `--seconds N` is how long it takes after the first two seconds, `--spin SPAN` and
//! `--gather SPAN` are the emulator's, and any other word selects the rows whose names have it.

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
    println!(
        "Mbps is of the user's bytes; late, in us, are half, 99 and 99.9 % of packets at most; CPU is"
    );
    println!("the emulator's thread, of one processor; lost are packets, by cause.");
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
