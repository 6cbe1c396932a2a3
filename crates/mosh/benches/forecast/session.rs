//! [`measure`]: a session over a pair of traces.

use crate::end::{End, Rule};
use crate::flow::Flow;
use crate::states::{REDRAW, Shown};
use crate::way::{Cargo, Way};
use exm_datagram::Role;
use exm_random::{Purpose, Stream};
use exm_ssp::UserStream;
use exm_trace::Trace;
use exm_units::{Instant, Span};
use std::sync::Arc;

/// What is beside the letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Nothing.
    Letters,
    /// A download in the session's own stream.
    Stream,
    /// A program that draws the whole screen anew all the time.
    Redraws,
    /// A download of another program: Cubic through the same queue.
    Cubic,
}

impl Load {
    pub(crate) const ALL: [Load; 4] = [Load::Letters, Load::Stream, Load::Redraws, Load::Cubic];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Load::Letters => "letters",
            Load::Stream => "stream",
            Load::Redraws => "redraws",
            Load::Cubic => "cubic",
        }
    }
}

/// A pair of traces, and where and for how long they are used.
#[derive(Clone)]
pub(crate) struct Links {
    pub(crate) down: Arc<Trace>,
    pub(crate) up: Arc<Trace>,
    pub(crate) duration: Span,
    pub(crate) seed: u64,
}

/// What a session measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// From key to echo, in milliseconds, sorted. What was not echoed at the end counts as the time until then.
    pub(crate) echoes: Vec<f64>,
    /// Of the download, in kbit/s, or redraws a second.
    pub(crate) bulk: f64,
    /// What the session sent, down and up, in kbit/s.
    pub(crate) sent: (f64, f64),
}

/// What is not measured at the beginning, and for how long echoes are waited for at the end.
const WARM_UP: Span = Span::from_secs(10);
const DRAIN: Span = Span::from_secs(20);
const STEP: Span = Span::from_millis(1);
/// The time between two letters is 200 ms on average.
const SHORTEST: u64 = 100;
const SPREAD: usize = 200;
/// About what a keystroke or its echo takes with all headers.
const KEY: usize = 160;

struct Session {
    client: End<UserStream, Shown>,
    server: End<Shown, UserStream>,
    down: Way,
    up: Way,
    flow: Option<Flow>,
    load: Load,
    typed: Vec<Instant>,
    echoed: Vec<Instant>,
    shown: Shown,
    /// How many letters were in the client's and in the server's state when it was sent last.
    sent: (u64, u64),
    redraws: u64,
}

impl Session {
    fn new(now: Instant, links: &Links, rule: Rule, load: Load) -> Session {
        Session {
            client: End::new(now, Role::Client, rule, false, links.seed),
            server: End::new(now, Role::Server, rule, load == Load::Stream, links.seed + 1),
            down: Way::new(links.down.clone()),
            up: Way::new(links.up.clone()),
            flow: (load == Load::Cubic).then(|| Flow::new(now)),
            load,
            typed: Vec::new(),
            echoed: Vec::new(),
            shown: Shown::default(),
            sent: (0, 0),
            redraws: 0,
        }
    }

    /// What arrives at `now`.
    fn receive(&mut self, now: Instant) {
        self.up.advance(now);
        self.down.advance(now);
        while let Some((cargo, size)) = self.up.arrived(now) {
            match cargo {
                Cargo::Session(datagram) => {
                    if self.server.receive(now, datagram, size) {
                        self.echo();
                    }
                }
                Cargo::Ack(ack) => {
                    self.flow.iter_mut().for_each(|flow| flow.acknowledge(now, &ack));
                }
                Cargo::Segment(..) => {}
            }
        }
        while let Some((cargo, size)) = self.down.arrived(now) {
            match cargo {
                Cargo::Session(datagram) => {
                    if self.client.receive(now, datagram, size) {
                        self.show(now);
                    }
                }
                Cargo::Segment(segment, sent_at) => {
                    if let Some(flow) = &mut self.flow {
                        flow.arrive(now, (segment, sent_at), &mut self.up);
                    }
                }
                Cargo::Ack(_) => {}
            }
        }
    }

    /// The client shows the server's newest screen.
    fn show(&mut self, now: Instant) {
        let shown = &self.client.transport.remote().state;
        self.redraws += u64::from(shown.redraws > self.shown.redraws);
        self.shown = shown.clone();
        let count = self.echoed.len().max(self.shown.letters as usize);
        self.echoed.resize(count, now);
        self.client.transport.forget_remote();
    }

    /// The program at the server echoes what was typed.
    fn echo(&mut self) {
        let diff = self.server.transport.take_remote_diff();
        let events = UserStream::decode_diff(&diff).expect("our own");
        let keys = |event| if let exm_ssp::UserEvent::Keys(keys) = event { keys.len() } else { 0 };
        let count: usize = events.into_iter().map(keys).sum();
        if count > 0 {
            self.server.transport.local_mut().state.letters += count as u64;
        }
    }

    fn transmit(&mut self, now: Instant) {
        if self.load == Load::Redraws {
            self.server.transport.local_mut().state.redraws += 1;
        }
        // What differs from the state that was sent last.
        let letters = self.typed.len() as u64;
        let need = (letters > self.sent.0).then_some(KEY);
        let before = self.client.transport.sent_number();
        self.client.transmit(now, need, &mut self.up);
        if self.client.transport.sent_number() != before {
            self.sent.0 = letters;
        }
        let echoed = self.server.transport.local().state.letters;
        let need = match self.load {
            Load::Redraws => Some(KEY + REDRAW),
            _ => (echoed > self.sent.1).then_some(KEY),
        };
        let before = self.server.transport.sent_number();
        self.server.transmit(now, need, &mut self.down);
        if self.server.transport.sent_number() != before {
            self.sent.1 = echoed;
        }
        self.flow.iter_mut().for_each(|flow| flow.transmit(now, &mut self.down));
    }

    /// Bytes of the download, or redraws, so far.
    fn bulk(&self) -> u64 {
        match self.load {
            Load::Letters | Load::Redraws => self.redraws,
            Load::Stream => self.client.read(),
            Load::Cubic => self.flow.as_ref().map_or(0, Flow::delivered) * 1500,
        }
    }
}

/// Measures a session by `rule` with `load` beside the letters, from a moment of the traces that depends on the seed.
pub(crate) fn measure(links: &Links, rule: Rule, load: Load) -> Figures {
    let mut random = Stream::new(links.seed, Purpose::Traffic, 0);
    let period = links.down.period().as_nanos() / 1_000_000;
    let mut now = Instant::ZERO + Span::from_millis(random.below(period as usize) as u64);
    let mut session = Session::new(now, links, rule, load);
    let begin = now + WARM_UP;
    let end = begin + links.duration;
    let (mut next, mut before, mut after) = (begin, None, None);
    while now < end + DRAIN {
        now += STEP;
        session.receive(now);
        if now >= next && now < end {
            session.client.transport.local_mut().state.push_keys(b"k").expect("there is room");
            session.typed.push(now);
            next = now + Span::from_millis(SHORTEST + random.below(SPREAD + 1) as u64);
        }
        session.transmit(now);
        let counts = || [session.bulk(), session.down.sent, session.up.sent];
        if now >= begin {
            before.get_or_insert_with(counts);
        }
        if now >= end {
            after.get_or_insert_with(counts);
        }
    }
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let rate = |index: usize| (after[index] - before[index]) as f64 / links.duration.as_secs_f64();
    let kbits = |index: usize| rate(index) * 8.0 / 1000.0;
    let is_bytes = matches!(load, Load::Stream | Load::Cubic);
    Figures {
        echoes: echoes(&session, now),
        bulk: if is_bytes { kbits(0) } else { rate(0) },
        sent: (kbits(1), kbits(2)),
    }
}

fn echoes(session: &Session, end: Instant) -> Vec<f64> {
    let shown = session.echoed.iter().copied().chain(std::iter::repeat(end));
    let times =
        session.typed.iter().zip(shown).map(|(typed, shown)| (shown - *typed).as_millis_f64());
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}
