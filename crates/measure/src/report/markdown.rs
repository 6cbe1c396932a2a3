//! A report as Markdown, for a repository to keep.

use super::{Block, Cell, ColumnKind, NOTE, Page, Table, pieces};
use std::fmt::Write;

impl Page {
    /// The report as Markdown. Pictures are named by their files, which lie beside it.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.write_markdown(&mut text).expect("memory takes it");
        text
    }

    fn write_markdown(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "# {}", plain(&self.title))?;
        if !self.lead.is_empty() {
            writeln!(text, "\n{}", prose(&self.lead))?;
        }
        if !self.provenance.is_empty() {
            writeln!(text, "\n{}", listed(&self.provenance))?;
        }
        for section in &self.sections {
            writeln!(text, "\n## {}", plain(&section.heading))?;
            for block in &section.blocks {
                if matches!(block, Block::Downloads(_)) {
                    continue;
                }
                writeln!(text)?;
                match block {
                    Block::Downloads(_) => {}
                    Block::Finding(words) => writeln!(text, "**{}**", prose(words))?,
                    Block::Facts(facts) => writeln!(text, "{}.", listed(facts))?,
                    Block::Verbatim(words) => {
                        writeln!(text, "```text\n{}\n```", words.trim_end())?;
                    }
                    Block::Prose(words) => writeln!(text, "{}", prose(words.trim()))?,
                    Block::Figure(figure) => {
                        writeln!(text, "![{}]({})", plain(&figure.caption), figure.file)?;
                    }
                    Block::Table(table) => table.write_markdown(text)?,
                    Block::Command(command) => {
                        writeln!(text, "```sh\n{}\n```", command.trim_end())?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Table {
    fn write_markdown(&self, text: &mut String) -> std::fmt::Result {
        if !self.caption.is_empty() {
            writeln!(text, "{}\n", prose(&self.caption))?;
        }
        let (mut headings, mut rules): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        for column in &self.columns {
            let heading = plain(&column.heading);
            match column.kind {
                ColumnKind::Text => rules.push("---"),
                ColumnKind::Number => rules.push("---:"),
                ColumnKind::Compared => rules.extend(["---:"; 3]),
            }
            headings.push(heading);
            if column.kind == ColumnKind::Compared {
                headings.extend(["paper", "ratio"].map(str::to_owned));
            }
        }
        writeln!(text, "| {} |\n|{}|", headings.join(" | "), rules.join("|"))?;
        for row in &self.rows {
            let cells =
                self.columns.iter().enumerate().flat_map(|(place, column)| {
                    pieces(row.get(place).unwrap_or(&Cell::Empty), column)
                });
            let cells: Vec<String> = cells.map(|(cell, _)| plain(&cell)).collect();
            writeln!(text, "| {} |", cells.join(" | "))?;
        }
        match self.is_marked() {
            true => writeln!(text, "\n{NOTE}"),
            false => Ok(()),
        }
    }
}

/// Names and values in one line.
fn listed(facts: &[(String, String)]) -> String {
    let facts = facts.iter().map(|(name, value)| format!("{name} `{value}`"));
    facts.collect::<Vec<String>>().join(", ")
}

/// `text` in which nothing means anything to Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => plain.push(' '),
            '<' => plain.push_str("&lt;"),
            '&' => plain.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => {
                plain.push('\\');
                plain.push(letter);
            }
            _ => plain.push(letter),
        }
    }
    plain
}

/// The same, but what stands between backticks is code.
fn prose(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let parts: Vec<&str> = paragraph.split('`').collect();
        let is_even = parts.len() % 2 == 1;
        let parts = parts.iter().enumerate().map(|(index, part)| match is_even && index % 2 == 1 {
            true => format!("`{part}`"),
            false => plain(part),
        });
        parts.collect::<String>()
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::tests::page;

    #[test]
    fn a_report_as_markdown() {
        let expected = "\
# Figure 3-4 &lt;b>

Eight senders.

seed `1`

## Dumbbell

**A is 2 times B.**

seed `1`.

First `a < b`.

Second.

![Medians](figure-3-4.svg)

Speed-ups &amp; delays

| scheme | throughput, Mbps | speed-up | paper | ratio |
|---|---:|---:|---:|---:|
| Cubic \\| &lt;sfqCoDel> | 2.00 ±2.48 | 1.40 | 1.38 | 1.01 |
| Vegas | 1.23 | 1.5 | 3.1 | \u{25bc} 0.48 |
| XCP |  |  |  |  |

\u{25b2} \u{25bc} ours differs from the paper's by more than a third

```sh
exm experiment run 3-4 --seed 1 && echo done
```

```text
@software{a}
```
";
        assert_eq!(page().markdown(), expected);
    }
}
