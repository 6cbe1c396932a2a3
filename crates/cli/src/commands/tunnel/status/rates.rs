//! [`Look`]: a status with the rates since an earlier one.

use exm_tunnel::{FlowStatus, SessionStatus, Status};

/// A status with the rates since an earlier one.
pub(super) struct Look {
    /// The status.
    pub(super) status: Status,
    /// The rates of each session in Mbit/s of UDP payload, sent and received.
    pub(super) sessions: Vec<[f64; 2]>,
    /// The rates of each flow in Mbit/s on the link, sent and received.
    pub(super) flows: Vec<[f64; 2]>,
}

impl Look {
    /// `status`, with the rates since `before`, or since the start.
    pub(super) fn new(before: Option<&Status>, status: Status) -> Look {
        let seconds = status.seconds - before.map_or(0.0, |before| before.seconds);
        let rate = |bytes: u64, earlier: u64| match seconds > 0.0 {
            true => bytes.saturating_sub(earlier) as f64 * 8e-6 / seconds,
            false => 0.0,
        };
        let rates =
            |now: [u64; 2], earlier: [u64; 2]| [0, 1].map(|way| rate(now[way], earlier[way]));
        let sessions = status.sessions.iter().map(|session| {
            let mut all = before.into_iter().flat_map(|before| &before.sessions);
            let earlier = all.find(|earlier| earlier.client == session.client);
            rates(of_session(session), earlier.map_or([0; 2], of_session))
        });
        let flows = status.flows.iter().map(|flow| {
            let mut all = before.into_iter().flat_map(|before| &before.flows);
            // A flow that was idle is not in the earlier one, and neither is a new one.
            match (before, all.find(|earlier| earlier.flow == flow.flow)) {
                (Some(_), None) => [0.0; 2],
                (_, earlier) => rates(of_flow(flow), earlier.map_or([0; 2], of_flow)),
            }
        });
        Look { sessions: sessions.collect(), flows: flows.collect(), status }
    }

    /// The rates of all sessions together.
    pub(super) fn total(&self) -> [f64; 2] {
        [0, 1].map(|way| self.sessions.iter().map(|rates| rates[way]).sum())
    }

    /// The sum of a number over all sessions.
    pub(super) fn sum(&self, number: impl Fn(&SessionStatus) -> u64) -> u64 {
        self.status.sessions.iter().map(number).sum()
    }

    /// The forecasts of all sessions together: of what is sent and what is received, in bytes after 20 to 160 ms.
    pub(super) fn forecasts(&self) -> [Vec<u64>; 2] {
        let ways: [fn(&SessionStatus) -> &[u64]; 2] =
            [|session| &session.send_forecast_bytes, |session| &session.receive_forecast_bytes];
        ways.map(|forecast| {
            let mut sum = Vec::new();
            for forecast in self.status.sessions.iter().map(forecast) {
                sum.resize(sum.len().max(forecast.len()), 0);
                sum.iter_mut().zip(forecast).for_each(|(sum, bytes)| *sum += bytes);
            }
            sum
        })
    }
}

fn of_session(session: &SessionStatus) -> [u64; 2] {
    [session.datagrams.sent_bytes, session.datagrams.received_bytes]
}

fn of_flow(flow: &FlowStatus) -> [u64; 2] {
    [flow.sent_bytes, flow.received_bytes]
}
