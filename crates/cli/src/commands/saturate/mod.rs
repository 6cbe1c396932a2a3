//! `exm saturate`: traces of real links.

mod direction;
mod record;
mod serve;

use crate::commands::subcommands;

const EXAMPLES: &str = "\
A recording saturates the link in both directions, so that packets arrive exactly when the link can
deliver them. Acknowledgements take another, unloaded path, so that the full queue does not delay
them. Run the server where its own connection is never the bottleneck. Beware: a recording
uses the full capacity of the link, and a corresponding amount of data volume.

A key is read from a file, from the environment or from the standard input, never from the command
line, where all users of the machine could see it.

Examples:
  exm saturate serve --new-key --key-file key
  exm saturate record example.org:60001 --key-file key --device wwan0 --control eth0 -o walk";

subcommands! {
    /// Record what a real link can deliver, as a trace
    {
        Serve(serve),
        Record(record),
    }
}
