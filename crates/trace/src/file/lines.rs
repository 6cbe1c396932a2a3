//! Lines of a file, one at a time, in bounded memory.

use super::{MAX_FILE, TraceError};
use std::io::{BufRead, Take};

/// The longest line but for its comment, in bytes.
pub(super) const LONGEST: usize = 1024;

/// The lines of a text that say something: without comments, which `#` begins, and without spaces
/// at their ends.
pub(super) struct Lines<'a, R> {
    reader: Take<R>,
    file: &'a str,
    number: usize,
    line: Vec<u8>,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(reader: R, file: &'a str) -> Lines<'a, R> {
        // One byte more than is allowed shows that there are too many, even where the system cannot
        // tell how large a file is.
        Lines { reader: reader.take(MAX_FILE + 1), file, number: 0, line: Vec::new() }
    }

    /// The next line and its number, from 1; none after the last.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &[u8])>, TraceError> {
        while self.advance()? {
            let said = self.line.split(|&byte| byte == b'#').next().unwrap_or_default();
            if said.len() > LONGEST {
                return Err(TraceError::LongLine { file: self.file.to_owned(), line: self.number });
            }
            if !said.trim_ascii().is_empty() {
                break;
            }
        }
        let said = self.line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
        Ok((!said.is_empty()).then_some((self.number, said)))
    }

    /// Reads a line, of which one byte more than the most is kept; false at the end.
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
