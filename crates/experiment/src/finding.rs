//! [`Results::finding`]: the main comparison of an experiment, in a sentence made of its numbers.

use crate::metric::Metric;
use crate::results::{CaseResult, Comparison, Ratio, Results};

/// A ratio whose distance from a simple fraction is below this is told as that fraction.
const CLOSE: f64 = 0.04;
const FRACTIONS: [(&str, f64); 9] = [
    ("half", 0.5),
    ("a third", 1.0 / 3.0),
    ("a quarter", 0.25),
    ("a fifth", 0.2),
    ("a sixth", 1.0 / 6.0),
    ("a seventh", 1.0 / 7.0),
    ("an eighth", 0.125),
    ("a ninth", 1.0 / 9.0),
    ("a tenth", 0.1),
];

/// How a ratio compares with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    More,
    Less,
    /// Its interval includes 1.
    Unclear,
}

impl Difference {
    fn of(ratio: &Ratio) -> Difference {
        let [low, high] = ratio.interval.unwrap_or([ratio.ours; 2]);
        match () {
            () if low > 1.0 => Difference::More,
            () if high < 1.0 => Difference::Less,
            () => Difference::Unclear,
        }
    }
}

impl Results {
    /// The main finding in a sentence: of ranks over all settings the best, of harm the most and the least; else the
    /// main comparison, over the mean of all variants or else in the first one: the first
    /// reference with Cubic or, if that was not run, with the first other scheme; without a reference, the
    /// schemes with the highest throughput and the lowest delay. `None` if there is nothing to compare. It says so
    /// where 95 % intervals do not tell schemes apart.
    pub fn finding(&self) -> Option<String> {
        if let Some(sentence) = self.best_ranks().or_else(|| self.most_harmful()) {
            return Some(sentence);
        }
        let variant = self.mean.as_ref().or(self.variants.first())?;
        let sentence = self.comparison(variant).or_else(|| self.extremes(variant))?;
        Some(match variant.is_empty() {
            true => sentence,
            false => format!("{}: {sentence}", capitalised(variant)),
        })
    }

    fn comparison(&self, variant: &str) -> Option<String> {
        let reference = self.references.first()?;
        let own: Vec<&Comparison> = self
            .comparisons
            .iter()
            .filter(|one| one.variant == variant && &one.reference == reference)
            .filter(|one| one.flows.is_none())
            .filter(|one| one.speedup.is_some() && one.delay_reduction.is_some())
            .collect();
        let is_cubic = |one: &&&Comparison| one.scheme == "Cubic";
        let scheme = &own.iter().find(is_cubic).or(own.first())?.scheme;
        let ratios = own.iter().filter(|one| &one.scheme == scheme);
        let ratios = ratios.filter_map(|one| one.speedup.zip(one.delay_reduction.map(inverse)));
        let ratios: Vec<(Ratio, Ratio)> = ratios.collect();
        let names = Names { reference, scheme, axes: self.axes_in_words() };
        Some(match &ratios[..] {
            [(throughput, delay)] => names.one(throughput, delay),
            _ => names.several(&ratios),
        })
    }

    /// The schemes with the highest throughput and with the lowest delay.
    fn extremes(&self, variant: &str) -> Option<String> {
        let own = self.cases.iter().filter(|case| case.variant == variant);
        let mut points: Vec<(&str, Vec<&CaseResult>)> = Vec::new();
        for case in own {
            match points.iter_mut().find(|(point, _)| *point == case.point) {
                Some((_, cases)) => cases.push(case),
                None => points.push((&case.point, vec![case])),
            }
        }
        let points: Vec<Vec<&CaseResult>> = points.into_iter().map(|(_, cases)| cases).collect();
        let [more, less] = self.axes_in_words();
        let [delay, throughput] = &self.axes;
        let highest = extreme(&points, throughput, true)?;
        let parts = match extreme(&points, delay, false) {
            Some(lowest) => format!(
                "{} has the highest {more}{}, {} the lowest {less}{}",
                highest.0, highest.1, lowest.0, lowest.1
            ),
            None => format!("{} has the highest {more}{}", highest.0, highest.1),
        };
        Some(format!("{parts}."))
    }

    /// The throughput and the delay, each without its unit.
    fn axes_in_words(&self) -> [String; 2] {
        let [delay, throughput] = &self.axes;
        [throughput, delay].map(|key| {
            let words = Metric::named(key).map_or(key.as_str(), |metric| metric.words);
            let quantity = words.split_once(',').map_or(words, |(quantity, _)| quantity);
            match key.as_str() {
                "throughput" | "queueing" | "rtt" => format!("median {quantity}"),
                _ => quantity.to_owned(),
            }
        })
    }
}

/// The scheme that has the extreme value of a metric at most of the `points`, and in words, how clearly.
fn extreme(points: &[Vec<&CaseResult>], key: &str, is_highest: bool) -> Option<(String, String)> {
    let best = |cases| best(cases, key, is_highest);
    let bests: Vec<(&str, &str, bool)> =
        points.iter().map(Vec::as_slice).filter_map(best).collect();
    let wins = |name: &str| bests.iter().filter(|one| one.0 == name).count();
    // The first of equals.
    let &(name, next, is_clear) = bests.iter().rev().max_by_key(|one| wins(one.0))?;
    let value = points.iter().flatten().find(|case| case.scheme == name);
    let value = value.map_or(String::new(), |case| written(case, key));
    let words = match (bests.len(), is_clear) {
        (1, true) => format!(" ({value})"),
        (1, false) => {
            format!(" ({value}, not clearly apart from {next} by 95 % intervals)")
        }
        (all, _) => {
            let clear = bests.iter().filter(|one| one.0 == name && one.2).count();
            format!(" at {} of {all} points (by disjoint 95 % intervals at {clear})", wins(name))
        }
    };
    Some((name.to_owned(), words))
}

/// The schemes with the best and the next value of a metric, and whether their intervals are disjoint.
fn best<'a>(
    cases: &[&'a CaseResult],
    key: &str,
    is_highest: bool,
) -> Option<(&'a str, &'a str, bool)> {
    let sign = if is_highest { 1.0 } else { -1.0 };
    let value = |case: &CaseResult| case.own.values.get(key).map(|value| sign * value);
    let mut cases: Vec<(&CaseResult, f64)> =
        cases.iter().filter_map(|case| Some((*case, value(case)?))).collect();
    cases.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(first, _), (second, _), ..] = cases[..] else { return None };
    let [a, b] = [first, second].map(|case| case.own.intervals.get(key));
    let is_clear = a.zip(b).is_some_and(|(a, b)| a[0] > b[1] || b[0] > a[1]);
    Some((first.scheme.as_str(), second.scheme.as_str(), is_clear))
}

/// The value of a metric with its unit.
fn written(case: &CaseResult, key: &str) -> String {
    let value = case.own.values.get(key).copied().unwrap_or(f64::NAN);
    let metric = Metric::named(key);
    let decimals = metric.map_or(2, |metric| metric.decimals);
    let unit = metric.and_then(|metric| metric.words.split_once(',')).map_or("", |(_, unit)| unit);
    format!("{value:.decimals$}{unit}")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What a sentence speaks of.
struct Names<'a> {
    reference: &'a str,
    scheme: &'a str,
    /// The throughput and the delay.
    axes: [String; 2],
}

impl Names<'_> {
    fn one(&self, throughput: &Ratio, delay: &Ratio) -> String {
        let Names { reference, scheme, axes: [more, less] } = self;
        let is_one_run = throughput.interval.is_none() && delay.interval.is_none();
        let end = if is_one_run { " (no interval is known)" } else { "" };
        let text = match (Difference::of(throughput), Difference::of(delay)) {
            (Difference::Unclear, Difference::Unclear) => format!(
                "{reference} and {scheme} differ clearly neither in {more} (ratio {}) nor in {less} (ratio {})",
                bare(throughput),
                bare(delay)
            ),
            (Difference::Unclear, _) => format!(
                "{reference} has {} {scheme}'s {less}{}; in {more} they do not differ clearly (ratio {})",
                times(delay.ours),
                between(delay),
                bare(throughput)
            ),
            (_, Difference::Unclear) => format!(
                "{reference} has {} {scheme}'s {more}{}; in {less} they do not differ clearly (ratio {})",
                times(throughput.ours),
                between(throughput),
                bare(delay)
            ),
            _ => format!(
                "{reference} has {} {scheme}'s {more}{} at {} its {less}{}",
                times(throughput.ours),
                between(throughput),
                times(delay.ours),
                between(delay)
            ),
        };
        format!("{text}{end}.")
    }

    /// Over the points of a sweep.
    fn several(&self, ratios: &[(Ratio, Ratio)]) -> String {
        let Names { reference, scheme, axes: [more, less] } = self;
        let counted = |of: &dyn Fn(&(Ratio, Ratio)) -> Ratio| {
            let count = |difference: Difference| {
                ratios.iter().filter(|pair| Difference::of(&of(pair)) == difference).count()
            };
            format!(
                "higher at {}, lower at {} and not clearly different at {}",
                count(Difference::More),
                count(Difference::Less),
                count(Difference::Unclear)
            )
        };
        format!(
            "At the {} points, {reference}'s {more} is {}; its {less} is {} (95 % intervals of the ratios to {scheme}'s).",
            ratios.len(),
            counted(&|pair| pair.0),
            counted(&|pair| pair.1)
        )
    }
}

/// One over a ratio.
fn inverse(ratio: Ratio) -> Ratio {
    let interval = ratio.interval.map(|[low, high]| [1.0 / high, 1.0 / low]);
    Ratio { ours: 1.0 / ratio.ours, interval, paper: None, over_paper: None }
}

/// "1.4 times", or "a fifth of".
fn times(ratio: f64) -> String {
    let close = |(_, fraction): &&(&str, f64)| (ratio / fraction - 1.0).abs() < CLOSE;
    match FRACTIONS.iter().find(close) {
        Some((words, _)) => format!("{words} of"),
        None => format!("{} times", digits(ratio)),
    }
}

/// "1.38, 95 % interval 0.97 to 1.52".
fn bare(ratio: &Ratio) -> String {
    let interval = ratio.interval.map_or(String::new(), |[low, high]| {
        format!(", 95 % interval {} to {}", digits(low), digits(high))
    });
    format!("{}{interval}", digits(ratio.ours))
}

/// " (95 % interval 1.31 to 1.52)".
fn between(ratio: &Ratio) -> String {
    ratio.interval.map_or(String::new(), |[low, high]| {
        format!(" (95 % interval {} to {})", digits(low), digits(high))
    })
}

/// A ratio to two or three digits.
fn digits(ratio: f64) -> String {
    match ratio {
        10.0.. => format!("{ratio:.0}"),
        1.0..10.0 => format!("{ratio:.2}"),
        _ => format!("{ratio:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(ours: f64, interval: Option<[f64; 2]>) -> Ratio {
        Ratio { ours, interval, paper: None, over_paper: None }
    }

    fn names() -> Names<'static> {
        let axes = ["median throughput", "median queueing delay"].map(str::to_owned);
        Names { reference: "RemyCC", scheme: "Cubic", axes }
    }

    #[test]
    fn a_clear_difference_is_a_sentence() {
        let delay = inverse(ratio(5.0, Some([4.0, 6.25])));
        assert_eq!(
            names().one(&ratio(1.4, Some([1.31, 1.5])), &delay),
            "RemyCC has 1.40 times Cubic's median throughput (95 % interval 1.31 to 1.50) at a fifth of its \
             median queueing delay (95 % interval 0.160 to 0.250)."
        );
    }

    #[test]
    fn an_interval_around_one_is_no_difference() {
        let text = names().one(&ratio(1.1, Some([0.9, 1.3])), &ratio(0.5, Some([0.4, 0.6])));
        assert!(text.starts_with("RemyCC has half of Cubic's median queueing delay"), "{text}");
        assert!(
            text.ends_with("do not differ clearly (ratio 1.10, 95 % interval 0.900 to 1.30)."),
            "{text}"
        );
        let text = names().one(&ratio(1.1, Some([0.9, 1.3])), &ratio(1.0, Some([0.8, 1.2])));
        assert!(text.contains("differ clearly neither in median throughput"), "{text}");
        let text = names().one(&ratio(1.1, None), &ratio(0.9, None));
        assert!(text.ends_with(" (no interval is known)."), "{text}");
    }

    #[test]
    fn points_are_counted() {
        let more = ratio(2.0, Some([1.5, 2.5]));
        let unclear = ratio(1.0, Some([0.5, 2.5]));
        let text = names().several(&[(more, unclear), (unclear, inverse(more))]);
        assert_eq!(
            text,
            "At the 2 points, RemyCC's median throughput is higher at 1, lower at 0 and not clearly different at \
             1; its median queueing delay is higher at 0, lower at 1 and not clearly different at 1 (95 % \
             intervals of the ratios to Cubic's)."
        );
    }
}
