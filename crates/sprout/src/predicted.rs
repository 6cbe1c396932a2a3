//! [`Predicted`]: what a link may deliver, with probabilities.

/// The probability distribution of the bytes that a link delivers within some time, in whole units.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The bytes of a unit.
    pub(crate) unit: f64,
    /// The probability of at most 0, 1, 2, ... units.
    pub(crate) at_most: Vec<f64>,
}

impl Predicted {
    /// The probabilities of less than `bytes` and of at most so much, in whole units. Calibrated predictions
    /// spread what is delivered evenly between them over 0 to 1 (the probability integral transform of counts).
    pub fn place(&self, bytes: f64) -> (f64, f64) {
        let units = libm::round(bytes / self.unit.max(f64::MIN_POSITIVE)).max(0.0) as usize;
        (units.checked_sub(1).map_or(0.0, |below| self.at_most(below)), self.at_most(units))
    }

    fn at_most(&self, units: usize) -> f64 {
        self.at_most.get(units).copied().unwrap_or(1.0)
    }

    /// The continuous ranked probability score if `bytes` are delivered, in bytes: zero for a prediction that was certain of just
    /// that, and the error of one that was certain of something else (Gneiting & Raftery 2007, section 4.2).
    pub fn crps(&self, bytes: f64) -> f64 {
        // The square of the distance between two steps: probability `at_most` from each count to the next, and certainty from
        // what was delivered on.
        let mut sum = 0.0;
        for (units, at_most) in self.at_most.iter().enumerate() {
            let (from, to) = (units as f64 * self.unit, (units + 1) as f64 * self.unit);
            let before = (bytes.clamp(from, to) - from) * at_most * at_most;
            let after = (to - bytes.clamp(from, to)) * (1.0 - at_most) * (1.0 - at_most);
            sum += before + after;
        }
        sum + (bytes - self.at_most.len() as f64 * self.unit).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certain_prediction_scores_its_error() {
        let certain = Predicted { unit: 1500.0, at_most: vec![0.0, 0.0, 1.0] };
        for (bytes, error) in [(3000.0, 0.0), (0.0, 3000.0), (4500.0, 1500.0), (9000.0, 6000.0)] {
            assert!((certain.crps(bytes) - error).abs() < 1e-9, "{bytes}");
        }
        assert_eq!(certain.place(3000.0), (0.0, 1.0));
        assert_eq!(certain.place(4500.0), (1.0, 1.0));
    }

    /// Nobody does better on average than by the true probabilities.
    #[test]
    fn honesty_scores_best() {
        let score = |at_most_one: f64| {
            let prediction = Predicted { unit: 1.0, at_most: vec![0.0, at_most_one, 1.0] };
            0.3 * prediction.crps(1.0) + 0.7 * prediction.crps(2.0)
        };
        assert!(score(0.3) < score(0.2) && score(0.3) < score(0.4) && score(0.3) < score(1.0));
    }
}
