//! [`File`]: what a scene brings along.

use crate::scene::SceneError;
use base64ct::{Base64UrlUnpadded, Encoding};
use exm_sim::builtin::Builtin;
use exm_table::{Provenance, TableFile};
use exm_trace::{Synthetic, Trace};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The length of a file at most: a link must not fill the memory of whoever follows it.
const LONGEST: usize = 8 << 20;
/// The best compression: links are made rarely, and sent around.
const LEVEL: u8 = 10;
/// What a name cannot contain, since lists, links and paths are made of it.
const SEPARATORS: [char; 4] = [',', ':', '/', '\\'];
/// The length of a name that is made of a path.
const LONGEST_STEM: usize = 60;

/// A rule table in JSON, or a trace, as a link carries it: `NAME:DATA`, where the data is the text, compressed (RFC 1951)
/// and in base64url without padding (RFC 4648, section 5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub(crate) name: String,
    text: String,
}

impl File {
    /// The rules of `table`, called `name`; its provenance would make links long.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn of_table(name: &str, table: &TableFile) -> Result<File, SceneError> {
        let rules = TableFile { table: table.table.clone(), provenance: Provenance::default() };
        File::new(name, rules.to_json())
    }

    /// A trace, called `name`.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn of_trace(name: &str, trace: &Trace) -> Result<File, SceneError> {
        File::new(name, trace.to_text())
    }

    fn new(name: &str, text: String) -> Result<File, SceneError> {
        let wrong = |problem: &str| SceneError::new("file", format!("\"{name}\": {problem}"));
        if name.is_empty() || name.contains(SEPARATORS) || name.len() > 100 {
            return Err(wrong("a name has up to 100 characters, and no comma, colon or slash"));
        }
        if is_of_simulator(name) {
            return Err(wrong("the simulator itself has something of this name: choose another"));
        }
        if text.len() > LONGEST {
            return Err(wrong("more than 8 MiB are too much for a link"));
        }
        Ok(File { name: name.to_owned(), text })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a rule table, and not a trace.
    pub fn is_table(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// The rule table that it is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn table(&self) -> Result<TableFile, String> {
        TableFile::from_json(&self.text).map_err(|error| format!("{}: {error}", self.name))
    }

    /// The trace that it is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn trace(&self) -> Result<Trace, String> {
        Trace::parse(self.text.as_bytes(), &self.name).map_err(|error| error.to_string())
    }
}

/// The name that a file at `path` can have: that of the path without its ending.
pub fn stem(path: impl AsRef<Path>) -> String {
    let stem = path.as_ref().file_stem().map_or("file".into(), |stem| stem.to_string_lossy());
    stem.replace(SEPARATORS, "-").chars().take(LONGEST_STEM).collect()
}

/// Whether the simulator itself has something of this name, which would hide a file.
pub(crate) fn is_of_simulator(name: &str) -> bool {
    Builtin::name_in(name).is_some() || Synthetic::named(name).is_some()
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = compress_to_vec(self.text.as_bytes(), LEVEL);
        write!(f, "{}:{}", self.name, Base64UrlUnpadded::encode_string(&data))
    }
}

impl FromStr for File {
    type Err = SceneError;

    fn from_str(text: &str) -> Result<File, SceneError> {
        let wrong = |problem: &str| SceneError::new("file", problem);
        let Some((name, data)) = text.split_once(':') else {
            return Err(wrong("give its name and its data, as NAME:DATA"));
        };
        let data = Base64UrlUnpadded::decode_vec(data)
            .map_err(|_| wrong("its data is not base64url: the link was cut off or altered"))?;
        let text = decompress_to_vec_with_limit(&data, LONGEST).map_err(|_| {
            wrong("its data cannot be decompressed: the link was cut off or altered")
        })?;
        let text = String::from_utf8(text).map_err(|_| wrong("its data is not text"))?;
        File::new(name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;
    use exm_remy::{Action, RuleTable, SignalSet};
    use exm_units::{Instant, Span};

    fn table() -> TableFile {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
        TableFile { table, provenance: Provenance::default() }
    }

    #[test]
    fn files_are_their_text() {
        let times = [3, 5, 5, 11].map(|millis| Instant::ZERO + Span::from_millis(millis));
        let trace = Trace::new(times.to_vec()).expect("a trace");
        let files = [File::of_table("mine", &table()), File::of_trace("train", &trace)];
        let [mine, train] = files.map(|file| file.expect("a file"));
        for file in [&mine, &train] {
            assert_eq!(file.to_string().parse::<File>().as_ref(), Ok(file));
        }
        assert_eq!(mine.table().expect("a table").table, table().table);
        assert_eq!(train.trace().expect("a trace").times(), trace.times());
    }

    #[test]
    fn a_new_table_has_a_name_of_its_own() {
        let mut scene = Scene::default();
        let mut add = |path: &str, increment| {
            let mut table = table();
            table.table.set_action(0, Action { increment, ..Action::INITIAL });
            let file = scene.file_of(&table, path, |name| name == "1x").expect("a file");
            let name = file.name().to_owned();
            scene.add_file(file);
            name
        };
        assert_eq!(add("tables/mine.json", 1), "mine");
        assert_eq!(add("mine.dna", 1), "mine", "it is the same table");
        assert_eq!(add("mine.json", 2), "mine-2");
        assert_eq!(add("1x.json", 1), "1x-2");
        assert_eq!(add("cubic.json", 1), "cubic-2");
        assert_eq!(add("a,b:c.json", 1), "a-b-c");
        assert_eq!(scene.files.len(), 5);
    }

    #[test]
    fn broken_files_are_refused() {
        let error = |text: &str| text.parse::<File>().expect_err("it is wrong").to_string();
        assert!(error("mine").contains("NAME:DATA"));
        assert!(error("mine:%").contains("not base64url"));
        assert!(error("mine:AAAA").contains("decompressed"));
        let good = File::of_table("mine", &table()).expect("a file").to_string();
        assert!(error(&good[..good.len() - 8]).contains("cut off"));
        assert!(error(&good.replace("mine", "cubic")).contains("choose another"));
        assert!(error(&good.replace("mine", "sprout")).contains("choose another"));
        assert!(error(&good.replace("mine", "a/b")).contains("slash"));
        let bomb = compress_to_vec(&vec![b'{'; LONGEST + 1], LEVEL);
        let bomb = format!("mine:{}", Base64UrlUnpadded::encode_string(&bomb));
        assert!(error(&bomb).contains("decompressed"));
    }
}
