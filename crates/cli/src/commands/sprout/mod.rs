//! `exm sprout`: Sprout over UDP, between two machines.

mod bench;
mod connect;
mod links;
mod run;
mod score;
mod serve;
mod tune;

use crate::commands::subcommands;

const EXAMPLES: &str = "\
Two machines that share a key exchange encrypted datagrams, at a rate that the link is forecast to
deliver within 100 ms. The client may change its address or be offline for a
while: the session continues. A key is read from a file, from the environment or from the standard
input, never from the command line, where all users of the machine could see it.

Examples:
  exm sprout serve --new-key --key-file key --to 127.0.0.1:5000
  EXM_KEY=... exm sprout connect example.org:60001 --forward 5000
  exm sprout serve --key-file key --bench
  exm sprout bench example.org:60001 --key-file key --direction both";

subcommands! {
    /// Carry datagrams over a link of unknown rate with Sprout, and measure it
    {
        Serve(serve),
        Connect(connect),
        Bench(bench),
        Tune(tune),
        Score(score),
    }
}
