//! What is typed without an echo is not shown, not even for a moment.

use crate::ends::Ends;
use crate::relay::Link;
use crate::{has_mosh, pair};
use exm_terminal::Screen;
use exm_testing::{has, skip};
use exm_units::Span;
use std::{io, thread};

const LINK: Link = Link {
    delay: Span::from_millis(50),
    loss: 0,
    rate: None,
    seed: 3,
    duplicates: 0,
    reordered: 0,
    is_down: false,
};
const SECRET: &str = "XYZXYZ";
/// How often it is tried to see a prediction of what is repeated.
const ATTEMPTS: usize = 20;

/// The time for which a letter of the secret was shown, and that for which a letter of what is repeated was predicted, if it was.
#[derive(Clone, Copy, Debug)]
struct Times {
    secret: Span,
    was_predicted: bool,
}

fn contains(screen: &Screen, letters: &str) -> bool {
    screen.rows().any(|row| row.text().contains(|letter| letters.contains(letter)))
}

fn watch(ends: &mut Ends, span: Span, letters: &str) -> io::Result<Span> {
    let (begin, mut shown) = (ends.now(), Span::ZERO);
    let mut last = begin;
    while last < begin + span {
        let was_shown = contains(ends.screen(), letters);
        ends.step(begin + span)?;
        let now = ends.now();
        if was_shown {
            shown += now.saturating_since(last);
        }
        last = now;
    }
    Ok(shown)
}

fn hold(name: &str, display: &str) -> io::Result<Times> {
    let script = "HISTFILE= exec bash --norc --noprofile -i";
    let mut ends = Ends::start(&pair(name), LINK, display, script)?;
    let has_prompt = |screen: &Screen| screen.row(screen.cursor().row).text().starts_with("ready$");
    ends.until(has_prompt)?;
    ends.rest(Span::from_secs(2))?;
    // The RTT is measured, and predictions confirmed.
    for key in "read -s -p 'Password: ' word".chars() {
        ends.type_keys(key.to_string().as_bytes())?;
        ends.rest(Span::from_millis(30))?;
    }
    let mut was_predicted = false;
    // A busy machine may be too late for one of them.
    for _ in 0..ATTEMPTS {
        ends.type_keys(b"Q")?;
        was_predicted |= watch(&mut ends, Span::from_millis(60), "Q")? > Span::ZERO;
        ends.until(|screen| contains(screen, "Q"))?;
        ends.type_keys(b"\x7f")?;
        ends.until(|screen| !contains(screen, "Q"))?;
        ends.rest(Span::from_millis(400))?;
        if was_predicted {
            break;
        }
    }
    ends.type_keys(b"\r")?;
    ends.until(|screen| screen.row(screen.cursor().row).text().starts_with("Password:"))?;
    // The program turns the echo off at about the same time.
    ends.rest(Span::from_millis(500))?;
    let mut secret = Span::ZERO;
    for key in SECRET.chars() {
        ends.type_keys(key.to_string().as_bytes())?;
        secret += watch(&mut ends, Span::from_millis(70), SECRET)?;
    }
    secret += watch(&mut ends, Span::from_millis(500), SECRET)?;
    ends.type_keys(b"\recho ${#word} letters\r")?;
    ends.until(|screen| screen.rows().any(|row| row.text().contains("6 letters")))?;
    Ok(Times { secret, was_predicted })
}

#[test]
fn a_password_is_not_shown() {
    if !has_mosh() {
        return;
    }
    if !has("bash") {
        skip("bash is missing");
        return;
    }
    let names = ["original", "our-client", "our-server", "ours"];
    let cases = names.into_iter().flat_map(|name| ["adaptive", "always"].map(|when| (name, when)));
    let threads: Vec<_> =
        cases.map(|(name, when)| ((name, when), thread::spawn(move || hold(name, when)))).collect();
    for ((name, when), thread) in threads {
        let times = thread.join().expect("it does not panic").expect("a session");
        eprintln!("{name} {when}: {times:?}");
        // Of the original this is known, and need not be tested.
        if name != "original" {
            assert_eq!(times.secret, Span::ZERO, "{name} {when}");
        }
        if when == "always" {
            assert!(times.was_predicted, "{name}: nothing was predicted, so the test is none");
        }
    }
}
