//! [`ImpossibleSetting`]: why a queue cannot be built.

use std::fmt;

/// A setting with which a queue discipline cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpossibleSetting {
    /// The name of the discipline in files.
    queue: &'static str,
    setting: &'static str,
    value: String,
    must: String,
}

impl ImpossibleSetting {
    /// `setting` cannot be `value`; `must` is a clause that states what it must be.
    pub fn new(
        setting: &'static str,
        value: impl fmt::Display,
        must: impl Into<String>,
    ) -> ImpossibleSetting {
        ImpossibleSetting { queue: "", setting, value: value.to_string(), must: must.into() }
    }

    /// Checks the gain called `setting`, usually `usual`.
    pub(crate) fn unless_positive(
        setting: &'static str,
        gain: f64,
        usual: f64,
    ) -> Result<(), ImpossibleSetting> {
        if gain.is_finite() && gain > 0.0 {
            return Ok(());
        }
        let must = format!("it must be above 0, such as {usual}");
        Err(ImpossibleSetting::new(setting, gain, must))
    }

    /// The error for the discipline called `queue`.
    pub(crate) fn of(self, queue: &'static str) -> ImpossibleSetting {
        ImpossibleSetting { queue, ..self }
    }

    /// The name of the setting in files.
    pub fn setting(&self) -> &'static str {
        self.setting
    }
}

impl fmt::Display for ImpossibleSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImpossibleSetting { queue, setting, value, must } = self;
        write!(f, "the queue {queue} cannot have {setting} = {value}: {must}")
    }
}

impl std::error::Error for ImpossibleSetting {}
