//! [`BuiltinError`]: why a text does not describe the built-in controller that it names.

use exm_grammar::nearest;
use std::fmt;

/// Why a text that begins with the name of a built-in controller does not describe one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuiltinError {
    /// The controller has no parameter of this name.
    UnknownParameter {
        /// The controller.
        controller: &'static str,
        /// The unknown name.
        parameter: String,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A word where a parameter and its value should stand.
    NoValue {
        /// The controller.
        controller: &'static str,
        /// The word.
        word: String,
    },
    /// A parameter that is given twice.
    Twice {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// A value that the parameter cannot have.
    BadValue {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        parameter: String,
        /// The value.
        value: String,
        /// What it should be.
        problem: String,
    },
    /// Parameters that are impossible together.
    Contradiction {
        /// The controller.
        controller: &'static str,
        /// What contradicts what.
        problem: &'static str,
    },
}

impl fmt::Display for BuiltinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuiltinError::UnknownParameter { controller, parameter, known } => {
                write!(f, "the controller {controller} has no parameter \"{parameter}\": ")?;
                let listed = known.join(", ");
                match nearest(parameter, known) {
                    Some(near) => write!(f, "did you mean \"{near}\"? It has {listed}"),
                    None if known.is_empty() => f.write_str("it has none"),
                    None => write!(f, "it has {listed}"),
                }
            }
            BuiltinError::NoValue { controller, word } => write!(
                f,
                "\"{word}\" after the controller {controller} has no value: parameters are written \
                 NAME=VALUE, as in \"cubic beta=0.8,c=0.2\""
            ),
            BuiltinError::Twice { controller, parameter } => {
                write!(f, "the controller {controller} has {parameter} twice: give it once")
            }
            BuiltinError::BadValue { controller, parameter, value, problem } => {
                write!(
                    f,
                    "the controller {controller} cannot have {parameter} = {value}: {problem}"
                )
            }
            BuiltinError::Contradiction { controller, problem } => {
                write!(f, "the controller {controller} cannot have these parameters: {problem}")
            }
        }
    }
}

impl std::error::Error for BuiltinError {}
