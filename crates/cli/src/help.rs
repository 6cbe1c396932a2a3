//! [`flowing`]: help texts that fit any width of the terminal.

/// `command` and its subcommands, with the lines of each paragraph in their texts joined, so that
/// clap wraps them at the width of the terminal and nowhere else. Lines that begin with a space, such
/// as examples, stay unchanged.
pub(crate) fn flowing(command: clap::Command) -> clap::Command {
    let after = command.get_after_help().map(|text| joined(&text.to_string()));
    let command = match after {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(flowing)
}

/// `text` with each paragraph on one line.
fn joined(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut in_paragraph = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if !result.is_empty() {
            result.push(if in_paragraph && is_prose { ' ' } else { '\n' });
        }
        result.push_str(line);
        in_paragraph = is_prose;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_lines_and_examples_stay() {
        let text = "One\ntwo.\n\nThree:\n\n  a = 1\n  b = 2\n\nExamples:\n  exm x \\\n      --y\nEnd\nend.";
        let expected =
            "One two.\n\nThree:\n\n  a = 1\n  b = 2\n\nExamples:\n  exm x \\\n      --y\nEnd end.";
        assert_eq!(joined(text), expected);
    }

    /// At each width, a line of prose ends only where the next word does not fit, or the paragraph
    /// ends.
    #[test]
    fn prose_fills_the_terminal_at_any_width() {
        let mut cli = crate::cli::Cli::definition();
        cli.build();
        for width in [60, 72, 80, 100] {
            check(&cli.clone().term_width(width), width);
        }
    }

    fn check(command: &clap::Command, width: usize) {
        let mut whole = command.clone().term_width(width);
        let text = whole.render_long_help().to_string();
        let lines: Vec<&str> = text.lines().collect();
        let begin = |line: &str| line.len() - line.trim_start().len();
        for (line, next) in lines.iter().zip(&lines[1..]) {
            assert!(line.chars().count() <= width.max(95), "{}: {line}", command.get_name());
            let is_prose = |line: &str| begin(line) == 0 && line.contains(' ');
            if !is_prose(line) || !is_prose(next) || line.starts_with("Usage: ") {
                continue;
            }
            let word = next.split(' ').next().unwrap_or_default();
            assert!(
                line.chars().count() + 1 + word.chars().count() > width,
                "{} at {width}: \"{line}\" ends early before \"{word}\"",
                command.get_name()
            );
        }
        command.get_subcommands().for_each(|inner| check(inner, width));
    }
}
