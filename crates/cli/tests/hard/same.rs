//! Programs look the same in all pairs, the original's included, after each step of what a user does.

use crate::ends::{Ends, Pair};
use crate::relay::Link;
use crate::screens::Seen;
use crate::{has_mosh, pair};
use exm_testing::{Folder, has, skip};
use exm_units::{Instant, Span};
use std::{io, thread};

const PAIRS: [&str; 4] = ["original", "our-client", "our-server", "ours"];
/// How long screens must be equal, and how long they may take.
const STABLE: Span = Span::from_millis(400);
const PATIENCE: Span = Span::from_secs(20);

/// What a user does.
enum Step<'a> {
    Keys(&'a str),
    Resize(u16, u16),
}
use Step::{Keys, Resize};

/// All pairs run a script in a folder of their own.
struct All {
    pairs: Vec<(Pair, Ends, Folder)>,
}

impl All {
    fn start(link: Link, script: &str) -> io::Result<All> {
        let one = |name: &&str| {
            let (pair, folder) = (pair(name), Folder::new("mosh-same"));
            let script =
                format!("sleep 0.5; printf '\\033[H\\033[J'; cd {}; {script}", folder.0.display());
            let ends = Ends::start(&pair, link, "never", &script)?;
            Ok((pair, ends, folder))
        };
        Ok(All { pairs: PAIRS.iter().map(one).collect::<io::Result<_>>()? })
    }

    fn act(&mut self, step: &Step<'_>) -> io::Result<()> {
        for (_, ends, _) in &mut self.pairs {
            match step {
                Keys(keys) => ends.type_keys(keys.as_bytes())?,
                Resize(columns, rows) => ends.resize(*columns, *rows)?,
            }
        }
        Ok(())
    }

    fn seen(&self) -> Vec<Seen> {
        self.pairs.iter().map(|(_, ends, _)| Seen::of(ends.screen())).collect()
    }

    /// Waits until all show the same for a while: how they differ if they do not. `before` is what was shown before the step.
    fn settle(&mut self, before: &[Seen], patience: Span) -> Option<String> {
        let now = |all: &All| all.pairs[0].1.now();
        let begin = now(self);
        let (mut last, mut since): (Vec<Seen>, Instant) = (self.seen(), begin);
        while now(self) < begin + patience {
            for (_, ends, _) in &mut self.pairs {
                // A client that has ended shows nothing new.
                let _ = ends.step(ends.now() + Span::from_millis(5));
            }
            let seen = self.seen();
            if seen != last {
                (last, since) = (seen, now(self));
            }
            let is_same = last.iter().all(|seen| *seen == last[0]);
            // A step that changes nothing takes longer.
            let stable = if last[0] == before[0] { STABLE * 4 } else { STABLE };
            if is_same && now(self) > since + stable {
                return None;
            }
            let lines = last[0].lines();
            let is_intended =
                lines.iter().any(|line| INTENDED.iter().any(|text| line.contains(text)));
            if is_intended && now(self) > since + STABLE * 4 {
                break;
            }
        }
        let names = self.pairs.iter().map(|(pair, _, _)| pair.name);
        let words = names.zip(&last).filter_map(|(name, seen)| {
            let difference = last[0].difference(seen)?;
            Some(format!("original and {name}: {difference}\n"))
        });
        Some(words.collect())
    }
}

/// Compares the pairs, and collects how they differ.
struct Comparison {
    all: All,
    steps: usize,
    words: Vec<String>,
}

impl Comparison {
    #[track_caller]
    fn start(link: Link, script: &str) -> Comparison {
        let all = All::start(link, script).expect("sessions");
        let mut comparison = Comparison { all, steps: 0, words: Vec::new() };
        // Before anything was shown, all screens are equal, too.
        let blank = comparison.all.seen();
        comparison.settle(&blank);
        comparison
    }

    fn settle(&mut self, before: &[Seen]) {
        self.settle_within(before, PATIENCE);
    }

    fn settle_within(&mut self, before: &[Seen], patience: Span) {
        let difference = self.all.settle(before, patience);
        if std::env::var_os("EXM_MOSH_SHOW").is_some() {
            let lines = self.all.seen()[0].lines().join("\n");
            eprintln!("--- {} {difference:?}\n{lines}", self.steps);
        }
        let number = self.steps;
        self.words.extend(difference.map(|words| format!("after step {number}: {words}")));
    }

    fn step(&mut self, step: &Step<'_>) {
        let before = self.all.seen();
        self.steps += 1;
        self.all.act(step).expect("the clients run");
        self.settle(&before);
    }

    /// Whether the original's screen contains `text`.
    fn shows(&self, text: &str) -> bool {
        self.all.seen()[0].lines().iter().any(|line| line.contains(text))
    }

    #[track_caller]
    fn end(self) {
        assert!(self.words.is_empty(), "{}", self.words.join("\n"));
    }
}

const BAD: Link = Link {
    delay: Span::from_millis(100),
    loss: 10,
    rate: None,
    seed: 7,
    duplicates: 0,
    reordered: 0,
    is_down: false,
};
const GOOD: Link = Link { delay: Span::from_millis(1), loss: 0, ..BAD };
/// All at the same time.
#[test]
fn programs_look_the_same() {
    let comparisons = [a_shell_and_its_programs, editors_and_pagers, a_large_paste, vttest];
    let threads = comparisons.map(thread::spawn);
    let failed = threads.into_iter().filter_map(|thread| thread.join().err()).count();
    assert_eq!(failed, 0, "comparisons that failed, of {}", comparisons.len());
}

const BASH: &str = "PS1='ready$ ' HISTFILE= exec bash --norc --noprofile -i";

#[track_caller]
fn assert_same(link: Link, script: &str, steps: &[Step<'_>]) {
    let mut comparison = Comparison::start(link, script);
    for step in steps {
        comparison.step(step);
    }
    comparison.end();
}

/// Whether Mosh and `program` are installed; if not, the skip is recorded.
#[track_caller]
fn has_both(program: &str) -> bool {
    let is_there = has(program);
    if !is_there {
        skip(format!("{program} is missing"));
    }
    is_there && has_mosh()
}

fn a_shell_and_its_programs() {
    if !has_both("bash") {
        return;
    }
    let steps = [
        Keys("echo one\r"),
        Keys("echo two three\r"),
        Keys("\x1b[A"),
        Keys("\x1b[D\x1b[D\x1b[D\x1b[D\x1b[Dx\x01# \x05 end"),
        Keys("\x1b[H\x1b[3~\x1b[3~\r"),
        Keys("\x12one"),
        Keys("\r"),
        Keys("read -s -p 'Password: ' word\r"),
        Keys("se"),
        Keys("cret\r"),
        Keys("echo ${#word}; seq 100 | tail -n 30\r"),
        Keys("clear\r"),
        Resize(60, 15),
        Keys("stty size\r"),
        Resize(100, 30),
        Keys("stty size\r"),
        Keys("printf 'a\\tb\\rc\\vd\\be\\033[31mred\\033[7mreverse\\033[0m\\n'\r"),
        Keys("printf '\\033[5;10H\\033[1Jhere\\033[2;4r\\033[4;1H\\n\\n\\033[r\\033[20;1H'\r"),
        Keys(
            "printf 'odd \\033[>0q\\033P1$r\\033\\\\\\033_x\\033\\\\\\033[?2026h end\\377\\xc3\\n'\r",
        ),
        Keys("\x0c"),
        Keys("clear; sh -c 'exit 7'; echo $?\r"),
    ];
    assert_same(BAD, BASH, &steps);
}

fn editors_and_pagers() {
    if !has_both("vim") || !has_both("less") {
        return;
    }
    let steps = [
        Keys("seq 200 | sed 's/$/ some text of a line/' > lines; less -X lines\r"),
        Keys(" "),
        Keys("\x1b[B\x1b[B\x1b[A"),
        Keys("/77\r"),
        Keys("G"),
        Resize(70, 20),
        Keys("g"),
        Keys("q"),
        Keys("vim -u NONE -N --cmd 'set t_ti= t_te=' lines\r"),
        Keys("\x06\x06"),
        Keys("dd3jp5kcwchanged\x1b"),
        Keys(":set number hlsearch\r/line\r"),
        Keys("iwide 漢字 é e\u{301} \u{1f642}\x1b0"),
        Keys(":vsplit\r"),
        Resize(90, 28),
        Keys(":wqa\r"),
        Keys("clear; cksum lines\r"),
    ];
    assert_same(BAD, BASH, &steps);
}

fn a_large_paste() {
    if !has_both("bash") {
        return;
    }
    let line = "0123456789 the quick brown fox jumps over the lazy dog, again and again, ok.\r";
    let mut comparison = Comparison::start(BAD, BASH);
    comparison.step(&Keys("cat > pasted\r"));
    let before = comparison.all.seen();
    comparison.all.act(&Keys(&line.repeat(100_000 / line.len()))).expect("the clients run");
    // The kernel may hold the end of a long echo back until the next key.
    comparison.settle_within(&before, Span::from_secs(5));
    comparison.words.clear();
    comparison.step(&Keys("\x04"));
    comparison.step(&Keys("clear; cksum pasted\r"));
    comparison.end();
}

/// Where Mosh's terminal fails and ours does not, the original's screen contains this: the report of the cursor's position in origin mode, and
/// the character set for line drawing.
const INTENDED: [&str; 2] = ["Ignores origin mode", "line:      qqqq"];

/// The menus that Mosh's terminal passes: cursor movements, screen features, reports, VT102 features.
fn vttest() {
    if !has_both("vttest") {
        return;
    }
    const MENU: &str = "Enter choice number";
    let mut comparison = Comparison::start(GOOD, "exec vttest");
    for menu in ["1\r", "2\r", "6\r", "8\r"] {
        comparison.step(&Keys(menu));
        for choice in ["2\r", "3\r", "4\r", "5\r", "0\r"] {
            if menu == "6\r" {
                comparison.step(&Keys(choice));
            }
            for _ in 0..40 {
                if comparison.shows(MENU) {
                    break;
                }
                comparison.step(&Keys("\r"));
            }
        }
    }
    comparison.words.retain(|words| !INTENDED.iter().any(|intended| words.contains(intended)));
    comparison.end();
}
