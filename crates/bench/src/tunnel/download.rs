//! A download over the kernel's TCP, as fast as possible.

use super::{BenchError, Host, Times};
use exm_os::{Clock, Waiter};
use exm_units::Span;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the threads check whether to stop.
const PATIENCE: Span = Span::from_millis(50);
/// The longest connection attempt: the link may have an outage.
const CONNECTING: Duration = Duration::from_secs(30);

/// Opens the listening socket of the download.
pub(super) fn listen(host: Host<'_>, congestion: &str) -> Result<TcpListener, BenchError> {
    let failed = BenchError::of("the download");
    let listener = host.network.run(|| TcpListener::bind((host.ip, 0))).map_err(&failed)?;
    listener.set_nonblocking(true).map_err(&failed)?;
    let set = SockRef::from(&listener).set_tcp_congestion(congestion.as_bytes());
    set.map_err(|source| BenchError::Congestion { name: congestion.to_owned(), source })?;
    Ok(listener)
}

/// Serves the first client until `stop` is set, after which the client may close the connection.
pub(super) fn serve(listener: &TcpListener, clock: Clock, stop: &AtomicBool) -> io::Result<()> {
    let waiter = Waiter::new(clock, Span::ZERO);
    let is_over = || stop.load(Ordering::Relaxed);
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if is_over() => return Ok(()),
            Err(_) => waiter.wait([listener.as_fd()], clock.now() + PATIENCE).map(drop)?,
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(Duration::from_nanos(PATIENCE.as_nanos())))?;
    let block = vec![0; 1 << 16];
    while !is_over() {
        match stream.write(&block) {
            Err(error) if !is_passing(&error) && !is_over() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Downloads from `address`; returns the scored bytes.
pub(super) fn fetch(
    host: Host<'_>,
    address: SocketAddr,
    times: Times,
    stop: &AtomicBool,
) -> io::Result<u64> {
    Waiter::new(times.clock, Span::ZERO).wait([], times.begin)?;
    let mut stream = host.network.run(|| TcpStream::connect_timeout(&address, CONNECTING))?;
    stream.set_read_timeout(Some(Duration::from_nanos(PATIENCE.as_nanos())))?;
    let (mut block, mut bytes) = (vec![0; 1 << 18], 0);
    let is_over = || stop.load(Ordering::Relaxed);
    while !is_over() {
        match stream.read(&mut block) {
            // At the end the server closes the connection, whichever end notices `stop` first.
            _ if is_over() => break,
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) if times.counts(times.clock.now()) => bytes += length as u64,
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(bytes)
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// When a client that stops reading closes the connection with unread data, the server's
    /// `write` fails. At the end of a measurement this is not an error.
    #[test]
    fn the_client_may_leave_first_at_the_end() {
        for _ in 0..20 {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let (clock, stop) = (Clock::start(), AtomicBool::new(false));
            thread::scope(|scope| {
                let served = scope.spawn(|| serve(&listener, clock, &stop));
                let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                client.read_exact(&mut [0; 1 << 16]).unwrap();
                stop.store(true, Ordering::Relaxed);
                drop(client);
                served.join().unwrap().unwrap();
            });
        }
    }

    /// Before the end it is an error.
    #[test]
    fn a_client_that_leaves_too_early_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (clock, stop) = (Clock::start(), AtomicBool::new(false));
        drop(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        assert!(serve(&listener, clock, &stop).is_err());
    }
}
