//! Netlink messages (RFC 3549, section 2; `include/uapi/linux/netlink.h`).
//!
//! Two families are used, rtnetlink and nfnetlink. Their messages consist of a header, a structure of the
//! family, and attributes, which may be nested.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send,
    socket_with,
};
use std::io;
use std::os::fd::OwnedFd;

/// The size of a message's header.
const HEADER: usize = 16;
/// The size of an attribute's header.
const ATTRIBUTE: usize = 4;
/// Larger than any reply: the kernel fills no more than 32 kB at once.
const BUFFER: usize = 65_536;

const NESTED: u16 = libc::NLA_F_NESTED as u16;

/// One or more request messages, to be sent together.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Request {
    /// A message of the type `kind` with `flags` besides `NLM_F_REQUEST`, and `body`, the structure of its
    /// family.
    pub(crate) fn new(kind: u16, flags: i32, body: &[u8]) -> Request {
        let mut request = Request { bytes: Vec::new(), starts: Vec::new() };
        request.add(kind, flags, body);
        request
    }

    /// Begins another message.
    pub(crate) fn add(&mut self, kind: u16, flags: i32, body: &[u8]) {
        self.close();
        let flags = (libc::NLM_F_REQUEST | flags) as u16;
        let number = self.starts.len() as u32;
        self.starts.push(self.bytes.len());
        for part in [&0_u32.to_ne_bytes()[..], &kind.to_ne_bytes(), &flags.to_ne_bytes()] {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.extend_from_slice(&number.to_ne_bytes());
        self.bytes.extend_from_slice(&0_u32.to_ne_bytes());
        self.bytes.extend_from_slice(body);
        self.pad();
    }

    /// Adds an attribute.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Request {
        let length = (ATTRIBUTE + value.len()) as u16;
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad();
        self
    }

    /// Adds a zero-terminated string.
    pub(crate) fn text(&mut self, kind: u16, value: &str) -> &mut Request {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Adds an integer in host byte order, as rtnetlink has them.
    pub(crate) fn u32(&mut self, kind: u16, value: u32) -> &mut Request {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds an integer in network byte order, as nfnetlink has them.
    pub(crate) fn be_u32(&mut self, kind: u16, value: u32) -> &mut Request {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// Adds an attribute that contains those that `fill` adds.
    pub(crate) fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Request)) -> &mut Request {
        let start = self.bytes.len();
        self.attribute(kind | NESTED, &[]);
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Writes the length of the last message into its header.
    fn close(&mut self) {
        if let Some(&start) = self.starts.last() {
            let length = (self.bytes.len() - start) as u32;
            self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
        }
    }
}

/// A netlink socket.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Opens a socket of the family `protocol`, `NETLINK_ROUTE` if `None`, in the network namespace of the
    /// calling thread.
    pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<Socket> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = socket_with(family, SocketType::RAW, flags, protocol)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Socket(socket))
    }

    /// Sends `request`, and passes the type and the body of each reply to `each`. Returns at the first error,
    /// at the end of a dump, or once the kernel has sent that many `acknowledgements`.
    ///
    /// # Errors
    /// The kernel's error, or its reply is malformed.
    pub(crate) fn ask(
        &self,
        mut request: Request,
        acknowledgements: usize,
        mut each: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        request.close();
        send(&self.0, &request.bytes, SendFlags::empty())?;
        let mut buffer = vec![0; BUFFER];
        let mut left = acknowledgements;
        loop {
            let (length, _) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
            for (kind, body) in Messages(&buffer[..length]) {
                match i32::from(kind) {
                    libc::NLMSG_ERROR => {
                        acknowledged(body)?;
                        left = left.saturating_sub(1);
                        if left == 0 {
                            return Ok(());
                        }
                    }
                    libc::NLMSG_DONE => return Ok(()),
                    _ => each(kind, body),
                }
            }
        }
    }
}

/// An acknowledgement is an error message with the error number zero.
fn acknowledged(body: &[u8]) -> io::Result<()> {
    match number_at(body, 0).map(|number| number as i32) {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(-number)),
        None => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

/// The types and bodies of the messages in a buffer.
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let length = number_at(self.0, 0)? as usize;
        let message = self.0.get(..length)?;
        let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
        let body = message.get(HEADER..)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    }
}

/// The types and values of consecutive attributes.
pub(crate) struct Attributes<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let length = usize::from(u16::from_ne_bytes(self.0.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(self.0.get(2..4)?.try_into().ok()?);
        let value = self.0.get(ATTRIBUTE..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind & !NESTED, value))
    }
}

/// The integer at the offset `place`, in host byte order.
pub(crate) fn number_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_messages_of_attributes() {
        let mut request = Request::new(16, libc::NLM_F_ACK, &[1, 2, 3]);
        request.text(7, "ab").nested(8, |inner| {
            inner.u32(1, 5);
        });
        request.add(17, 0, &[]);
        request.close();
        let messages: Vec<_> = Messages(&request.bytes).collect();
        assert_eq!(messages.len(), 2);
        assert_eq!((messages[0].0, messages[1]), (16, (17, &[][..])));
        let attributes: Vec<_> = Attributes(&messages[0].1[4..]).collect();
        assert_eq!(attributes[0], (7, &b"ab\0"[..]));
        let inner: Vec<_> = Attributes(attributes[1].1).collect();
        assert_eq!(inner, [(1, &5_u32.to_ne_bytes()[..])]);
    }

    proptest! {
        #[test]
        fn parsing_always_terminates(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for (_, body) in Messages(&bytes).take(200) {
                prop_assert!(Attributes(body).count() <= bytes.len());
            }
        }
    }
}
