//! The text form of a queue: `codel target=5ms,interval=50ms`, the name of a discipline and its
//! parameters that differ from the defaults, after mahimahi's `--uplink-queue-args`.

use crate::{ImpossibleSetting, QueueKind};
use exm_units::{Bytes, Packets, Probability, Rate, Span};
use std::fmt;
use std::str::FromStr;

/// The parameters of a discipline, by the names they have in files.
pub trait Parameters {
    /// Each parameter with its value as text, which [`Parameters::set`] reads.
    fn parameters(&self) -> Vec<(&'static str, String)>;

    /// Sets the parameter `name`; none if there is no such parameter.
    ///
    /// # Errors
    /// What the `value` should be, if it cannot be read.
    fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>>;
}

/// Implements [`Parameters`] for a struct that has exactly these fields.
macro_rules! parameters {
    ($settings:ident { $($field:ident),* }) => {
        impl $crate::Parameters for $settings {
            fn parameters(&self) -> Vec<(&'static str, String)> {
                let $settings { $($field),* } = self;
                vec![$((stringify!($field), $crate::parameters::written($field))),*]
            }

            #[allow(unused_variables, reason = "some have no parameters")]
            fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
                $(if name == stringify!($field) {
                    let value = $crate::parameters::Value::read(value);
                    return Some(value.map(|value| self.$field = value));
                })*
                None
            }
        }
    };
}
pub(crate) use parameters;

/// A type of parameter.
pub(crate) trait Value: Sized {
    fn read(text: &str) -> Result<Self, String>;
}

/// Quantities, whose errors state what they should be.
macro_rules! quantities {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn read(text: &str) -> Result<$type, String> {
                text.parse().map_err(|error: exm_units::ParseUnitError| error.to_string())
            }
        })*
    };
}
quantities!(Span, Bytes, Packets, Probability, Rate);

impl Value for bool {
    fn read(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| "give true or false".to_owned())
    }
}

impl Value for u32 {
    fn read(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_| "give a whole number from 0 up".to_owned())
    }
}

impl Value for f64 {
    fn read(text: &str) -> Result<f64, String> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| "give a number such as 0.5".to_owned())
    }
}

/// `value` without spaces.
pub(crate) fn written(value: &impl fmt::Display) -> String {
    value.to_string().replace(' ', "")
}

/// Why a text does not describe a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueError {
    /// There is no discipline of this name.
    UnknownDiscipline(String),
    /// The discipline has no parameter of this name.
    UnknownParameter {
        /// The discipline.
        queue: &'static str,
        /// The unknown name.
        parameter: String,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A word where a parameter and its value should stand.
    NoValue {
        /// The discipline.
        queue: &'static str,
        /// The word.
        word: String,
    },
    /// A parameter that is given twice.
    Twice {
        /// The discipline.
        queue: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// A value that the parameter cannot have.
    BadValue {
        /// The discipline.
        queue: &'static str,
        /// The parameter.
        parameter: String,
        /// The value.
        value: String,
        /// What it should be.
        problem: String,
    },
    /// A value with which the discipline cannot work.
    Impossible(ImpossibleSetting),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::UnknownDiscipline(name) => {
                let known = QueueKind::NAMES.join(", ");
                write!(f, "there is no queue discipline \"{name}\": give one of {known}")
            }
            QueueError::UnknownParameter { queue, parameter, known } => {
                write!(f, "the queue {queue} has no parameter \"{parameter}\": ")?;
                match &known[..] {
                    [] => write!(f, "it has none"),
                    known => write!(f, "it has {}", known.join(", ")),
                }
            }
            QueueError::NoValue { queue, word } => write!(
                f,
                "\"{word}\" after the queue {queue} has no value: settings are written NAME=VALUE, \
                 such as target=10ms,interval=50ms"
            ),
            QueueError::Twice { queue, parameter } => {
                write!(f, "the queue {queue} has {parameter} twice: give it once")
            }
            QueueError::BadValue { queue, parameter, value, problem } => {
                write!(f, "the queue {queue} cannot have {parameter} = {value}: {problem}")
            }
            QueueError::Impossible(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QueueError {}

impl QueueKind {
    /// The discipline called `name` with these `parameters`, each a name and a value; the others are as
    /// its source recommends.
    ///
    /// # Errors
    /// [`QueueError`] where a name is not known or a value is not possible.
    pub fn with_parameters<'a>(
        name: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<QueueKind, QueueError> {
        let unknown = || QueueError::UnknownDiscipline(name.to_owned());
        let mut kind = QueueKind::named(name).ok_or_else(unknown)?;
        let queue = kind.name();
        let mut given: Vec<&str> = Vec::new();
        for (parameter, value) in parameters {
            let owned = || parameter.to_owned();
            if given.contains(&parameter) {
                return Err(QueueError::Twice { queue, parameter: owned() });
            }
            match kind.settings_mut().set(parameter, value) {
                Some(Ok(())) => given.push(parameter),
                Some(Err(problem)) => {
                    let value = value.to_owned();
                    return Err(QueueError::BadValue { queue, parameter: owned(), value, problem });
                }
                None => {
                    let known = kind.settings().parameters();
                    let known = known.into_iter().map(|(name, _)| name).collect();
                    return Err(QueueError::UnknownParameter { queue, parameter: owned(), known });
                }
            }
        }
        kind.check().map_err(QueueError::Impossible)?;
        Ok(kind)
    }
}

/// The parameters in `text`: each a name and its value, as `NAME=VALUE` with commas or spaces between them. A
/// space within a value, as in "5 ms", is left out.
///
/// # Errors
/// A word that is neither a parameter with its value nor a part of a value.
pub fn parameter_pairs(text: &str) -> Result<Vec<(&str, String)>, &str> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for part in text.split(',') {
        let mut begun = false;
        for word in part.split_whitespace() {
            match (word.split_once('='), pairs.last_mut()) {
                (Some((parameter, value)), _) => pairs.push((parameter, value.to_owned())),
                // "5 ms" is a value of two words.
                (None, Some((_, value))) if begun => *value += word,
                _ => return Err(word),
            }
            begun = true;
        }
    }
    Ok(pairs)
}

/// A discipline's name and, after a space, its parameters as NAME=VALUE with commas or spaces between
/// them.
///
/// ```
/// use exm_link::QueueKind;
///
/// let queue: QueueKind = "codel target=10ms,interval=50 ms".parse()?;
/// assert_eq!(queue.to_string(), "codel target=10ms,interval=50ms");
/// let error = "codel targt=10ms".parse::<QueueKind>().unwrap_err().to_string();
/// let expected = "the queue codel has no parameter \"targt\": it has target, interval, mtu, ecn, \
///                 ce_threshold, ce_low_latency";
/// assert_eq!(error, expected);
/// # Ok::<(), exm_link::QueueError>(())
/// ```
impl FromStr for QueueKind {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<QueueKind, QueueError> {
        let text = text.trim();
        let (name, parameters) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let usual = QueueKind::with_parameters(name, [])?;
        let queue = usual.name();
        let no_value = |word: &str| QueueError::NoValue { queue, word: word.to_owned() };
        let pairs = parameter_pairs(parameters).map_err(no_value)?;
        let pairs = pairs.iter().map(|(parameter, value)| (*parameter, value.as_str()));
        QueueKind::with_parameters(name, pairs)
    }
}

/// As it is parsed: the name and the parameters that are not as usual.
impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let usual = QueueKind::named(self.name()).map(|usual| usual.settings().parameters());
        let mut separator = ' ';
        for (parameter, value) in self.settings().parameters() {
            if usual.as_ref().is_none_or(|usual| !usual.contains(&(parameter, value.clone()))) {
                write!(f, "{separator}{parameter}={value}")?;
                separator = ',';
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(text: &str) -> QueueKind {
        text.parse().expect(text)
    }

    #[test]
    fn parameters_stand_after_the_name() {
        let same = [
            "codel target=1ms,interval=20ms,ecn=false",
            " codel  target=1ms interval=20ms ecn=false ",
            "codel interval=20 ms, target=1 ms, ecn=false",
            "codel ecn=false target=1 ms interval=20 ms",
        ];
        for text in same {
            assert_eq!(queue(text), queue(same[0]), "{text}");
        }
        let QueueKind::CoDel(codel) = queue(same[0]) else { panic!("another queue") };
        assert_eq!((codel.target, codel.interval), (Span::from_millis(1), Span::from_millis(20)));
        assert!(!codel.ecn && codel.mtu == Bytes::new(1500));
        let text = "red min=10packets,max=30 packets,max_p=2 %";
        let QueueKind::Red(red) = queue(text) else { panic!("another queue") };
        assert_eq!((red.min.get(), red.max.get(), red.max_p.get()), (10, 30, 0.02));
    }

    #[test]
    fn what_is_printed_is_what_is_parsed() {
        for name in QueueKind::NAMES {
            assert_eq!(queue(name).to_string(), *name);
        }
        for text in [
            "codel target=1ms,interval=20ms",
            "fq-codel bins=17,quantum=300B",
            "sfq-codel quantum=3.333kB,ecn=false",
            "red max=20packets,max_p=0.02,gentle=false",
            "pie target=1.5us,alpha=0.3333333333333333",
            "step threshold=1packet",
            "xcp beta=0.2",
        ] {
            assert_eq!(queue(text).to_string(), text);
        }
        assert_eq!(queue("codel target=5ms,interval=50ms").to_string(), "codel interval=50ms");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("codl", "there is no queue discipline \"codl\": give one of drop-tail, drop-head, "),
            ("", "there is no queue discipline \"\""),
            (
                "fq-codel limit=3",
                "the queue fq-codel has no parameter \"limit\": it has bins, quantum, target, ",
            ),
            (
                "drop-tail packets=3",
                "the queue drop-tail has no parameter \"packets\": it has none",
            ),
            ("codel target", "\"target\" after the queue codel has no value: settings are written"),
            ("codel ecn=true,target", "\"target\" after the queue codel has no value"),
            ("codel target=1ms,target=2ms", "the queue codel has target twice"),
            ("codel target=5", "the queue codel cannot have target = 5: \"5\" is not a duration"),
            ("codel ecn=yes", "the queue codel cannot have ecn = yes: give true or false"),
            ("fq-codel bins=1.5", "the queue fq-codel cannot have bins = 1.5: give a whole number"),
            ("pie alpha=nan", "the queue pie cannot have alpha = nan: give a number"),
            (
                "codel interval=0ms",
                "the queue codel cannot have interval = 0 ns: it must be longer",
            ),
        ] {
            let error = text.parse::<QueueKind>().expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
