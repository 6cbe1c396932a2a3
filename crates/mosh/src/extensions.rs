//! [`Extensions`]: what both ends can agree on beyond mosh's protocol.

/// What a client asks for, or a server grants, beyond mosh's protocol. The default is nothing.
///
/// A client that asks for something sends a record of it, which mosh's server skips. A server answers with what it grants,
/// and only then either end opens [`Channels`](crate::Channels).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// The lines that scroll off the server's screen. They widen nothing that a client may do.
    pub history: bool,
    /// The client may ask the server to connect to TCP ports.
    pub tcp: bool,
    /// The client may ask the server to listen on TCP ports, and accepts the connections.
    pub listen: bool,
    /// Programs at the server may use the client's SSH agent.
    pub agent: bool,
    /// The client may read and write files of the server.
    pub files: bool,
    /// What mosh does not show: shapes of the cursor, kinds of underlines, faint and struck text, hyperlinks. They widen nothing
    /// that a client may do.
    pub styles: bool,
}

impl Extensions {
    /// The history and the styles: what a server grants unless it is set otherwise.
    pub const HARMLESS: Extensions = Extensions {
        history: true,
        tcp: false,
        listen: false,
        agent: false,
        files: false,
        styles: true,
    };

    /// Whether it has any.
    pub fn is_any(self) -> bool {
        self != Extensions::default()
    }

    /// What is in both.
    pub fn and(self, other: Extensions) -> Extensions {
        Extensions::from_bits(self.bits() & other.bits())
    }

    /// As bits on the wire.
    pub(crate) fn bits(self) -> u64 {
        let Extensions { history, tcp, listen, agent, files, styles } = self;
        let flags = [history, tcp, listen, agent, files, styles];
        flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag))
    }

    /// From bits on the wire; unknown ones are ignored.
    pub(crate) fn from_bits(bits: u64) -> Extensions {
        let [history, tcp, listen, agent, files, styles] =
            [0, 1, 2, 3, 4, 5].map(|bit| bits >> bit & 1 == 1);
        Extensions { history, tcp, listen, agent, files, styles }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back() {
        for bits in 0..64 {
            assert_eq!(Extensions::from_bits(bits).bits(), bits);
        }
        assert_eq!(Extensions::HARMLESS.bits(), 0b10_0001);
        assert_eq!(Extensions::from_bits(!0).and(Extensions::HARMLESS), Extensions::HARMLESS);
        assert!(!Extensions::from_bits(!63).is_any());
    }
}
