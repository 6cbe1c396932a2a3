//! Options that stand for a file: they are read as the text they stand for, so that a quantity is
//! written in one way everywhere, and what is wrong with it is told of the option.

use crate::shell::Failure;
use std::path::Path;

/// The text of a scenario, and the option that each line is from.
#[derive(Default)]
pub(crate) struct Text {
    text: String,
    options: Vec<(&'static str, String)>,
}

impl Text {
    /// Lines that no option is to blame for.
    pub(crate) fn line(&mut self, text: &str) {
        for line in text.lines() {
            self.text += line;
            self.text.push('\n');
            self.options.push(("", String::new()));
        }
    }

    /// The line of `key`, whose value stands for that of `option`.
    pub(crate) fn option(&mut self, option: &'static str, key: &str, value: &str) {
        // The escapes of JSON are TOML's, too.
        let quoted = serde_json::Value::from(value).to_string();
        self.text += &format!("{key} = {quoted}\n");
        self.options.push((option, value.to_owned()));
    }

    /// The line of `key`, whose value is a number, a truth, or else text.
    pub(crate) fn value(&mut self, option: &'static str, key: &str, value: &str) {
        if value.parse::<f64>().is_ok_and(f64::is_finite) || value.parse::<bool>().is_ok() {
            self.text += &format!("{key} = {value}\n");
            self.options.push((option, value.to_owned()));
        } else {
            self.option(option, key, value);
        }
    }

    /// The text so far.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells the `problem` in this line, counted from 1 on, of the option it is about.
    pub(crate) fn failure(&self, line: Option<usize>, problem: &str) -> Failure {
        let option = line.and_then(|line| self.options.get(line.checked_sub(1)?));
        match option {
            Some((option, value)) if !option.is_empty() => {
                Failure::invalid_value(value, option, problem)
            }
            _ => Failure::usage(problem),
        }
    }
}

/// The name of a controller without the folder and the kind of its file.
pub(crate) fn short_name(cc: &str) -> String {
    let path = Path::new(cc);
    let is_file = path.extension().is_some_and(|e| e == "json" || e == "dna");
    let name = if is_file { path.file_stem() } else { path.file_name() };
    name.and_then(|name| name.to_str()).unwrap_or(cc).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        let names = ["aimd", "a/b.json", "general-delta0.1", "x/"].map(short_name);
        assert_eq!(names, ["aimd", "b", "general-delta0.1", "x"]);
    }

    #[test]
    fn problems_are_those_of_options() {
        let mut text = Text::default();
        text.line("[link]");
        text.option("--link", "rate", "fast");
        let of = |line| text.failure(line, "is no rate").into_text();
        assert!(of(Some(2)).starts_with("invalid value 'fast' for '--link': is no rate"));
        assert!(of(Some(1)).starts_with("is no rate") && of(None).starts_with("is no rate"));
    }
}
