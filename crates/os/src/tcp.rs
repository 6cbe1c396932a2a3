//! [`TcpInfo`]: what the kernel knows of a TCP connection.

use crate::sys;
use exm_units::Span;
use std::io;
use std::os::fd::AsFd;

/// As much of `struct tcp_info` as is read: up to `tcpi_bytes_retrans`.
const LENGTH: usize = 216;

/// What the kernel knows of a TCP connection (`TCP_INFO`, see tcp(7) and linux/tcp.h). What an old kernel does not
/// tell is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The smoothed RTT.
    pub rtt: Span,
    /// The least RTT of the last minutes.
    pub least_rtt: Span,
    /// The congestion window, in packets.
    pub window: u32,
    /// Payload bytes that were sent, retransmitted ones included.
    pub sent: u64,
    /// Payload bytes that were retransmitted.
    pub retransmitted: u64,
    /// Payload bytes that were acknowledged.
    pub acked: u64,
}

impl TcpInfo {
    /// Of `socket`.
    ///
    /// # Errors
    /// It is not one of TCP.
    pub fn of(socket: impl AsFd) -> io::Result<TcpInfo> {
        let mut info = [0; LENGTH];
        sys::tcp_info(socket.as_fd(), &mut info)?;
        let micros = |place| Span::from_micros(u64::from(u32_at(&info, place)));
        // The kernel's word for no sample yet is the largest number.
        let least_rtt = if u32_at(&info, 148) == u32::MAX { Span::ZERO } else { micros(148) };
        Ok(TcpInfo {
            rtt: micros(68),
            least_rtt,
            window: u32_at(&info, 80),
            sent: u64_at(&info, 200),
            retransmitted: u64_at(&info, 208),
            acked: u64_at(&info, 120),
        })
    }
}

/// Lets `socket` hold at most `bytes` that were written and not yet sent (`TCP_NOTSENT_LOWAT`), so that what is
/// written leaves soon.
///
/// # Errors
/// It is not one of TCP.
pub fn limit_unsent(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    sys::set_number(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

fn u32_at(info: &[u8; LENGTH], place: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|byte| info[place + byte]))
}

fn u64_at(info: &[u8; LENGTH], place: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|byte| info[place + byte]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_tells_what_it_carried() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(&[7; 5000]).unwrap();
        theirs.read_exact(&mut [0; 5000]).unwrap();
        theirs.write_all(b"x").unwrap();
        ours.read_exact(&mut [0]).unwrap();
        let info = TcpInfo::of(&ours).unwrap();
        // The kernel counts the SYN as a byte that was acknowledged.
        assert_eq!((info.sent, info.acked - 1, info.retransmitted), (5000, 5000, 0));
        assert!(info.window >= 10, "{info:?}");
        assert!(info.rtt > Span::ZERO && info.rtt < Span::from_secs(1), "{info:?}");
        assert!(info.least_rtt <= Span::from_secs(1), "{info:?}");
        assert!(TcpInfo::of(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
