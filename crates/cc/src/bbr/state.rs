//! [`State`]: the states of BBR, section 5.1.1, and the gains of each in a [`Version`].

/// The version of the algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Version {
    /// As in Google's releases of 2019 to 2023.
    Two,
    /// As in the draft.
    #[default]
    Three,
}

/// The pacing gain of Startup before version 3: 2/ln(2).
const OLD_STARTUP_GAIN: f64 = 2.885;

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
    pub(super) const fn pacing_gain(self, version: Version) -> f64 {
        match (self, version) {
            (State::Startup, Version::Two) => OLD_STARTUP_GAIN,
            (State::Startup, Version::Three) => 2.77,
            (State::Drain, Version::Two) => 1.0 / OLD_STARTUP_GAIN,
            (State::Drain, Version::Three) => 0.5,
            (State::Down, Version::Two) => 0.75,
            (State::Down, Version::Three) => 0.9,
            (State::Up, _) => 1.25,
            (State::Cruise | State::Refill | State::ProbeRtt, _) => 1.0,
        }
    }

    /// Section 5.6.1.
    pub(super) const fn cwnd_gain(self, version: Version) -> f64 {
        match (self, version) {
            (State::Up, Version::Three) => 2.25,
            (State::ProbeRtt, _) => 0.5,
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
