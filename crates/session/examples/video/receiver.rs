//! The receiver: writes the frames that arrive to the standard output.

use crate::frames::{Assembly, MAX_FRAME};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::{Clock, Waiter};
use exm_session::{Mailbox, Session, Settings, WhenFull};
use exm_units::{Bytes, Span};
use std::error::Error;
use std::io::{Read, Write, stdout};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;

/// Writes frame `number`.
fn write(number: u32, frame: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut out = stdout().lock();
    out.write_all(&number.to_be_bytes())?;
    out.write_all(&u32::try_from(frame.len())?.to_be_bytes())?;
    out.write_all(frame)?;
    Ok(out.flush()?)
}

/// Receives until it is killed, or over TCP until the sender ends.
pub(crate) fn receive(carrier: &str, port: &str) -> Result<(), Box<dyn Error>> {
    match carrier {
        "sprout" => sprout(port),
        "tcp" => tcp(port),
        "udp" => udp(port),
        _ => Err(format!("\"{carrier}\" carries no video: give sprout, tcp or udp").into()),
    }
}

fn sprout(port: &str) -> Result<(), Box<dyn Error>> {
    let clock = Clock::start();
    let waiter = Waiter::new(clock, Span::ZERO);
    let ports: PortRange = port.parse()?;
    let key = Key::from_env("VIDEO_KEY")?;
    let mut session = Session::listen(clock, key, Settings::default(), None, ports)?;
    let mut traffic = Mailbox::new(Bytes::ZERO, WhenFull::Refuse);
    let mut assembly = Assembly::default();
    loop {
        session.service(&mut traffic);
        for datagram in traffic.delivered.drain(..) {
            if let Some((number, frame)) = assembly.add(&datagram) {
                write(number, &frame)?;
            }
        }
        waiter.wait([session.as_fd()], session.next_wake())?;
    }
}

fn tcp(port: &str) -> Result<(), Box<dyn Error>> {
    let (mut stream, _) = TcpListener::bind(format!("0.0.0.0:{port}"))?.accept()?;
    let mut word = || -> Result<Vec<u8>, Box<dyn Error>> {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize;
        if length > MAX_FRAME {
            return Err(format!("a frame of {length} bytes is too long").into());
        }
        let mut frame = vec![0; length];
        stream.read_exact(&mut frame)?;
        Ok(header[..4].iter().copied().chain(frame).collect())
    };
    while let Ok(numbered) = word() {
        let (number, frame) = numbered.split_at(4);
        write(u32::from_be_bytes([number[0], number[1], number[2], number[3]]), frame)?;
    }
    Ok(())
}

fn udp(port: &str) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(format!("0.0.0.0:{port}"))?;
    let mut assembly = Assembly::default();
    let mut buffer = [0; 2048];
    loop {
        let length = socket.recv(&mut buffer)?;
        if let Some((number, frame)) = assembly.add(&buffer[..length]) {
            write(number, &frame)?;
        }
    }
}
