//! [`Amounts`]: the text form of distributions of times and of amounts of data.
//!
//! ```text
//! 5 s                                        a constant, same as "fixed 5 s"
//! exponential 5 s                            exponential with this mean; "exp" for short
//! uniform 1..2 s                             uniform between two values
//! pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B    Pareto, shifted by shift, at most cap
//! cdf 1:0,10:0.9,1000:1 kB                   by its cumulative distribution function: values, each with the
//!                                            probability of not exceeding it, linear in between
//! empirical FILE B                           one of the file's numbers, equally likely, or the function there
//! ```
//! with a unit of time, of data or "packets". A file has one number per line, or on each a value and its cumulative
//! probability, separated by a comma or a space; "#" starts a comment.

use crate::error::{GrammarError, suggest};
use crate::numbers;
use crate::scale::{MOST, Scale, UNITS, Unit, number};
use exm_random::Distribution;
use exm_units::Bytes;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

const WORDS: [&str; 8] =
    ["exponential", "exp", "fixed", "uniform", "pareto", "cdf", "empirical", "always"];
/// A distribution of times or of amounts of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Amounts {
    /// The distribution of the numbers.
    pub distribution: Distribution,
    /// Their unit.
    pub unit: Unit,
}

impl Amounts {
    /// As [`FromStr`], but also accepts "empirical FILE UNIT", with the file's path relative to
    /// `dir`.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    pub fn parse(text: &str, dir: &Path) -> Result<Amounts, GrammarError> {
        let (word, rest) = split(text);
        if word != "empirical" {
            return text.parse();
        }
        let (distribution, unit) = numbers::empirical(rest, dir)?;
        Ok(Amounts { distribution, unit })
    }

    /// A single time or amount, "5 s" or "20 packets", as its number and unit.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    pub fn single(text: &str) -> Result<(f64, Unit), GrammarError> {
        let text = text.trim();
        let suffix = unit(text);
        let digits = text.strip_suffix(suffix).unwrap_or(text).trim();
        let neither = || {
            GrammarError::new(format!(
                "\"{text}\" is neither a time nor an amount of data: give one such as \"5 s\", \
                 \"100 kB\" or \"20 packets\", a number and one of {}",
                UNITS.concat().join(", ")
            ))
        };
        let scale = Scale::of(suffix).ok_or_else(neither)?;
        let value = scale.apply(number(digits).map_err(|_| neither())?);
        if (0.0..=MOST).contains(&value) {
            return Ok((value, scale.unit));
        }
        let problem = format!("\"{text}\" is out of bounds: give a number from 0 up");
        Err(GrammarError::new(problem))
    }

    /// The same, with amounts in bytes converted to packets of `packet` bytes.
    #[must_use]
    pub fn in_packets(self, packet: Bytes) -> Amounts {
        if self.unit != Unit::Bytes {
            return self;
        }
        let size = packet.get() as f64;
        let distribution = match self.distribution {
            Distribution::Fixed(value) => Distribution::Fixed(value / size),
            Distribution::Exponential { mean } => Distribution::Exponential { mean: mean / size },
            Distribution::Uniform { low, high } => {
                Distribution::Uniform { low: low / size, high: high / size }
            }
            Distribution::Pareto { scale, shape, shift, cap } => Distribution::Pareto {
                scale: scale / size,
                shape,
                shift: shift / size,
                cap: cap / size,
            },
            Distribution::Empirical(values) => {
                Distribution::Empirical(values.into_iter().map(|value| value / size).collect())
            }
            Distribution::Cdf(points) => {
                Distribution::Cdf(points.into_iter().map(|(value, p)| (value / size, p)).collect())
            }
        };
        Amounts { distribution, unit: Unit::Packets }
    }
}

impl FromStr for Amounts {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Amounts, GrammarError> {
        let (word, rest) = split(text);
        let fixed = |text| {
            let (value, unit) = Amounts::single(text)?;
            Ok(Amounts { distribution: Distribution::Fixed(value), unit })
        };
        match word {
            "fixed" => fixed(rest),
            "exp" | "exponential" => {
                let (mean, unit) = Amounts::single(rest)?;
                if mean <= 0.0 {
                    let problem = format!("the mean of \"{text}\" is zero: give more than zero");
                    return Err(GrammarError::new(problem));
                }
                Ok(Amounts { distribution: Distribution::Exponential { mean }, unit })
            }
            "uniform" => uniform(rest),
            "pareto" => pareto(rest),
            "cdf" => {
                let (distribution, unit) = numbers::cdf(rest)?;
                Ok(Amounts { distribution, unit })
            }
            "empirical" => Err(GrammarError::new(
                "a file of numbers cannot stand here: list them, or give a distribution",
            )),
            _ if word.is_empty() || word.starts_with(char::is_alphabetic) => {
                let problem = format!("\"{word}\" is no distribution: {}", suggest(word, &WORDS));
                Err(GrammarError::new(problem))
            }
            _ => fixed(text),
        }
    }
}

/// As it is parsed. Files of numbers are written out, which is not parsed.
impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        match &self.distribution {
            Distribution::Fixed(value) => write!(f, "fixed {value} {unit}"),
            Distribution::Exponential { mean } => write!(f, "exponential {mean} {unit}"),
            Distribution::Uniform { low, high } => write!(f, "uniform {low}..{high} {unit}"),
            Distribution::Pareto { scale, shape, shift, cap } => {
                write!(f, "pareto xm={scale} alpha={shape} shift={shift} cap={cap} {unit}")
            }
            Distribution::Empirical(values) => {
                let values: Vec<String> =
                    values.iter().map(|value| format!("{value} {unit}")).collect();
                f.write_str(&values.join(", "))
            }
            Distribution::Cdf(points) => {
                let points: Vec<String> = points.iter().map(|(x, p)| format!("{x}:{p}")).collect();
                write!(f, "cdf {} {unit}", points.join(","))
            }
        }
    }
}

/// The first word and the rest.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// The text after the number in `text`.
fn unit(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit() || "+-._eE".contains(c)).trim()
}

fn uniform(text: &str) -> Result<Amounts, GrammarError> {
    let problem = || {
        GrammarError::new(format!("\"{text}\" is no range: give one such as \"uniform 1..5 s\""))
    };
    let (low, high) = text.split_once("..").ok_or_else(problem)?;
    let low = if unit(low).is_empty() { format!("{low} {}", unit(high)) } else { low.to_owned() };
    let ((low, low_unit), (high, unit)) = (Amounts::single(&low)?, Amounts::single(high)?);
    if low_unit != unit {
        return Err(problem());
    }
    if low > high {
        let problem = format!("\"{text}\" runs backwards: give the lower end first");
        return Err(GrammarError::new(problem));
    }
    Ok(Amounts { distribution: Distribution::Uniform { low, high }, unit })
}

fn pareto(text: &str) -> Result<Amounts, GrammarError> {
    let example = "\"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B\"";
    let error = |problem: String| GrammarError::new(problem);
    let (settings, unit) = text
        .rsplit_once(char::is_whitespace)
        .filter(|(_, unit)| !unit.contains('='))
        .ok_or_else(|| error(format!("the unit is missing: give all of it, such as {example}")))?;
    let scale = Scale::of(unit)
        .ok_or_else(|| error(format!("\"{unit}\" is no unit: give \"s\" or \"B\"")))?;
    let (mut xm, mut alpha, mut shift, mut cap) = (None, None, 0.0, None);
    for setting in settings.split_whitespace() {
        let (key, value) = setting.split_once('=').ok_or_else(|| {
            error(format!("\"{setting}\" is no setting: give all as in {example}"))
        })?;
        let value = number(value)?;
        match key {
            "xm" => xm = Some(scale.apply(value)),
            "alpha" => alpha = Some(value),
            "shift" => shift = scale.apply(value),
            "cap" => cap = Some(scale.apply(value)),
            _ => {
                let suggestion = suggest(key, &["xm", "alpha", "shift", "cap"]);
                return Err(error(format!("pareto has no \"{key}\": {suggestion}")));
            }
        }
    }
    let given = |name: &str, value: Option<f64>, most: f64| {
        let value = value
            .ok_or_else(|| error(format!("\"{name}\" is missing: give all, such as {example}")))?;
        if value > 0.0 && value <= most {
            return Ok(value);
        }
        let problem = format!("\"{name}\" is out of bounds: give a number above 0, at most {most}");
        Err(error(problem))
    };
    let (scale_at, cap) = (given("xm", xm, MOST)?, given("cap", cap, MOST)?);
    let shape = given("alpha", alpha, 1e3)?;
    if !(scale_at + shift > 0.0 && shift <= MOST) {
        return Err(error("what is drawn must be above zero: let xm + shift be".to_owned()));
    }
    let distribution = Distribution::Pareto { scale: scale_at, shape, shift, cap };
    Ok(Amounts { distribution, unit: scale.unit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(text: &str) -> Distribution {
        let amounts: Amounts = text.parse().expect(text);
        assert_eq!(amounts.to_string().parse(), Ok(amounts.clone()), "{text}");
        amounts.distribution
    }

    #[test]
    fn distributions_are_parsed() {
        assert_eq!(distribution("5 s"), Distribution::Fixed(5.0));
        assert_eq!(distribution("fixed 100 ms"), Distribution::Fixed(0.1));
        assert_eq!(distribution("exp 5 s"), Distribution::Exponential { mean: 5.0 });
        let uniform = Distribution::Uniform { low: 1.5, high: 2.0 };
        assert_eq!(distribution("uniform 1.5..2 s"), uniform);
        assert_eq!(distribution("uniform 1500 ms..2 s"), uniform);
        assert_eq!(
            distribution("pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B"),
            Distribution::Pareto { scale: 147.0, shape: 0.5, shift: -40.0, cap: 3.3e9 }
        );
        assert_eq!(
            distribution("cdf 1:0,10:0.9, 1000:1 kB"),
            Distribution::Cdf(vec![(1e3, 0.0), (1e4, 0.9), (1e6, 1.0)])
        );
        let packets = "exp 150 kB".parse::<Amounts>().expect("sound").in_packets(Bytes::new(1500));
        assert_eq!(packets.to_string(), "exponential 100 packets");
    }

    #[test]
    fn files_of_numbers_are_read_from_their_folder() {
        let dir = std::env::temp_dir().join(format!("exm-grammar-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        std::fs::write(dir.join("good.txt"), "# flow lengths\n1\n2.5 # two and a half\n\n")
            .and_then(|()| std::fs::write(dir.join("cdf.txt"), "1, 0.5\n2 0.75\n4\t1 # all\n"))
            .and_then(|()| std::fs::write(dir.join("mixed.txt"), "1, 0.5\n2\n"))
            .and_then(|()| std::fs::write(dir.join("falls.txt"), "1, 0.5\n2, 0.4\n"))
            .and_then(|()| std::fs::write(dir.join("bad.txt"), "1\ntwo\n"))
            .and_then(|()| std::fs::write(dir.join("none.txt"), "# none\n"))
            .expect("can write");
        let read = |text| Amounts::parse(text, &dir);
        let good = read("empirical good.txt kB").expect("is sound");
        assert_eq!(good.distribution, Distribution::Empirical(vec![1000.0, 2500.0]));
        assert_eq!(good.unit, Unit::Bytes);
        let cdf = read("empirical cdf.txt kB").expect("is sound").distribution;
        assert_eq!(cdf, Distribution::Cdf(vec![(1e3, 0.5), (2e3, 0.75), (4e3, 1.0)]));
        let problem = |text| read(text).unwrap_err().to_string();
        assert!(problem("empirical mixed.txt B").contains("line 2: \"2\" has no cumulative"));
        assert!(problem("empirical falls.txt B").contains("must ascend, the latter to 1"));
        assert!(problem("empirical bad.txt B").contains("line 2: \"two\" is no number"));
        assert!(problem("empirical none.txt B").contains("it holds no number"));
        std::fs::remove_dir_all(&dir).ok();
    }

    #[test]
    fn invalid_distributions_are_rejected_with_a_remedy() {
        for (text, part) in [
            ("", "is no distribution: give one of"),
            ("5", "\"5\" is neither a time nor an amount"),
            ("expo 5 s", "\"expo\" is no distribution: did you mean \"exp\"?"),
            ("exp five s", "\"five s\" is neither"),
            ("exp -5 s", "\"-5 s\" is out of bounds: give a number from 0 up"),
            ("exp 0 s", "the mean of \"exp 0 s\" is zero: give more than zero"),
            ("uniform 2..1 s", "runs backwards: give the lower end first"),
            ("uniform 1 s", "is no range: give one such as"),
            ("pareto xm=1 alpha=2 cap=3", "the unit is missing"),
            ("pareto xm=1 alpha=2 B", "\"cap\" is missing: give all"),
            ("pareto xn=1 B", "pareto has no \"xn\": did you mean \"xm\"?"),
            ("pareto xm=nan alpha=1 cap=1 B", "\"nan\" is no number"),
            ("pareto xm=1 alpha=1 shift=-2 cap=5 s", "what is drawn must be above zero"),
            ("cdf 1:0.5,2:0.4 B", "values and cumulative probabilities must ascend"),
            ("cdf 1:0.5", "the unit is missing"),
            ("cdf 1,2:1 B", "\"1\" has no cumulative probability"),
            ("empirical flows.txt", "the file or its unit is missing"),
            ("empirical no/such/file B", "cannot read no/such/file: "),
        ] {
            let error = Amounts::parse(text, Path::new("")).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
