//! [`HistoryKeys`]: what the keys mean while the history is shown.

/// A movement in the history, or the end of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Lines(i64),
    Pages(i64),
    First,
    Last,
    Leave,
}

/// What was read of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// ESC, which may be a key of its own.
    Escape,
    /// A control sequence: its only parameter, or 0, and whether there is anything but digits.
    Csi { parameter: u32, is_plain: bool },
    /// ESC O.
    Ss3,
    /// The coordinates of an old mouse report: so many bytes are missing.
    Mouse(u8),
    /// Pasted text, and how much of its end was read.
    Paste(usize),
}

/// What ends pasted text.
const PASTE_END: &[u8] = b"\x1b[201~";

/// Reads keys while the history is shown: they may be cut anywhere, and nothing of them is for the server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HistoryKeys {
    state: State,
}

impl HistoryKeys {
    /// Whether an ESC was read of which it is not known yet whether it is a key. If nothing follows soon, it is.
    pub(crate) fn is_undecided(self) -> bool {
        self.state == State::Escape
    }

    /// The movements that `keys` ask for. After the last one, [`Move::Leave`], nothing more of them counts.
    pub(crate) fn read(&mut self, keys: &[u8]) -> Vec<Move> {
        let mut moves = Vec::new();
        for &key in keys {
            if let Some(next) = self.key(key) {
                moves.push(next);
                if next == Move::Leave {
                    break;
                }
            }
        }
        moves
    }

    fn key(&mut self, key: u8) -> Option<Move> {
        let state = std::mem::take(&mut self.state);
        match (state, key) {
            (State::Ground, 0x1b) => self.state = State::Escape,
            (State::Ground, _) => return Some(letter(key)),
            (State::Escape, b'[') => self.state = State::Csi { parameter: 0, is_plain: true },
            (State::Escape, b'O') => self.state = State::Ss3,
            // Alt and a key, or ESC twice.
            (State::Escape, _) => return Some(Move::Leave),
            (State::Csi { parameter, is_plain }, b'0'..=b'9') => {
                let parameter = parameter.saturating_mul(10).saturating_add((key - b'0').into());
                self.state = State::Csi { parameter, is_plain };
            }
            (State::Csi { parameter: 0, is_plain: true }, b'M') => self.state = State::Mouse(3),
            (State::Csi { parameter: 200, is_plain: true }, b'~') => self.state = State::Paste(0),
            (State::Csi { parameter, is_plain }, b'@'..=b'~') => {
                return if is_plain { sequence(parameter, key) } else { None };
            }
            (State::Csi { .. }, 0x1b) => self.state = State::Escape,
            (State::Csi { parameter, .. }, _) => {
                self.state = State::Csi { parameter, is_plain: false };
            }
            (State::Ss3, _) => return sequence(0, key),
            (State::Mouse(missing), _) if missing > 1 => self.state = State::Mouse(missing - 1),
            (State::Mouse(_), _) => {}
            (State::Paste(read), _) => {
                let read = match key {
                    _ if key == PASTE_END[read] => read + 1,
                    0x1b => 1,
                    _ => 0,
                };
                if read < PASTE_END.len() {
                    self.state = State::Paste(read);
                }
            }
        }
        None
    }
}

/// What a character means.
fn letter(key: u8) -> Move {
    match key {
        b'k' | 0x10 => Move::Lines(-1),
        b'j' | b'\r' | b'\n' | 0x0e => Move::Lines(1),
        b'b' | 0x02 => Move::Pages(-1),
        b' ' | b'f' | 0x06 => Move::Pages(1),
        b'g' => Move::First,
        b'G' => Move::Last,
        _ => Move::Leave,
    }
}

/// What a sequence means. Others, such as reports of the mouse and the focus, mean nothing.
fn sequence(parameter: u32, end: u8) -> Option<Move> {
    Some(match (parameter, end) {
        (0 | 1, b'A') => Move::Lines(-1),
        (0 | 1, b'B') => Move::Lines(1),
        (5, b'~') => Move::Pages(-1),
        (6, b'~') => Move::Pages(1),
        (0 | 1, b'H') | (1 | 7, b'~') => Move::First,
        (0 | 1, b'F') | (4 | 8, b'~') => Move::Last,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &[u8]) -> Vec<Move> {
        let whole = HistoryKeys::default().read(keys);
        let mut cut = HistoryKeys::default();
        let pieces: Vec<Move> = keys.iter().flat_map(|key| cut.read(&[*key])).collect();
        assert_eq!(pieces.get(..whole.len()), Some(&whole[..]), "keys may be cut anywhere");
        whole
    }

    #[test]
    fn keys_scroll() {
        let lines = [Move::Lines(-1), Move::Lines(1), Move::Pages(-1), Move::Pages(1)];
        let ends = [Move::First, Move::Last];
        assert_eq!(read(b"kjb gG"), [&lines[..], &ends].concat());
        assert_eq!(read(b"\x1b[A\x1b[B\x1b[5~\x1b[6~\x1b[H\x1b[F"), [&lines[..], &ends].concat());
        assert_eq!(read(b"\x1bOA\x1bOB\x1bOH\x1bOF\x1b[1~\x1b[4~").len(), 6);
    }

    #[test]
    fn other_keys_leave_and_nothing_leaks() {
        assert_eq!(read(b"q"), [Move::Leave]);
        assert_eq!(read(b"krm -r\r"), [Move::Lines(-1), Move::Leave]);
        assert_eq!(read(b"\x1bx"), [Move::Leave]);
        assert_eq!(read(b"\x1b[200~q\x1b[2x\x1b\x1b[201~k"), [Move::Lines(-1)], "a paste");
        assert_eq!(read(b"\x1b[M qq\x1b[<0;1;1M\x1b[I\x1b[15~\x1bOPk"), [Move::Lines(-1)]);
    }

    #[test]
    fn escape_may_begin_a_sequence() {
        let mut keys = HistoryKeys::default();
        assert_eq!(keys.read(b"\x1b"), []);
        assert!(keys.is_undecided());
        assert_eq!(keys.read(b"[A"), [Move::Lines(-1)]);
        assert!(!keys.is_undecided());
    }
}
