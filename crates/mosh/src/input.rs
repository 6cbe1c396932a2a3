//! [`Input`]: what a client's user did, for the programs.

use exm_ssp::UserEvent;
use exm_terminal::Size;

use crate::shown::cells;

/// What a client's user did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Typed these bytes, which are to be written to the programs' terminal.
    Keys(Vec<u8>),
    /// Changed the size of the terminal.
    Resize(Size),
}

/// Turns the arrow keys of a client's terminal, which is in application mode, into those that programs expect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrows {
    /// How much of ESC O has come.
    begun: usize,
}

impl Arrows {
    /// What programs are to read for `keys`; in application mode, the same.
    pub(crate) fn translate(&mut self, keys: &[u8], application: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(keys.len());
        for &byte in keys {
            match (self.begun, byte) {
                // ESC is not held back: it may be a key of its own.
                (_, 0x1b) => {
                    self.begun = 1;
                    out.push(byte);
                }
                (1, b'O') => self.begun = 2,
                (2, b'A'..=b'D') if !application => {
                    self.begun = 0;
                    out.extend([b'[', byte]);
                }
                (2, _) => {
                    self.begun = 0;
                    out.extend([b'O', byte]);
                }
                _ => {
                    self.begun = 0;
                    out.push(byte);
                }
            }
        }
        out
    }
}

/// The inputs in `events`; of sizes that follow each other only the last counts.
pub(crate) fn inputs(events: Vec<UserEvent>) -> Vec<Input> {
    let mut inputs: Vec<Input> = Vec::new();
    for event in events {
        let input = match event {
            UserEvent::Keys(keys) => Input::Keys(keys),
            UserEvent::Resize(size) => Input::Resize(cells(size)),
            _ => continue,
        };
        if let (Some(last @ Input::Resize(_)), Input::Resize(_)) = (inputs.last_mut(), &input) {
            *last = input;
        } else {
            inputs.push(input);
        }
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_ssp::WindowSize;

    #[test]
    fn arrows_are_what_programs_expect() {
        let translate = |keys: &[u8], application| Arrows::default().translate(keys, application);
        assert_eq!(translate(b"a\x1bOAb", false), b"a\x1b[Ab");
        assert_eq!(translate(b"a\x1bOAb", true), b"a\x1bOAb");
        assert_eq!(translate(b"\x1bOP\x1bx\x1b\x1bOD", false), b"\x1bOP\x1bx\x1b\x1b[D");
        let mut arrows = Arrows::default();
        let parts = [&b"\x1b"[..], b"O", b"C"].map(|part| arrows.translate(part, false));
        assert_eq!(parts.concat(), b"\x1b[C", "they may come byte by byte");
    }

    #[test]
    fn only_the_last_of_sizes_that_follow_each_other_counts() {
        let size = |width| UserEvent::Resize(WindowSize { width, height: 9 });
        let events = vec![size(1), size(2), UserEvent::Keys(b"x".to_vec()), size(3), size(4)];
        let resize = |columns| Input::Resize(Size::new(columns, 9));
        assert_eq!(inputs(events), [resize(2), Input::Keys(b"x".to_vec()), resize(4)]);
    }
}
