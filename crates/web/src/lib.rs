#![doc = include_str!("../README.md")]

pub mod exports;
mod lessons;
mod library;
mod viewer;

pub use viewer::Viewer;
