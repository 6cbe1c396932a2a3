//! A terminal: any output is displayed, in any pieces and at any size, and updates bring a terminal that shows one
//! screen, or anything, to another.

use exm_terminal::{Screen, Size, Terminal, update};

/// Runs the target on `bytes`: two bytes of size, one that says where the rest is cut.
pub fn run(bytes: &[u8]) {
    let [columns, rows, cut, output @ ..] = bytes else { return };
    let size = Size::new(usize::from(*columns), usize::from(*rows) % 50);
    let (first, second) = output.split_at(usize::from(*cut).min(output.len()));
    let mut terminal = Terminal::new(size);
    terminal.advance(first);
    let before = terminal.screen().clone();
    second.chunks(7).for_each(|piece| terminal.advance(piece));
    let after = terminal.screen();

    let mut whole = Terminal::new(size);
    whole.advance(output);
    assert_eq!(whole.screen(), after, "pieces make no difference");

    let mut client = Terminal::showing(before.clone());
    client.advance(&update(&before, after, true));
    assert_same_text(client.screen(), after);
    let mut unknown = Terminal::new(size);
    unknown.advance(first);
    unknown.take_answers();
    unknown.advance(&update(&before, after, false));
    assert_same_text(unknown.screen(), after);
    assert!(unknown.take_answers().is_empty(), "an update asks for nothing");

    let other = Size::new(size.rows(), size.columns());
    client.resize(other);
    client.advance(&update(after, &Screen::new(other), true));
    assert_same_text(client.screen(), &Screen::new(other));
}

fn assert_same_text(shown: &Screen, wanted: &Screen) {
    assert_eq!(shown.cursor(), wanted.cursor());
    for (shown, wanted) in shown.rows().zip(wanted.rows()) {
        assert_eq!(shown.text(), wanted.text());
    }
}
