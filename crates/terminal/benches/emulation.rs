//! How many megabytes of output a terminal displays in a second, and how long updates take.
//!
//! Each workload is one megabyte for a terminal of 80x24. `cargo bench -p exm-terminal` prints MB/s as "thrpt"; one
//! thread runs, so that these are megabytes per CPU-second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exm_terminal::{Size, Terminal, update};

const BYTES: usize = 1_000_000;

/// `piece(n)` for n = 0, 1, 2, ..., cut to a megabyte.
fn repeated(piece: impl Fn(usize) -> String) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BYTES + 10_000);
    let mut number = 0;
    while bytes.len() < BYTES {
        bytes.extend_from_slice(piece(number).as_bytes());
        number += 1;
    }
    bytes.truncate(BYTES);
    bytes
}

/// Lines of 1 to 100 characters, some of which wrap.
fn plain() -> Vec<u8> {
    let words = "the quick brown fox jumps over the lazy dog and runs through the forest until the evening comes down";
    repeated(|number| format!("{}\r\n", &words[..1 + number * 37 % 100]))
}

/// The colours of `ls --color`: each name has two sequences.
fn coloured() -> Vec<u8> {
    repeated(|number| {
        let colour = 31 + number % 6;
        let end = if number % 4 == 3 { "\r\n" } else { "  " };
        format!("\x1b[0m\x1b[01;{colour}mfile-{:06}.txt\x1b[0m{end}", number * 7919)
    })
}

/// A program that draws all rows of the screen again and again.
fn redraw() -> Vec<u8> {
    repeated(|number| {
        let row = number % 24;
        let digits = "0123456789".repeat(8);
        format!(
            "\x1b[{};1H\x1b[3{};1m{:<30}\x1b[m{}\x1b[K",
            row + 1,
            row % 8,
            number,
            &digits[..40]
        )
    })
}

/// Text in which most characters are wide.
fn wide() -> Vec<u8> {
    repeated(|number| format!("{}漢字かな交じり文のテキスト\r\n", number % 10))
}

fn emulation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("emulation");
    group.throughput(Throughput::BytesDecimal(BYTES as u64));
    group.sample_size(20);
    for (name, bytes) in
        [("plain", plain()), ("coloured", coloured()), ("redraw", redraw()), ("wide", wide())]
    {
        let mut terminal = Terminal::new(Size::new(80, 24));
        group.bench_function(name, |bencher| bencher.iter(|| terminal.advance(&bytes)));
    }
    let (mut terminal, bytes) = (Terminal::new(Size::new(80, 24)), plain());
    terminal.keep_scrolled(2000);
    let name = "plain, rows that scroll off are kept";
    group.bench_function(name, |bencher| bencher.iter(|| terminal.advance(&bytes)));
    group.finish();
}

fn updates(criterion: &mut Criterion) {
    let mut terminal = Terminal::new(Size::new(80, 24));
    terminal.advance(&coloured());
    terminal.advance(b"\x18\x1b[m\r\n");
    let before = terminal.screen().clone();
    terminal.advance(b"x");
    let keystroke = terminal.screen().clone();
    terminal.advance(&coloured()[..2000]);
    let scrolled = terminal.screen().clone();
    let blank = Terminal::new(Size::new(80, 24)).screen().clone();
    let mut group = criterion.benchmark_group("update");
    for (name, from, to) in [
        ("keystroke", &before, &keystroke),
        ("scrolled", &before, &scrolled),
        ("whole screen", &blank, &scrolled),
    ] {
        println!("{name}: {} bytes", update(from, to, true).len());
        group.bench_function(name, |bencher| bencher.iter(|| update(from, to, true)));
    }
    group.finish();
}

criterion_group!(benches, emulation, updates);
criterion_main!(benches);
