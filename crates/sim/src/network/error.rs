//! [`NetworkError`]: why links and flows do not make a network.

use super::{MAX_FLOWS, MAX_FORESIGHT, MAX_HOPS, MAX_LINKS, MAX_PACKET, MAX_TIME, MAX_VARIATION};
use crate::video::VideoError;
use exm_link::Limit;
use exm_units::{Bytes, Span};

/// Why links and flows do not make a network. Links and flows are identified by number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// There are no senders.
    #[error("there are no senders: give at least one")]
    NoFlows,
    /// More than [`MAX_FLOWS`].
    #[error("{0} senders are too many: give at most {MAX_FLOWS}")]
    TooManyFlows(usize),
    /// More than [`MAX_LINKS`].
    #[error("{0} links are too many: give at most {MAX_LINKS}")]
    TooManyLinks(usize),
    /// A duration of zero, or longer than [`longest_duration`](super::longest_duration).
    #[error("a duration of {duration} cannot be simulated: give one between 1 ns and {longest}")]
    BadDuration {
        /// The requested duration.
        duration: Span,
        /// The longest possible.
        longest: Span,
    },
    /// The warm-up leaves nothing to measure.
    #[error("a warm-up of {warm_up} leaves nothing of {duration} to measure: shorten it")]
    WarmUp {
        /// The warm-up.
        warm_up: Span,
        /// The duration.
        duration: Span,
    },
    /// A link with a rate of zero.
    #[error("a rate of zero carries nothing: give a rate such as \"15 Mbps\"")]
    ZeroRate {
        /// The link.
        link: usize,
    },
    /// A queue that can hold no packet.
    #[error(
        "a buffer of {limit} holds no packet of {packet}, so that none could ever pass: give at \
         least one packet's room, or \"unlimited\""
    )]
    NoBuffer {
        /// The link.
        link: usize,
        /// Its queue's limit.
        limit: Limit,
        /// The size of a packet that crosses it.
        packet: Bytes,
    },
    /// A queue with a limit of zero.
    #[error(
        "a buffer of no packets lets none ever pass: give at least one packet's room, or \
         \"unlimited\""
    )]
    EmptyBuffer {
        /// The link.
        link: usize,
    },
    /// A delay longer than [`MAX_TIME`].
    #[error("a delay of {delay} is too long: give at most {MAX_TIME}")]
    LinkDelay {
        /// The link.
        link: usize,
        /// Its delay.
        delay: Span,
    },
    /// Jitter drawn from impossible values.
    #[error("jitter is drawn from impossible times: {problem}")]
    Jitter {
        /// The link.
        link: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// Packets held back for longer than [`MAX_VARIATION`].
    #[error("packets held back for {extra} come too late: give at most {MAX_VARIATION}")]
    HeldBack {
        /// The link.
        link: usize,
        /// For how long.
        extra: Span,
    },
    /// An impossible value of a setting that only some links have.
    #[error("{problem}")]
    LinkSetting {
        /// The link.
        link: usize,
        /// The setting: its key in a scenario's file, such as `"aggregation"`.
        key: &'static str,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// A path of no links.
    #[error("the path is empty: name at least one link")]
    EmptyPath {
        /// The flow.
        flow: usize,
    },
    /// A path of more than [`MAX_HOPS`].
    #[error("a path of {hops} links is too long: give at most {MAX_HOPS}")]
    LongPath {
        /// The flow.
        flow: usize,
        /// The length of its path.
        hops: usize,
    },
    /// A path over a link that does not exist.
    #[error("the path names link {link}, but there are only {links}")]
    NoSuchLink {
        /// The flow.
        flow: usize,
        /// The link that its path names.
        link: usize,
        /// The number of links.
        links: usize,
    },
    /// A path whose links do not connect.
    #[error(
        "the path is broken: link \"{before}\" does not lead to where link \"{after}\" leaves \
         from; correct the path, or the links' \"from\" and \"to\""
    )]
    BrokenPath {
        /// The flow.
        flow: usize,
        /// The link before the gap.
        before: String,
        /// The link after it.
        after: String,
    },
    /// A return path that does not end where the path begins.
    #[error("the way back ends with link \"{link}\", which does not lead to where the path begins")]
    NoReturn {
        /// The flow.
        flow: usize,
        /// The last link.
        link: String,
    },
    /// A video that cannot be encoded.
    #[error("{problem}")]
    Video {
        /// The flow.
        flow: usize,
        /// What is wrong.
        problem: VideoError,
    },
    /// A receiver that cannot send data.
    #[error(
        "only Sprout's receiver sends data, over links that lead back: give the controller \"sprout\" and \"back\", or \
         leave \"duplex\" out"
    )]
    Duplex {
        /// The flow.
        flow: usize,
    },
    /// A receiver that cannot know what comes.
    #[error(
        "only Sprout's receiver foresees a link, the first of its path, which must follow a trace, for a multiple of 20 ms up \
         to {MAX_FORESIGHT}: change that, or leave \"foresight\" out"
    )]
    Foresight {
        /// The flow.
        flow: usize,
    },
    /// A path that crosses a link twice.
    #[error("the path crosses link \"{link}\" twice: name each link once")]
    Loop {
        /// The flow.
        flow: usize,
        /// The link.
        link: String,
    },
    /// A delay longer than [`MAX_TIME`].
    #[error("a delay of {delay} is too long: give at most {MAX_TIME}")]
    FlowDelay {
        /// The flow.
        flow: usize,
        /// Its extra delay.
        delay: Span,
    },
    /// A round trip shorter than the propagation delays along the path.
    #[error(
        "a round trip of {rtt} is less than the {along} of propagation delay along the path: lengthen \
         it, or shorten the links' delays"
    )]
    ShortRoundTrip {
        /// The flow.
        flow: usize,
        /// Its round-trip propagation delay.
        rtt: Span,
        /// The sum of the delays of the links.
        along: Span,
    },
    /// Packets of size zero, or larger than [`MAX_PACKET`].
    #[error("packets of {size} cannot be sent: give a size between 1 B and {MAX_PACKET}")]
    PacketSize {
        /// The flow.
        flow: usize,
        /// The size.
        size: Bytes,
    },
    /// Packets with no room beside their headers.
    #[error(
        "packets of {size} have no room beside the headers of their transport: make them larger"
    )]
    NoPayload {
        /// The flow.
        flow: usize,
        /// The size.
        size: Bytes,
    },
    /// A distribution of impossible values.
    #[error("the {what} time or amount is drawn from impossible numbers: {problem}")]
    BadTraffic {
        /// The flow.
        flow: usize,
        /// "on" or "off".
        what: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// A sender that would switch endlessly at one instant.
    #[error(
        "a sender with on and off times of zero, or with starts spread over their whole period, would \
         switch endlessly: lengthen one of them"
    )]
    NoTimePasses {
        /// The flow.
        flow: usize,
    },
}

impl NetworkError {
    /// The key that a scenario's file has for the value that is impossible, such as `"buffer"`.
    pub fn key(&self) -> &'static str {
        use NetworkError as E;
        match self {
            E::NoFlows | E::TooManyFlows(_) => "count",
            E::TooManyLinks(_) => "link",
            E::BadDuration { .. } => "duration",
            E::WarmUp { .. } => "warm_up",
            E::ZeroRate { .. } => "rate",
            E::NoBuffer { .. } | E::EmptyBuffer { .. } => "buffer",
            E::LinkDelay { .. } => "delay",
            E::Jitter { .. } => "jitter",
            E::HeldBack { .. } => "reorder_delay",
            E::LinkSetting { key, .. } => key,
            E::EmptyPath { .. }
            | E::LongPath { .. }
            | E::NoSuchLink { .. }
            | E::BrokenPath { .. }
            | E::NoReturn { .. }
            | E::Loop { .. } => "path",
            E::Duplex { .. } => "duplex",
            E::Foresight { .. } => "foresight",
            E::FlowDelay { .. } | E::ShortRoundTrip { .. } => "rtt",
            E::PacketSize { .. } | E::NoPayload { .. } => "packet_size",
            E::BadTraffic { what: "off", .. } => "traffic.off",
            E::BadTraffic { .. } | E::NoTimePasses { .. } | E::Video { .. } => "traffic.on",
        }
    }
}
