//! [`Parameters`]: what can be set of a controller, by name.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use exm_units::Span;

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number, such as a factor or a count of packets.
    Number(f64),
    /// A duration.
    Duration(Span),
}

/// The type of the field behind a [`Value::Number`].
pub(crate) type Number = f64;
/// The type of the field behind a [`Value::Duration`].
pub(crate) type Duration = Span;

impl Value {
    /// Whether it is of the same kind as `low` and `high` and between them, both included.
    fn is_within(self, low: Value, high: Value) -> bool {
        match (self, low, high) {
            (Value::Number(value), Value::Number(low), Value::Number(high)) => {
                (low..=high).contains(&value)
            }
            (Value::Duration(value), Value::Duration(low), Value::Duration(high)) => {
                (low..=high).contains(&value)
            }
            _ => false,
        }
    }
}

/// As [`Parameter::read`] reads it: a number, or a duration without a space before its unit.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Duration(span) => f.write_str(&span.to_string().replace(' ', "")),
        }
    }
}

/// A parameter of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in text.
    pub name: &'static str,
    /// Its value unless it is set.
    pub default: Value,
    /// The least possible value.
    pub min: Value,
    /// The greatest possible value.
    pub max: Value,
    /// What it does, and where it is defined: a sentence in Markdown.
    pub description: &'static str,
}

impl Parameter {
    pub(crate) const fn new(
        name: &'static str,
        description: &'static str,
        [default, min, max]: [Value; 3],
    ) -> Parameter {
        Parameter { name, default, min, max, description }
    }

    /// The value that `text` states.
    ///
    /// # Errors
    /// What should stand there, if it is not such a value or out of range.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let value = match self.default {
            Value::Number(_) => text.parse().ok().map(Value::Number),
            Value::Duration(_) => text.parse().ok().map(Value::Duration),
        };
        value.filter(|value| self.allows(*value)).ok_or_else(|| {
            let what = match self.default {
                Value::Number(_) => "a number",
                Value::Duration(_) => "a duration",
            };
            alloc::format!("give {what} from {} to {}", self.min, self.max)
        })
    }

    /// Whether it can have this `value`.
    pub fn allows(&self, value: Value) -> bool {
        value.is_within(self.min, self.max)
    }
}

/// Why a parameter cannot be set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no parameter of this name.
    Unknown,
    /// The parameter cannot have this value.
    OutOfRange(Parameter),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown => f.write_str("there is no such parameter"),
            ParameterError::OutOfRange(Parameter { name, min, max, .. }) => {
                write!(f, "{name} is from {min} to {max}")
            }
        }
    }
}

impl core::error::Error for ParameterError {}

/// A controller's parameters by name. Set them before the first flow; they stay as they are when a flow
/// starts. By default a controller has none.
///
/// ```
/// use exm_cc::{Cubic, Parameters, Value};
///
/// let mut cubic = Cubic::new();
/// cubic.set_parameter("beta", Value::Number(0.8))?;
/// assert_eq!(cubic.parameter("beta"), Some(Value::Number(0.8)));
/// assert!(cubic.set_parameter("beta", Value::Number(1.5)).is_err());
/// # Ok::<(), exm_cc::ParameterError>(())
/// ```
pub trait Parameters {
    /// What can be set.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// The value of the parameter `name`; none if there is no such parameter.
    fn parameter(&self, _name: &str) -> Option<Value> {
        None
    }

    /// Sets the parameter `name`.
    ///
    /// # Errors
    /// [`ParameterError`] if there is none of this name, or it cannot have this `value`. Nothing is changed then.
    fn set_parameter(&mut self, _name: &str, _value: Value) -> Result<(), ParameterError> {
        Err(ParameterError::Unknown)
    }

    /// Whether the parameters are possible together.
    ///
    /// # Errors
    /// What contradicts what.
    fn check_parameters(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

impl<C: Parameters + ?Sized> Parameters for Box<C> {
    fn parameters(&self) -> &'static [Parameter] {
        (**self).parameters()
    }

    fn parameter(&self, name: &str) -> Option<Value> {
        (**self).parameter(name)
    }

    fn set_parameter(&mut self, name: &str, value: Value) -> Result<(), ParameterError> {
        (**self).set_parameter(name, value)
    }

    fn check_parameters(&self) -> Result<(), &'static str> {
        (**self).check_parameters()
    }
}

/// A controller of one's own has the parameters of its type, which are set before it is boxed.
impl Parameters for dyn crate::DynController {}

/// Declares the struct `Tuning` of a controller's parameters, and implements [`Parameters`] for the controller,
/// which has one in its field `tuning`. Each parameter has its default, the least and the greatest value. A
/// function after the list checks whether they are possible together.
macro_rules! parameters {
    ($controller:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ident = [$default:expr, $min:expr, $max:expr],)+
    } $($check:expr)?) => {
        /// The parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct Tuning {
            $($(#[doc = $doc])+ pub(crate) $name: $crate::parameters::$kind,)+
        }

        impl Tuning {
            const PARAMETERS: &'static [$crate::Parameter] = &[$({
                use $crate::Value::$kind;
                let values = [$kind($default), $kind($min), $kind($max)];
                $crate::Parameter::new(stringify!($name), concat!($($doc),+), values)
            },)+];
        }

        impl Default for Tuning {
            fn default() -> Tuning {
                Tuning { $($name: $default,)+ }
            }
        }

        impl $crate::Parameters for $controller {
            fn parameters(&self) -> &'static [$crate::Parameter] {
                Tuning::PARAMETERS
            }

            fn parameter(&self, name: &str) -> Option<$crate::Value> {
                match name {
                    $(stringify!($name) => Some($crate::Value::$kind(self.tuning.$name)),)+
                    _ => None,
                }
            }

            fn set_parameter(
                &mut self,
                name: &str,
                value: $crate::Value,
            ) -> Result<(), $crate::ParameterError> {
                use $crate::ParameterError::{OutOfRange, Unknown};
                let known = Tuning::PARAMETERS.iter().find(|known| known.name == name);
                let parameter = known.ok_or(Unknown)?;
                match (name, value) {
                    _ if !parameter.allows(value) => return Err(OutOfRange(*parameter)),
                    $((stringify!($name), $crate::Value::$kind(value)) => {
                        self.tuning.$name = value;
                    })+
                    _ => return Err(OutOfRange(*parameter)),
                }
                Ok(())
            }

            $(fn check_parameters(&self) -> Result<(), &'static str> {
                let check: fn(&Tuning) -> Result<(), &'static str> = $check;
                check(&self.tuning)
            })?
        }
    };
}
pub(crate) use parameters;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Abc, Aimd, Bbr, Bbr1, Compound, Cubic, Dctcp, Ledbat, Reno, Vegas, Xcp};

    fn all() -> Vec<Box<dyn Parameters>> {
        vec![
            Box::new(Abc::new()),
            Box::new(Aimd::new()),
            Box::new(Bbr::default()),
            Box::new(Bbr1::default()),
            Box::new(Compound::new()),
            Box::new(Cubic::new()),
            Box::new(Dctcp::new()),
            Box::new(Ledbat::new()),
            Box::new(Reno::new()),
            Box::new(Vegas::new()),
            Box::new(Xcp::new()),
        ]
    }

    #[test]
    fn each_parameter_has_its_default_and_takes_its_bounds_but_no_more() {
        for mut controller in all() {
            assert_eq!(controller.check_parameters(), Ok(()));
            for parameter in controller.parameters() {
                let Parameter { name, default, min, max, description } = *parameter;
                assert_eq!(controller.parameter(name), Some(default), "{name}");
                assert!(description.trim().ends_with('.'), "{name}: {description}");
                for value in [min, max, default] {
                    assert_eq!(parameter.read(&value.to_string()), Ok(value), "{name}");
                    assert_eq!(controller.set_parameter(name, value), Ok(()), "{name}");
                    assert_eq!(controller.parameter(name), Some(value), "{name}");
                }
                for value in [Value::Number(f64::NAN), Value::Number(-1.0), Value::Number(1e9)] {
                    let error = Err(ParameterError::OutOfRange(*parameter));
                    assert_eq!(controller.set_parameter(name, value), error, "{name}");
                    assert_eq!(controller.parameter(name), Some(default), "{name}");
                }
            }
            let unknown = controller.set_parameter("no_such", Value::Number(1.0));
            assert_eq!(unknown, Err(ParameterError::Unknown));
        }
    }

    #[test]
    fn the_marks_of_vegas_are_in_order() {
        let mut vegas = Vegas::new();
        vegas.set_parameter("alpha", Value::Number(5.0)).unwrap();
        assert!(vegas.check_parameters().unwrap_err().contains("alpha"));
    }

    #[test]
    fn what_is_read_is_in_range() {
        let values = [0.5, 0.1, 0.9].map(Value::Number);
        let beta = Parameter::new("beta", "", values);
        assert_eq!(beta.read("0.5"), Ok(Value::Number(0.5)));
        for text in ["", "x", "nan", "inf", "1.5", "5ms"] {
            assert_eq!(beta.read(text), Err("give a number from 0.1 to 0.9".to_owned()), "{text}");
        }
    }
}
