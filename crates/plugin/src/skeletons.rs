//! Skeletons: controllers to start from, in several languages, each with a test and a README.

use std::fmt;
use std::path::Path;

/// A language that has a skeleton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Rust, as a module; the same source also runs natively.
    Rust,
    /// C, as a module.
    C,
    /// AssemblyScript, as a module.
    AssemblyScript,
    /// Zig, as a module.
    Zig,
    /// Python, as a program over pipes.
    Python,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 5] =
        [Language::Rust, Language::C, Language::AssemblyScript, Language::Zig, Language::Python];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
            Language::AssemblyScript => "assemblyscript",
            Language::Zig => "zig",
            Language::Python => "python",
        }
    }

    /// The language of the source in `folder`, by the file of the interface that its skeleton has; none if it has none
    /// that becomes a module.
    pub fn of_folder(folder: &Path) -> Option<Language> {
        let interfaces = [
            (Language::Rust, "src/exm.rs"),
            (Language::C, "exm.h"),
            (Language::AssemblyScript, "assembly/exm.ts"),
            (Language::Zig, "exm.zig"),
        ];
        let found = interfaces.into_iter().find(|(_, file)| folder.join(file).is_file());
        found.map(|(language, _)| language)
    }

    /// The command of the shell that builds the module of the controller `name` in its folder, and where the module then
    /// is; none for a program over pipes.
    pub fn build(self, name: &str) -> Option<(String, String)> {
        let here = format!("{name}.wasm");
        match self {
            Language::Rust => Some((
                "cargo build --quiet --release --target wasm32-unknown-unknown".to_owned(),
                format!("target/wasm32-unknown-unknown/release/{name}.wasm"),
            )),
            Language::C => Some((format!("make --silent {here}"), here)),
            Language::AssemblyScript => {
                Some(("npm install --silent && npm run --silent build".to_owned(), here))
            }
            Language::Zig => Some((
                format!(
                    "$(command -v zig || echo python3 -m ziglang) build-exe {name}.zig -target wasm32-freestanding \
                     -O ReleaseSmall -fno-entry -rdynamic --stack 16384"
                ),
                here,
            )),
            Language::Python => None,
        }
    }

    /// The files of its skeleton, which is called `mine`.
    const fn files(self) -> &'static [(&'static str, &'static str)] {
        macro_rules! files {
            ($folder:literal: $($path:literal = $source:literal),*) => {
                &[$(($path, include_str!(concat!("../skeletons/", $folder, "/", $source)))),*]
            };
        }
        match self {
            Language::Rust => files!("rust": "README.md" = "README.md", ".gitignore" = "ignored",
                "Cargo.toml" = "manifest.toml", ".cargo/config.toml" = "config.toml",
                "src/lib.rs" = "src/lib.rs", "src/exm.rs" = "src/exm.rs"),
            Language::C => files!("c": "README.md" = "README.md", ".gitignore" = "ignored",
                "Makefile" = "Makefile", "mine.c" = "mine.c", "exm.h" = "exm.h", "test.c" = "test.c"),
            Language::AssemblyScript => files!("assemblyscript": "README.md" = "README.md",
                ".gitignore" = "ignored", "package.json" = "package.json", "test.mjs" = "test.mjs",
                "assembly/mine.ts" = "assembly/mine.ts", "assembly/exm.ts" = "assembly/exm.ts"),
            Language::Zig => files!("zig": "README.md" = "README.md", ".gitignore" = "ignored",
                "mine.zig" = "mine.zig", "exm.zig" = "exm.zig"),
            Language::Python => {
                files!("python": "README.md" = "README.md", ".gitignore" = "ignored",
                "mine.py" = "mine.py", "exm.py" = "exm.py", "test_mine.py" = "test_mine.py")
            }
        }
    }

    /// The skeleton of a controller called `name`: the path of each file, within its folder, and its text.
    ///
    /// # Errors
    /// [`BadName`] if `name` cannot be that of a file and of a variable in every language.
    pub fn skeleton(self, name: &str) -> Result<Vec<(String, String)>, BadName> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !starts_well || !name.chars().all(letters) || name.len() > 40 || RESERVED.contains(&name)
        {
            return Err(BadName(name.to_owned()));
        }
        let type_name = camel_case(name);
        let named = |text: &str| {
            let text = replaced(text, "mine", name);
            replaced(&text, "Mine", &type_name).replace("test_mine", &format!("test_{name}"))
        };
        let files = self.files().iter();
        Ok(files.map(|(path, text)| (named(path), named(text))).collect())
    }
}

/// Names of files in skeletons, and words that are none in one of the languages.
const RESERVED: [&str; 8] = ["exm", "test", "core", "std", "self", "super", "crate", "main"];

/// A name that a controller cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadName(String);

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a controller cannot be called \"{}\": give lower-case letters, digits and underscores, such as \
             my_cubic",
            self.0
        )
    }
}

impl std::error::Error for BadName {}

/// `my_cubic` as `MyCubic`.
fn camel_case(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// `text` with each whole word `word` replaced by `by`.
fn replaced(text: &str, word: &str, by: &str) -> String {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let is_whole = !before.ends_with(is_letter) && !after.starts_with(is_letter);
        result += before;
        result += if is_whole { by } else { word };
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skeleton_has_its_name_everywhere() {
        for language in Language::ALL {
            for (path, text) in language.skeleton("my_cubic").unwrap() {
                let words = |text: &str| replaced(text, "mine", "") == text;
                assert!(words(&text) && words(&path), "{path}");
                assert!(!path.contains("mine"), "{path}");
            }
        }
        let files = Language::Rust.skeleton("my_cubic").unwrap();
        let source = &files.iter().find(|(path, _)| path == "src/lib.rs").unwrap().1;
        assert!(source.contains("pub struct MyCubic {"));
    }

    #[test]
    fn names_are_those_of_variables() {
        for name in
            ["", "9", "my-cubic", "Mine", "a b", "../x", "exm", "é", "main", &"a".repeat(41)]
        {
            assert!(Language::C.skeleton(name).is_err(), "{name}");
        }
    }

    #[test]
    fn whole_words_are_replaced() {
        assert_eq!(
            replaced("mine, mined, a mine.wasm determine", "mine", "x"),
            "x, mined, a x.wasm determine"
        );
    }
}
