//! [`SproutParameters`]: the settings of Sprout that a text or a table in a file changes.

use super::ParameterEntry;
use exm_grammar::suggest;
use exm_sprout::{HORIZON, Method, Model, Settings, TICK};
use exm_units::Span;
use std::fmt;
use std::ops::RangeInclusive;

/// The ranges of Sprout's settings; sigma is in packets a second per square root of a second, the
/// outage in seconds.
pub(crate) const RISKS: RangeInclusive<f64> = 0.0001..=0.9999;
pub(crate) const SIGMAS: RangeInclusive<f64> = 1.0..=2000.0;
pub(crate) const OUTAGES: RangeInclusive<f64> = 0.01..=1000.0;
pub(crate) const IDLENESS: RangeInclusive<f64> = 0.0..=1.0;
pub(crate) const SLOW: RangeInclusive<f64> = 0.0..=1e6;

/// The parameters of [`Method::Ewma`], which has no model and takes no risk.
const OF_EWMA: [&str; 2] = ["lookahead", "queueing"];

/// A model of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SproutModel {
    /// Ours.
    Default,
    /// The paper's ([`Model::PAPER`]), without a queueing allowance.
    Paper,
}

impl SproutModel {
    /// The model called `name`.
    ///
    /// # Errors
    /// What is wrong if there is none.
    pub fn named(name: &str) -> Result<SproutModel, String> {
        match name {
            "default" => Ok(SproutModel::Default),
            "paper" => Ok(SproutModel::Paper),
            other => {
                let suggestion = suggest(other, &["default", "paper"]);
                Err(format!("there is no model \"{other}\" of Sprout: {suggestion}"))
            }
        }
    }

    /// The link model, and its default queueing allowance.
    fn model(self) -> (Model, Span) {
        match self {
            SproutModel::Default => (Model::default(), Settings::default().queueing),
            SproutModel::Paper => (Model::PAPER, Span::ZERO),
        }
    }
}

impl fmt::Display for SproutModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SproutModel::Default => "default",
            SproutModel::Paper => "paper",
        })
    }
}

/// The settings of Sprout that are given; the others stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SproutParameters {
    /// The model, whose own values of the others come first.
    pub model: Option<SproutModel>,
    /// The accepted probability that less is delivered than forecast.
    pub risk: Option<f64>,
    /// How far a rate of 200 packets a second wanders, in packets a second per square root of a second.
    pub sigma: Option<f64>,
    /// The mean length of an outage.
    pub outage: Option<Span>,
    /// The weight of time in which the window left the link idle.
    pub idleness: Option<f64>,
    /// The rate, in packets a second, below which more risk is taken.
    pub slow: Option<f64>,
    /// Whether sigma and outage are slowly learnt.
    pub learns: Option<bool>,
    /// The ticks within which each packet should leave the queue.
    pub lookahead: Option<usize>,
    /// The queueing delay that is allowed even if the RTT leaves less of the lookahead.
    pub queueing: Option<Span>,
}

impl SproutParameters {
    /// `settings` with these.
    pub fn applied_to(&self, mut settings: Settings) -> Settings {
        if let Method::Bayes { model, risk } = &mut settings.method {
            if let Some(other) = self.model {
                (*model, settings.queueing) = other.model();
            }
            *risk = self.risk.unwrap_or(*risk);
            model.sigma = self.sigma.unwrap_or(model.sigma);
            model.escape = self.outage.map_or(model.escape, |outage| 1.0 / outage.as_secs_f64());
            model.idleness = self.idleness.unwrap_or(model.idleness);
            model.slow = self.slow.unwrap_or(model.slow);
            model.learns = self.learns.unwrap_or(model.learns);
        }
        settings.lookahead = self.lookahead.unwrap_or(settings.lookahead);
        settings.queueing = self.queueing.unwrap_or(settings.queueing);
        settings
    }

    /// Sets the parameter `name` from text; none if there is no such parameter.
    pub(super) fn set(&mut self, name: &str, text: &str) -> Option<Result<(), String>> {
        let result = match name {
            "model" => SproutModel::named(text).map(|model| self.model = Some(model)),
            "risk" => number("risk", text, &RISKS).map(|risk| self.risk = Some(risk)),
            "confidence" => number("confidence", text, &RISKS)
                .map(|confidence| self.risk = Some(complement(confidence))),
            "sigma" => number("sigma", text, &SIGMAS).map(|sigma| self.sigma = Some(sigma)),
            "outage" => span(text).and_then(|outage| {
                check("outage", outage.as_secs_f64(), &OUTAGES)?;
                self.outage = Some(outage);
                Ok(())
            }),
            "idleness" => {
                number("idleness", text, &IDLENESS).map(|part| self.idleness = Some(part))
            }
            "slow" => number("slow", text, &SLOW).map(|rate| self.slow = Some(rate)),
            "learns" => match text.parse() {
                Ok(learns) => {
                    self.learns = Some(learns);
                    Ok(())
                }
                Err(_) => Err("give true or false".to_owned()),
            },
            "lookahead" => text
                .parse()
                .map_err(|_| format!("give a whole number of ticks, 1 to {HORIZON}"))
                .and_then(check_lookahead)
                .map(|ticks| self.lookahead = Some(ticks)),
            "queueing" => {
                span(text).and_then(check_queueing).map(|span| self.queueing = Some(span))
            }
            _ => return None,
        };
        Some(result)
    }

    /// The parameters that are set, by name and value, as [`SproutParameters::set`] reads them.
    pub(super) fn given(&self) -> Vec<(&'static str, String)> {
        let span = |span: Option<Span>| span.map(|span| span.to_string().replace(' ', ""));
        let all = [
            ("model", self.model.map(|model| model.to_string())),
            ("risk", self.risk.map(|risk| risk.to_string())),
            ("sigma", self.sigma.map(|sigma| sigma.to_string())),
            ("outage", span(self.outage)),
            ("idleness", self.idleness.map(|idleness| idleness.to_string())),
            ("slow", self.slow.map(|rate| rate.to_string())),
            ("learns", self.learns.map(|learns| learns.to_string())),
            ("lookahead", self.lookahead.map(|ticks| ticks.to_string())),
            ("queueing", span(self.queueing)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// One less `part`, as the decimal number that one would write: 0.05 for 0.95.
fn complement(part: f64) -> f64 {
    const DIGITS: f64 = 1e12;
    let complement = ((1.0 - part) * DIGITS).round() / DIGITS;
    complement.clamp(*RISKS.start(), *RISKS.end())
}

fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error: exm_units::ParseUnitError| error.to_string())
}

fn number(name: &str, text: &str, range: &RangeInclusive<f64>) -> Result<f64, String> {
    let (low, high) = (range.start(), range.end());
    let number = text.parse().map_err(|_| format!("give a number from {low} to {high}"))?;
    check(name, number, range)
}

/// `number` if it is in `range`, otherwise what is wrong with it as a value of `name`.
pub(crate) fn check(name: &str, number: f64, range: &RangeInclusive<f64>) -> Result<f64, String> {
    if range.contains(&number) {
        return Ok(number);
    }
    let (low, high) = (range.start(), range.end());
    Err(format!("a {name} of {number} is impossible: give {low} to {high}"))
}

/// `ticks` if forecasts reach as far.
pub(crate) fn check_lookahead(ticks: u64) -> Result<usize, String> {
    let number = check("lookahead", ticks as f64, &(1.0..=HORIZON as f64))?;
    Ok(number as usize)
}

/// `queueing` if forecasts reach as far.
pub(crate) fn check_queueing(queueing: Span) -> Result<Span, String> {
    let most = TICK * HORIZON as u64;
    if queueing <= most {
        return Ok(queueing);
    }
    Err(format!("a queueing of {queueing} is beyond the forecast: give at most {most}"))
}

/// Whether the Sprout called `name` has this `parameter`.
pub(super) fn is_parameter_of(name: &str, parameter: &str) -> bool {
    name == "sprout" || OF_EWMA.contains(&parameter)
}

/// The parameters of the Sprout called `name`.
pub(super) fn entries(name: &str) -> Vec<ParameterEntry> {
    if !super::SPROUT_NAMES.contains(&name) {
        return Vec::new();
    }
    let range = |range: RangeInclusive<f64>| format!("{}..{}", range.start(), range.end());
    let most = (TICK * HORIZON as u64).to_string().replace(' ', "");
    let all = [
        (
            "model",
            "default",
            "default or paper".to_owned(),
            "The model of the link, ours or the paper's (`sigma=200`, `idleness=0`, `slow=0`, `queueing=0ms`); the other parameters change it.",
        ),
        (
            "risk",
            "0.05",
            range(RISKS),
            "The accepted probability that less is delivered than forecast (Winstein, Sivaraman & Balakrishnan 2013, section 3.3).",
        ),
        (
            "confidence",
            "0.95",
            range(RISKS),
            "The same, as the probability that no less is delivered: 1 - `risk`.",
        ),
        (
            "sigma",
            "182",
            range(SIGMAS),
            "How far a rate of 200 packets a second wanders, in packets a second per square root of a second (section 3.1).",
        ),
        ("outage", "1s", "10ms..1000s".to_owned(), "The mean length of an outage (section 3.1)."),
        (
            "idleness",
            "0.28",
            range(IDLENESS),
            "The weight of time in which the window left the link idle; 1 ignores such time.",
        ),
        (
            "slow",
            "160",
            range(SLOW),
            "The rate, in packets a second, below which `risk` grows with the rate's power of -1.5, up to four times; 0 for never.",
        ),
        (
            "learns",
            "false",
            "true or false".to_owned(),
            "Whether `sigma` and `outage` are slowly learnt from the link.",
        ),
        (
            "lookahead",
            "5",
            format!("1..{HORIZON}"),
            "The ticks of 20 ms within which each packet should leave the queue (section 3.3).",
        ),
        (
            "queueing",
            "61ms",
            format!("0ns..{most}"),
            "The queueing delay allowed even if the RTT leaves less of the lookahead.",
        ),
    ];
    all.into_iter()
        .filter(|(parameter, ..)| is_parameter_of(name, parameter))
        .map(|(name, default, values, description)| ParameterEntry {
            name,
            default: default.to_owned(),
            values,
            description,
        })
        .collect()
}
