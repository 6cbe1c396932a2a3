//! [`Module`]: a WebAssembly module that holds a controller, compiled.

mod instance;
mod prepare;

pub(crate) use instance::Instance;

use crate::abi::{BLOCK, ENTRY};
use crate::failures::Failures;
use crate::{WasmController, abi};
use exm_cc::{Failure, Needs};
use exm_units::Fnv1a;
use prepare::prepare;
use std::fmt;
use std::sync::Arc;
use wasmi::{CompilationMode, Config, EnforcedLimits, Engine};

/// What a module may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size of the module, bytes.
    pub code: usize,
    /// The memory of one instance, bytes.
    pub memory: usize,
    /// Instructions that it may execute for one event.
    pub instructions_per_event: u64,
    /// Instructions that one instance may execute in all.
    pub instructions_in_all: u64,
}

impl Limits {
    /// For a module of one's own: 1 MiB of code, 2 MiB of memory, ten million instructions an event.
    pub const OWN: Limits = Limits {
        code: 1 << 20,
        memory: 2 << 20,
        instructions_per_event: 10_000_000,
        instructions_in_all: u64::MAX,
    };

    /// For a module of a stranger's, such as an entry in a contest: 64 KiB of code, 2 MiB of memory, a hundred
    /// thousand instructions an event and four billion in all, which are tens of seconds of computing.
    pub const STRANGER: Limits = Limits {
        code: 64 << 10,
        memory: 2 << 20,
        instructions_per_event: 100_000,
        instructions_in_all: 4_000_000_000,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::OWN
    }
}

/// Why a module cannot be used as a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The file is no WebAssembly.
    #[error("it is not a WebAssembly module: it does not begin with the bytes 00 61 73 6d")]
    NotWebAssembly,
    /// The module is too large.
    #[error(
        "its {size} bytes are more than the {limit} that are allowed: build it optimised for size, and strip it"
    )]
    TooLarge {
        /// Its size, bytes.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// It is damaged, or uses a feature of WebAssembly that modules may not.
    #[error("it is not a valid module without threads and vectors: {0}")]
    Invalid(String),
    /// It asks for something from outside.
    #[error(
        "it imports {0}: a controller is given nothing from outside, neither clocks, files, random numbers nor \
         printing; take the call out"
    )]
    Import(String),
    /// It changes state that cannot be copied.
    #[error("it has {0}, which cannot be copied with the rest of its state")]
    Unsupported(&'static str),
    /// An export is missing, or has another type.
    #[error(
        "it exports no {0}: see \"exm help controllers-from-outside\" for what a module exports"
    )]
    Missing(String),
    /// The block that it shares lies outside its memory.
    #[error(
        "{ENTRY} returned the address {address}, and the {BLOCK} bytes there are not all in its memory of {memory} bytes"
    )]
    Outside {
        /// The address.
        address: u32,
        /// The size of the memory, bytes.
        memory: usize,
    },
    /// It asks its host for something unknown.
    #[error("it needs {0:#x}, and this version of the interface has the bits up to {max:#x}", max = abi::need::ALL)]
    Needs(u32),
    /// It failed before its first event.
    #[error("{0}")]
    Failed(String),
    /// A parameter that it does not have.
    #[error("it has no parameter \"{name}\": {}", known_parameters(.known))]
    NoParameter {
        /// The name.
        name: String,
        /// The parameters that it has.
        known: Vec<String>,
    },
}

fn known_parameters(names: &[String]) -> String {
    match names {
        [] => "it has none (a module has a parameter for each export set_NAME)".to_owned(),
        names => format!("it has {}", names.join(", ")),
    }
}

/// A module that holds a controller: validated, compiled, and tried once. Copies share the compiled code.
#[derive(Clone)]
pub struct Module(Arc<Compiled>);

pub(crate) struct Compiled {
    pub(crate) name: String,
    engine: Engine,
    module: wasmi::Module,
    globals: Vec<u32>,
    pub(crate) limits: Limits,
    parameters: Vec<String>,
    pub(crate) needs: Needs,
    /// The hash of the module.
    pub(crate) print: Fnv1a,
    pub(crate) failures: Failures,
}

/// The exports of a module that set a parameter begin with this.
const SETTER: &str = "set_";

/// How deep functions may call each other.
const MAX_DEPTH: usize = 1000;
/// The largest stack of values, bytes.
const MAX_STACK: usize = 1 << 20;

impl Module {
    /// Compiles `wasm`, called `name` in errors, and tries whether an instance of it can start.
    ///
    /// # Errors
    /// [`ModuleError`] if it is no module, has no controller's exports, or asks for more than `limits`.
    pub fn compile(name: &str, wasm: &[u8], limits: &Limits) -> Result<Module, ModuleError> {
        if wasm.len() > limits.code {
            return Err(ModuleError::TooLarge { size: wasm.len(), limit: limits.code });
        }
        if !wasm.starts_with(b"\0asm") {
            return Err(ModuleError::NotWebAssembly);
        }
        let prepared = prepare(wasm)?;
        let engine = Engine::new(&config());
        let module = wasmi::Module::new(&engine, &prepared.wasm[..])
            .map_err(|error| ModuleError::Invalid(error.to_string()))?;
        let exports = module.exports();
        let setters = exports.filter(|export| export.ty().func().is_some());
        let parameters =
            setters.filter_map(|export| export.name().strip_prefix(SETTER).map(str::to_owned));
        let mut compiled = Compiled {
            name: name.to_owned(),
            parameters: parameters.collect(),
            engine,
            module,
            globals: prepared.globals,
            limits: *limits,
            needs: Needs::default(),
            print: Fnv1a::of(wasm),
            failures: Failures::default(),
        };
        let tried = Instance::new(&compiled, &[], 0)?;
        compiled.needs = tried.needs()?;
        Ok(Module(Arc::new(compiled)))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The names of its parameters: it exports a `set_NAME` for each.
    pub fn parameters(&self) -> &[String] {
        &self.0.parameters
    }

    /// What its controller asks of its host.
    pub fn needs(&self) -> Needs {
        self.0.needs
    }

    /// A controller that it holds. Each copy that starts a flow gets an instance of its own, so controllers share
    /// no memory.
    pub fn controller(&self) -> WasmController {
        WasmController::new(Arc::clone(&self.0), Vec::new())
    }

    /// As [`Module::controller`], with these parameters set at the start.
    ///
    /// # Errors
    /// [`ModuleError`] if it has no such parameter, or fails when it is set.
    pub fn with_parameters(
        &self,
        parameters: &[(String, f64)],
    ) -> Result<WasmController, ModuleError> {
        for (name, _) in parameters {
            if !self.0.parameters.contains(name) {
                let known = self.0.parameters.clone();
                return Err(ModuleError::NoParameter { name: name.clone(), known });
            }
        }
        Instance::new(&self.0, parameters, 0)?;
        Ok(WasmController::new(Arc::clone(&self.0), parameters.to_vec()))
    }

    /// The earliest failure of its controllers so far, in any simulation of this process: for programs that see
    /// only summaries of simulations.
    pub fn failure(&self) -> Option<Failure> {
        self.0.failures.first()
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Module").field(&self.0.name).finish()
    }
}

/// How modules are compiled: everything at once, so that the first call costs what others do, and instructions are
/// counted.
fn config() -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        .compilation_mode(CompilationMode::Eager)
        .enforced_limits(EnforcedLimits::strict())
        .ignore_custom_sections(true)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .set_max_recursion_depth(MAX_DEPTH)
        .set_max_stack_height(MAX_STACK);
    config
}
