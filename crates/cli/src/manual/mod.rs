//! The manual: the pages of the folder `docs`, each a topic of `exm help`, except the long pages of results.

mod markdown;
mod text;

pub(crate) use markdown::rendered;

/// A page of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    /// Its name for `exm help`: that of its file without extension.
    pub(crate) name: &'static str,
    /// The part of the manual it belongs to.
    pub(crate) part: &'static str,
    /// Its text, as Markdown.
    pub(crate) text: &'static str,
}

impl Topic {
    /// Its title, with which the text begins.
    pub(crate) fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

macro_rules! topics {
    ($($part:literal { $($folder:literal $name:literal,)* })*) => {
        &[$($(Topic {
            name: $name,
            part: $part,
            text: include_str!(concat!("../../docs/", $folder, $name, ".md")),
        },)*)*]
    };
}

/// All topics, in the order of the manual, as `docs/SUMMARY.md` has them.
pub(crate) const TOPICS: &[Topic] = topics! {
    "Overview" {
        "" "introduction",
    }
    "Tutorials" {
        "tutorials/" "your-network",
        "tutorials/" "designing",
        "tutorials/" "scores",
        "tutorials/" "knock-out",
        "tutorials/" "class",
        "tutorials/" "bad-link",
        "tutorials/" "tunnel-router",
        "" "python",
        "" "learning",
        "" "designs-on-many-machines",
    }
    "Reference" {
        "reference/" "quantities",
        "reference/" "model-files",
        "reference/" "scenario-files",
        "reference/" "experiment-files",
        "reference/" "table-files",
        "reference/" "design-log",
        "reference/" "log-files",
        "reference/" "result-files",
        "reference/" "json-results",
        "reference/" "trace-files",
        "reference/" "packet-captures",
        "reference/" "exit-codes",
    }
    "How it works" {
        "" "how-sprout-works",
        "" "tunnel-network",
        "" "video",
        "" "emulator",
        "" "watching",
        "" "robust-tables",
        "" "linux",
        "" "quic",
        "" "controllers-from-outside",
        "" "holding-a-contest",
        "" "mobile-shell",
    }
    "How good, and how we know" {
        "" "performance",
        "" "kernel-comparison",
        "" "deviations",
        "" "results",
    }
};

/// The topic that is called `name`.
pub(crate) fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// The list of topics, each on a line, under the parts of the manual.
pub(crate) fn list() -> String {
    let width = TOPICS.iter().map(|topic| topic.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut part = "";
    for topic in TOPICS {
        if topic.part != part {
            part = topic.part;
            text += &format!("{}{part}:\n", if text.is_empty() { "" } else { "\n" });
        }
        text += &format!("  {:<width$}  {}\n", topic.name, topic.title());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_one_page_and_no_command_its_name() {
        let mut names: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert!(count > 10 && names.len() == count, "{names:?}");
        let cli = crate::cli::Cli::definition();
        for command in cli.get_subcommands() {
            assert!(topic(command.get_name()).is_none(), "{} is a command", command.get_name());
        }
    }

    #[test]
    fn pages_begin_with_their_title() {
        for topic in TOPICS {
            assert!(topic.text.starts_with("# "), "{} has no title", topic.name);
        }
    }

    /// The topics are the pages of the site, in their order, under the same parts and titles.
    #[test]
    fn the_summary_lists_the_same_pages() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/");
        let summary = std::fs::read_to_string(format!("{folder}SUMMARY.md")).expect("it is there");
        let mut part = "Overview";
        let mut listed = Vec::new();
        for line in summary.lines().skip(1).map(str::trim) {
            part = line.strip_prefix("# ").unwrap_or(part);
            let link = line.trim_start_matches("- ").strip_prefix('[');
            if let Some((title, path)) = link.and_then(|link| link.split_once("]("))
                && !path.starts_with("results/")
            {
                let path = path.trim_end_matches(')');
                let text = std::fs::read_to_string(format!("{folder}{path}")).expect(path);
                listed.push((part.to_owned(), title.to_owned(), text));
            }
        }
        let known = TOPICS
            .iter()
            .map(|topic| (topic.part.to_owned(), topic.title().to_owned(), topic.text.to_owned()));
        assert!(known.eq(listed), "SUMMARY.md and the list of topics differ");
    }

    /// Only tables and code blocks may be wider than the terminal.
    #[test]
    fn every_page_fits_the_terminal() {
        for topic in TOPICS {
            for width in [60, 80, 100] {
                let page = rendered(topic.text, width, false);
                assert!(page.lines().count() > 5, "{} is nearly empty", topic.name);
                for line in page.lines().filter(|line| !line.starts_with("    ")) {
                    let is_one_word = !line.trim().contains(' ');
                    assert!(
                        line.chars().count() <= width || is_one_word || line.contains("  "),
                        "{} at {width}: {line}",
                        topic.name
                    );
                }
                assert!(!page.contains('\u{1b}'), "{} is styled", topic.name);
            }
        }
    }
}
