//! `exm table`: rule tables as files.

mod check;
mod compile;
mod convert;
mod diff;
mod harden;
pub(crate) mod list;
mod orbits;
mod plot;
mod rivals;
mod show;
mod stats;
mod subject;

use crate::commands::subcommands;

const EXAMPLES: &str = "\
Give a table by the path of its file, .json or .dna, or, if there is no such file, by the
name of a shipped one (see exm table list).

Examples:
  exm table show RemyCC.dna
  exm table diff before.json after.json
  exm table convert RemyCC.dna RemyCC.json
  exm table compile general-delta1 -o remy1.h";

subcommands! {
    /// Show, draw, check, harden, compare, convert and compile rule tables
    {
        Show(show),
        Stats(stats),
        Plot(plot),
        Orbits(orbits),
        Diff(diff),
        Check(check),
        Harden(harden),
        Convert(convert),
        Compile(compile),
        List(list),
    }
}
