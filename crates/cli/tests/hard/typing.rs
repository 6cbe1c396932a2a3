//! Several hundred keys are typed into a file over bad links.

use crate::ends::Ends;
use crate::relay::Link;
use crate::screens::Seen;
use crate::{has_mosh, pair};
use exm_terminal::{Screen, Size};
use exm_testing::{Folder, skip};
use exm_units::Span;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io, thread};

/// The time between two keys.
const BETWEEN: Span = Span::from_millis(15);
const LINES: usize = 6;
const LINE: usize = 50;
/// The variable with the seconds of the long outage.
const OUTAGE: &str = "EXM_MOSH_OUTAGE";
/// How many times 100 ms the file is waited for.
const POLLS: usize = 600;

/// What happens while keys are typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Nothing,
    /// The client's address changes, again and again.
    Moves,
    /// Nothing passes for so long, in the middle.
    Outage(Span),
    /// A flood is stopped by Ctrl-C, before.
    Flood,
    /// The size of the window changes while the shell prints.
    Resizes,
    /// Text of several scripts is typed, with this locale.
    Text(&'static str),
}

#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    link: Link,
    event: Event,
}

const QUICK: Link = Link {
    delay: Span::from_millis(20),
    loss: 0,
    rate: None,
    seed: 1,
    duplicates: 0,
    reordered: 0,
    is_down: false,
};

fn scenarios() -> Vec<Scenario> {
    let loss = Link { loss: 30, ..QUICK };
    let slow = Link { delay: Span::from_millis(250), ..QUICK };
    let unordered = Link { duplicates: 20, reordered: 20, ..QUICK };
    let of = |name, link, event| Scenario { name, link, event };
    vec![
        of("30 % loss", loss, Event::Nothing),
        of("RTT 500 ms", slow, Event::Nothing),
        of("duplicates, reordering", unordered, Event::Nothing),
        of("addresses change", Link { loss: 5, ..QUICK }, Event::Moves),
        of("outage of 16 s", QUICK, Event::Outage(Span::from_secs(16))),
        of("floods", QUICK, Event::Flood),
        of("resizes", Link { loss: 5, ..QUICK }, Event::Resizes),
        of("text, C.UTF-8", Link { loss: 5, ..QUICK }, Event::Text("C.UTF-8")),
        of("text, de_DE.UTF-8", QUICK, Event::Text("de_DE.UTF-8")),
        of("text, ja_JP.UTF-8", QUICK, Event::Text("ja_JP.UTF-8")),
    ]
}

const PAIRS: [&str; 3] = ["our-client", "our-server", "ours"];

/// Runs all `scenarios` for all pairs at the same time: what they took, or what went wrong.
fn run(scenarios: &[Scenario]) {
    let combinations = scenarios.iter().flat_map(|scenario| PAIRS.map(|name| (*scenario, name)));
    let threads: Vec<_> = combinations
        .map(|(scenario, name)| {
            thread::spawn(move || {
                let result = hold(&scenario, name).map_err(|error| error.to_string());
                format!(
                    "{:<24}{name:<12}{}",
                    scenario.name,
                    result.unwrap_or_else(|e| format!("FAILED: {e}"))
                )
            })
        })
        .collect();
    let results: Vec<String> =
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect();
    let table = results.join("\n");
    eprintln!("{table}");
    assert!(!table.contains("FAILED"), "\n{table}");
}

#[test]
fn what_is_typed_arrives_once_and_in_order() {
    if !has_mosh() {
        return;
    }
    let locales = Command::new("locale").arg("-a").output().expect("a POSIX system has it");
    let locales = String::from_utf8_lossy(&locales.stdout).to_lowercase().replace("utf8", "utf-8");
    let is_there = |scenario: &Scenario| match scenario.event {
        Event::Text(locale) => {
            let is_there = locales.lines().any(|line| line == locale.to_lowercase());
            if !is_there {
                skip(format!("the locale {locale} is not installed"));
            }
            is_there
        }
        _ => true,
    };
    let scenarios: Vec<Scenario> = scenarios().into_iter().filter(is_there).collect();
    run(&scenarios);
}

/// `EXM_MOSH_OUTAGE=600 cargo test -p exm --test hard -- --ignored a_long_outage`
#[test]
#[ignore = "it takes as long as the outage: $EXM_MOSH_OUTAGE seconds, or a minute"]
fn a_long_outage_is_survived() {
    if !has_mosh() {
        return;
    }
    let seconds = std::env::var(OUTAGE).ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let event = Event::Outage(Span::from_secs(seconds));
    run(&[Scenario { name: "long outage", link: QUICK, event }]);
}

/// The keys, line by line. Each differs from its neighbours, so that a lost or repeated one shows.
fn keys(event: Event) -> Vec<String> {
    if matches!(event, Event::Text(_)) {
        let lines = [
            "Größe, naïve, ñandú; Ωμέγα, Привет",
            "漢字かな交じり文とカタカナ、한글도",
            "e\u{301}a\u{308}o\u{308}\u{304}n\u{303} combined, x\u{20d7}",
            "🙂🚀🎉 and 🐧 in a row 🦀🦀",
        ];
        return lines.repeat(2).into_iter().map(str::to_owned).collect();
    }
    let mut text = String::new();
    for number in 100.. {
        if text.len() > LINES * LINE {
            break;
        }
        let _ = write!(text, "{number}{} ", ["key", "and", "Key", "-;"][number % 4]);
    }
    (0..LINES).map(|line| text[line * LINE..][..LINE].trim().to_owned()).collect()
}

/// Whether the shell waits for a command.
fn has_prompt(screen: &Screen) -> bool {
    let cursor = screen.cursor();
    cursor.column == 7 && screen.row(cursor.row).text().starts_with("ready$")
}

/// Types into a file, and checks it and the screen.
fn hold(scenario: &Scenario, name: &str) -> io::Result<String> {
    let folder = Folder::new("mosh-hard");
    let mut pair = pair(name);
    if let Event::Text(locale) = scenario.event {
        locale.clone_into(&mut pair.locale);
    }
    if let Event::Outage(span) = scenario.event {
        pair.timeout += span.as_nanos() / 1_000_000_000;
    }
    let print = "while [ ! -e stop ]; do echo flow; sleep 0.02; done &";
    let print = if scenario.event == Event::Resizes { print } else { "" };
    let script = format!("cd {}; {print} PS1='ready$ ' exec sh -i", folder.0.display());
    let mut ends = Ends::start(&pair, scenario.link, "adaptive", &script)?;
    let begin = ends.now();
    let mut notes = String::new();
    if scenario.event != Event::Resizes {
        ends.until(has_prompt)?;
    }
    if scenario.event == Event::Flood {
        notes = interrupt(&mut ends)?;
    }
    ends.type_keys(b"cat > typed\r")?;
    let lines = keys(scenario.event);
    let mut number = 0;
    for line in &lines {
        for key in line.chars().chain(['\r']) {
            ends.type_keys(key.to_string().as_bytes())?;
            ends.rest(BETWEEN)?;
            number += 1;
            happen(scenario.event, number, &mut ends)?;
        }
    }
    if let Event::Outage(span) = scenario.event {
        let shows = |text: &'static str| move |screen: &Screen| screen.row(0).text().contains(text);
        ends.until(shows("mosh: Last contact"))?;
        ends.rest(span.saturating_sub(ends.now().saturating_since(begin)))?;
        ends.relay.change(|link| link.is_down = false);
        let back = ends.until(|screen| !screen.row(0).text().contains("mosh: "))?;
        notes = format!(", contact after {:.1} s", back.as_secs_f64());
    }
    if scenario.event == Event::Resizes {
        ends.resize(100, 30)?;
    }
    ends.type_keys(b"\x04touch stop; sleep 0.1; clear; cat typed; stty size\r")?;
    let size =
        if scenario.event == Event::Resizes { Size::new(100, 30) } else { Size::new(80, 24) };
    let text = lines.join("\n") + "\n";
    until_file(&mut ends, &folder.0.join("typed"), &text)?;
    let shown = format!("{text}{} {}\nready$ ", size.rows(), size.columns());
    let expected = Seen::after(size, &shown.replace('\n', "\r\n"));
    if let Err(error) = ends.until(|screen| Seen::of(screen) == expected) {
        let words = Seen::of(ends.screen()).difference(&expected).unwrap_or_default();
        return Err(io::Error::other(format!("{error}: {words}")));
    }
    let took = ends.now().saturating_since(begin).as_secs_f64();
    let [up, down] = ends.relay.counts().map(|counts| counts.datagrams);
    Ok(format!("{number} keys in {took:.1} s, {up} datagrams up, {down} down{notes}"))
}

/// What happens after the key of this number.
fn happen(event: Event, number: usize, ends: &mut Ends) -> io::Result<()> {
    match event {
        Event::Moves if number.is_multiple_of(60) => ends.relay.move_client(),
        Event::Outage(_) if number == 150 => ends.relay.change(|link| link.is_down = true),
        Event::Resizes if number.is_multiple_of(15) => {
            let step = u16::try_from(number / 15).unwrap_or(0);
            ends.resize(40 + step * 37 % 90, 5 + step * 17 % 40)?;
        }
        _ => {}
    }
    Ok(())
}

/// Stops `yes` three times: what it took.
fn interrupt(ends: &mut Ends) -> io::Result<String> {
    let mut times = String::new();
    for _ in 0..3 {
        ends.type_keys(b"yes\r")?;
        ends.until(|screen| screen.rows().filter(|row| row.text().starts_with("y ")).count() > 21)?;
        ends.rest(Span::from_millis(500))?;
        ends.type_keys(b"\x03")?;
        let _ = write!(times, " {:.0}", ends.until(has_prompt)?.as_millis_f64());
        ends.rest(Span::from_millis(200))?;
    }
    Ok(format!(", Ctrl-C after{times} ms"))
}

/// Waits until `file` contains `text` exactly.
fn until_file(ends: &mut Ends, file: &Path, text: &str) -> io::Result<()> {
    for _ in 0..POLLS {
        if fs::read_to_string(file).is_ok_and(|content| content == text) {
            return Ok(());
        }
        ends.rest(Span::from_millis(100))?;
    }
    let content = fs::read_to_string(file).unwrap_or_default();
    Err(io::Error::other(format!("the file contains {content:?} instead of {text:?}")))
}
