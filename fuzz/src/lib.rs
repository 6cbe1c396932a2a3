//! Fuzz targets: what outsiders may hand the programs.
//!
//! Each target is a module with a function `run`, which takes any bytes and panics where something is
//! wrong. It is compiled, and run on some random bytes, with all other tests; a program of its name in
//! `fuzz_targets/` runs it under libFuzzer, or on random bytes where that is not there.

pub mod bench_message;
pub mod capture;
pub mod channels;
pub mod controller;
pub mod datagram;
pub mod dna;
pub mod frame;
pub mod handshake;
pub mod model;
pub mod module;
pub mod policy;
pub mod roaming;
pub mod saturator;
pub mod scenario;
pub mod scene;
pub mod sprout_header;
pub mod ssp;
pub mod table_json;
pub mod terminal;
pub mod trace;
pub mod trace_import;
pub mod tunnel_message;
pub mod tunnel_packet;

#[cfg(fuzzing)]
pub use libfuzzer_sys;

use exm_random::{Purpose, Stream};

/// What runs a target on some bytes.
pub type Target = fn(&[u8]);

/// The program that runs a target: under cargo-fuzz with libFuzzer, else by [`drive_from_arguments`].
#[macro_export]
macro_rules! target {
    ($target:ident) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$target::run(bytes));

        #[cfg(not(fuzzing))]
        fn main() {
            $crate::drive_from_arguments($crate::$target::run);
        }
    };
}

/// No input is longer.
const LONGEST: usize = 400;

/// Runs `target` on as many random inputs as the program's first argument says, or on 100 000, of the
/// seed that the second says, or of 1.
pub fn drive_from_arguments(target: Target) {
    let mut numbers = std::env::args().skip(1).map(|argument| match argument.parse() {
        Ok(number) => number,
        Err(_) => {
            eprintln!("error: '{argument}' is no number: give INPUTS and SEED, or nothing");
            std::process::exit(2);
        }
    });
    let (inputs, seed) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(1));
    drive(target, inputs, seed);
    println!("{inputs} inputs of the seed {seed}: nothing found");
}

/// Runs `target` on so many random `inputs`, half of them of small numbers, which lengths and kinds are.
pub fn drive(target: Target, inputs: u64, seed: u64) {
    let mut stream = Stream::new(seed, Purpose::Loss, 0);
    let mut bytes = Vec::new();
    for _ in 0..inputs {
        bytes.clear();
        let bound = if stream.below(2) == 0 { 256 } else { 8 };
        for _ in 0..stream.below(LONGEST) {
            bytes.push(stream.below(bound) as u8);
        }
        target(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_target_fails_on_random_inputs() {
        let targets: [(&str, Target); 23] = [
            ("bench_message", bench_message::run),
            ("capture", capture::run),
            ("channels", channels::run),
            ("controller", controller::run),
            ("datagram", datagram::run),
            ("dna", dna::run),
            ("frame", frame::run),
            ("handshake", handshake::run),
            ("model", model::run),
            ("policy", policy::run),
            ("module", module::run),
            ("roaming", roaming::run),
            ("saturator", saturator::run),
            ("scenario", scenario::run),
            ("scene", scene::run),
            ("sprout_header", sprout_header::run),
            ("ssp", ssp::run),
            ("table_json", table_json::run),
            ("terminal", terminal::run),
            ("trace", trace::run),
            ("trace_import", trace_import::run),
            ("tunnel_message", tunnel_message::run),
            ("tunnel_packet", tunnel_packet::run),
        ];
        for (name, target) in targets {
            // What a panic is of is told by the name that was printed last.
            println!("{name}");
            // An attack on roaming needs coincidences, which a few hundred inputs do not have.
            drive(target, if name == "roaming" { 100_000 } else { 300 }, 2);
        }
        let programs = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz_targets"));
        assert_eq!(programs.expect("they are there").count(), targets.len(), "each has a program");
    }
}
