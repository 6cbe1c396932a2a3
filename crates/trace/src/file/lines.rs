//! Reads a file line by line, in bounded memory.

use super::{MAX_FILE, TraceError};
use std::io::{BufRead, Take};

/// The maximum length of a line without its comment, in bytes.
pub(super) const LONGEST: usize = 1024;

/// The non-empty lines of a text, without comments, which start with `#`, and without surrounding
/// spaces.
pub(super) struct Lines<'a, R> {
    reader: Take<R>,
    file: &'a str,
    number: usize,
    line: Vec<u8>,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(reader: R, file: &'a str) -> Lines<'a, R> {
        // One byte more than allowed shows that the file is too large, even where the system does
        // not know its size.
        Lines { reader: reader.take(MAX_FILE + 1), file, number: 0, line: Vec::new() }
    }

    /// The next line and its number, from 1; none after the last.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &[u8])>, TraceError> {
        while self.advance()? {
            let content = self.line.split(|&byte| byte == b'#').next().unwrap_or_default();
            if content.len() > LONGEST {
                return Err(TraceError::LongLine { file: self.file.to_owned(), line: self.number });
            }
            if !content.trim_ascii().is_empty() {
                break;
            }
        }
        let content = self.line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
        Ok((!content.is_empty()).then_some((self.number, content)))
    }

    /// Reads a line and keeps at most one byte more than the maximum; false at the end.
    fn advance(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        self.number += 1;
        let mut found = false;
        loop {
            let failed = |source| TraceError::Read { file: self.file.to_owned(), source };
            let chunk = self.reader.fill_buf().map_err(failed)?;
            if chunk.is_empty() {
                break;
            }
            found = true;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let kept = &chunk[..end.unwrap_or(chunk.len())];
            let room = (LONGEST + 1).saturating_sub(self.line.len());
            self.line.extend_from_slice(&kept[..kept.len().min(room)]);
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            let is_hopeless = self.line.len() > LONGEST && !self.line.contains(&b'#');
            if end.is_some() || is_hopeless {
                break;
            }
        }
        if self.reader.limit() == 0 {
            return Err(TraceError::TooLarge { file: self.file.to_owned() });
        }
        Ok(found)
    }
}
