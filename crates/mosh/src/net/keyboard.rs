//! [`Keyboard`]: commands to the client among a user's keys.

const SUSPEND: u8 = 0x1a;

/// What a user wants of the client itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// End the session.
    Leave,
    /// Stop this process until the user's shell continues it.
    Suspend,
}

/// Separates commands from what is typed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyboard {
    escape: Option<u8>,
    /// Whether the escape key was the last.
    is_commanded: bool,
}

impl Keyboard {
    /// One where the key `escape` begins a command; without it there are none.
    pub(super) fn new(escape: Option<u8>) -> Keyboard {
        Keyboard { escape, is_commanded: false }
    }

    /// The keys for the server, up to a command. What follows a command is not meant for the server.
    pub(super) fn read(&mut self, keys: &[u8]) -> (Vec<u8>, Option<Command>) {
        let mut typed = Vec::with_capacity(keys.len());
        for &key in keys {
            match (self.escape, self.is_commanded) {
                (Some(escape), false) if key == escape => self.is_commanded = true,
                (Some(escape), true) => {
                    self.is_commanded = false;
                    match key {
                        b'.' => return (typed, Some(Command::Leave)),
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
        let read = |keys: &[u8]| Keyboard::new(Some(0x1e)).read(keys);
        assert_eq!(read(b"ab\x1e.cd"), (b"ab".to_vec(), Some(Command::Leave)));
        assert_eq!(read(b"\x1e\x1ax"), (Vec::new(), Some(Command::Suspend)));
        assert_eq!(read(b"\x1e^\x1e\x1e\x1ex"), (b"\x1e\x1e\x1ex".to_vec(), None));
        let mut parts = Keyboard::new(Some(0x1e));
        assert_eq!(parts.read(b"a\x1e"), (b"a".to_vec(), None));
        assert_eq!(parts.read(b"."), (Vec::new(), Some(Command::Leave)));
        assert_eq!(Keyboard::new(None).read(b"\x1e."), (b"\x1e.".to_vec(), None));
    }
}
