//! [`Constants`]: what of Sprout is chosen.

use exm_random::Stream;
use exm_sprout::{Method, Model, Settings};
use exm_units::Span;
use serde::Serialize;
use std::fmt;

/// The constants of Sprout that are chosen. [`Constants::default`] has the shipped ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constants {
    /// The accepted probability that less is delivered than forecast.
    pub risk: f64,
    /// How far a rate of 200 packets a second wanders: [`Model::sigma`].
    pub sigma: f64,
    /// How that depends on the rate: [`Model::power`].
    pub power: f64,
    /// The weight of time in which the window left the link idle: [`Model::idleness`].
    pub idleness: f64,
    /// The rate below which more risk is taken: [`Model::slow`].
    pub slow: f64,
    /// The queueing delay that is allowed whatever the RTT, in ms: [`Settings::queueing`].
    pub queueing_ms: f64,
}

/// The ranges that candidates are drawn from; that of the risk by its logarithm.
const RISKS: [f64; 2] = [0.01, 0.15];
const SIGMAS: [f64; 2] = [100.0, 240.0];
const POWERS: [f64; 2] = [0.4, 0.9];
const IDLENESS: [f64; 2] = [0.1, 0.9];
const SLOW: [f64; 2] = [0.0, 300.0];
const QUEUEING: [f64; 2] = [45.0, 75.0];

impl Default for Constants {
    fn default() -> Constants {
        Constants::of(&Settings::default()).expect("the default method is Bayesian")
    }
}

impl Constants {
    /// Those of `settings`; none if they are of another method.
    pub fn of(settings: &Settings) -> Option<Constants> {
        let Method::Bayes { model, risk } = settings.method else { return None };
        Some(Constants {
            risk,
            sigma: model.sigma,
            power: model.power,
            idleness: model.idleness,
            slow: model.slow,
            queueing_ms: settings.queueing.as_millis_f64(),
        })
    }

    /// The settings of a session with them.
    pub fn settings(&self) -> Settings {
        let model = Model {
            sigma: self.sigma,
            power: self.power,
            idleness: self.idleness,
            slow: self.slow,
            ..Model::default()
        };
        let method = Method::Bayes { model, risk: self.risk };
        let queueing = Span::from_micros((self.queueing_ms * 1000.0) as u64);
        Settings { method, queueing, ..Settings::default() }
    }

    /// Random constants, of no more digits than people would write.
    pub(crate) fn draw(random: &mut Stream) -> Constants {
        let mut within = |[low, high]: [f64; 2], step: f64| {
            let value = low + (high - low) * random.uniform();
            (value / step).round() * step
        };
        let logs = RISKS.map(libm::log);
        Constants {
            risk: (libm::exp(within(logs, 1e-6)) * 1000.0).round() / 1000.0,
            sigma: within(SIGMAS, 1.0),
            power: (within(POWERS, 0.01) * 100.0).round() / 100.0,
            idleness: (within(IDLENESS, 0.01) * 100.0).round() / 100.0,
            slow: within(SLOW, 1.0),
            queueing_ms: within(QUEUEING, 1.0),
        }
    }
}

impl fmt::Display for Constants {
    /// As the parameters of a controller, except for the power, which has none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Constants { risk, sigma, power, idleness, slow, queueing_ms } = self;
        write!(
            f,
            "risk={risk},sigma={sigma},power={power},idleness={idleness},slow={slow},queueing={queueing_ms}ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;

    #[test]
    fn constants_are_those_of_their_settings() {
        assert_eq!(Constants::default().settings(), Settings::default());
        let mut random = Stream::new(1, Purpose::Search, 0);
        for _ in 0..100 {
            let drawn = Constants::draw(&mut random);
            assert_eq!(Constants::of(&drawn.settings()), Some(drawn));
            assert!((RISKS[0]..=RISKS[1]).contains(&drawn.risk), "{drawn}");
        }
        let ewma = Settings { method: Method::Ewma, ..Settings::default() };
        assert_eq!(Constants::of(&ewma), None);
    }
}
