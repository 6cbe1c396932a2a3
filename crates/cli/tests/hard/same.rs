//! Programs look the same in all pairs, the original's included, after each step of what a user does.

use crate::ends::Ends;
use crate::relay::Link;
use crate::screens::Seen;
use crate::view::View;
use crate::{has_mosh, pair};
use exm_terminal::Screen;
use exm_testing::{Folder, has, skip};
use exm_units::{Instant, Span};
use std::{io, thread};

const PAIRS: [&str; 4] = ["original", "our-client", "our-server", "ours"];
/// A terminal without a session, and all pairs in which an end is ours.
const TERMINAL: &str = "terminal";
const DIRECT: [&str; 4] = [TERMINAL, "our-client", "our-server", "ours"];
/// How long screens must be equal, and how long they may take.
const STABLE: Span = Span::from_millis(400);
const PATIENCE: Span = Span::from_secs(20);

/// What a user does.
enum Step<'a> {
    Keys(&'a str),
    Resize(u16, u16),
}
use Step::{Keys, Resize};

/// Where a program runs.
enum Place {
    Session(Ends),
    /// In a terminal, without a session.
    Terminal(View),
}

impl Place {
    fn start(name: &str, link: Link, script: &str) -> io::Result<Place> {
        if name == TERMINAL {
            return Ok(Place::Terminal(View::of_script(script, "C.UTF-8")?));
        }
        Ok(Place::Session(Ends::start(&pair(name), link, "never", script)?))
    }

    fn now(&self) -> Instant {
        match self {
            Place::Session(ends) => ends.now(),
            Place::Terminal(view) => view.now(),
        }
    }

    fn screen(&self) -> &Screen {
        match self {
            Place::Session(ends) => ends.screen(),
            Place::Terminal(view) => view.screen(),
        }
    }

    fn step(&mut self) -> io::Result<()> {
        let until = self.now() + Span::from_millis(5);
        match self {
            Place::Session(ends) => ends.step(until),
            Place::Terminal(view) => view.step(until),
        }
    }

    fn type_keys(&mut self, keys: &[u8]) -> io::Result<()> {
        match self {
            Place::Session(ends) => ends.type_keys(keys),
            Place::Terminal(view) => view.type_keys(keys),
        }
    }

    fn resize(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        match self {
            Place::Session(ends) => ends.resize(columns, rows),
            Place::Terminal(view) => view.resize(columns, rows),
        }
    }
}

/// All run a script in a folder of their own. The first is what the others are compared with.
struct All {
    places: Vec<(&'static str, Place, Folder)>,
}

impl All {
    fn start(names: [&'static str; 4], link: Link, script: &str) -> io::Result<All> {
        let one = |name: &'static str| {
            let folder = Folder::new("mosh-same");
            let script =
                format!("sleep 0.5; printf '\\033[H\\033[J'; cd {}; {script}", folder.0.display());
            Ok((name, Place::start(name, link, &script)?, folder))
        };
        Ok(All { places: names.into_iter().map(one).collect::<io::Result<_>>()? })
    }

    fn act(&mut self, step: &Step<'_>) -> io::Result<()> {
        for (_, place, _) in &mut self.places {
            match step {
                Keys(keys) => place.type_keys(keys.as_bytes())?,
                Resize(columns, rows) => place.resize(*columns, *rows)?,
            }
        }
        Ok(())
    }

    fn seen(&self) -> Vec<Seen> {
        self.places.iter().map(|(_, place, _)| Seen::of(place.screen())).collect()
    }

    /// Waits until all show the same for a while: how they differ if they do not. `before` is what was shown before the step.
    fn settle(&mut self, before: &[Seen], patience: Span) -> Option<String> {
        let now = |all: &All| all.places[0].1.now();
        let begin = now(self);
        let (mut last, mut since): (Vec<Seen>, Instant) = (self.seen(), begin);
        while now(self) < begin + patience {
            for (_, place, _) in &mut self.places {
                // A client that has ended shows nothing new.
                let _ = place.step();
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
        let names = self.places.iter().map(|(name, _, _)| *name);
        let words = names.zip(&last).filter_map(|(name, seen)| {
            let difference = last[0].difference(seen)?;
            Some(format!("{} and {name}: {difference}\n", self.places[0].0))
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
    fn start(names: [&'static str; 4], link: Link, script: &str) -> Comparison {
        let all = All::start(names, link, script).expect("sessions");
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
    let comparisons =
        [a_shell_and_its_programs, editors_and_pagers, a_large_paste, vttest, htop, tmux, git_log];
    let threads = comparisons.map(thread::spawn);
    let failed = threads.into_iter().filter_map(|thread| thread.join().err()).count();
    assert_eq!(failed, 0, "comparisons that failed, of {}", comparisons.len());
}

const BASH: &str = "PS1='ready$ ' HISTFILE= exec bash --norc --noprofile -i";

#[track_caller]
fn assert_same(names: [&'static str; 4], link: Link, script: &str, steps: &[Step<'_>]) {
    let mut comparison = Comparison::start(names, link, script);
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
    assert_same(PAIRS, BAD, BASH, &steps);
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
    assert_same(PAIRS, BAD, BASH, &steps);
}

/// Nothing that changes by itself: no meters, and no processes.
fn htop() {
    if !has_both("htop") {
        return;
    }
    let script = "HTOPRC=settings exec htop -d 100 -u nobody";
    let mut comparison = Comparison::start(DIRECT, GOOD, script);
    // The meters, until they are hidden.
    comparison.words.clear();
    let steps = [
        Keys("#"),
        Keys("h"),
        Keys(" "),
        Keys("/some"),
        Keys("\r"),
        Resize(100, 30),
        Keys("\x1bOQ"),
        Keys("\x1b[B\x1b[B"),
        Keys("\x1b[C\x1b[B\x1b[B "),
        Resize(70, 20),
    ];
    for step in &steps {
        comparison.step(step);
    }
    comparison.end();
}

/// Two panes, one of which scrolls.
fn tmux() {
    if !has_both("tmux") || !has("bash") {
        return;
    }
    let script = "unset TMUX; exec tmux -f /dev/null -S socket new-session \
        \"PS1='ready$ ' HISTFILE= exec bash --norc --noprofile -i\" ';' set -g status-left '[one] ' ';' \
        set -g status-right end ';' set -g assume-paste-time 0 ';' set -g window-status-format '' ';' set -g window-status-current-format panes ';' \
        set -g default-command \"PS1='second$ ' HISTFILE= exec bash --norc --noprofile -i\"";
    let steps = [
        Keys("echo in the first pane\r"),
        Keys("\x02%"),
        Keys("seq 100\r"),
        Keys("\x02o"),
        Keys("seq 7 30; printf '\\033[31;44mcoloured\\033[0m \\033[1;7mbold\\033[0m\\n'\r"),
        Keys("\x02\""),
        Keys("ls -d /; echo third\r"),
        Resize(100, 30),
        Keys("clear\r"),
        Keys("\x02z"),
        Keys("\x02z"),
        Keys("exit\r"),
        Resize(72, 22),
        Keys("\x02[\x1b[A\x1b[A\x1b[A"),
        Keys("q"),
        Keys("\x02:kill-server\r"),
    ];
    assert_same(DIRECT, GOOD, script, &steps);
}

/// A graph in colour, in a pager.
fn git_log() {
    if !has_both("git") || !has("less") {
        return;
    }
    let repository = "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org \
        GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org \
        GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'; \
        exec 3>&1 >/dev/null 2>&1; git init -b main .; commit() { git commit --allow-empty -m \"$1\"; }; commit first; \
        for round in 1 2 3 4 5 6 7 8 9; do git checkout -b side$round; commit \"at the side $round\"; \
        git checkout main; commit \"at the main branch $round\"; git merge --no-edit side$round; done; exec >&3 2>&3; \
        printf '\\033[H\\033[J'; LESS=-RX exec git log --graph --color";
    let steps = [
        Keys(" "),
        Keys("jjj"),
        Keys("kk"),
        Keys("/side 5\r"),
        Keys("nN"),
        Resize(60, 18),
        Keys("G"),
        Keys("g"),
        Keys("\x1b[C"),
    ];
    assert_same(DIRECT, BAD, repository, &steps);
}

fn a_large_paste() {
    if !has_both("bash") {
        return;
    }
    let line = "0123456789 the quick brown fox jumps over the lazy dog, again and again, ok.\r";
    let mut comparison = Comparison::start(PAIRS, BAD, BASH);
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
    let mut comparison = Comparison::start(PAIRS, GOOD, "exec vttest");
    for menu in ["1\r", "2\r", "6\r", "8\r"] {
        comparison.step(&Keys(menu));
        for choice in ["1\r", "2\r", "3\r", "4\r", "5\r", "6\r", "7\r", "0\r"] {
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
