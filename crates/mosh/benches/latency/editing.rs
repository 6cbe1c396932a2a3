//! Keys typed to a shell, an editor and a pager: what is predicted of them, and how often that is wrong.
//!
//! The same keys go to the program in a terminal of its own, without a session: what that shows before the next key is what the key does.

use crate::ends::Ends;
use crate::scenarios::{AT_ONCE, BETWEEN, Value, quantile};
use crate::view::{COLUMNS, View};
use exm_terminal::{Cell, Position, Screen};
use exm_units::{Instant, Span};
use std::io;

/// A program, and what is typed to it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// A line of the shell that runs it.
    script: &'static str,
    /// What the screen contains once it takes keys.
    ready: &'static str,
    /// The keys; an arrow key is one of them.
    keys: &'static str,
}

/// Commands with errors that are corrected, at once or by going back; commands from the history; and the output of commands.
pub(crate) const BASH: Program = Program {
    script: "HISTFILE= exec bash --norc --noprofile -i",
    ready: "ready$",
    keys: "echo the quick brwn\x7f\x7fown fox jumps over\r\
        test -d /usr/share/doc && echo yes it is there\r\
        \x1b[A\x7f\x7f\x7f\x7f\x7fhere again\r\
        echo one two three\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D and a hlaf\x7f\x7f\x7falf\x1b[C\x1b[C\x1b[C\r\
        \x1b[A\x1b[A\x1b[B\x01# \x05 it ends here\r\
        for word in some words of a list; do echo $word; done\r\
        echo aaaa bbbb\x7f\x7f\x7f\x7f\x7f\x7fab\x1b[D\x1b[Dxx\x05yy\r\
        printf '%s\\n' a line that is so long that it does not fit into the width of this window\r\
        \x15pwd\r\
        git log --oneline main..\x15echo never mind, nothing was changed here\r",
};

/// Text and corrections in insert mode, commands in normal mode.
pub(crate) const VIM: Program = Program {
    script: "exec vim -u NONE -N -n --cmd 'set t_ti= t_te= t_RV= t_u7= ttimeout ttimeoutlen=20' lines",
    ready: "line 1",
    keys: "iThe quick brwn\x7f\x7fown fox jumps.\rOver the lazy dog, too.\x1b\
        jjkhhlldd3wxxp0A and the end\x1b\
        oAnother line with a tpyo\x7f\x7f\x7fypo in it\x1bbbcwtwo words\x1b\
        u:set number\r/line 1\rnnNggO\tindented text\x1b[D\x1b[D\x1b[Dmore \x1b\
        ddP>>..<<jJrxfeaee\x7f\x7fff\x1b$x~.",
};

/// Movements and searches.
pub(crate) const LESS: Program = Program {
    script: "exec less -X lines",
    ready: "line 1",
    keys: "jjjk  bjjjjkkk/line 4\rnnNggG\x1b[A\x1b[Bdu50g/nothing of this\rjk/9$\rnnn",
};

/// The characters of a screen, and where its cursor is.
#[derive(Clone, PartialEq, Eq)]
struct Shown {
    characters: Vec<char>,
    cursor: Position,
}

impl Shown {
    fn of(screen: &Screen) -> Shown {
        let cells = screen.rows().flat_map(exm_terminal::Row::cells);
        // An erased cell looks like a blank.
        let character = |cell: &Cell| if cell.character() == '\0' { ' ' } else { cell.character() };
        Shown { characters: cells.map(character).collect(), cursor: screen.cursor() }
    }
}

/// The bytes of each key.
fn split(keys: &str) -> Vec<&[u8]> {
    let mut rest = keys.as_bytes();
    let mut split = Vec::new();
    while !rest.is_empty() {
        let length = if rest.starts_with(b"\x1b[") { 3 } else { 1 };
        let (key, after) = rest.split_at(length.min(rest.len()));
        split.push(key);
        rest = after;
    }
    split
}

/// What the program shows after all that it has written so far.
fn shown(direct: &mut View) -> io::Result<Shown> {
    loop {
        let before = Shown::of(direct.screen());
        direct.show()?;
        let after = Shown::of(direct.screen());
        if after == before {
            return Ok(after);
        }
    }
}

/// What became of a key.
struct Key {
    /// Whether it was a character that the program put at the cursor.
    is_echoed: bool,
    /// Whether it changed anything.
    is_visible: bool,
    /// How long it took until all that it does was shown; none: longer than to the next key.
    took: Option<Span>,
    /// Whether something else was shown before.
    is_corrected: bool,
}

/// The line of the shell that runs `program` in `folder`.
pub(crate) fn script_of(program: &Program, folder: &str) -> String {
    format!("printf '\\033[H\\033[2J'; cd {folder}; {}", program.script)
}

/// Types the keys of `program`, which `ends` run in `folder`.
pub(crate) fn editing(ends: &mut Ends, program: &Program, folder: &str) -> io::Result<Vec<Value>> {
    let mut direct = View::of_script(&script_of(program, folder), "C.UTF-8")?;
    ends.until(|screen| screen.rows().any(|row| row.text().contains(program.ready)))?;
    ends.rest(Span::from_secs(2))?;
    let first = shown(&mut direct)?;
    if Shown::of(ends.screen()) != first {
        return Err(io::Error::other("the session differs from a terminal before the first key"));
    }
    let mut known = vec![first];
    let mut typed = Vec::new();
    let mut next = ends.now();
    for key in split(program.keys) {
        next += BETWEEN;
        typed.push(press(ends, &mut direct, &mut known, (key, next))?);
    }
    Ok(values(&typed))
}

/// Types a key, and looks at what is shown until then. What was shown after each key is `known`.
fn press(
    ends: &mut Ends,
    direct: &mut View,
    known: &mut Vec<Shown>,
    (key, until): (&[u8], Instant),
) -> io::Result<Key> {
    direct.type_keys(key)?;
    ends.type_keys(key)?;
    let begin = ends.now();
    let mut seen: Vec<(Span, Shown)> = Vec::new();
    while ends.now() < until {
        ends.step(until)?;
        seen.push((ends.now().saturating_since(begin), Shown::of(ends.screen())));
        direct.show()?;
    }
    let after = shown(direct)?;
    let before = &known[known.len() - 1];
    let is_moved = after.cursor != before.cursor;
    let place = before.cursor.row * usize::from(COLUMNS) + before.cursor.column;
    let is_echoed = is_moved && key.len() == 1 && after.characters[place] == char::from(key[0]);
    let is_visible = after != *before;
    let took = seen.iter().find(|(_, shown)| *shown == after).map(|(took, _)| *took);
    known.push(after);
    // What was shown late may still come.
    let recent = &known[known.len().saturating_sub(4)..];
    let is_wrong = |shown: &Shown| {
        let mut cells = shown.characters.iter().enumerate();
        cells.any(|(place, cell)| recent.iter().all(|known| known.characters[place] != *cell))
    };
    let is_corrected = seen.iter().any(|(_, shown)| is_wrong(shown));
    if std::env::var_os("EXM_MOSH_SHOW").is_some() {
        let key = String::from_utf8_lossy(key);
        eprintln!("{key:?} echoed {is_echoed} after {took:?}, corrected {is_corrected}");
    }
    Ok(Key { is_echoed, is_visible, took, is_corrected })
}

fn values(typed: &[Key]) -> Vec<Value> {
    let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let is_quick = |key: &&Key| key.took.is_some_and(|took| took < AT_ONCE);
    let of = |is_meant: &dyn Fn(&Key) -> bool| {
        let meant: Vec<&Key> = typed.iter().filter(|key| is_meant(key)).collect();
        let quick = meant.iter().filter(|key| is_quick(key)).count();
        (meant.len(), share(quick, meant.len()))
    };
    let (letters, quick_letters) = of(&|key| key.is_echoed);
    let (keys, quick_keys) = of(&|key| key.is_visible);
    let corrected = typed.iter().filter(|key| key.is_corrected).count();
    let visible = typed.iter().filter(|key| key.is_visible);
    let mut times: Vec<f64> = visible.filter_map(|key| key.took).map(Span::as_millis_f64).collect();
    times.sort_by(f64::total_cmp);
    vec![
        ("letters", letters as f64, 0),
        ("letters under 10 ms %", quick_letters, 1),
        ("keys", keys as f64, 0),
        ("keys under 10 ms %", quick_keys, 1),
        ("corrected %", share(corrected, typed.len()), 1),
        ("median ms", quantile(&times, 0.5), 1),
        ("p99 ms", quantile(&times, 0.99), 1),
        ("missing", (keys - times.len()) as f64, 0),
    ]
}
