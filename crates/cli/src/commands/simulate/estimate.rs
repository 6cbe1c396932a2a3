//! Means over runs, and how sure they are.

use serde::Serialize;

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    /// The ends of its 95 % confidence interval, by Student's t; none for one value alone.
    pub(super) interval: Option<[f64; 2]>,
}

impl Estimate {
    /// The mean of `values`; nothing where there are none.
    pub(super) fn of(values: &[f64]) -> Option<Estimate> {
        let count = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let interval = (values.len() > 1).then(|| {
            let half = quantile(values.len() - 1) * (squares / (count - 1.0) / count).sqrt();
            [mean - half, mean + half]
        });
        Some(Estimate { mean, interval })
    }

    /// With so many decimals: "1.62 ±0.04".
    pub(super) fn text(&self, decimals: usize) -> String {
        match self.interval {
            None => format!("{:.decimals$}", self.mean),
            Some([_, upper]) => {
                format!("{:.decimals$} ±{:.decimals$}", self.mean, upper - self.mean)
            }
        }
    }
}

/// The mean of those of `values` that there are; nothing where there are none.
pub(super) fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.flatten().collect();
    Estimate::of(&values).map(|estimate| estimate.mean)
}

/// The 97.5 % quantiles of Student's t for 1 to 10 degrees of freedom.
const QUANTILES: [f64; 10] =
    [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];

/// The 97.5 % quantile of Student's t: beyond the table by its expansion about the normal one
/// (Abramowitz & Stegun, 26.7.5), which is good to three decimals there.
fn quantile(freedom: usize) -> f64 {
    if let Some(&quantile) = QUANTILES.get(freedom - 1) {
        return quantile;
    }
    let (z, n) = (1.959_964_f64, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / n.powi(2) + third / n.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_students() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[2.0]), Some(Estimate { mean: 2.0, interval: None }));
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]).expect("three values");
        assert_eq!(estimate.text(3), "2.000 ±2.484");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, known) in [(1, 12.7062), (11, 2.2010), (30, 2.0423), (120, 1.9799)] {
            assert!((quantile(freedom) - known).abs() < 2e-4, "{freedom}: {}", quantile(freedom));
        }
    }
}
