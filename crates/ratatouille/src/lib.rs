#![doc = include_str!("../README.md")]

mod change;
mod files;
mod player;
mod scene;

pub use change::{Change, Recorded};
pub use files::File;
pub use player::{Lane, Player};
pub use scene::{MOST_FLOWS, Network, Scene, SceneError};
