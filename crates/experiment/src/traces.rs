//! [`Pair`]: the recorded traces of both directions of a network.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file extensions of traces, as in public collections: to the user's device, and from it.
const ENDINGS: [&str; 2] = ["down", "up"];

/// The recorded traces of both directions of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The name of the network.
    pub name: String,
    /// The trace to the user's device.
    pub down: PathBuf,
    /// The trace from it.
    pub up: PathBuf,
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
        "{} holds no pair of traces: name those of both directions of a network NAME.down and \
         NAME.up",
        path.display()
    )]
    NoPair {
        /// The folder.
        path: PathBuf,
    },
    /// One direction of a network is missing.
    #[error("{} is missing, the other direction of {}", path.display(), other.display())]
    Single {
        /// The missing file.
        path: PathBuf,
        /// The existing file.
        other: PathBuf,
    },
    /// Neither a folder nor two files.
    #[error("{0} are no traces of one network: give a folder, or two files as DOWN,UP")]
    Count(String),
}

/// The pairs of traces that `text` names: a folder with files NAME.down and NAME.up, whose other
/// files are ignored, or two files "DOWN,UP". The paths are absolute, in order of name.
///
/// # Errors
/// [`TracesError`] if there is no pair, or half of one.
pub fn pairs(text: &str) -> Result<Vec<Pair>, TracesError> {
    match text.split(',').collect::<Vec<_>>()[..] {
        [folder] => in_folder(Path::new(folder)),
        [down, up] => {
            let (down, up) = (from_anywhere(Path::new(down))?, from_anywhere(Path::new(up))?);
            let name = down.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(vec![Pair { name, down, up }])
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
    let pair = |(name, paths): (String, [Option<PathBuf>; 2])| match paths {
        [Some(down), Some(up)] => Ok(Pair { name, down, up }),
        [Some(other), None] => Err(single(other, ENDINGS[1])),
        [None, other] => Err(single(other.unwrap_or_default(), ENDINGS[0])),
    };
    found.into_iter().map(pair).collect()
}

fn single(other: PathBuf, missing: &str) -> TracesError {
    TracesError::Single { path: other.with_extension(missing), other }
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
        assert!(refusal(&name).contains("name those of both directions"));
        ["b.up", "b.down", "README", "a-1.5.down"].into_iter().for_each(put);
        assert!(refusal(&name).ends_with(&format!("other direction of {name}/a-1.5.down")));
        put("a-1.5.up");
        let found = pairs(&name).expect("two pairs");
        let names: Vec<&str> = found.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["a-1.5", "b"]);
        let two = pairs(&format!("{name}/b.up,{name}/README")).expect("two files");
        assert_eq!((two[0].name.as_str(), &two[0].down), ("b", &folder.join("b.up")));
        assert!(refusal("a,b,c").contains("give a folder, or two files as DOWN,UP"));
        assert!(refusal("no/such").starts_with("cannot read no/such"));
        fs::remove_dir_all(&folder).ok();
    }
}
