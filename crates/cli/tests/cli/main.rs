//! The program from outside, command by command. One binary, so that all share one set of helpers.

#[path = "../../../measure/tests/common/browser.rs"]
mod browser;
mod captures;
#[cfg(target_os = "linux")]
mod cellsim;
mod common;
mod completions;
mod contest;
mod controllers;
mod design;
mod designs;
mod documents;
mod escapes;
mod experiment;
mod falsify;
mod help;
mod init;
#[cfg(target_os = "linux")]
mod kernel;
mod licences;
mod manual;
mod missing;
#[cfg(target_os = "linux")]
mod mosh;
#[cfg(target_os = "linux")]
mod mosh_channels;
mod network;
#[cfg(target_os = "linux")]
mod orbits;
mod page;
mod page_in_browser;
mod program;
#[cfg(target_os = "linux")]
mod ratatouille;
mod reference;
mod robust;
mod rooms;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod saturate;
mod shipped;
mod small_model;
mod snapshots;
#[cfg(target_os = "linux")]
mod sprout;
mod terminal;
#[cfg(target_os = "linux")]
mod tunnel;
mod tutorials;
