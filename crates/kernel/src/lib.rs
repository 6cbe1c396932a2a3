#![doc = include_str!("../README.md")]

mod c;
mod image;

#[cfg(target_os = "linux")]
mod algorithm;
#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod btf;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod loader;
#[cfg(target_os = "linux")]
mod object;

#[cfg(target_os = "linux")]
pub use algorithm::{Algorithm, connections};
#[cfg(target_os = "linux")]
pub use alone::bpf_object;
pub use c::c_code;
#[cfg(target_os = "linux")]
pub use connection::Connection;
#[cfg(target_os = "linux")]
pub use error::KernelError;
pub use image::{TableInfo, TooLarge};

#[cfg(all(test, target_os = "linux"))]
mod tests;
