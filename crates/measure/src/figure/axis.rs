//! Axes: where a value lies between two ends, and which round values are written beside it.

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By factors.
    Log,
    /// By factors, the least at the right: for queueing delays, of which less is better.
    ReversedLog,
}

/// An axis from its low to its high value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A value that is written beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// The minimum and maximum of the finite `values`; `None` if there are none.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

impl Axis {
    /// An axis that holds `extent` exactly, or from 0 to 1 where there is nothing to hold.
    pub(super) fn exact(scale: Scale, extent: Option<(f64, f64)>) -> Axis {
        let (low, high) = extent.unwrap_or((0.0, 1.0));
        match scale {
            Scale::Linear if high > low => Axis { scale, low, high },
            Scale::Linear => Axis { scale, low: low - 0.5, high: high + 0.5 },
            Scale::Log | Scale::ReversedLog => {
                let low = if low > 0.0 { low } else { (high / 1e3).max(1e-3) };
                let high = high.max(low);
                let wide = if high / low > 1.02 { (low, high) } else { (low / 1.5, high * 1.5) };
                Axis { scale, low: wide.0, high: wide.1 }
            }
        }
    }

    /// An axis that holds `extent` with room to spare: to the next round value, or by a factor.
    pub(super) fn around(scale: Scale, extent: Option<(f64, f64)>) -> Axis {
        let axis = Axis::exact(scale, extent);
        let Axis { low, high, .. } = axis;
        match scale {
            Scale::Linear => {
                let step = step(high - low, 10);
                let low = (low / step + 1e-9).floor() * step;
                Axis { low, high: (high / step - 1e-9).ceil() * step, ..axis }
            }
            Scale::Log | Scale::ReversedLog => {
                let room = libm::pow(high / low, 0.06).max(1.15);
                Axis { low: low / room, high: high * room, ..axis }
            }
        }
    }

    pub(super) fn low(&self) -> f64 {
        self.low
    }

    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Where `value` lies: 0 at the left or the bottom, 1 at the right or the top. What a
    /// logarithmic axis cannot show lies at its low end.
    pub(super) fn part(&self, value: f64) -> f64 {
        let (low, high) = (libm::log(self.low), libm::log(self.high));
        let log = || (libm::log(value.max(self.low * 1e-3)) - low) / (high - low);
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => log(),
            Scale::ReversedLog => 1.0 - log(),
        }
    }

    /// About `count` round values between the ends.
    pub(super) fn ticks(&self, count: usize) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => self.linear_ticks(count),
            Scale::Log | Scale::ReversedLog => self.log_ticks(count),
        }
    }

    fn linear_ticks(&self, count: usize) -> Vec<Tick> {
        let step = step(self.high - self.low, count);
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let decimals = decimals(step);
        let tick = |index: i64| {
            // Not the sum of steps: 0 is to be 0.
            let value = (first + index as f64) * step;
            let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
            Tick { value, label: format!("{value:.decimals$}") }
        };
        (0..=(last - first) as i64).map(tick).collect()
    }

    fn log_ticks(&self, count: usize) -> Vec<Tick> {
        let decade = |value: f64| libm::log10(value).floor() as i32;
        let decades = decade(self.low)..=decade(self.high);
        let ticks = |factors: &[f64], every: usize| -> Vec<Tick> {
            let powers = decades.clone().step_by(every);
            let values = powers.flat_map(|power| {
                let ten = if power < 0 { 1.0 / 10f64.powi(-power) } else { 10f64.powi(power) };
                factors.iter().map(move |factor| factor * ten)
            });
            let inside = values.filter(|v| (self.low * 0.999..=self.high * 1.001).contains(v));
            inside.map(|value| Tick { value, label: log_label(value) }).collect()
        };
        for factors in [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0]] {
            let ticks = ticks(factors, 1);
            if (3..=count + 2).contains(&ticks.len()) {
                return ticks;
            }
        }
        match ticks(&[1.0], 1).len() {
            // The ends are so close that factors mean nothing.
            0..2 => Axis { scale: Scale::Linear, ..*self }.linear_ticks(count),
            decades => ticks(&[1.0], decades.div_ceil(count + 2)),
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten that goes about `count` times into `length`.
fn step(length: f64, count: usize) -> f64 {
    let rough = (length / count as f64).max(1e-300);
    let ten = libm::pow(10.0, libm::log10(rough).floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| rough <= factor * ten * 1.001);
    factor.unwrap_or(10.0) * ten
}

/// How many decimals tell multiples of `step` apart.
fn decimals(step: f64) -> usize {
    (-libm::log10(step * 1.001).floor()).clamp(0.0, 9.0) as usize
}

fn log_label(value: f64) -> String {
    match value {
        1e-4..1e6 => plain(value, decimals(value) + 1),
        _ => format!("{value:e}"),
    }
}

/// `value` with so many decimals, without trailing zeros.
fn plain(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `value` to about four digits, for readers: "1234", "12.34", "0.001234".
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = libm::log10(value.abs()).floor() as i32;
    match digits {
        -5..15 => plain(value, (3 - digits).max(0) as usize),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: Axis, count: usize) -> Vec<String> {
        axis.ticks(count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        let linear = |low, high| labels(Axis::around(Scale::Linear, Some((low, high))), 5);
        assert_eq!(linear(0.0, 9.3), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(linear(-0.11, 0.22), ["-0.1", "0.0", "0.1", "0.2"]);
        assert_eq!(linear(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let log = |low, high| labels(Axis::exact(Scale::ReversedLog, Some((low, high))), 6);
        assert_eq!(log(0.6, 30.0), ["1", "2", "5", "10", "20"]);
        assert_eq!(log(1.4, 18.0), ["1.5", "2", "3", "4", "5", "7", "10", "15"]);
        assert_eq!(log(0.005, 2e3), ["0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(log(12.0, 19.0), ["12", "14", "16", "18"]);
        assert_eq!(log(1.0, 1e12), ["1", "100", "10000", "1e6", "1e8", "1e10", "1e12"]);
    }

    #[test]
    fn numbers_have_four_digits() {
        let numbers = [0.0, 1.0, 12.345, 12345.6, 0.001_234_5, 1e-9, 1.5e20].map(number);
        assert_eq!(numbers, ["0", "1", "12.35", "12346", "0.001234", "1.000e-9", "1.500e20"]);
    }

    proptest! {
        #[test]
        fn every_axis_holds_its_values(a in -1e6..1e6, width in 0.0..1e6) {
            let (low, high) = (a, a + width);
            for scale in [Scale::Linear, Scale::Log, Scale::ReversedLog] {
                let axis = Axis::around(scale, Some((low, high)));
                let ticks = axis.ticks(5);
                prop_assert!(ticks.len() <= 12, "{:?} {:?}", axis, ticks);
                for value in [low, high] {
                    let part = axis.part(value);
                    prop_assert!(part.is_finite());
                    let is_shown = scale == Scale::Linear || low > 0.0;
                    prop_assert!(!is_shown || (-1e-6..=1.0 + 1e-6).contains(&part), "{}", part);
                }
            }
        }
    }
}
