//! The command `exm`: a thin layer over the crates beside this one.
//!
//! A command is one file in `commands` and one line in the list there. Its exit code is 0 on
//! success, otherwise one of [`codes`].

mod cli;
mod codes;
mod commands;
mod complete;
mod experiments;
mod fixed;
mod help;
mod interrupt;
mod layout;
mod live;
mod loopback;
mod manual;
mod network;
mod options;
mod outputs;
mod outside;
mod pictures;
mod progress;
mod ranges;
#[cfg(target_os = "linux")]
mod sessions;
mod shell;
mod shipped;
mod tables;
mod threads;
mod visible;

use std::process::ExitCode;

fn main() -> ExitCode {
    complete::complete_and_exit();
    let mut cli = cli::Cli::read();
    if let Err(failure) = cli.prepare() {
        return failure.report();
    }
    interrupt::watch();
    exm_design::use_outside_loader(outside::controller);
    cli.run().unwrap_or_else(shell::Failure::report)
}
