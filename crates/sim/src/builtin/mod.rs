//! [`Builtin`]: the controllers that are known by their names, Sprout among them, and the text form of each:
//! `cubic beta=0.8,c=0.2`, its name and the parameters that differ from the defaults.

mod error;
mod sprout;

pub use error::BuiltinError;
pub(crate) use sprout::{
    IDLENESS, OUTAGES, RISKS, SIGMAS, SLOW, check, check_lookahead, check_queueing,
};
pub use sprout::{SproutModel, SproutParameters};

use crate::controllers::AnyController;
use crate::network::{Host, Transport};
use exm_link::{QueueKind, parameter_pairs};
use std::fmt;

/// The names of Sprout, and of its variant without caution, in place of a controller's.
pub const SPROUT_NAMES: [&str; 2] = ["sprout", "sprout-ewma"];
/// What they are, in a line.
pub const SPROUT_DESCRIPTION: &str = "Sprout: its receiver forecasts what a cellular link will deliver; -ewma follows the mean rate instead.";

/// A controller that is known by its name, with its parameters.
///
/// ```
/// use exm_sim::builtin::Builtin;
///
/// let cubic = Builtin::parse("cubic beta=0.8, c=0.2")?.expect("is built in");
/// assert_eq!(cubic.to_string(), "cubic beta=0.8,c=0.2");
/// // The caller looks for a table of this name.
/// assert!(Builtin::parse("general-delta1")?.is_none());
/// let error = Builtin::parse("cubic bta=0.8").unwrap_err().to_string();
/// assert_eq!(
///     error,
///     "the controller cubic has no parameter \"bta\": did you mean \"beta\"? It has beta, c"
/// );
/// # Ok::<(), exm_sim::builtin::BuiltinError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builtin {
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Controller(Box<AnyController>),
    Sprout(SproutParameters),
}

/// A parameter of a controller, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterEntry {
    /// Its name.
    pub name: &'static str,
    /// Its value unless it is set.
    pub default: String,
    /// The values that it can have: `0.1..0.99`, or all of them.
    pub values: String,
    /// What it does: a sentence in Markdown.
    pub description: &'static str,
}

impl Builtin {
    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        AnyController::NAMES.iter().copied().chain(SPROUT_NAMES)
    }

    /// The name at the start of `text`, if it is that of a built-in controller, whatever its parameters.
    pub fn name_in(text: &str) -> Option<&'static str> {
        let word = text.split_whitespace().next()?;
        Builtin::names().find(|name| *name == word)
    }

    /// The built-in controller that `text` describes: its name and, after a space, its parameters as NAME=VALUE
    /// with commas or spaces between them. None if it does not begin with the name of one: it may be that of
    /// a rule table.
    ///
    /// # Errors
    /// [`BuiltinError`] if it is the name of one, and a parameter is unknown or impossible.
    pub fn parse(text: &str) -> Result<Option<Builtin>, BuiltinError> {
        let Some(name) = Builtin::name_in(text) else { return Ok(None) };
        let parameters = &text.trim()[name.len()..];
        let no_value =
            |word: &str| BuiltinError::NoValue { controller: name, word: word.to_owned() };
        let mut builtin = Builtin::plain(name);
        let mut given: Vec<&str> = Vec::new();
        for (parameter, value) in parameter_pairs(parameters).map_err(no_value)? {
            let owned = || parameter.to_owned();
            // They state the same.
            let key = if parameter == "confidence" { "risk" } else { parameter };
            if given.contains(&key) {
                return Err(BuiltinError::Twice { controller: name, parameter: key.to_owned() });
            }
            given.push(key);
            match builtin.set(parameter, &value) {
                Some(Ok(())) => {}
                Some(Err(problem)) => {
                    let (controller, parameter) = (name, owned());
                    return Err(BuiltinError::BadValue { controller, parameter, value, problem });
                }
                None => {
                    let known = parameters_of(name).into_iter().map(|entry| entry.name).collect();
                    let parameter = owned();
                    return Err(BuiltinError::UnknownParameter {
                        controller: name,
                        parameter,
                        known,
                    });
                }
            }
        }
        if let Kind::Controller(controller) = &builtin.kind {
            let contradiction = |problem| BuiltinError::Contradiction { controller: name, problem };
            controller.tunable().check_parameters().map_err(contradiction)?;
        }
        Ok(Some(builtin))
    }

    /// The controller of this name, which is known, with its defaults.
    fn plain(name: &'static str) -> Builtin {
        let kind = match AnyController::named(name) {
            Some(controller) => Kind::Controller(Box::new(controller)),
            None => Kind::Sprout(SproutParameters::default()),
        };
        Builtin { name, kind }
    }

    /// Sets a parameter; none if there is none of this name, and an error that says what the value should be.
    fn set(&mut self, parameter: &str, value: &str) -> Option<Result<(), String>> {
        match &mut self.kind {
            Kind::Sprout(_) if !sprout::is_parameter_of(self.name, parameter) => None,
            Kind::Sprout(parameters) => parameters.set(parameter, value),
            Kind::Controller(controller) => {
                let controller = controller.tunable_mut();
                let known = controller.parameters().iter().find(|known| known.name == parameter)?;
                Some(known.read(value).and_then(|value| {
                    let set = controller.set_parameter(parameter, value);
                    set.map_err(|error| error.to_string())
                }))
            }
        }
    }

    /// Its name, without parameters.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The controller, for any host; none if it is Sprout, which is a transport of its own.
    pub fn controller(self) -> Option<AnyController> {
        match self.kind {
            Kind::Controller(controller) => Some(*controller),
            Kind::Sprout(_) => None,
        }
    }

    /// The settings of Sprout, if it is that: those of `base`, of which its parameters change some.
    pub fn sprout(&self, base: exm_sprout::Settings) -> Option<exm_sprout::Settings> {
        let Kind::Sprout(parameters) = &self.kind else { return None };
        let settings = parameters.applied_to(base);
        Some(match self.name {
            "sprout-ewma" => exm_sprout::Settings { method: exm_sprout::Method::Ewma, ..settings },
            _ => settings,
        })
    }

    /// A sender by it: over `host`, or by Sprout's own transport.
    pub fn transport(self, host: Host) -> Transport {
        match self.sprout(exm_sprout::Settings::default()) {
            Some(settings) => Transport::Sprout(settings),
            None => match self.kind {
                Kind::Controller(controller) => host.transport(*controller),
                Kind::Sprout(_) => unreachable!("it has the settings of Sprout"),
            },
        }
    }
}

/// As it is parsed: the name and the parameters that are not as usual, of Sprout those that are given.
impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = match &self.kind {
            Kind::Sprout(parameters) => parameters.given(),
            Kind::Controller(controller) => {
                let controller = controller.tunable();
                let values = controller.parameters().iter().filter_map(|known| {
                    let value = controller.parameter(known.name)?;
                    (value != known.default).then(|| (known.name, value.to_string()))
                });
                values.collect()
            }
        };
        f.write_str(self.name)?;
        for (index, (name, value)) in set.iter().enumerate() {
            let separator = if index == 0 { ' ' } else { ',' };
            write!(f, "{separator}{name}={value}")?;
        }
        Ok(())
    }
}

impl AnyController {
    /// The controller that `text` describes, as [`Builtin::parse`] reads it; none if it does not begin with the
    /// name of one, or is Sprout, which is a transport of its own.
    ///
    /// # Errors
    /// [`BuiltinError`] if a parameter is unknown or impossible.
    pub fn parse(text: &str) -> Result<Option<AnyController>, BuiltinError> {
        Ok(Builtin::parse(text)?.and_then(Builtin::controller))
    }
}

/// The parameters of the built-in controller called `name`; none if there is no such controller.
pub fn parameters_of(name: &str) -> Vec<ParameterEntry> {
    let Some(controller) = AnyController::named(name) else { return sprout::entries(name) };
    let entry = |known: &exm_cc::Parameter| ParameterEntry {
        name: known.name,
        default: known.default.to_string(),
        values: format!("{}..{}", known.min, known.max),
        description: known.description.trim(),
    };
    controller.tunable().parameters().iter().map(entry).collect()
}

/// The controllers in `text`, which are separated by commas. A part such as `c=0.2` is a parameter of the one before
/// it, or of the queue that stands after a slash there.
///
/// ```
/// let list = exm_sim::builtin::split_list("cubic beta=0.8,c=0.2,bbr,reno/codel target=1ms,ecn=false");
/// assert_eq!(list, ["cubic beta=0.8,c=0.2", "bbr", "reno/codel target=1ms,ecn=false"]);
/// ```
pub fn split_list(text: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for part in text.split(',') {
        match list.last_mut() {
            Some(last) if is_parameter(part) && has_parameters(last) => {
                last.push(',');
                last.push_str(part);
            }
            _ => list.push(part.trim().to_owned()),
        }
    }
    list
}

/// Whether `part` begins with a parameter, and is not the path of a file.
fn is_parameter(part: &str) -> bool {
    let first = part.split_whitespace().next().unwrap_or_default();
    let before_queue = first.split('/').next().unwrap_or_default();
    let is_file = [".json", ".dna"].iter().any(|ending| part.trim().ends_with(ending));
    before_queue.contains('=') && !is_file
}

/// Whether parameters can follow `scheme`, a controller or one with a queue.
fn has_parameters(scheme: &str) -> bool {
    let (controller, queue) = split_queue(scheme);
    queue.is_some() || Builtin::name_in(controller).is_some()
}

/// A controller and, after a slash, the text of a queue, if there is one.
pub fn split_queue(scheme: &str) -> (&str, Option<&str>) {
    let Some((controller, queue)) = scheme.rsplit_once('/') else { return (scheme, None) };
    let name = queue.split_whitespace().next().unwrap_or_default();
    match QueueKind::NAMES.contains(&name) && !controller.is_empty() {
        true => (controller, Some(queue)),
        false => (scheme, None),
    }
}

/// What is wrong with `text`, which names neither a built-in controller nor one of `others`, such as tables: the
/// nearest name is suggested.
pub fn unknown(text: &str, others: &[&str]) -> String {
    let mut names: Vec<&str> = Builtin::names().map(|name: &'static str| name as &str).collect();
    names.extend(others);
    // Of a misspelt "cubci beta=0.8" the first word is the name.
    let name = match text.split_once(char::is_whitespace) {
        Some((name, rest)) if rest.contains('=') => name,
        _ => text,
    };
    format!("there is no controller \"{name}\": {}", exm_grammar::suggest(name, &names))
}

#[cfg(test)]
mod tests;
