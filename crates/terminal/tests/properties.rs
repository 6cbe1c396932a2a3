//! What holds for any output of programs.

mod common;

use common::{assert_transmitted, output};
use exm_terminal::{Features, Screen, Size, Terminal};
use proptest::prelude::*;

fn terminal(size: Size, output: &[u8]) -> Terminal {
    let mut terminal = Terminal::new(size);
    terminal.advance(output);
    terminal
}

fn size() -> impl Strategy<Value = Size> {
    let usual = Just((20, 6));
    prop_oneof![usual, (1..45usize, 1..12usize)]
        .prop_map(|(columns, rows)| Size::new(columns, rows))
}

/// Updates between two screens, by which the first becomes the second.
fn check_update(features: Features, size: Size, first: &[u8], second: &[u8]) {
    let (from, to) = (terminal(size, first), terminal(size, second));
    let bytes = features.update(from.screen(), to.screen(), true);
    let mut client = Terminal::showing(features.transmitted(from.screen()));
    client.advance(&bytes);
    assert_transmitted(client.screen(), to.screen(), &features);
    assert!(client.take_answers().is_empty());
    assert_eq!(
        from.screen().bells() == to.screen().bells(),
        client.screen().bells() == from.screen().bells()
    );

    // A screen is up to date after its update, of which nothing is left.
    let again = features.update(to.screen(), to.screen(), true);
    assert!(again.is_empty(), "{}", String::from_utf8_lossy(&again));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_update_turns_one_screen_into_another(size in size(), first in output(), second in output()) {
        check_update(Features::MOSH, size, &first, &second);
    }

    #[test]
    fn an_update_of_all_features_does_too(size in size(), first in output(), second in output()) {
        check_update(Features::ALL, size, &first, &second);
    }

    #[test]
    fn an_update_follows_what_is_added(size in size(), first in output(), second in output()) {
        let whole = [first.as_slice(), &second].concat();
        check_update(Features::MOSH, size, &first, &whole);
    }

    #[test]
    fn a_terminal_in_an_unknown_state_is_brought_to_a_screen(
        size in size(), first in output(), second in output()
    ) {
        for features in [Features::MOSH, Features::ALL] {
            let to = terminal(size, &second);
            let mut client = terminal(size, &first);
            client.take_answers();
            // Titles and the clipboard are kept where the screen has none.
            client.advance(b"\x18\x1b]0;\x07\x1b[0 q\x1b[?1049l\x1b]8;;\x07");
            client.advance(&features.update(&Screen::new(size), to.screen(), false));
            assert_transmitted(client.screen(), to.screen(), &features);
            assert!(client.take_answers().is_empty());
        }
    }

    #[test]
    fn an_update_between_sizes_follows_a_resize(
        one in size(), other in size(), first in output(), second in output()
    ) {
        let (mut from, to) = (terminal(one, &first), terminal(other, &second));
        let bytes = Features::MOSH.update(from.screen(), to.screen(), true);
        from = Terminal::showing(Features::MOSH.transmitted(from.screen()));
        from.resize(other);
        from.advance(&bytes);
        assert_transmitted(from.screen(), to.screen(), &Features::MOSH);
    }

    #[test]
    fn the_way_output_is_cut_makes_no_difference(size in size(), output in output(), length in 1..9usize) {
        let whole = terminal(size, &output);
        let mut pieces = Terminal::new(size);
        output.chunks(length).for_each(|piece| pieces.advance(piece));
        prop_assert_eq!(whole.screen(), pieces.screen());
    }

    #[test]
    fn any_bytes_at_any_size_are_displayed(
        one in size(), other in size(), bytes in prop::collection::vec(any::<u8>(), 0..400), rest in output()
    ) {
        let mut terminal = terminal(one, &bytes);
        terminal.resize(other);
        terminal.advance(&bytes);
        terminal.advance(&rest);
        let screen = terminal.screen();
        prop_assert_eq!(screen.size(), other);
        prop_assert!(screen.cell(screen.cursor()).is_some());
        for row in screen.rows() {
            let widths: usize = (0..other.columns()).map(|column| row.width_at(column)).sum();
            prop_assert_eq!(widths, other.columns(), "wide characters are whole");
        }
    }
}
