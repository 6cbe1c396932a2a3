//! The command `exm`.

fn main() {}
