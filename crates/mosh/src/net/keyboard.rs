//! [`Keyboard`]: commands to the client among a user's keys.

const SUSPEND: u8 = 0x1a;

/// What a user wants of the client itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// End the session.
    Leave,
    /// Stop this process until the user's shell continues it.
    Suspend,
    /// Show the history. The keys from this place on are for that.
    History(usize),
    /// Whether what the user is asked for is allowed.
    Answer(bool),
}

/// What the page-up key sends.
const PAGE_UP: &[u8] = b"\x1b[5~";

/// Separates commands from what is typed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyboard {
    escape: Option<u8>,
    /// Whether the escape key was the last.
    is_commanded: bool,
    /// Whether there are commands for the history.
    has_history: bool,
    /// Whether the user is asked something.
    is_asking: bool,
}

impl Keyboard {
    /// One where the key `escape` begins a command; without it there are none.
    pub(super) fn new(escape: Option<u8>, has_history: bool) -> Keyboard {
        Keyboard { escape, is_commanded: false, has_history, is_asking: false }
    }

    /// Whether the user is asked something: then there are commands to answer.
    pub(super) fn set_asking(&mut self, is_asking: bool) {
        self.is_asking = is_asking;
    }

    /// The keys for the server, up to a command. What follows a command is not meant for the server.
    pub(super) fn read(&mut self, keys: &[u8]) -> (Vec<u8>, Option<Command>) {
        let mut typed = Vec::with_capacity(keys.len());
        for (place, &key) in keys.iter().enumerate() {
            match (self.escape, self.is_commanded) {
                (Some(escape), false) if key == escape => self.is_commanded = true,
                (Some(escape), true) => {
                    self.is_commanded = false;
                    match key {
                        b'.' => return (typed, Some(Command::Leave)),
                        b'[' if self.has_history => {
                            return (typed, Some(Command::History(place + 1)));
                        }
                        _ if self.has_history && keys[place..].starts_with(PAGE_UP) => {
                            return (typed, Some(Command::History(place + PAGE_UP.len())));
                        }
                        b'y' | b'n' if self.is_asking => {
                            return (typed, Some(Command::Answer(key == b'y')));
                        }
                        SUSPEND => return (typed, Some(Command::Suspend)),
                        // The escape key itself.
                        b'^' => typed.push(escape),
                        _ if key == escape => typed.push(escape),
                        _ => typed.extend([escape, key]),
                    }
                }
                _ => typed.push(key),
            }
        }
        (typed, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escape_key_begins_a_command() {
        let read = |keys: &[u8]| Keyboard::new(Some(0x1e), false).read(keys);
        assert_eq!(read(b"ab\x1e.cd"), (b"ab".to_vec(), Some(Command::Leave)));
        assert_eq!(read(b"\x1e\x1ax"), (Vec::new(), Some(Command::Suspend)));
        assert_eq!(read(b"\x1e^\x1e\x1e\x1ex"), (b"\x1e\x1e\x1ex".to_vec(), None));
        assert_eq!(read(b"\x1e["), (b"\x1e[".to_vec(), None));
        let history = |keys: &[u8]| Keyboard::new(Some(0x1e), true).read(keys);
        assert_eq!(history(b"a\x1e[k"), (b"a".to_vec(), Some(Command::History(3))));
        assert_eq!(history(b"\x1e\x1b[5~k"), (Vec::new(), Some(Command::History(5))));
        let mut asked = Keyboard::new(Some(0x1e), false);
        assert_eq!(asked.read(b"\x1ey"), (b"\x1ey".to_vec(), None));
        asked.set_asking(true);
        assert_eq!(asked.read(b"y\x1ey"), (b"y".to_vec(), Some(Command::Answer(true))));
        assert_eq!(asked.read(b"\x1en"), (Vec::new(), Some(Command::Answer(false))));
        let mut parts = Keyboard::new(Some(0x1e), false);
        assert_eq!(parts.read(b"a\x1e"), (b"a".to_vec(), None));
        assert_eq!(parts.read(b"."), (Vec::new(), Some(Command::Leave)));
        assert_eq!(Keyboard::new(None, false).read(b"\x1e."), (b"\x1e.".to_vec(), None));
    }
}
