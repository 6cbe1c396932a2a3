//! Frames as network devices hand them out, with the kernel's header before them: any bytes are carried
//! or refused, and what is cut into segments is written as frames again, of the sizes that were
//! announced.

use exm_emulator::check_frame;

/// Runs the target on `bytes`, whose first says what kind of device they are from.
pub fn run(bytes: &[u8]) {
    let [kind, frame @ ..] = bytes else { return };
    check_frame(kind % 2 == 1, frame);
}
