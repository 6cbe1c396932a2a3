//! What several tests share: plausible output of programs, and a comparison of screens.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use exm_terminal::{Cell, Features, Position, Screen, Style};
use proptest::prelude::*;

/// The output of programs, recorded at 80x24.
pub const RECORDINGS: [(&str, &[u8]); 7] = [
    ("git", include_bytes!("../recordings/git")),
    ("htop", include_bytes!("../recordings/htop")),
    ("less", include_bytes!("../recordings/less")),
    ("ls", include_bytes!("../recordings/ls")),
    ("tmux", include_bytes!("../recordings/tmux")),
    ("top", include_bytes!("../recordings/top")),
    ("vim", include_bytes!("../recordings/vim")),
];

/// Plausible output: text, control characters and sequences, and some arbitrary bytes.
pub fn output() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

/// Text with wide, combining and unusual characters.
pub fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[ -~]{1,30}",
        1 => " {1,40}",
        1 => "[あ漢字]{1,6}",
        1 => "[aé日\u{301}\u{302}\u{fe0f}🦀]{1,6}",
        1 => prop::collection::vec(prop::sample::select(vec!['=', '#', 'x']), 1)
            .prop_flat_map(|c| (Just(c[0]), 1..60usize))
            .prop_map(|(c, n)| c.to_string().repeat(n)),
    ]
    .prop_map(String::into_bytes)
}

/// Control sequences that move, erase, insert and delete.
pub fn editing() -> impl Strategy<Value = Vec<u8>> {
    let finals = "@ABCDEFGHIJKLMPSTXZd`aebf";
    let number = prop_oneof![Just(String::new()), (0..12u32).prop_map(|n| n.to_string())];
    (number.clone(), number, prop::sample::select(finals.chars().collect::<Vec<_>>()))
        .prop_map(|(a, b, last)| match last {
            'H' | 'f' => format!("\x1b[{a};{b}{last}"),
            _ => format!("\x1b[{a}{last}"),
        })
        .prop_map(String::into_bytes)
}

/// SGR.
pub fn sgr() -> impl Strategy<Value = Vec<u8>> {
    let codes = vec![
        "",
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "7",
        "8",
        "9",
        "21",
        "22",
        "23",
        "24",
        "27",
        "29",
        "31",
        "42",
        "97",
        "104",
        "39",
        "49",
        "38;5;200",
        "48;5;3",
        "38;2;1;2;3",
        "48:2::9:8:7",
        "4:3",
        "58;5;1",
        "1;31;44",
        "0;7",
    ];
    prop::sample::select(codes).prop_map(|codes| format!("\x1b[{codes}m").into_bytes())
}

/// Modes, margins, titles and other state.
pub fn state() -> impl Strategy<Value = Vec<u8>> {
    let sequences = vec![
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[20h",
        "\x1b[20l",
        "\x1b[?5h",
        "\x1b[?5l",
        "\x1b[?6h",
        "\x1b[?6l",
        "\x1b[?7h",
        "\x1b[?7l",
        "\x1b[?25l",
        "\x1b[?25h",
        "\x1b[?1000h",
        "\x1b[?1002h",
        "\x1b[?1003l",
        "\x1b[?1006h",
        "\x1b[?1015h",
        "\x1b[?1004h",
        "\x1b[?2004h",
        "\x1b[?2004l",
        "\x1b[?1h",
        "\x1b[?47h",
        "\x1b[?1047l",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[2;5r",
        "\x1b[r",
        "\x1b[3;3r",
        "\x1b7",
        "\x1b8",
        "\x1bM",
        "\x1bD",
        "\x1bE",
        "\x1bH",
        "\x1b[3g",
        "\x1b#8",
        "\x1bc",
        "\x1b[!p",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x0e",
        "\x0f",
        "\x1b]0;both\x07",
        "\x1b]2;title\x1b\\",
        "\x1b]1;icon\x07",
        "\x1b]52;c;aGVsbG8=\x07",
        "\x1b[3 q",
        "\x1b]8;;http://a\x07",
        "\x1b]8;id=1;http://b\x1b\\",
        "\x1b]8;;\x07",
        "\x07",
        "\x1b[6n",
        "\x1b[c",
    ];
    prop::sample::select(sequences).prop_map(|sequence| sequence.as_bytes().to_vec())
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let control = prop::sample::select(vec!["\r", "\n", "\r\n", "\t", "\x08", "\n\n"]);
    prop_oneof![
        6 => text(),
        4 => editing(),
        3 => sgr(),
        3 => control.prop_map(|control| control.as_bytes().to_vec()),
        2 => state(),
        1 => prop::collection::vec(any::<u8>(), 0..10),
    ]
}

/// Asserts that `shown` is what `features` transmit of `wanted`.
pub fn assert_transmitted(shown: &Screen, wanted: &Screen, features: &Features) {
    let target = features.transmitted(wanted);
    assert_eq!(shown.size(), target.size());
    for (number, (left, right)) in shown.rows().zip(target.rows()).enumerate() {
        assert_eq!(left.text(), right.text(), "row {number}");
        for column in 0..target.size().columns() {
            let at = Position { row: number, column };
            assert_eq!(seen(shown, shown.cell(at)), seen(&target, target.cell(at)), "{at:?}");
        }
    }
    assert_eq!(shown.cursor(), target.cursor());
    assert_eq!(pen(shown), pen(&target));
    let mut modes = *shown.modes();
    modes.application_cursor = false;
    modes.application_keypad = false;
    assert_eq!(modes, *target.modes());
    assert_eq!(shown.title(), target.title());
    assert_eq!(shown.icon_name(), target.icon_name());
    if target.clipboard().is_some() {
        assert_eq!(shown.clipboard(), target.clipboard());
    }
}

/// What a user sees of a cell: the number of its link is of no importance.
fn seen(screen: &Screen, cell: Option<&Cell>) -> Option<(Cell, Option<String>)> {
    let cell = cell?;
    let link = screen.link(cell.style().link).map(|link| format!("{link:?}"));
    Some((cell.with_style(Style { link: 0, ..*cell.style() }), link))
}

fn pen(screen: &Screen) -> (Style, Option<String>) {
    let link = screen.link(screen.pen().link).map(|link| format!("{link:?}"));
    (Style { link: 0, ..*screen.pen() }, link)
}
