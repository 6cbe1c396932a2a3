//! [`Entrant`]: a submission that can run.

use crate::entrants::{Strategist, Strategy};
use crate::video::VideoCall;
use exm_plugin::{Limits, Module, ModuleError};
use exm_remy::{RemyCc, RuleTable};
use exm_sim::builtin::{Builtin, BuiltinError, unknown};
use exm_sim::controllers::AnyController;
use exm_sim::network::{Host, Transport};
use exm_table::{TableFile, dna};

/// The largest table, bytes.
pub const MAX_TABLE: usize = 1 << 20;
/// The longest text that names a controller, bytes.
const MAX_TEXT: usize = 4 << 10;
/// The name of the model of a video call, a baseline.
pub const VIDEO_CALL: &str = "video-call";

/// A submission that can run.
#[derive(Clone, Debug)]
pub struct Entrant {
    transport: Transport,
}

/// Why a submission cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntrantError {
    /// A table is damaged.
    #[error("{name} is no rule table: {problem}")]
    Table {
        /// The submission's file.
        name: String,
        /// The problem.
        problem: String,
    },
    /// A module is unusable.
    #[error("{name}: {source}")]
    Module {
        /// The submission's file.
        name: String,
        /// What is wrong.
        source: ModuleError,
    },
    /// A submission is too large.
    #[error("{name} has {size} bytes, and at most {limit} are allowed")]
    TooLarge {
        /// The submission's file.
        name: String,
        /// Its size, bytes.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A parameter of a controller is wrong.
    #[error("{name}: {source}")]
    Parameter {
        /// The submission's file.
        name: String,
        /// What is wrong.
        source: BuiltinError,
    },
    /// The text names no controller.
    #[error(
        "{name}: {problem}; a submission is a .wasm module, a rule table (.json, .dna), or a text such as \"cubic \
         beta=0.5\""
    )]
    Unknown {
        /// The submission's file.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

/// The entrant in the file called `name` with the contents `bytes`: a WebAssembly module, which runs within `limits`, a
/// rule table, or the text of a built-in controller. Kinds of submissions are added here.
///
/// # Errors
/// [`EntrantError`] if it cannot run.
pub fn load(bytes: &[u8], name: &str, limits: &Limits) -> Result<Entrant, EntrantError> {
    let owned = || name.to_owned();
    let check = |limit: usize| match bytes.len() {
        size if size > limit => Err(EntrantError::TooLarge { name: owned(), size, limit }),
        _ => Ok(()),
    };
    let table = |problem: String| EntrantError::Table { name: owned(), problem };
    if name.ends_with(".wasm") || bytes.starts_with(b"\0asm") {
        check(limits.code)?;
        let module = Module::compile(name, bytes, limits)
            .map_err(|source| EntrantError::Module { name: owned(), source })?;
        return Ok(Entrant::of(AnyController::own(module.controller())));
    }
    check(MAX_TABLE)?;
    if name.ends_with(".dna") {
        let rules = dna::read(bytes).map_err(|error| table(error.to_string()))?;
        return Ok(Entrant::of(RemyCc::new(&rules).into()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| EntrantError::Unknown {
        name: owned(),
        problem: "it is neither a module nor text".to_owned(),
    })?;
    if name.ends_with(".json") || text.trim_start().starts_with('{') {
        let file = TableFile::from_json(text).map_err(|error| table(error.to_string()))?;
        return Ok(Entrant::of(RemyCc::new(&file.table).into()));
    }
    check(MAX_TEXT)?;
    Entrant::named(text.trim(), name)
}

impl Entrant {
    fn of(controller: AnyController) -> Entrant {
        Entrant { transport: Host::Tcp.transport(controller) }
    }

    /// The built-in controller that `text` describes, with its parameters, or the model of a video call; `name` is the file
    /// in errors.
    ///
    /// # Errors
    /// [`EntrantError`] if there is none, or a parameter is wrong.
    pub fn named(text: &str, name: &str) -> Result<Entrant, EntrantError> {
        if text == VIDEO_CALL {
            return Ok(Entrant::of(AnyController::own(VideoCall::new())));
        }
        match Builtin::parse(text) {
            Ok(Some(builtin)) => Ok(Entrant { transport: builtin.transport(Host::Tcp) }),
            Ok(None) => {
                let short: String = text.chars().take(60).collect();
                let problem = unknown(&short, &[VIDEO_CALL]);
                Err(EntrantError::Unknown { name: name.to_owned(), problem })
            }
            Err(source) => Err(EntrantError::Parameter { name: name.to_owned(), source }),
        }
    }

    /// A participant's strategy.
    pub fn strategy(strategy: Strategy) -> Entrant {
        Entrant::of(AnyController::own(Strategist::new(strategy)))
    }

    /// The RemyCC of these rules.
    pub fn of_rules(rules: &RuleTable) -> Entrant {
        Entrant::of(RemyCc::new(rules).into())
    }

    /// Its transport, for a flow.
    pub fn transport(&self) -> Transport {
        self.transport.clone()
    }
}
