//! [`rendered`]: a page in Markdown as text for a terminal.

use super::text::{Style, Text, columns};
use super::topic;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Renders `markdown` in lines of `width` characters; with terminal styles if `styled`, otherwise with
/// backquotes around code. HTML, such as comments, is left out.
pub(crate) fn rendered(markdown: &str, width: usize, styled: bool) -> String {
    let mut page = Page { out: String::new(), width, styled, ..Page::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.event(event);
    }
    page.out.trim_end().to_owned() + "\n"
}

/// The state of rendering.
#[derive(Debug, Default)]
struct Page {
    out: String,
    width: usize,
    styled: bool,
    /// The text of the current paragraph, heading or cell.
    text: Text,
    /// The styles in effect, from the outermost inwards.
    styles: Vec<Style>,
    /// The enclosing lists; the number of the next item, if they are numbered.
    lists: Vec<Option<u64>>,
    /// The prefix of the first line of a new item.
    bullet: Option<String>,
    /// Whether it is in a code block.
    in_code: bool,
    /// The target of the enclosing link.
    link: Option<String>,
    /// The rows of the current table.
    rows: Vec<Vec<Text>>,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code(&text),
            Event::Text(text) => self.push(&text),
            Event::Code(text) => {
                let quote = if self.styled { "" } else { "`" };
                self.text.push(&format!("{quote}{text}{quote}"), Style::Code);
            }
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.push("\n"),
            Event::Rule => self.block(&"-".repeat(self.width.min(40))),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => self.styles.push(Style::Heading),
            Tag::Strong | Tag::Emphasis | Tag::TableHead => {
                self.styles.push(Style::Strong);
                if matches!(tag, Tag::TableHead) {
                    self.rows.push(Vec::new());
                }
            }
            Tag::CodeBlock(_) => {
                self.flush();
                self.in_code = true;
                self.separate();
            }
            Tag::List(first) => {
                // An item's own text precedes a list in it.
                self.flush();
                if self.lists.is_empty() {
                    self.separate();
                }
                self.lists.push(first);
            }
            Tag::Item => self.begin_item(),
            Tag::TableRow => self.rows.push(Vec::new()),
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Image { .. } => self.push("[Picture: "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::Strong | TagEnd::Emphasis => {
                self.styles.pop();
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                self.rows.last_mut().into_iter().for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.rows);
                let table = columns(&rows, self.width, self.styled);
                self.block(table.trim_end());
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => self.push("]"),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        let style = self.styles.last().copied().unwrap_or_default();
        self.text.push(text, style);
    }

    /// A link is followed by its target: the command that shows another page, or an address.
    fn end_link(&mut self) {
        let Some(target) = self.link.take() else { return };
        let file = target.split('#').next().unwrap_or_default();
        let name = file.rsplit('/').next().and_then(|name| name.strip_suffix(".md"));
        if target.contains("://") {
            self.push(&format!(" ({target})"));
        } else if let Some(topic) = name.and_then(topic) {
            self.push(" (");
            self.text.push(&format!("exm help {}", topic.name), Style::Code);
            self.push(")");
        }
    }

    fn begin_item(&mut self) {
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.bullet = Some(bullet);
    }

    /// Lines of code, indented by four, and not wrapped.
    fn code(&mut self, text: &str) {
        let indent = " ".repeat(4 + 2 * self.lists.len());
        for line in text.lines() {
            let mut code = Text::default();
            code.push(line, Style::Code);
            if !line.is_empty() {
                self.out.push_str(&indent);
                code.write(&mut self.out, self.styled);
            }
            self.out.push('\n');
        }
    }

    /// Ends the current paragraph, if any.
    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let depth = self.lists.len();
        let bullet = self.bullet.take();
        let first = bullet.as_deref().unwrap_or("");
        let indent = 2 * depth + if depth > 0 { first.len().max(2) - 2 } else { 0 };
        if depth == 0 || bullet.is_none() {
            self.separate();
        }
        for (number, line) in text.lines(self.width.saturating_sub(indent)).iter().enumerate() {
            let pad = if number == 0 { indent.saturating_sub(first.len()) } else { indent };
            self.out.push_str(&" ".repeat(pad));
            self.out.push_str(if number == 0 { first } else { "" });
            line.write(&mut self.out, self.styled);
            self.out.push('\n');
        }
    }

    /// Adds `text` verbatim, in a block of its own.
    fn block(&mut self, text: &str) {
        self.flush();
        self.separate();
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Leaves one empty line.
    fn separate(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A title\n\nSome *text* with `code = 1`, long enough\nto be broken. See \
        [the codes](reference/exit-codes.md) and [Rust](https://rustup.rs).\n\n<!-- not shown -->\n\n\
        ```sh\nexm demo\n```\n\nTwo:\n- one\n- two is\n  longer than the rest of the line\n\n1. first\n\n\
        | key | is |\n|---|---|\n| `a` | b |\n\n![A curve](a.svg)\n";

    #[test]
    fn a_page_is_plain_text_without_a_terminal() {
        let expected = "\
A title

Some text with `code = 1`, long enough
to be broken. See the codes (exm help
exit-codes) and Rust
(https://rustup.rs).

    exm demo

Two:

- one
- two is longer than the rest of the
  line

1. first

key  is
---  --
`a`  b

[Picture: A curve]
";
        assert_eq!(rendered(PAGE, 40, false), expected);
    }

    #[test]
    fn a_terminal_shows_styles() {
        let page = rendered(PAGE, 40, true);
        assert!(page.starts_with("\u{1b}[1m\u{1b}[4mA title\u{1b}[0m\n"), "{page:?}");
        assert!(page.contains("\u{1b}[36mcode = 1\u{1b}[0m,"), "{page:?}");
    }
}
