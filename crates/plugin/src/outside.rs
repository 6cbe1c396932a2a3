//! [`Outside`]: a controller from outside by its name, as it stands on command lines and in files.

#[cfg(not(target_family = "wasm"))]
use crate::Program;
use crate::{Limits, Module, WasmController};
use exm_cc::{DynController, Failure};
use exm_link::parameter_pairs;
use exm_policy::Policy;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What names of programs begin with.
pub const PROGRAM: &str = "program:";

/// What names of modules end with, before their parameters.
pub const MODULE: &str = ".wasm";

/// What names of learnt policies end with.
pub const POLICY: &str = ".policy";

/// Where a controller comes from: a module with its parameters, a learnt policy, or a program.
#[derive(Clone, Debug)]
pub struct Outside(Origin);

#[derive(Clone, Debug)]
enum Origin {
    /// The module, and its controller with the parameters, which no flow has started.
    Module(Module, WasmController),
    Policy(Arc<Policy>),
    #[cfg(not(target_family = "wasm"))]
    Program(Program),
}

/// The file and the parameters of a name such as `mine.wasm increase=2`; none if it is no module's.
pub fn parts(name: &str) -> Option<(&str, &str)> {
    let ends = name.match_indices(MODULE).map(|(at, _)| at + MODULE.len());
    let end = ends
        .into_iter()
        .find(|&end| name[end..].is_empty() || name[end..].starts_with(char::is_whitespace))?;
    Some((&name[..end], name[end..].trim()))
}

/// Whether `name` is that of a controller from outside.
pub fn is_outside(name: &str) -> bool {
    name.starts_with(PROGRAM) || name.ends_with(POLICY) || parts(name).is_some()
}

/// The note about the controller called `name`, which is not sandboxed.
pub fn unsandboxed(name: &str) -> String {
    format!("{name} is not sandboxed: it can do whatever you can")
}

impl Outside {
    /// The controller called `name`, which is at `path` if it is the name of a file: `mine.wasm`, `mine.wasm
    /// increase=2,decrease=0.7`, `mine.policy` or `program:python3 mine.py`. None if the name is not such a one.
    ///
    /// # Errors
    /// What is wrong with it, with its name.
    pub fn load(name: &str, path: &Path) -> Option<Result<Outside, String>> {
        if let Some(command) = name.strip_prefix(PROGRAM) {
            return Some(program(command));
        }
        if name.ends_with(POLICY) {
            let policy = Policy::load(path).map_err(|error| error.to_string());
            return Some(policy.map(|policy| Outside(Origin::Policy(Arc::new(policy)))));
        }
        let (file, parameters) = parts(name)?;
        Some(module(file, parameters, &file_of(name, file, path)))
    }

    /// The module `wasm`, called `name`, with these parameters as text.
    ///
    /// # Errors
    /// What is wrong with it, with its name.
    pub fn module(
        name: &str,
        wasm: &[u8],
        parameters: &str,
        limits: &Limits,
    ) -> Result<Outside, String> {
        let blame = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let parameters = read_parameters(parameters).map_err(|error| blame(&error))?;
        let module = Module::compile(name, wasm, limits).map_err(|error| blame(&error))?;
        let controller = module.with_parameters(&parameters).map_err(|error| blame(&error))?;
        Ok(Outside(Origin::Module(module, controller)))
    }

    /// A controller from there.
    pub fn controller(&self) -> Box<dyn DynController> {
        match &self.0 {
            Origin::Module(_, controller) => Box::new(controller.clone()),
            Origin::Policy(policy) => Box::new(policy.controller()),
            #[cfg(not(target_family = "wasm"))]
            Origin::Program(program) => Box::new(program.controller()),
        }
    }

    /// The earliest failure of its controllers so far, in any simulation of this process.
    pub fn failure(&self) -> Option<Failure> {
        match &self.0 {
            Origin::Module(module, _) => module.failure(),
            Origin::Policy(_) => None,
            #[cfg(not(target_family = "wasm"))]
            Origin::Program(program) => program.failure(),
        }
    }

    /// Whether it is sandboxed: whether it can harm nobody.
    pub fn is_sandboxed(&self) -> bool {
        matches!(self.0, Origin::Module(..) | Origin::Policy(_))
    }
}

/// The file of a module: `path` is that of the whole name.
fn file_of(name: &str, file: &str, path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    let Some(folder) = text.strip_suffix(name) else { return PathBuf::from(file) };
    PathBuf::from(format!("{folder}{file}"))
}

fn module(name: &str, parameters: &str, file: &Path) -> Result<Outside, String> {
    let limits = Limits::OWN;
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", file.display());
    let size = std::fs::metadata(file).map_err(cannot)?.len();
    if size > limits.code as u64 {
        let error = crate::ModuleError::TooLarge { size: size as usize, limit: limits.code };
        return Err(format!("{name}: {error}"));
    }
    let wasm = std::fs::read(file).map_err(cannot)?;
    Outside::module(name, &wasm, parameters, &limits)
}

#[cfg(not(target_family = "wasm"))]
fn program(command: &str) -> Result<Outside, String> {
    let program = Program::new(command).map_err(|error| error.to_string())?;
    Ok(Outside(Origin::Program(program)))
}

#[cfg(target_family = "wasm")]
fn program(command: &str) -> Result<Outside, String> {
    Err(format!("programs cannot be started here: {command}"))
}

/// The parameters in a text such as `increase=2,decrease=0.7`, in the grammar of all parameters.
fn read_parameters(text: &str) -> Result<Vec<(String, f64)>, String> {
    let mut parameters: Vec<(String, f64)> = Vec::new();
    let no_value = |word| format!("\"{word}\" has no value: parameters are written NAME=VALUE");
    for (name, value) in parameter_pairs(text).map_err(no_value)? {
        let number = value.parse().ok().filter(|number: &f64| number.is_finite());
        let number = number.ok_or_else(|| {
            format!("{name} cannot be \"{value}\": parameters of modules are numbers, such as {name}=2.5")
        })?;
        if parameters.iter().any(|(known, _)| known == name) {
            return Err(format!("{name} is given twice: give it once"));
        }
        parameters.push((name.to_owned(), number));
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules_have_parameters() {
        assert_eq!(parts("mine.wasm"), Some(("mine.wasm", "")));
        assert_eq!(parts("a b/mine.wasm  x=1, y=2"), Some(("a b/mine.wasm", "x=1, y=2")));
        assert_eq!(parts("mine.wasm.wasm x=1"), Some(("mine.wasm.wasm", "x=1")));
        assert!(is_outside("mine.policy"));
        for name in ["cubic", "mine.wasmx", "mine.json"] {
            assert_eq!(parts(name), None);
        }
        assert!(is_outside("program:sh x") && !is_outside("cubic beta=0.8"));
    }

    #[test]
    fn files_are_found_from_where_the_name_stands() {
        let path = Path::new("some folder").join("sub/mine.wasm x=1");
        let found = file_of("sub/mine.wasm x=1", "sub/mine.wasm", &path);
        assert_eq!(found, Path::new("some folder/sub/mine.wasm"));
        // What joining a folder and an absolute path gives.
        let name = "/tmp/mine.wasm";
        assert_eq!(file_of(name, name, Path::new(name)), Path::new(name));
    }

    #[test]
    fn parameters_are_numbers() {
        let read = |text| read_parameters(text);
        assert_eq!(read("a=1,b=-2.5"), Ok(vec![("a".to_owned(), 1.0), ("b".to_owned(), -2.5)]));
        assert_eq!(read(" a=1  b=2 ").map(|all| all.len()), Ok(2));
        for (text, expected) in [
            ("a", "\"a\" has no value"),
            ("a=x", "a cannot be \"x\""),
            ("a=inf", "a cannot be \"inf\""),
            ("a=1,a=2", "a is given twice"),
        ] {
            assert!(read(text).unwrap_err().starts_with(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_name() {
        let load = |name: &str| Outside::load(name, Path::new(name)).expect(name).unwrap_err();
        assert!(load("no/such.wasm x=1").starts_with("cannot read no/such.wasm: No such file"));
        assert!(load("program:").starts_with("there is no program"));
        let policy = load("no/such.policy");
        assert!(policy.starts_with("cannot read no/such.policy: No such file"));
        let text = Outside::module("mine.wasm", b"x", "", &Limits::OWN).unwrap_err();
        assert!(text.starts_with("mine.wasm: it is not a WebAssembly module"), "{text}");
        assert!(Outside::load("cubic", Path::new("cubic")).is_none());
    }
}
