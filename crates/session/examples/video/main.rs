//! A video sender that asks before it sends: for each frame, how many bytes may go now, and how many will be delivered
//! within the next 100 ms by the forecast. The same over TCP, and over UDP at a fixed rate, to compare.
//!
//! ```text
//! video receive sprout|tcp|udp PORT               writes the frames that arrive to the standard output
//! video send sprout|tcp|udp:RATE ADDRESS ENCODER...
//! ```
//!
//! The encoder is a program. It is asked for a frame by a line with its number and its size in bytes, and answers on its standard
//! output with the length of the frame as four bytes, the most significant first, and the frame; `video.py encode` is one. Frames go to the
//! standard output of the receiver in the same form, each after its number in four bytes. Over Sprout, both ends take the key from
//! the variable `VIDEO_KEY`, which `exm sprout serve --new-key` makes.

#[cfg(target_os = "linux")]
mod carriers;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod receiver;
#[cfg(target_os = "linux")]
mod sender;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["receive", carrier, port] => receiver::receive(carrier, port),
        ["send", carrier, address, program, ref arguments @ ..] => {
            sender::send(carrier, address, program, arguments)
        }
        _ => Err("usage: video receive sprout|tcp|udp PORT, or video send sprout|tcp|udp:RATE ADDRESS ENCODER...".into()),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("video: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
