//! `exm controller`: controllers of one's own, from outside the program.

mod check;
mod new;

use crate::commands::subcommands;

const EXAMPLES: &str = "\
A controller of your own is a WebAssembly module in any language, which runs sandboxed, or a program that
is asked over pipes. Give its name wherever a controller is named: mine.wasm, 'mine.wasm increase=2',
'program:python3 mine.py'. The interface: exm help controllers-from-outside.

Examples:
  exm controller new mine --lang rust
  exm controller check mine.wasm
  exm simulate --link 15Mbps --rtt 100ms --senders 2 --cc mine.wasm";

subcommands! {
    /// Write a controller of your own, and check it
    {
        New(new),
        Check(check),
    }
}
