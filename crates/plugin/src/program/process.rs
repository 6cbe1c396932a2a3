//! [`Process`]: a running program that answers lines with lines.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a program may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer, bytes.
const MAX_LINE: u64 = 64 << 10;

/// A running program. It is killed when this is dropped.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    /// The lines that it prints. A thread reads them, since a pipe cannot be read with a time limit.
    /// The mutex only makes this shareable.
    lines: Mutex<Receiver<io::Result<Option<String>>>>,
}

impl Process {
    /// Starts the program that the first of `words` names; what it prints to the standard error goes where ours goes.
    pub(super) fn start(words: &[String]) -> io::Result<Process> {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).expect("both are piped");
        let (sender, lines) = sync_channel(1);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let line = read_line(&mut output);
                let ended = !matches!(line, Ok(Some(_)));
                if sender.send(line).is_err() || ended {
                    break;
                }
            }
        });
        Ok(Process { child, input, lines: Mutex::new(lines) })
    }

    /// Sends `line`, and returns the line that answers it; or what happened instead, to stand after the command.
    pub(super) fn ask(&mut self, line: &str) -> Result<String, String> {
        if let Err(error) = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush())
        {
            return Err(match error.kind() {
                io::ErrorKind::BrokenPipe => self.ended(),
                _ => format!("cannot be written to: {error}"),
            });
        }
        let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
        match lines.recv_timeout(PATIENCE) {
            Ok(Ok(Some(reply))) => Ok(reply),
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Ok(Err(error)) => Err(format!("cannot be read: {error}")),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "did not answer within {} s: does it flush its output after each line?",
                PATIENCE.as_secs()
            )),
        }
    }

    fn ended(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => format!("ended without an answer ({status})"),
            Err(_) => "ended without an answer".to_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next line without its end; none at the end of the output.
fn read_line(output: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = output.take(MAX_LINE).read_line(&mut line)?;
    if read as u64 == MAX_LINE && !line.ends_with('\n') {
        let problem = format!("a line of more than {MAX_LINE} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok((read > 0).then(|| line.trim_end().to_owned()))
}
