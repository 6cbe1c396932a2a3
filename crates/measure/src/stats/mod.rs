//! Statistics of measurements: means and how sure they are, what lies in the middle, how fairly a
//! link is shared, how steady a rate is, which schemes no other beats.

mod bootstrap;
mod ellipse;
mod estimate;
mod fairness;
mod frontier;
mod middle;
mod order;
mod steadiness;

pub use bootstrap::{Bootstrap, Resampled};
pub use ellipse::Ellipse;
pub use estimate::Estimate;
pub use fairness::{convergence_time, jain_index, rtt_exponent, shares, shortest_over_longest};
pub use frontier::efficient_frontier;
pub use middle::MedianInterval;
pub use order::{empirical_cdf, mean, median, median_in_place, quantile};
pub use steadiness::{
    Utilisation, coarser, interval_fairness, relative_deviation, settling_time, swings, utilisation,
};
