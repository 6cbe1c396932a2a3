//! [`End`]: an end of a session, which sends by one of the [`Rule`]s.

use crate::rtt::{Losses, rtt};
use crate::rule::{Forecast, PIECE};
use crate::side::Side;
use crate::states::Channels;
use crate::way::{Cargo, Datagram, Way};
use exm_datagram::{Key, Role, Session};
use exm_ssp::{Received, Rtt, Settings, Sided, State, Transport};
use exm_units::{Bytes, Instant, Span};

/// Within how many ticks of 20 ms a packet shall leave the queue, and the queueing delay in milliseconds that is allowed in any case: Sprout's
/// defaults, and those with which a stream gets as much of Verizon's LTE as in our window.
const SPROUT: (usize, u64) = (5, 61);
const SHORTER: (usize, u64) = (4, 41);

/// When an end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// As mosh: one instruction in half a round trip. A stream, which mosh does not have, is sent in our window.
    Mosh,
    /// As `exm mosh`.
    Ours,
    /// As much as Sprout's forecast has room for, with Sprout's heartbeats and a forecast in each of its ticks.
    Forecast,
    /// The same within 80 ms, without heartbeats: forecasts travel only with what is sent anyway.
    Along,
}

impl Rule {
    pub(crate) const ALL: [Rule; 4] = [Rule::Mosh, Rule::Ours, Rule::Forecast, Rule::Along];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Rule::Mosh => "mosh",
            Rule::Ours => "ours",
            Rule::Forecast => "forecast",
            Rule::Along => "along",
        }
    }

    fn settings(self, mut usual: Settings) -> Settings {
        match self {
            Rule::Mosh => usual.budget = 0,
            Rule::Ours => {}
            // What Sprout's window has room for need not wait.
            Rule::Forecast | Rule::Along => usual.budget = u32::MAX,
        }
        usual
    }
}

/// How much an end sends.
enum Pace {
    Window(Side),
    Forecast(Box<Forecast>),
}

/// An end of a session.
pub(crate) struct End<L, R> {
    crypto: Session,
    pub(crate) transport: Transport<Sided<L>, Sided<R>>,
    losses: Losses,
    pace: Pace,
}

impl<L: State + Default, R: State + Default> End<L, R> {
    /// An end at `now`, which sends as many bytes as it may if it has `bulk`.
    pub(crate) fn new(now: Instant, role: Role, rule: Rule, bulk: bool, seed: u64) -> End<L, R> {
        let usual = match role {
            Role::Client => Settings::client(seed),
            Role::Server => Settings::server(seed),
        };
        let channels = Channels::bulk(bulk);
        let pace = match rule {
            Rule::Mosh | Rule::Ours => Pace::Window(Side::new(channels)),
            Rule::Forecast | Rule::Along => {
                let (lookahead, queueing) = if rule == Rule::Along { SHORTER } else { SPROUT };
                let ahead = (lookahead, Span::from_millis(queueing));
                let forecast = Forecast::new(now, channels, rule == Rule::Forecast, ahead);
                Pace::Forecast(Box::new(forecast))
            }
        };
        let initial = (Sided::default(), Sided::default());
        End {
            crypto: Session::new(&Key::from_bytes([7; 16]), role),
            transport: Transport::new(now, rule.settings(usual), initial.0, initial.1),
            losses: Losses::default(),
            pace,
        }
    }

    /// Bytes of the peer's stream that were read.
    pub(crate) fn read(&self) -> u64 {
        match &self.pace {
            Pace::Window(side) => side.channels.read,
            Pace::Forecast(forecast) => forecast.channels.read,
        }
    }

    /// Processes a datagram of `size` bytes. Returns whether it brought a newer state with changes.
    pub(crate) fn receive(&mut self, now: Instant, mut datagram: Datagram, size: u32) -> bool {
        let Ok(opened) = self.crypto.open(now, &mut datagram.sealed) else { return false };
        self.losses.opened(Some(opened.sequence));
        self.transport.set_lossy(self.losses.is_lossy());
        if let (Pace::Forecast(forecast), Some(header)) = (&mut self.pace, &datagram.header) {
            let size = Bytes::new(size.into());
            forecast.endpoint.receive(now, header, size, datagram.is_data);
        }
        let received = match datagram.is_data {
            true => self.transport.receive(now, opened.payload),
            false => return false,
        };
        let Ok(Received::State { newest: true, changed: true, .. }) = received else {
            return false;
        };
        let stream = &self.transport.remote().stream;
        match &mut self.pace {
            Pace::Window(side) => side.receive(stream),
            Pace::Forecast(forecast) => forecast.read(stream),
        }
    }

    /// Sends what is due at `now`. What changed of the state itself takes about `need` bytes, if it has changed.
    pub(crate) fn transmit(&mut self, now: Instant, need: Option<usize>, way: &mut Way) {
        let rtt = rtt(&self.crypto);
        if let Pace::Window(_) = self.pace {
            self.transmit_window(now, &rtt, way);
        } else {
            self.transmit_forecast(now, &rtt, need, way);
        }
    }

    fn transmit_window(&mut self, now: Instant, rtt: &Rtt, way: &mut Way) {
        loop {
            let Pace::Window(side) = &mut self.pace else { return };
            side.update(now, rtt, &mut self.transport, false);
            if self.transport.next_wake(now, rtt) > now {
                return;
            }
            let Ok(Some(payload)) = self.transport.transmit(now, rtt) else { return };
            let end = self.transport.local().stream.end();
            side.sent(now, self.transport.sent_number(), end);
            self.seal(now, &payload, None, way);
        }
    }

    fn transmit_forecast(&mut self, now: Instant, rtt: &Rtt, need: Option<usize>, way: &mut Way) {
        let Pace::Forecast(forecast) = &mut self.pace else { return };
        forecast.update(now, rtt, need, &mut self.transport);
        // The interval between instructions is the forecast's matter.
        let paced = Rtt { srtt: Span::ZERO, ..*rtt };
        let may = forecast.has_room(need);
        let mut payloads = Vec::new();
        if may && self.transport.next_wake(now, &paced) <= now {
            while let Ok(Some(payload)) = self.transport.transmit(now, &paced) {
                payloads.push(payload);
            }
        }
        let more = need.is_some_and(|need| need >= PIECE) || forecast.channels.is_bulk;
        let (count, end) = (payloads.len(), self.transport.local().stream.end());
        for (index, payload) in payloads.iter().enumerate() {
            let Pace::Forecast(forecast) = &mut self.pace else { return };
            forecast.sent(now, end);
            let header = forecast.header(now, payload.len(), true, more || index + 1 < count);
            self.seal(now, payload, Some(header), way);
        }
        let Pace::Forecast(forecast) = &mut self.pace else { return };
        if forecast.is_beat_due(now) {
            let header = forecast.header(now, 0, false, more);
            self.seal(now, &[], Some(header), way);
        }
    }

    fn seal(
        &mut self,
        now: Instant,
        payload: &[u8],
        header: Option<exm_sprout::Header>,
        way: &mut Way,
    ) {
        let mut sealed = Vec::new();
        self.crypto.seal(now, &[payload], &mut sealed).expect("it is short, and the key is new");
        let is_data = !payload.is_empty();
        way.send(now, Cargo::Session(Datagram { sealed, header, is_data }));
    }
}
