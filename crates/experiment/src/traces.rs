//! [`Pair`]: the recorded traces of a network, and [`GivenFigure`]s of others on them.

use crate::metric::Metric;
use exm_grammar::{FileError, Source, suggest};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use toml::{Spanned, Value};

/// The file extensions of traces, as in public collections: to the user's device, and from it.
const ENDINGS: [&str; 2] = ["down", "up"];

/// The file in a folder of traces with figures that others reached on them.
const FIGURES: &str = "reference.toml";

/// The recorded traces of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The name of the network.
    pub name: String,
    /// The trace to the user's device, if there is one.
    pub down: Option<PathBuf>,
    /// The trace from it, if there is one.
    pub up: Option<PathBuf>,
}

impl Pair {
    /// Each direction that was recorded, by its word: its trace, and the one that leads back. Where that was not
    /// recorded, the way back is the same trace.
    pub fn ways(&self) -> impl Iterator<Item = (&'static str, [&Path; 2])> {
        let (down, up) = (self.down.as_deref(), self.up.as_deref());
        [("down", down, up), ("up", up, down)]
            .into_iter()
            .filter_map(|(word, data, back)| Some((word, [data?, back.or(data)?])))
    }

    /// What was assumed of a direction that was not recorded.
    pub(crate) fn assumption(&self) -> Option<String> {
        let (known, missing) = match (&self.down, &self.up) {
            (Some(_), None) => ("down", "up"),
            (None, Some(_)) => ("up", "down"),
            _ => return None,
        };
        let name = &self.name;
        Some(format!(
            "{name}.{missing} is not there: the way back of {name}.{known} is the same recording"
        ))
    }
}

/// A figure that somebody else reached on recorded traces, shown beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenFigure {
    /// The variant: the name of the network and the direction, as `LTE down`.
    pub variant: String,
    /// The scheme with which it is compared.
    pub scheme: String,
    /// The key of its metric.
    pub metric: String,
    /// Its value.
    pub value: f64,
}

/// The figures in the file `reference.toml` of the folder of traces `text`; none without such a file, or for
/// two files.
///
/// Each `[[figure]]` has a `variant`, a `scheme` and any metrics by name, in their usual units:
/// `received = 2.954`.
///
/// # Errors
/// The file, the line and the problem, with the way out.
pub fn given_figures(text: &str) -> Result<Vec<GivenFigure>, FileError> {
    let file = Path::new(text).join(FIGURES);
    let source = |text| Source { file: file.display().to_string(), text };
    match fs::read_to_string(&file) {
        Ok(text) => parse_figures(&source(text)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        Err(error) => {
            let problem = format!("the reference figures cannot be read: {error}");
            Err(source(String::new()).error(None, problem))
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    figure: Vec<Spanned<BTreeMap<String, Spanned<Value>>>>,
}

fn parse_figures(source: &Source) -> Result<Vec<GivenFigure>, FileError> {
    let file: File = toml::from_str(&source.text).map_err(|error| source.parse_error(&error))?;
    let mut all = Vec::new();
    for table in file.figure {
        let whole = Some(table.span().start);
        let mut keys = table.into_inner();
        let mut name = |key: &str| match keys.remove(key) {
            Some(value) => match value.as_ref() {
                Value::String(text) => Ok(text.clone()),
                _ => Err(source.error(Some(value.span().start), format!("{key} is not a text"))),
            },
            None => Err(source.error(whole, format!("the figure has no \"{key}\""))),
        };
        let (variant, scheme) = (name("variant")?, name("scheme")?);
        for (metric, value) in keys {
            let value = number(source, &metric, &value)?;
            all.push(GivenFigure {
                variant: variant.clone(),
                scheme: scheme.clone(),
                metric,
                value,
            });
        }
    }
    Ok(all)
}

/// The value of `metric`.
fn number(source: &Source, metric: &str, value: &Spanned<Value>) -> Result<f64, FileError> {
    let place = Some(value.span().start);
    if Metric::named(metric).is_none() {
        let suggestion = suggest(metric, &crate::metric::keys());
        return Err(source.error(place, format!("there is no metric \"{metric}\": {suggestion}")));
    }
    match value.as_ref() {
        Value::Integer(number) => Ok(*number as f64),
        Value::Float(number) if number.is_finite() => Ok(*number),
        _ => Err(source.error(place, format!("{metric} is not a number"))),
    }
}

/// Why there are no traces.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// A file or folder is missing, or may not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No file has such a name.
    #[error(
        "{} holds no traces: name those of the directions of a network NAME.down and NAME.up",
        path.display()
    )]
    NoPair {
        /// The folder.
        path: PathBuf,
    },
    /// Neither a folder nor two files.
    #[error("{0} are no traces of one network: give a folder, or two files as DOWN,UP")]
    Count(String),
}

/// The pairs of traces that `text` names: a folder with files NAME.down and NAME.up, of which one may be missing and
/// whose other files are ignored, or two files "DOWN,UP". The paths are absolute, in order of name.
///
/// # Errors
/// [`TracesError`] if there are no traces.
pub fn pairs(text: &str) -> Result<Vec<Pair>, TracesError> {
    match text.split(',').collect::<Vec<_>>()[..] {
        [folder] => in_folder(Path::new(folder)),
        [down, up] => {
            let (down, up) = (from_anywhere(Path::new(down))?, from_anywhere(Path::new(up))?);
            let name = down.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(vec![Pair { name, down: Some(down), up: Some(up) }])
        }
        _ => Err(TracesError::Count(text.to_owned())),
    }
}

fn in_folder(folder: &Path) -> Result<Vec<Pair>, TracesError> {
    let failed = |source| TracesError::Read { path: folder.to_owned(), source };
    let mut found: BTreeMap<String, [Option<PathBuf>; 2]> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let parts = path.file_stem().zip(path.extension()).map(|(stem, end)| (stem.to_str(), end));
        let Some((Some(stem), end)) = parts else { continue };
        if let Some(direction) = ENDINGS.iter().position(|known| end == *known) {
            found.entry(stem.to_owned()).or_default()[direction] = Some(from_anywhere(&path)?);
        }
    }
    if found.is_empty() {
        return Err(TracesError::NoPair { path: folder.to_owned() });
    }
    Ok(found.into_iter().map(|(name, [down, up])| Pair { name, down, up }).collect())
}

fn from_anywhere(path: &Path) -> Result<PathBuf, TracesError> {
    path.canonicalize().map_err(|source| TracesError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_their_names() {
        let folder = std::env::temp_dir().join(format!("exm-pairs-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let folder = folder.canonicalize().expect("it is there");
        let name = folder.display().to_string();
        let put = |file: &str| fs::write(folder.join(file), "1\n").expect("can write");
        let refusal = |text: &str| pairs(text).expect_err(text).to_string();
        assert!(refusal(&name).contains("name those of the directions"));
        ["b.up", "b.down", "README", "a-1.5.down"].into_iter().for_each(put);
        let found = pairs(&name).expect("two networks");
        let names: Vec<&str> = found.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["a-1.5", "b"]);
        let file = |file: &str| folder.join(file);
        let ways: Vec<_> = found[1].ways().collect();
        let (down, up) = (file("b.down"), file("b.up"));
        assert_eq!(ways, [("down", [&*down, &*up]), ("up", [&*up, &*down])]);
        assert_eq!(found[1].assumption(), None);
        let single = file("a-1.5.down");
        assert_eq!(found[0].ways().collect::<Vec<_>>(), [("down", [&*single, &*single])]);
        assert!(found[0].assumption().expect("one").starts_with("a-1.5.up is not there"));
        let two = pairs(&format!("{name}/b.up,{name}/README")).expect("two files");
        assert_eq!((two[0].name.as_str(), &two[0].down), ("b", &Some(up)));
        assert!(refusal("a,b,c").contains("give a folder, or two files as DOWN,UP"));
        assert!(refusal("no/such").starts_with("cannot read no/such"));
        assert_eq!(given_figures(&name).expect("none"), []);
        fs::remove_dir_all(&folder).ok();
    }

    #[test]
    fn figures_are_read_or_refused_with_their_line() {
        let parse = |text: &str| {
            parse_figures(&Source { file: "reference.toml".to_owned(), text: text.to_owned() })
        };
        let head = "[[figure]]\nvariant = \"LTE down\"\nscheme = \"Sprout\"\n";
        let figures =
            parse(&format!("{head}received = 2.5\nself_inflicted = 53\n")).expect("valid");
        let values: Vec<_> = figures.iter().map(|one| (one.metric.as_str(), one.value)).collect();
        assert_eq!(values, [("received", 2.5), ("self_inflicted", 53.0)]);
        assert_eq!((&*figures[0].variant, &*figures[0].scheme), ("LTE down", "Sprout"));
        for (line, problem) in [
            ("recieved = 2.5", "there is no metric \"recieved\": did you mean \"received\"?"),
            ("received = \"2.5\"", "received is not a number"),
            ("received = nan", "received is not a number"),
        ] {
            let error = parse(&format!("{head}{line}\n")).expect_err(line);
            assert_eq!((error.line(), error.problem()), (Some(4), problem), "{line}");
        }
        assert!(parse("[[figures]]\n").is_err());
        let unnamed = parse("[[figure]]\nscheme = \"a\"\n").expect_err("no variant");
        assert_eq!((unnamed.line(), unnamed.problem()), (Some(1), "the figure has no \"variant\""));
    }
}
