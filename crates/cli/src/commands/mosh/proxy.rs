//! What ssh connects through, to learn which of a machine's addresses it uses: the session is to use the same.

use super::family::Family;
use super::start::IP;
use crate::shell::Failure;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

/// How long an address is tried.
const PATIENCE: Duration = Duration::from_secs(20);

/// Connects to the machine `name` at `port`, says to which address on standard error, and carries standard input and output
/// until ssh is done.
pub(super) fn run(family: Family, name: &str, port: u16) -> Result<ExitCode, Failure> {
    let mut failures = Vec::new();
    for address in family.resolve(name, port)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                eprintln!("{IP}{}", address.ip());
                carry(&stream)?;
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => failures.push(format!("{address}: {error}")),
        }
    }
    Err(Failure::new(format!("cannot connect to {name}: {}", failures.join("; "))))
}

fn carry(stream: &TcpStream) -> io::Result<()> {
    let (mut to, mut from) = (stream.try_clone()?, stream.try_clone()?);
    std::thread::spawn(move || {
        // ssh is gone, or the machine is: either ends the other direction.
        let _ = copy(&mut io::stdin().lock(), &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    copy(&mut from, &mut io::stdout().lock())
}

/// Copies at once what comes.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; 1 << 14];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&buffer[..count])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
