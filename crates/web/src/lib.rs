#![doc = include_str!("../README.md")]

pub mod exports;
mod viewer;

pub use viewer::Viewer;
