//! The viewer without a browser: reads a command on each line, and prints its answer.
//!
//! Besides the commands of the page, `{"advance": [UNTIL, INTERVAL, PACKETS]}` simulates, and `{"frame": true}` prints a
//! frame, as base64 of its little-endian doubles.
//!
//! ```console
//! $ printf '%s\n' '{"command":"open","scene":"cc=bbr"}' '{"advance":[5,0.01,1e9]}' '{"command":"report"}' \
//!     | cargo run --example answers
//! ```

use base64ct::{Base64, Encoding};
use exm_web::Viewer;
use serde_json::{Value, json};
use std::io::{BufRead, stdin};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut viewer = Viewer::default();
    for line in stdin().lock().lines() {
        let line = line?;
        let request: Value = serde_json::from_str(&line)?;
        if let Some(numbers) = request.get("advance") {
            let [until, interval, packets] = serde_json::from_value(numbers.clone())?;
            println!("{}", json!({ "now": viewer.advance(until, interval, packets) }));
        } else if request.get("frame").is_some() {
            let mut frame = Vec::new();
            viewer.frame(&mut frame);
            let bytes: Vec<u8> = frame.iter().flat_map(|number| number.to_le_bytes()).collect();
            println!("{}", json!({ "frame": Base64::encode_string(&bytes) }));
        } else {
            println!("{}", viewer.call(&line));
        }
    }
    Ok(())
}
