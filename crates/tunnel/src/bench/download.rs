//! A download by the kernel's TCP: as much as it gets.

use super::{BenchError, Place, Times};
use exm_os::{Clock, Waiter};
use exm_units::Span;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is looked whether to go on.
const PATIENCE: Span = Span::from_millis(50);
/// A connection may take so long to come about: the link may be out.
const CONNECTING: Duration = Duration::from_secs(30);

/// Where the download is to be had.
pub(super) fn listen(place: Place<'_>, congestion: &str) -> Result<TcpListener, BenchError> {
    let failed = BenchError::of("the download");
    let listener = place.network.run(|| TcpListener::bind((place.ip, 0))).map_err(&failed)?;
    listener.set_nonblocking(true).map_err(&failed)?;
    let set = SockRef::from(&listener).set_tcp_congestion(congestion.as_bytes());
    set.map_err(|source| BenchError::Congestion { name: congestion.to_owned(), source })?;
    Ok(listener)
}

/// Serves it to the first who comes.
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
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Fetches it from `address` from the beginning on; how many bytes came in the time that counts.
pub(super) fn fetch(
    place: Place<'_>,
    address: SocketAddr,
    times: Times,
    stop: &AtomicBool,
) -> io::Result<u64> {
    Waiter::new(times.clock, Span::ZERO).wait([], times.begin)?;
    let mut stream = place.network.run(|| TcpStream::connect_timeout(&address, CONNECTING))?;
    stream.set_read_timeout(Some(Duration::from_nanos(PATIENCE.as_nanos())))?;
    let (mut block, mut bytes) = (vec![0; 1 << 18], 0);
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut block) {
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
