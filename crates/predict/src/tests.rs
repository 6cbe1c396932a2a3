//! A user, a predictor and a host that echoes.

use crate::{Display, Frames, Predictor};
use exm_terminal::{Position, Screen, Size, Terminal, Underline};
use exm_units::{Instant, Span};
use proptest::prelude::*;

const INTERVAL: Span = Span::from_millis(100);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// A host that answers when it is told to.
struct Pair {
    host: Terminal,
    predictor: Predictor,
    frames: Frames,
    now: u64,
}

impl Pair {
    fn new(display: Display, overwrites: bool) -> Pair {
        let host = Terminal::new(Size::new(10, 3));
        Pair {
            host,
            predictor: Predictor::new(display, overwrites),
            frames: Frames::default(),
            now: 0,
        }
    }

    /// The user types `keys`, which are sent as a frame.
    fn type_keys(&mut self, keys: &[u8]) {
        self.now += 100;
        self.look();
        self.predictor.type_keys(at(self.now), keys, self.host.screen());
        self.frames.sent += 1;
        self.look();
    }

    /// The host has shown `output` in answer to all frames.
    fn answer(&mut self, output: &[u8]) {
        self.now += 100;
        self.host.advance(output);
        self.frames.echoed = self.frames.sent;
        self.look();
    }

    fn look(&mut self) {
        self.predictor.update(at(self.now), self.frames, INTERVAL, self.host.screen());
    }

    fn shown(&self) -> Screen {
        let mut screen = self.host.screen().clone();
        self.predictor.draw(&mut screen);
        screen
    }

    /// The first row that is shown, without the spaces at its end, and the cursor's column.
    fn line(&self) -> (String, usize) {
        let screen = self.shown();
        (screen.row(0).text().trim_end().to_owned(), screen.cursor().column)
    }

    /// One whose first prediction was confirmed.
    fn trusted(display: Display, overwrites: bool) -> Pair {
        let mut pair = Pair::new(display, overwrites);
        pair.type_keys(b"a");
        // Nothing is shown before something was confirmed.
        let is_shown = display == Display::Experimental;
        assert_eq!(pair.line().1, usize::from(is_shown));
        pair.answer(b"a");
        pair
    }
}

fn line(text: &str, column: usize) -> (String, usize) {
    (text.to_owned(), column)
}

#[test]
fn confirmed_typing_is_shown_at_once() {
    for display in [Display::Always, Display::Adaptive] {
        let mut pair = Pair::trusted(display, false);
        pair.type_keys(b"bc");
        assert_eq!(pair.line(), line("abc", 3));
        pair.type_keys(b"\x7f");
        assert_eq!(pair.line(), line("ab", 2));
        pair.type_keys(b"\x1b[D");
        assert_eq!(pair.line(), line("ab", 1));
        pair.type_keys(b"x");
        assert_eq!(pair.line(), line("axb", 2), "it is inserted");
        pair.answer(b"bc\x08 \x08\x08\x1b[@x");
        assert_eq!(pair.line(), line("axb", 2));
        assert_eq!(pair.predictor.next_look(at(0)), Instant::MAX, "nothing is left to judge");
    }
}

#[test]
fn overwriting_shifts_nothing() {
    let mut pair = Pair::trusted(Display::Always, true);
    pair.answer(b"bc\x1b[1;2H");
    pair.type_keys(b"x");
    assert_eq!(pair.line(), line("axc", 2));
    pair.type_keys(b"\x7f");
    assert_eq!(pair.line(), line("a c", 1));
}

#[test]
fn never_shows_nothing() {
    let mut pair = Pair::new(Display::Never, false);
    pair.type_keys(b"a");
    pair.answer(b"a");
    pair.type_keys(b"b");
    assert_eq!(pair.line(), line("a", 1));
}

/// A password is not echoed: after Return nothing is shown until something was confirmed again.
#[test]
fn after_return_predictions_are_tentative() {
    let mut pair = Pair::trusted(Display::Always, false);
    pair.type_keys(b"\r");
    pair.answer(b"\r\nPassword:");
    pair.type_keys(b"secret");
    assert_eq!(pair.shown().row(1).text().trim_end(), "Password:");
    pair.answer(b"");
    pair.type_keys(b"more");
    assert_eq!(pair.shown().row(1).text().trim_end(), "Password:");
}

#[test]
fn what_is_wrong_takes_everything_back() {
    let mut pair = Pair::trusted(Display::Always, false);
    pair.type_keys(b"bc");
    pair.answer(b"*");
    assert_eq!(pair.line(), line("a*", 2));
    pair.type_keys(b"d");
    assert_eq!(pair.line(), line("a*", 2), "trust is gone");
    let mut pair = Pair::trusted(Display::Experimental, false);
    pair.type_keys(b"bc");
    pair.answer(b"b*");
    pair.type_keys(b"d");
    assert_eq!(pair.line(), line("ab*d", 4), "only the wrong cell is taken back");
}

#[test]
fn pasting_is_not_predicted() {
    let mut pair = Pair::trusted(Display::Always, false);
    pair.type_keys(&[b'x'; 101]);
    assert_eq!(pair.line(), line("a", 1));
}

#[test]
fn a_late_answer_shows_predictions_on_a_quick_connection() {
    let mut pair = Pair::new(Display::Adaptive, false);
    let look = |pair: &mut Pair, now: u64| {
        let quick = Span::from_millis(20);
        pair.predictor.update(at(now), pair.frames, quick, pair.host.screen());
    };
    look(&mut pair, 0);
    pair.predictor.type_keys(at(0), b"a", pair.host.screen());
    pair.frames.sent += 1;
    pair.host.advance(b"a");
    pair.frames.echoed = 1;
    look(&mut pair, 40);
    pair.predictor.type_keys(at(100), b"b", pair.host.screen());
    look(&mut pair, 349);
    assert_eq!(pair.line(), line("a", 1));
    look(&mut pair, 350);
    assert_eq!(pair.line(), line("ab", 2));
}

#[test]
fn slow_connections_underline() {
    let mut pair = Pair::trusted(Display::Always, false);
    pair.type_keys(b"b");
    let underline = |pair: &Pair| {
        let cell = *pair.shown().cell(Position { row: 0, column: 1 }).expect("a cell");
        cell.style().underline
    };
    assert_eq!(underline(&pair), Underline::Single, "the interval is 100 ms");
    let quick = Span::from_millis(50);
    pair.predictor.update(at(pair.now), pair.frames, quick, pair.host.screen());
    assert_eq!(underline(&pair), Underline::None);
}

/// A program that repeats nothing, such as one that asks for a password, is asked for each line anew whether it does.
#[test]
fn a_password_is_never_shown() {
    for (display, overwrites) in
        [(Display::Always, false), (Display::Always, true), (Display::Adaptive, false)]
    {
        let mut pair = Pair::trusted(display, overwrites);
        pair.type_keys(b"b");
        assert_eq!(pair.line(), line("ab", 2), "what was confirmed is shown");
        pair.answer(b"b");
        // Return, and the first letters before the program asks.
        pair.type_keys(b"\rse");
        assert_eq!(pair.shown(), *pair.host.screen());
        pair.answer(b"\r\nPass: ");
        for key in b"cret\x7f\x7fet\x1b[Dx" {
            pair.type_keys(&[*key]);
            assert_eq!(pair.shown(), *pair.host.screen());
            // As after a glitch.
            pair.now += 6000;
            pair.look();
            assert_eq!(pair.shown(), *pair.host.screen());
            pair.answer(b"");
            assert_eq!(pair.shown(), *pair.host.screen());
        }
    }
}

#[test]
fn another_size_forgets_everything() {
    let mut pair = Pair::trusted(Display::Always, false);
    pair.type_keys(b"b");
    pair.host.resize(Size::new(5, 2));
    pair.look();
    assert_eq!(pair.line(), line("a", 1));
}

proptest! {
    /// Whatever is typed and shown, nothing panics, and once the host has answered everything and is asked again, the screen
    /// is the host's.
    #[test]
    fn answers_win(
        steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..8), prop::collection::vec(any::<u8>(), 0..8)), 1..40),
        overwrites in any::<bool>(),
        display in prop::sample::select(vec![Display::Always, Display::Adaptive, Display::Experimental]),
    ) {
        let mut pair = Pair::new(display, overwrites);
        for (keys, output) in steps {
            pair.type_keys(&keys);
            let _ = pair.shown();
            pair.answer(&output);
            prop_assert_eq!(pair.shown(), pair.host.screen().clone());
        }
    }
}
