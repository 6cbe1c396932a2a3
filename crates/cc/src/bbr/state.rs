//! [`State`]: the states of BBR, section 5.1.1, and the gains of each.

/// The states of the diagram in section 5.1.1; `Down` to `Up` are those of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Its name in section 5.1.1.
    pub(super) const fn name(self) -> &'static str {
        match self {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::Down => "ProbeBW_DOWN",
            State::Cruise => "ProbeBW_CRUISE",
            State::Refill => "ProbeBW_REFILL",
            State::Up => "ProbeBW_UP",
            State::ProbeRtt => "ProbeRTT",
        }
    }

    /// Section 5.6.1.
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => 2.77,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// Section 5.6.1.
    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Section 5.3.3.9: `IsProbingBW`.
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}
