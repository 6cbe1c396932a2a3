//! [`ClientChannels`]: serves the channels of a client: forwarded ports, and its SSH agent.

use super::forward::{Agent, Forwards};
use super::relay::{Relay, accepted};
use crate::Extensions;
use crate::channels::{ChannelId, Channels, Event, Opening, Reason};
use exm_units::{Instant, Span};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// After so long without an answer, a question is answered with no.
const PATIENCE: Span = Span::from_secs(60);
/// How many questions wait.
const MOST_QUESTIONS: usize = 8;
/// How long a message is shown.
const SHOWN: Span = Span::from_secs(8);
/// A server that grants extensions has said so this long after it was first heard of.
const GRANTING: Span = Span::from_secs(5);

/// The sockets of a client, and the questions to its user.
#[derive(Debug)]
pub(super) struct ClientChannels {
    forwards: Forwards,
    relay: Relay,
    /// The channels that listen at the server, and the forwarding that each is for.
    remote: BTreeMap<u32, usize>,
    /// Connections that wait for the server's answer, and what they were for, for people.
    targets: BTreeMap<ChannelId, String>,
    /// Connections to the agent that the user is asked about, and until when.
    questions: VecDeque<(ChannelId, Instant)>,
    message: Option<(String, Instant)>,
    is_agreed: bool,
    connected_at: Option<Instant>,
}

impl ClientChannels {
    /// # Errors
    /// The process has too many files open.
    pub(super) fn new(forwards: Forwards) -> io::Result<ClientChannels> {
        let relay = Relay::new()?;
        Ok(ClientChannels {
            forwards,
            relay,
            remote: BTreeMap::new(),
            targets: BTreeMap::new(),
            questions: VecDeque::new(),
            message: None,
            is_agreed: false,
            connected_at: None,
        })
    }

    /// What the server is asked for.
    pub(super) fn extensions(forwards: &Forwards) -> Extensions {
        Extensions {
            tcp: !forwards.local.is_empty(),
            listen: !forwards.remote.is_empty(),
            agent: forwards.agent.is_some(),
            ..Extensions::default()
        }
    }

    /// Does what can be done at `now`. The server has been heard of, or not.
    pub(super) fn serve(&mut self, now: Instant, channels: &mut Channels, is_connected: bool) {
        self.message.take_if(|(_, until)| now >= *until);
        if is_connected {
            self.connected_at.get_or_insert(now);
        }
        self.agree(now, channels);
        self.take_connections(channels);
        while self.questions.front().is_some_and(|(_, until)| now >= *until) {
            self.answer(channels, false);
        }
        loop {
            while let Some(event) = channels.next_event() {
                self.process(now, channels, event);
            }
            if !self.relay.pump(channels) {
                return;
            }
        }
    }

    /// Begins once the server has said what it grants.
    fn agree(&mut self, now: Instant, channels: &mut Channels) {
        if self.is_agreed {
            return;
        }
        let wanted = ClientChannels::extensions(&self.forwards);
        let is_late = self.connected_at.is_some_and(|at| now.saturating_since(at) >= GRANTING);
        let granted = match channels.granted() {
            Some(granted) => granted,
            None if is_late => Extensions::default(),
            None => return,
        };
        self.is_agreed = true;
        // Connections that came before have waited.
        for listener in self.forwards.local.iter().flat_map(|local| local.listeners.iter()) {
            // Otherwise they are looked at whenever something else happens.
            let _ = self.relay.watch(listener);
        }
        if granted.and(wanted) != wanted {
            self.tell(now, "The server does not allow what was to be forwarded.".to_owned());
        }
        for (place, forward) in self.forwards.remote.iter().enumerate() {
            let address = forward.bind.clone().unwrap_or_default();
            let opening = Opening::Listen { address, port: forward.port };
            if let Ok(id) = channels.open(opening) {
                self.remote.insert(id.0, place);
                self.targets.insert(id, format!("port {} at the server", forward.port));
            }
        }
    }

    fn take_connections(&mut self, channels: &mut Channels) {
        // Before that nothing can be opened: they wait.
        if !self.is_agreed {
            return;
        }
        for local in &self.forwards.local {
            let (host, port) = (&local.forward.host, local.forward.host_port);
            for (socket, _) in local.listeners.iter().flat_map(accepted) {
                let opening = Opening::Tcp { host: host.clone(), port };
                if let Some(id) = self.relay.open(channels, socket.into(), opening) {
                    self.targets.insert(id, format!("{host}:{port}"));
                }
            }
        }
    }

    fn process(&mut self, now: Instant, channels: &mut Channels, event: Event) {
        let is_relayed = self.relay.process(&event);
        match event {
            Event::Opened(id, Opening::Incoming { listener, .. }) => {
                match self.remote.get(&listener).map(|place| &self.forwards.remote[*place]) {
                    Some(forward) => {
                        self.relay.connect(channels, id, (&forward.host, forward.host_port));
                    }
                    None => channels.refuse(id, Reason::Denied),
                }
            }
            Event::Opened(id, Opening::Agent) if self.forwards.agent.is_some() => {
                if self.questions.len() < MOST_QUESTIONS {
                    self.questions.push_back((id, now.saturating_add(PATIENCE)));
                } else {
                    channels.refuse(id, Reason::TooMany);
                }
            }
            Event::Opened(id, _) => channels.refuse(id, Reason::Unsupported),
            Event::Accepted(id) => drop(self.targets.remove(&id)),
            Event::Refused(id, reason) => {
                self.remote.remove(&id.0);
                if let Some(target) = self.targets.remove(&id) {
                    self.tell(now, format!("{target}: {reason}"));
                }
            }
            Event::Closed(id, _) => drop(self.remote.remove(&id.0)),
            Event::Data(id) if !is_relayed => {
                // Nobody sends anything on a channel that listens.
                channels.read(id, usize::MAX);
            }
            _ => {}
        }
    }

    fn tell(&mut self, now: Instant, text: String) {
        self.message = Some((text, now.saturating_add(SHOWN)));
    }

    /// Answers the question that is shown, if any.
    pub(super) fn answer(&mut self, channels: &mut Channels, is_allowed: bool) {
        let Some((id, _)) = self.questions.pop_front() else { return };
        let agent = self.forwards.agent.as_ref().filter(|_| is_allowed);
        match agent.map(|Agent { socket, .. }| connect_unix(socket)) {
            None => channels.refuse(id, Reason::Denied),
            Some(Ok(socket)) => self.relay.accept(channels, id, socket),
            Some(Err(error)) => channels.refuse(id, Reason::Failed(error.to_string())),
        }
    }

    /// Whether the user is asked something.
    pub(super) fn is_asking(&self) -> bool {
        !self.questions.is_empty()
    }

    /// What to show to the user, whose commands begin with a key of this `name`.
    pub(super) fn message(&self, key: &str) -> Option<String> {
        let question = self.forwards.agent.as_ref().filter(|_| self.is_asking());
        let question = question.map(|agent| {
            let server = &agent.server;
            format!("{server} asks for your SSH agent: {key} y lets it, {key} n does not")
        });
        question.or_else(|| self.message.as_ref().map(|(text, _)| text.clone()))
    }

    /// When to call [`ClientChannels::serve`] next, unless something happens before.
    pub(super) fn next_wake(&self) -> Instant {
        let question = self.questions.front().map(|(_, until)| *until);
        let message = self.message.as_ref().map(|(_, until)| *until);
        let times = question.into_iter().chain(message);
        times.min().unwrap_or(Instant::MAX)
    }

    /// To be called before waiting.
    pub(super) fn arm(&mut self, channels: &Channels) {
        self.relay.arm(channels);
    }
}

impl AsFd for ClientChannels {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.relay.as_fd()
    }
}

/// Connects to the Unix socket `path` without waiting.
fn connect_unix(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}
