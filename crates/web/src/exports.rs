//! The functions that the module exports.
//!
//! A module runs in one thread, so one viewer serves all calls.

#![allow(unsafe_code, reason = "names that a browser can call are declared by an unsafe attribute")]

use crate::Viewer;
use std::cell::RefCell;

/// The viewer, and what is handed over between it and the page.
#[derive(Default)]
struct Desk {
    viewer: Viewer,
    command: Vec<u8>,
    answer: String,
    frame: Vec<f64>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

fn with<T>(use_desk: impl FnOnce(&mut Desk) -> T) -> T {
    DESK.with_borrow_mut(use_desk)
}

/// Room for a command of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn exm_buffer(length: usize) -> *mut u8 {
    with(|desk| {
        desk.command.clear();
        desk.command.resize(length, 0);
        desk.command.as_mut_ptr()
    })
}

/// Executes the command in the first `length` bytes of the buffer, and returns the length of its answer.
#[unsafe(no_mangle)]
pub extern "C" fn exm_call(length: usize) -> usize {
    with(|desk| {
        let command = String::from_utf8_lossy(&desk.command[..length.min(desk.command.len())]);
        desk.answer = desk.viewer.call(&command);
        desk.answer.len()
    })
}

/// Where the last answer is.
#[unsafe(no_mangle)]
pub extern "C" fn exm_answer() -> *const u8 {
    with(|desk| desk.answer.as_ptr())
}

/// Simulates up to `until` seconds or about `packets` packets, with samples at the multiples of `interval` seconds, and
/// returns the time reached.
#[unsafe(no_mangle)]
pub extern "C" fn exm_advance(until: f64, interval: f64, packets: f64) -> f64 {
    with(|desk| desk.viewer.advance(until, interval, packets))
}

/// Collects what has happened since the last frame, and returns the number of its 64-bit floats.
#[unsafe(no_mangle)]
pub extern "C" fn exm_frame() -> usize {
    with(|desk| {
        desk.frame.clear();
        desk.viewer.frame(&mut desk.frame);
        desk.frame.len()
    })
}

/// Where the last frame is.
#[unsafe(no_mangle)]
pub extern "C" fn exm_frame_data() -> *const f64 {
    with(|desk| desk.frame.as_ptr())
}
