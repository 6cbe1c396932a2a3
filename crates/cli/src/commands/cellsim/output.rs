//! The output of programs while meters cover the terminal.

use std::collections::VecDeque;
use std::io::{self, Write};

/// How many bytes are kept, to be printed once the terminal is restored.
const KEPT: usize = 4 << 20;
/// How many characters of a line are shown.
const WIDTH: usize = 500;

/// An output stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The most recent output of programs, in lines.
#[derive(Debug, Default)]
pub(super) struct Output {
    lines: VecDeque<(Stream, Vec<u8>)>,
    bytes: usize,
    left_out: u64,
}

impl Output {
    /// Adds a line with its line break.
    pub(super) fn add(&mut self, stream: Stream, line: &[u8]) {
        self.bytes += line.len();
        self.lines.push_back((stream, line.to_vec()));
        while self.bytes > KEPT && self.lines.len() > 1 {
            if let Some((_, line)) = self.lines.pop_front() {
                self.bytes -= line.len();
                self.left_out += 1;
            }
        }
    }

    /// The last lines, at most `count`, without control characters.
    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let shown = |(_, line): &(Stream, Vec<u8>)| {
            let text = String::from_utf8_lossy(line);
            text.chars().filter(|c| !c.is_control() || *c == '\t').take(WIDTH).collect()
        };
        self.lines.iter().skip(self.lines.len().saturating_sub(count)).map(shown).collect()
    }

    /// Prints what is kept to the original streams. Returns how many earlier lines were not kept.
    pub(super) fn print(&self, out: &mut impl Write, err: &mut impl Write) -> io::Result<u64> {
        for (stream, line) in &self.lines {
            match stream {
                Stream::Out => out.write_all(line)?,
                Stream::Err => err.write_all(line)?,
            }
        }
        out.flush()?;
        Ok(self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_output_is_lost() {
        let mut output = Output::default();
        output.add(Stream::Out, b"one\x1b[2J\n");
        output.add(Stream::Err, b"two\n");
        output.add(Stream::Out, b"three");
        assert_eq!(output.last(2), ["two", "three"]);
        assert_eq!(output.last(9), ["one[2J", "two", "three"]);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(output.print(&mut out, &mut err).unwrap(), 0);
        assert_eq!((&out[..], &err[..]), (&b"one\x1b[2J\nthree"[..], &b"two\n"[..]));
    }

    #[test]
    fn the_latest_output_is_kept() {
        let mut output = Output::default();
        let line = vec![b'x'; KEPT / 2];
        for _ in 0..5 {
            output.add(Stream::Out, &line);
        }
        assert_eq!(output.print(&mut io::sink(), &mut io::sink()).unwrap(), 3);
        assert_eq!(output.last(1)[0].len(), WIDTH);
    }
}
