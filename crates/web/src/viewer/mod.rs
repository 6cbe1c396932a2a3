//! [`Viewer`]: answers the page's commands, and collects its frames.

/// What the page talks to.
#[derive(Debug, Default)]
pub struct Viewer {}

impl Viewer {
    /// Executes a command, and returns its answer; both are JSON.
    pub fn call(&mut self, _command: &str) -> String {
        "{}".to_owned()
    }

    /// Simulates up to `until` seconds or about `packets` packets, with samples at the multiples of `interval` seconds,
    /// and returns the time reached.
    pub fn advance(&mut self, _until: f64, _interval: f64, _packets: f64) -> f64 {
        0.0
    }

    /// Appends a frame to `frame`.
    pub fn frame(&mut self, _frame: &mut Vec<f64>) {}
}
