//! Rule tables, by the path of a file or the name of one shipped in the program.

use crate::codes;
use crate::shell::{self, Failure};
use crate::shipped::is_file_name;
use exm_grammar::{nearest, suggest};
use exm_link::QueueKind;
use exm_sim::builtin::{self, Builtin};
use exm_table::{LoadError, TableFile};
use std::path::Path;

/// Names and texts of tables.
type Shipped = &'static [(&'static str, &'static str)];

/// The tables shipped in the program.
const SHIPPED: Shipped = exm_design::shipped::TABLES;

/// The names of the tables shipped in the program.
pub(crate) fn shipped_names() -> Vec<&'static str> {
    SHIPPED.iter().map(|&(name, _)| name).collect()
}

/// The table in the file `name` or, where there is no such file, the shipped one of that name.
pub(crate) fn load(name: &Path) -> Result<TableFile, Failure> {
    load_from(name, name, &Wanted::table(SHIPPED))
}

/// As [`load`], if the name may be meant for a controller.
pub(crate) fn load_contender(name: &str) -> Result<TableFile, Failure> {
    load_from(Path::new(name), Path::new(name), &Wanted::controller(SHIPPED))
}

/// The table that a scenario calls `name`, which is at `path` if it is the name of a file.
pub(crate) fn for_controller(name: &str, path: &Path) -> Result<TableFile, String> {
    load_from(Path::new(name), path, &Wanted::controller(SHIPPED)).map_err(Failure::into_text)
}

/// What a name may stand for.
struct Wanted {
    shipped: Shipped,
    /// Its other possible meaning, which needs no table.
    others: Vec<&'static str>,
}

impl Wanted {
    fn table(shipped: Shipped) -> Wanted {
        Wanted { shipped, others: Vec::new() }
    }

    fn controller(shipped: Shipped) -> Wanted {
        let others = Builtin::names().collect();
        Wanted { shipped, others }
    }

    fn names(&self) -> Vec<&str> {
        self.others.iter().copied().chain(self.shipped.iter().map(|&(name, _)| name)).collect()
    }

    /// The failure for `name`, which is unknown, with nothing at `path`; none if it may be the name
    /// of a file.
    fn unknown(&self, name: &str, path: &Path) -> Option<Failure> {
        if let Some(problem) = self.wrong_scheme(name, path) {
            return Some(Failure::usage(problem));
        }
        if name.contains(['/', '\\']) || is_file_name(path) || self.names().is_empty() {
            return None;
        }
        let tables: Vec<&str> = self.shipped.iter().map(|&(name, _)| name).collect();
        let failure = Failure::usage(match (self.others.is_empty(), Builtin::name_in(name)) {
            (true, _) => format!("there is no table \"{name}\": {}", suggest(name, &tables)),
            (false, Some(_)) => {
                format!(
                    "{name} is a transport of its own, and cannot take a controller's place here"
                )
            }
            (false, None) => builtin::unknown(name, &tables),
        });
        Some(failure.with_tip(if self.others.is_empty() {
            "exm table list lists the shipped ones; a table may also be given by its path, such as \
             general.dna"
        } else {
            "a rule table may also be given by its path, such as general.dna"
        }))
    }

    /// The failure for `name` as CONTROLLER/QUEUE.
    fn wrong_scheme(&self, name: &str, path: &Path) -> Option<String> {
        let (controller, queue) = name.rsplit_once('/')?;
        if path.parent().is_some_and(Path::is_dir) {
            return None;
        }
        let (queue, settings) = queue.split_at(queue.find(' ').unwrap_or(queue.len()));
        let (controller, parameters) = match controller.split_once(' ') {
            Some((name, rest)) if rest.contains('=') => controller.split_at(name.len()),
            _ => (controller, ""),
        };
        let names = self.names();
        let near = nearest(controller, &names);
        let near_queue = nearest(queue, QueueKind::NAMES);
        let known = names.contains(&controller) || path.parent().is_some_and(Path::is_file);
        let known_queue = QueueKind::NAMES.contains(&queue);
        let meant = |controller: &str, queue: &str| {
            format!("did you mean \"{controller}{parameters}/{queue}{settings}\"?")
        };
        match (known, known_queue) {
            (true, true) => Some(format!(
                "\"{name}\" names a controller and a queue discipline: give \"{controller}{parameters}\" here, and \
                 the queue by --queue, or as queue = \"{queue}{settings}\" in a file"
            )),
            (true, false) => Some(format!(
                "there is no queue discipline \"{queue}\": {}",
                match near_queue {
                    Some(near) => meant(controller, near),
                    None => suggest(queue, QueueKind::NAMES),
                }
            )),
            (false, true) => Some(format!(
                "there is no controller \"{controller}\": {}",
                match near {
                    Some(near) => meant(near, queue),
                    None => suggest(controller, &names),
                }
            )),
            (false, false) => Some(format!(
                "there is no controller \"{controller}\" and no queue discipline \"{queue}\": {}",
                meant(near?, near_queue?)
            )),
        }
    }
}

/// The table called `name`, which is at `path` if it is the name of a file.
fn load_from(name: &Path, path: &Path, wanted: &Wanted) -> Result<TableFile, Failure> {
    let error = match TableFile::load(path) {
        Ok(file) => return Ok(file),
        Err(error) => error,
    };
    let LoadError::Read { source, .. } = &error else {
        let tip = "a table is a whole file in JSON as exm writes it, or a .dna file of Remy's";
        return Err(Failure::from(error).with_tip(tip));
    };
    if !codes::is_absent(source) {
        return Err(error.into());
    }
    let word = name.to_str().unwrap_or_default();
    if let Some(text) = shipped(word, wanted.shipped) {
        return parse(word, text);
    }
    // The designs behind shipped tables are listed nowhere: experiments name them.
    match exm_design::shipped::design(word) {
        Some(file) => Ok(file),
        None => Err(wanted
            .unknown(word, path)
            .unwrap_or_else(|| Failure::from(error).with_tip(remedy(word, wanted.shipped)))),
    }
}

fn shipped(name: &str, shipped_tables: Shipped) -> Option<&'static str> {
    shipped_tables.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

fn parse(name: &str, text: &str) -> Result<TableFile, Failure> {
    TableFile::from_json(text)
        .map_err(|error| Failure::new(format!("the shipped table {name} is damaged: {error}")))
}

/// The remedy for `name`, which is neither a file nor shipped.
fn remedy(name: &str, shipped_tables: Shipped) -> String {
    let names: Vec<&str> = shipped_tables.iter().map(|&(name, _)| name).collect();
    if names.is_empty() {
        return "give the path of a table, .json or .dna (none are shipped with this build)".into();
    }
    let shipped = match nearest(name, &names) {
        Some(near) => format!("is the shipped \"{near}\" meant?"),
        None => "exm list tables prints those that are shipped".to_owned(),
    };
    let path = Path::new(name);
    match path.extension().is_some_and(|end| end == "json") {
        true => format!(
            "design one: exm design demo -o {}; or give the path or the name of another table: {shipped}",
            shell::quoted(name)
        ),
        false => format!("give the path of a table, .json or .dna, or the name of one: {shipped}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{Action, RuleTable, SignalSet};
    use exm_table::Provenance;

    /// Tables shipped for a test.
    fn shipping(tables: &[(&'static str, &str)]) -> Shipped {
        tables
            .iter()
            .map(|&(name, text)| (name, &*text.to_owned().leak()))
            .collect::<Vec<_>>()
            .leak()
    }

    #[test]
    fn shipped_tables_are_sound() {
        for name in shipped_names() {
            let file = load_from(Path::new(name), Path::new("no/such"), &Wanted::table(SHIPPED));
            assert!(file.is_ok(), "{name}: {file:?}");
        }
    }

    #[test]
    fn names_resolve_where_there_is_no_such_file() {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
        let file = TableFile { table, provenance: Provenance::default() };
        let tables = shipping(&[("general-delta0.1", &file.to_json()), ("broken", "{")]);
        let load = |name| load_from(Path::new(name), Path::new(name), &Wanted::table(tables));
        assert_eq!(load("general-delta0.1").expect("is shipped"), file);
        for name in ["general-delta", "general-delta0.2"] {
            let unknown = load(name).unwrap_err().into_text();
            let expected =
                format!("there is no table \"{name}\": did you mean \"general-delta0.1\"?");
            assert_eq!(unknown, expected);
        }
        assert!(load("broken").unwrap_err().into_text().contains("is damaged: line 1"));
        // A file comes first.
        assert!(load("Cargo.toml").unwrap_err().into_text().contains("Cargo.toml is not a table"));
    }

    #[test]
    fn without_shipped_tables_a_path_is_required() {
        let name = Path::new("general");
        let error = load_from(name, name, &Wanted::table(&[])).unwrap_err().into_text();
        assert!(error.starts_with("cannot read general: "), "{error}");
        assert!(error.ends_with("(none are shipped with this build)"), "{error}");
    }

    #[test]
    fn an_unknown_part_of_a_scheme_is_named() {
        let load = |name: &str| for_controller(name, Path::new(name)).unwrap_err();
        for (name, expected) in [
            ("amid", "there is no controller \"amid\": did you mean \"aimd\"?"),
            (
                "sprout-emwa",
                "there is no controller \"sprout-emwa\": did you mean \"sprout-ewma\"?",
            ),
            ("cubic/codl", "there is no queue discipline \"codl\": did you mean \"cubic/codel\"?"),
            ("cubic/x y", "there is no queue discipline \"x\": give one of \"drop-tail\", "),
            ("cubci/codel", "there is no controller \"cubci\": did you mean \"cubic/codel\"?"),
            (
                "cubci/codl target=1ms",
                "there is no controller \"cubci\" and no queue discipline \"codl\": did you mean \
                 \"cubic/codel target=1ms\"?",
            ),
            (
                "cubic/codel",
                "\"cubic/codel\" names a controller and a queue discipline: give \"cubic\" here, ",
            ),
            // What is like no scheme is a file's name.
            ("tables/mine", "cannot read tables/mine: No such file"),
            ("src/codl", "cannot read src/codl: No such file"),
            ("mine.dna", "cannot read mine.dna: No such file"),
        ] {
            let error = load(name);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
