//! A report as one HTML file.

use super::download::write_links;
use super::{Block, Cell, Column, ColumnKind, Figure, NOTE, Page, Section, Table, pieces};
use crate::escape::escaped;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl Page {
    /// The report as one self-contained HTML file: figures, style and script are embedded.
    pub fn html(&self) -> String {
        let mut html = String::new();
        self.write_html(&mut html).expect("writing to memory succeeds");
        html
    }

    fn write_html(&self, html: &mut String) -> std::fmt::Result {
        let title = escaped(&self.title);
        write!(
            html,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<h1>{title}</h1>\n"
        )?;
        if !self.lead.is_empty() {
            writeln!(html, "<p class=\"lead\">{}</p>", prose(&self.lead))?;
        }
        write_facts(html, &self.provenance)?;
        writeln!(html, "</header>")?;
        self.write_contents(html)?;
        for (index, section) in self.sections.iter().enumerate() {
            section.write_html(html, index + 1)?;
        }
        write!(html, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
    }

    fn write_contents(&self, html: &mut String) -> std::fmt::Result {
        if self.sections.len() < 2 {
            return Ok(());
        }
        writeln!(html, "<nav aria-label=\"Contents\">\n<ol>")?;
        for (index, section) in self.sections.iter().enumerate() {
            let (number, heading) = (index + 1, escaped(&section.heading));
            writeln!(html, "<li><a href=\"#section-{number}\">{heading}</a></li>")?;
        }
        writeln!(html, "</ol>\n</nav>")
    }
}

impl Section {
    fn write_html(&self, html: &mut String, number: usize) -> std::fmt::Result {
        writeln!(html, "<section id=\"section-{number}\">\n<h2>{}</h2>", escaped(&self.heading))?;
        for block in &self.blocks {
            match block {
                Block::Prose(text) => {
                    for paragraph in text.split("\n\n").filter(|text| !text.trim().is_empty()) {
                        writeln!(html, "<p>{}</p>", prose(paragraph.trim()))?;
                    }
                }
                Block::Finding(text) => writeln!(html, "<p class=\"finding\">{}</p>", prose(text))?,
                Block::Facts(facts) => write_facts(html, facts)?,
                Block::Figure(figure) => figure.write_html(html)?,
                Block::Table(table) => table.write_html(html)?,
                Block::Command(command) => {
                    let command = escaped(command.trim_end());
                    writeln!(html, "<pre class=\"command\"><code>{command}</code></pre>")?;
                }
                Block::Verbatim(text) => {
                    writeln!(html, "<pre><code>{}</code></pre>", escaped(text.trim_end()))?;
                }
                Block::Downloads(files) => write_links(html, files)?,
            }
        }
        writeln!(html, "</section>")
    }
}

impl Figure {
    fn write_html(&self, html: &mut String) -> std::fmt::Result {
        let caption = match self.caption.is_empty() {
            true => String::new(),
            false => format!("<figcaption>{}</figcaption>\n", prose(&self.caption)),
        };
        let svg = self.svg.trim_end();
        writeln!(html, "<figure>")?;
        match &self.narrow {
            Some(narrow) => {
                writeln!(html, "<div class=\"wide\">\n{svg}\n</div>")?;
                writeln!(html, "<div class=\"narrow\">\n{}\n</div>", narrow.trim_end())?;
            }
            None => writeln!(
                html,
                "<div class=\"box\">\n<div class=\"scroll\" tabindex=\"0\">\n{svg}\n</div>\n</div>"
            )?,
        }
        write!(html, "{caption}")?;
        write_links(html, &self.downloads)?;
        writeln!(html, "</figure>")
    }
}

fn write_facts(html: &mut String, facts: &[(String, String)]) -> std::fmt::Result {
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(html, "<dl>")?;
    for (name, value) in facts {
        writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value))?;
    }
    writeln!(html, "</dl>")
}

impl Table {
    fn write_html(&self, html: &mut String) -> std::fmt::Result {
        // The caption is outside of what scrolls. What scrolls can be scrolled by the keyboard too.
        writeln!(html, "<div class=\"table\">")?;
        let mut label = String::new();
        if !self.caption.is_empty() {
            writeln!(html, "<p class=\"caption\">{}</p>", prose(&self.caption))?;
            write!(label, " role=\"region\" aria-label=\"{}\"", escaped(&self.caption))?;
        }
        writeln!(
            html,
            "<div class=\"box\">\n<div class=\"scroll\" tabindex=\"0\"{label}>\n<table>"
        )?;
        self.write_head(html)?;
        writeln!(html, "<tbody>")?;
        for row in &self.rows {
            write!(html, "<tr>")?;
            for (place, column) in self.columns.iter().enumerate() {
                write_cell(html, row.get(place).unwrap_or(&Cell::Empty), column, place == 0)?;
            }
            writeln!(html, "</tr>")?;
        }
        writeln!(html, "</tbody>\n</table>\n</div>\n</div>")?;
        if self.is_marked() {
            writeln!(html, "<p class=\"note\">{NOTE}</p>")?;
        }
        writeln!(html, "</div>")
    }

    fn write_head(&self, html: &mut String) -> std::fmt::Result {
        let is_compared = |column: &Column| column.kind == ColumnKind::Compared;
        let rows = if self.columns.iter().any(is_compared) { 2 } else { 1 };
        write!(html, "<thead>\n<tr>")?;
        for column in &self.columns {
            let attributes = match column.kind {
                ColumnKind::Text => format!("scope=\"col\" rowspan=\"{rows}\""),
                ColumnKind::Number => {
                    format!("scope=\"col\" rowspan=\"{rows}\" class=\"number\"")
                }
                ColumnKind::Compared => {
                    "scope=\"colgroup\" colspan=\"3\" class=\"group\"".to_owned()
                }
            };
            write!(html, "<th {attributes}>{}</th>", escaped(&column.heading))?;
        }
        writeln!(html, "</tr>")?;
        if rows == 2 {
            write!(html, "<tr>")?;
            for _ in self.columns.iter().filter(|column| is_compared(column)) {
                for (name, class) in
                    [("ours", "number"), ("paper", "number paper"), ("ratio", "number")]
                {
                    write!(html, "<th scope=\"col\" class=\"{class}\">{name}</th>")?;
                }
            }
            writeln!(html, "</tr>")?;
        }
        writeln!(html, "</thead>")
    }
}

fn write_cell(html: &mut String, cell: &Cell, column: &Column, is_first: bool) -> std::fmt::Result {
    let classes: &[&str] = match column.kind {
        ColumnKind::Text => &[""],
        ColumnKind::Number => &["number"],
        ColumnKind::Compared => &["number", "number paper", "number ratio"],
    };
    for ((text, tooltip), class) in pieces(cell, column).into_iter().zip(classes) {
        let (text, tooltip) = (escaped(&text), escaped(&tooltip));
        let mut attributes = String::new();
        if !class.is_empty() {
            write!(attributes, " class=\"{class}\"")?;
        }
        if !tooltip.is_empty() {
            write!(attributes, " title=\"{tooltip}\"")?;
        }
        match is_first && column.kind == ColumnKind::Text {
            true => write!(html, "<th scope=\"row\"{attributes}>{text}</th>")?,
            false => write!(html, "<td{attributes}>{text}</td>")?,
        }
    }
    Ok(())
}

/// Text with the parts between backticks as code.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut html = String::new();
    for (index, part) in parts.iter().enumerate() {
        // An unmatched backtick at the end opens nothing.
        let is_code = index % 2 == 1 && index + 1 < parts.len();
        match is_code {
            true => html.push_str(&format!("<code>{}</code>", escaped(part))),
            false if index % 2 == 1 => html.push_str(&format!("`{}", escaped(part))),
            false => html.push_str(&escaped(part)),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::super::download::tests::decoded;
    use super::super::tests::page;
    use super::*;

    /// The names of the elements of `html` in order, checking that each is closed properly.
    fn elements(html: &str) -> Vec<String> {
        const VOID: [&str; 1] = ["meta"];
        let (mut open, mut all): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a document type");
        while let Some(start) = rest.find('<') {
            assert!(!rest[..start].contains('>'), "a bare > in {}", &rest[..start]);
            let end = start + rest[start..].find('>').expect("a tag ends");
            let tag = &rest[start + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "in the end tags");
                continue;
            }
            let name = tag.split([' ', '/']).next().expect("a name").to_owned();
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if matches!(name.as_str(), "script" | "style") {
                let closing = format!("</{name}>");
                rest = rest.split_once(closing.as_str()).expect("it is closed").1;
            } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
                open.push(name.clone());
            }
            all.push(name);
        }
        assert!(open.is_empty(), "{open:?} are open");
        all
    }

    #[test]
    fn a_page_is_whole() {
        let html = page().html();
        let elements = elements(&html);
        let count = |name: &str| elements.iter().filter(|element| *element == name).count();
        assert_eq!((count("html"), count("h1"), count("h2"), count("svg")), (1, 1, 1, 2));
        // Three rows plus two of headings; a heading of three columns has three below it.
        assert_eq!((count("tr"), count("table"), count("figure")), (5, 1, 1));
        for needle in [
            "<h1>Figure 3-4 &lt;b&gt;</h1>",
            "<p>First <code>a &lt; b</code>.</p>",
            "<pre class=\"command\"><code>exm experiment run 3-4 --seed 1 &amp;&amp; echo done</code></pre>",
            "<th scope=\"row\">Cubic | &lt;sfqCoDel&gt;</th>",
            "<td class=\"number\" title=\"1.23456\">1.23</td>",
            "more than a third apart\">\u{25bc} 0.48</td>",
            "<dt>seed</dt><dd>1</dd>",
            "<p class=\"finding\">A is 2 times B.</p>",
            "<pre><code>@software{a}</code></pre>",
        ] {
            assert!(html.contains(needle), "{needle} is missing from {html}");
        }
    }

    #[test]
    fn every_row_has_as_many_cells() {
        let html = page().html();
        let body = html.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next());
        for row in body.expect("a body").trim().lines() {
            assert_eq!(row.matches("<td").count() + row.matches("<th").count(), 5, "{row}");
        }
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let html = page().html();
        for needle in ["http:", "https:", "src=", "@import", "url("] {
            let found = html.replace("http://www.w3.org/2000/svg", "").contains(needle);
            assert!(!found, "{needle} in {html}");
        }
    }

    #[test]
    fn a_figure_has_two_forms_and_one_without_a_narrow_form_scrolls() {
        let html = page().html();
        let figure = html.split("<figure>").nth(1).expect("a figure");
        let (wide, narrow) = figure.split_once("<div class=\"narrow\">").expect("a narrow form");
        assert!(wide.contains("<div class=\"wide\">\n<svg xmlns"), "{wide}");
        assert!(narrow.starts_with("\n<svg width=\"360\""), "{narrow}");
        let mut page = page();
        for block in page.sections.iter_mut().flat_map(|section| &mut section.blocks) {
            if let Block::Figure(figure) = block {
                figure.narrow = None;
            }
        }
        let html = page.html();
        assert!(!html.contains("class=\"wide\"") && !html.contains("class=\"narrow\""));
        assert!(html.contains("<div class=\"scroll\" tabindex=\"0\">\n<svg"), "{html}");
        elements(&html);
    }

    #[test]
    fn downloads_hold_the_same_bytes() {
        let html = page().html();
        let link = html.split("<a download=\"figure-3-4.csv\" href=\"").nth(1).expect("a link");
        let address = link.split('"').next().expect("an address");
        let data = address.strip_prefix("data:text/csv;charset=utf-8;base64,").expect("the data");
        let text = String::from_utf8(decoded(data)).expect("is text");
        assert_eq!(text, "scheme,x\nCubic,\u{b5}1\n");
    }

    #[test]
    fn what_scrolls_can_be_scrolled_by_keys_and_keeps_its_caption() {
        let html = page().html();
        let (before, table) = html.split_once("<table>").expect("a table");
        assert!(before.trim_end().ends_with("aria-label=\"Speed-ups &amp; delays\">"), "{before}");
        assert!(before.contains("<p class=\"caption\">Speed-ups &amp; delays</p>"), "{before}");
        assert!(!table.contains("<caption"));
    }

    #[test]
    fn backticks_are_code() {
        assert_eq!(prose("a `b` c"), "a <code>b</code> c");
        assert_eq!(prose("a `b"), "a `b");
        assert_eq!(prose("<"), "&lt;");
    }

    #[test]
    fn an_empty_page_is_a_page() {
        let html = Page::default().html();
        assert!(!elements(&html).contains(&"nav".to_owned()));
    }
}
