//! The scenarios: each is measured for one pair of ends, and gives a [`Row`].

use crate::Options;
use crate::editing::{BASH, LESS, Program, VIM, editing, script_of};
use crate::ends::{Ends, Pair};
use crate::relay::{Counts, Link};
use exm_terminal::{Row as ScreenRow, Screen};
use exm_units::{Instant, Span};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// The time between two letters.
pub(crate) const BETWEEN: Span = Span::from_millis(200);
/// Letters of a line; then Return is typed, and `cat` repeats the line.
const LINE: usize = 70;
/// The row of the first letter: a client's notices are above.
const FIRST_ROW: usize = 3;
/// So many letters fit a screen.
pub(crate) const MOST_LETTERS: usize = 10 * LINE;
/// What counts as at once.
pub(crate) const AT_ONCE: Span = Span::from_millis(10);

/// A measured value: its name, the value, and how many decimals are worth showing.
pub(crate) type Value = (&'static str, f64, usize);

/// What was measured.
pub(crate) struct Row {
    pub(crate) scenario: &'static str,
    pub(crate) pair: &'static str,
    pub(crate) values: Vec<Value>,
}

/// What is measured.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Letters typed to `cat`.
    Letters { display: &'static str },
    /// Keys typed to this program, with adaptive predictions.
    Editing { program: Program },
    /// How long Ctrl-C takes to stop `yes`.
    Interrupt,
    /// The queue of a slow link under a flood that this line of the shell makes.
    Flood { script: &'static str },
    /// The server's processor time for much output.
    Emulation,
}

/// A scenario.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) rtt: u64,
    pub(crate) loss: u64,
    pub(crate) rate: Option<u64>,
    pub(crate) kind: Kind,
}

const NEVER: Kind = Kind::Letters { display: "never" };

/// All of them.
pub(crate) const SCENARIOS: [Scenario; 16] = [
    Scenario { name: "rtt100", rtt: 100, loss: 0, rate: None, kind: NEVER },
    Scenario { name: "loss29", rtt: 100, loss: 29, rate: None, kind: NEVER },
    Scenario { name: "rtt500", rtt: 500, loss: 0, rate: None, kind: NEVER },
    Scenario {
        name: "adaptive",
        rtt: 100,
        loss: 0,
        rate: None,
        kind: Kind::Letters { display: "adaptive" },
    },
    Scenario { name: "bash", rtt: 100, loss: 0, rate: None, kind: Kind::Editing { program: BASH } },
    Scenario { name: "vim", rtt: 100, loss: 0, rate: None, kind: Kind::Editing { program: VIM } },
    Scenario { name: "less", rtt: 100, loss: 0, rate: None, kind: Kind::Editing { program: LESS } },
    Scenario { name: "slow", rtt: 100, loss: 0, rate: Some(64), kind: NEVER },
    // Held out: no constant was chosen by them.
    Scenario { name: "rtt30", rtt: 30, loss: 3, rate: None, kind: NEVER },
    Scenario { name: "rtt250", rtt: 250, loss: 10, rate: None, kind: NEVER },
    Scenario { name: "slow-lossy", rtt: 180, loss: 15, rate: Some(48), kind: NEVER },
    Scenario { name: "ctrl-c", rtt: 100, loss: 0, rate: None, kind: Kind::Interrupt },
    Scenario {
        name: "flood-yes",
        rtt: 100,
        loss: 0,
        rate: Some(200),
        kind: Kind::Flood { script: "yes" },
    },
    Scenario {
        name: "flood-redraw",
        rtt: 100,
        loss: 0,
        rate: Some(200),
        kind: Kind::Flood {
            script: "sh -c 'trap \"echo; exit\" INT; while :; do cat redraws; done'",
        },
    },
    Scenario {
        name: "flood-counter",
        rtt: 100,
        loss: 0,
        rate: Some(32),
        kind: Kind::Flood {
            script: "sh -c 'trap \"echo; exit\" INT; while :; do i=$((i+1)); printf \"\\r$i\"; sleep 0.01; done'",
        },
    },
    Scenario { name: "emulation", rtt: 0, loss: 0, rate: None, kind: Kind::Emulation },
];

/// Measures `scenario` for `pair`. The files that it shows are in `folder`.
pub(crate) fn measure(
    scenario: &Scenario,
    pair: &Pair,
    options: &Options,
    folder: &Path,
) -> io::Result<Row> {
    let link = Link {
        delay: Span::from_micros(scenario.rtt * 500),
        loss: scenario.loss,
        rate: scenario.rate,
        seed: options.seed,
        ..Link::default()
    };
    let shell = format!("cd {}; PS1='ready$ ' exec sh -i", folder.display());
    let start = |display, script: &str| Ends::start(pair, link, display, script);
    let values = match scenario.kind {
        Kind::Letters { display } => {
            let script = format!("printf '\\033[2J\\033[{};1H'; exec cat", FIRST_ROW + 1);
            letters(&mut start(display, &script)?, options.letters)?
        }
        Kind::Editing { program } => {
            let folder = folder.display().to_string();
            let script = script_of(&program, &folder);
            editing(&mut start("adaptive", &script)?, &program, &folder)?
        }
        Kind::Interrupt => interrupt(&mut start("never", &shell)?, options.runs)?,
        Kind::Flood { script } => flood(&mut start("never", &shell)?, script)?,
        Kind::Emulation => emulation(&mut start("never", &shell)?, options.megabytes)?,
    };
    Ok(Row { scenario: scenario.name, pair: pair.name, values })
}

/// A letter on the screen.
struct Letter {
    place: (usize, usize),
    letter: char,
    typed: Instant,
    shown: Option<Instant>,
}

/// Types `count` letters.
fn letters(ends: &mut Ends, count: usize) -> io::Result<Vec<Value>> {
    ends.until(|screen| screen.cursor().row == FIRST_ROW)?;
    ends.rest(Span::from_secs(2))?;
    let before = ends.relay.counts();
    let mut typed: Vec<Letter> = Vec::new();
    let mut corrected = 0;
    let mut next = ends.now();
    for number in 0..count {
        let place = (FIRST_ROW + number / LINE * 2, number % LINE);
        if number > 0 && place.1 == 0 {
            ends.type_keys(b"\r")?;
            next = watch(ends, next + BETWEEN * 5, &mut typed, &mut corrected)?;
        }
        let letter = b'a' + u8::try_from(number * 7 % 26).unwrap_or(0);
        ends.type_keys(&[letter])?;
        typed.push(Letter { place, letter: letter.into(), typed: ends.now(), shown: None });
        next = watch(ends, next + BETWEEN, &mut typed, &mut corrected)?;
    }
    let sent = since(ends, &before);
    watch(ends, next + Span::from_secs(5), &mut typed, &mut corrected)?;
    let mut times: Vec<f64> = typed.iter().filter_map(time_of).collect();
    times.sort_by(f64::total_cmp);
    let quick = times.iter().filter(|time| **time < AT_ONCE.as_millis_f64()).count();
    let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let per_key = |value: u64| value as f64 / count as f64;
    let mut values = vec![
        ("median ms", quantile(&times, 0.5), 1),
        ("mean ms", times.iter().sum::<f64>() / times.len().max(1) as f64, 1),
        ("p99 ms", quantile(&times, 0.99), 1),
        ("max ms", quantile(&times, 1.0), 1),
        ("under 10 ms %", share(quick, times.len()), 1),
        ("corrected %", share(corrected, times.len()), 1),
        ("missing", (typed.len() - times.len()) as f64, 0),
        ("up dgrams/key", per_key(sent[0].datagrams), 2),
        ("up B/key", per_key(sent[0].bytes), 0),
        ("down dgrams/key", per_key(sent[1].datagrams), 2),
        ("down B/key", per_key(sent[1].bytes), 0),
    ];
    values.extend(memory(ends));
    Ok(values)
}

/// Watches the screen until then, which is returned.
fn watch(
    ends: &mut Ends,
    until: Instant,
    typed: &mut [Letter],
    corrected: &mut usize,
) -> io::Result<Instant> {
    while ends.now() < until {
        ends.step(until)?;
        for letter in &mut *typed {
            let is_there = ends.character(letter.place) == letter.letter;
            match letter.shown {
                None if is_there => letter.shown = Some(ends.now()),
                // It counts once, and its time is the one at which it was shown first.
                Some(_) if !is_there => {
                    *corrected += 1;
                    letter.letter = ends.character(letter.place);
                }
                _ => {}
            }
        }
    }
    Ok(until)
}

fn time_of(letter: &Letter) -> Option<f64> {
    Some(letter.shown?.saturating_since(letter.typed).as_millis_f64())
}

/// The quantile of sorted values; 0 of none.
pub(crate) fn quantile(sorted: &[f64], quantile: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((quantile * last as f64).round() as usize).copied().unwrap_or(0.0)
}

fn since(ends: &Ends, before: &[Counts; 2]) -> [Counts; 2] {
    let now = ends.relay.counts();
    [now[0].since(&before[0]), now[1].since(&before[1])]
}

fn memory(ends: &Ends) -> [Value; 4] {
    let [server, client] = ends.memory();
    [
        ("server MB", server.0, 1),
        ("server anon MB", server.1, 1),
        ("client MB", client.0, 1),
        ("client anon MB", client.1, 1),
    ]
}

/// Whether the shell waits for a command.
fn has_prompt(screen: &Screen) -> bool {
    let cursor = screen.cursor();
    cursor.column == 7 && screen.row(cursor.row).text().starts_with("ready$")
}

fn shows(text: &'static str) -> impl Fn(&Screen) -> bool {
    move |screen| screen.rows().any(|row| ScreenRow::text(row).contains(text))
}

/// Stops `yes` again and again.
fn interrupt(ends: &mut Ends, runs: usize) -> io::Result<Vec<Value>> {
    let mut times = Vec::new();
    for run in 0..runs {
        ends.until(has_prompt)?;
        ends.type_keys(b"yes\r")?;
        ends.until(|screen| screen.rows().filter(|row| row.text().starts_with("y ")).count() > 21)?;
        ends.rest(Span::from_millis(700 + 37 * (run as u64 % 10)))?;
        ends.type_keys(b"\x03")?;
        times.push(ends.until(has_prompt)?.as_millis_f64());
        ends.rest(Span::from_millis(300))?;
    }
    times.sort_by(f64::total_cmp);
    let mut values =
        vec![("median ms", quantile(&times, 0.5), 1), ("max ms", quantile(&times, 1.0), 1)];
    values.extend(memory(ends));
    Ok(values)
}

/// Floods a slow link.
fn flood(ends: &mut Ends, script: &str) -> io::Result<Vec<Value>> {
    ends.until(has_prompt)?;
    let before = ends.relay.counts();
    ends.type_keys(format!("{script}\r").as_bytes())?;
    let seconds = 10;
    ends.rest(Span::from_secs(seconds))?;
    let sent = since(ends, &before)[1];
    let mean = sent.queued.as_millis_f64() / sent.datagrams.max(1) as f64;
    ends.type_keys(b"\x03")?;
    let stopped = ends.until(has_prompt)?;
    Ok(vec![
        ("mean queue ms", mean, 1),
        ("longest queue ms", sent.longest.as_millis_f64(), 1),
        ("down kbit/s", sent.bytes as f64 * 8.0 / 1000.0 / seconds as f64, 1),
        ("down dgrams/s", sent.datagrams as f64 / seconds as f64, 1),
        ("Ctrl-C ms", stopped.as_millis_f64(), 1),
    ])
}

/// The size of the file of coloured lines in bytes.
const LISTING: usize = 10_000_000;

/// Shows a long listing.
fn emulation(ends: &mut Ends, megabytes: usize) -> io::Result<Vec<Value>> {
    ends.until(has_prompt)?;
    let (before, begin) = (ends.server_time(), ends.now());
    let files = "listing ".repeat((megabytes * 1_000_000).div_ceil(LISTING));
    let mut command = String::new();
    let _ = write!(command, "cat {files}; echo do''ne\r");
    ends.type_keys(command.as_bytes())?;
    ends.until(shows("done"))?;
    let took = ends.server_time().saturating_sub(before).as_secs_f64();
    let wall = ends.now().saturating_since(begin).as_secs_f64();
    let shown = (megabytes * 1_000_000).div_ceil(LISTING) * LISTING;
    let rate = |seconds: f64| shown as f64 / 1e6 / seconds.max(0.001);
    let mut values = vec![("MB/CPU-s", rate(took), 1), ("MB/s", rate(wall), 1)];
    values.extend(memory(ends));
    Ok(values)
}

/// Writes the files that scenarios show to `folder`.
pub(crate) fn write_files(folder: &Path) -> io::Result<()> {
    let mut listing = String::with_capacity(LISTING + 100);
    for number in 0_usize.. {
        if listing.len() >= LISTING {
            break;
        }
        let colour = 31 + number % 6;
        let end = if number % 4 == 3 { "\n" } else { "  " };
        let name = number * 7919 % 1_000_000;
        let _ = write!(listing, "\x1b[0m\x1b[01;{colour}mfile-{name:06}.txt\x1b[0m{end}");
    }
    listing.truncate(LISTING);
    std::fs::write(folder.join("listing"), listing + "\x1b[0m\n")?;
    let lines: String =
        (1..=300).map(|number| format!("line {number}: text of a line {number}\n")).collect();
    std::fs::write(folder.join("lines"), lines)?;
    let mut redraws = String::new();
    let mut state = 1_u32;
    for _ in 0..50 {
        redraws.push_str("\x1b[H");
        for row in 0..23 {
            let _ = write!(redraws, "\x1b[{};1H", row + 1);
            for _ in 0..79 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                redraws.push(char::from(b'!' + u8::try_from(state >> 24).unwrap_or(0) % 90));
            }
        }
    }
    std::fs::write(folder.join("redraws"), redraws)
}
