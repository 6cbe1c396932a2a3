//! Compares our TCP with the kernel's, and writes the results into the documentation:
//!
//! ```sh
//! sudo -E cargo run -p exm-emulator --example compare -- docs
//! ```
//!
//! In `kernel-comparison.md` it replaces the tables and keeps the text; the figure is a separate
//! file beside it. Without an argument it prints the tables.

#[cfg(target_os = "linux")]
mod figure;
#[cfg(target_os = "linux")]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../../tests/peers/shared/mod.rs"]
mod peers;
#[cfg(target_os = "linux")]
mod tables;

/// The markers around the tables in the document.
#[cfg(target_os = "linux")]
const MARKS: [&str; 2] =
    ["<!-- what follows is written by the example -->\n", "<!-- up to here -->"];

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use crate::peers::{CONTROLS, Comparison, SCENARIOS};

    let cases = SCENARIOS.iter().flat_map(|&scenario| CONTROLS.map(|control| (scenario, control)));
    let outcomes = Comparison::all(&cases.collect::<Vec<_>>());
    let comparisons = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let text = tables::all(&comparisons);
    let Some(folder) = std::env::args_os().nth(1).map(std::path::PathBuf::from) else {
        println!("{text}");
        return Ok(());
    };
    let path = folder.join("kernel-comparison.md");
    let document = std::fs::read_to_string(&path)?;
    let [(before, _), (_, after)] = MARKS.map(|mark| {
        document.split_once(mark).unwrap_or_else(|| panic!("{} lacks {mark}", path.display()))
    });
    std::fs::write(&path, [before, MARKS[0], &text, MARKS[1], after].concat())?;
    std::fs::write(folder.join("kernel-comparison.svg"), figure::draw(&comparisons))?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("network namespaces are Linux's: there is nothing to compare with here");
}
