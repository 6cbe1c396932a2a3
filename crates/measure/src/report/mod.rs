//! Reports: one set of results as one page.
//!
//! A [`Page`] is data: sections of prose, figures, tables and commands. [`Page::html`] makes one
//! file of it that holds all it needs, so that it can be sent and opened anywhere;
//! [`Page::markdown`] makes the text that a repository keeps, its pictures in files beside it;
//! [`Table::text`] makes what a terminal shows.

mod download;
mod html;
mod markdown;
mod text;

use crate::stats::{Estimate, Resampled};

/// Ratios that differ from 1 by more than this are marked: more than a third calls for an explanation.
const FAR: f64 = 1.0 / 3.0;
/// What marks a ratio that far above 1, and below it.
const ABOVE: &str = "\u{25b2} ";
const BELOW: &str = "\u{25bc} ";
/// The note below a table with such marks.
const NOTE: &str = "\u{25b2} \u{25bc} ours differs from the paper's by more than a third";

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// Its introduction, a sentence or two; may be empty.
    pub lead: String,
    /// Where the results come from, as names and values: seed, version, hash of the configuration.
    pub provenance: Vec<(String, String)>,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A section of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A block of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Paragraphs, separated by empty lines. Text between backticks is code.
    Prose(String),
    /// The main finding of a section, in a sentence.
    Finding(String),
    /// Where the results of a section come from, as names and values.
    Facts(Vec<(String, String)>),
    /// A picture.
    Figure(Figure),
    /// A table.
    Table(Table),
    /// A command as it is typed, without a prompt. It may have several lines.
    Command(String),
    /// Text to copy as it is, such as a BibTeX entry.
    Verbatim(String),
    /// Files that an HTML page offers for download; a Markdown page leaves them out.
    Downloads(Vec<Download>),
}

/// A picture in a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The SVG, as figures make it. It is embedded without checks: the caller must trust its source.
    pub svg: String,
    /// The same figure in its narrow form, which an HTML page shows on phones. Without it, they scroll the
    /// other one.
    pub narrow: Option<String>,
    /// Its caption.
    pub caption: String,
    /// The path of its file, relative to the Markdown file.
    pub file: String,
    /// Files that an HTML page offers below it.
    pub downloads: Vec<Download>,
}

/// A file embedded in an HTML page, which a link saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The text of the link: "data, CSV".
    pub label: String,
    /// The name of the saved file.
    pub file: String,
    /// The media type: "text/csv".
    pub media_type: &'static str,
    /// The content of the file.
    pub content: String,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for every column; missing cells at the end are empty.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub heading: String,
    /// What it holds.
    pub kind: ColumnKind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Words, aligned to the left.
    Text,
    /// Numbers, aligned to the right.
    Number,
    /// Our number, the paper's, and ours over the paper's.
    Compared,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// Nothing was measured.
    #[default]
    Empty,
    /// Words.
    Text(String),
    /// A number as written, and its tooltip, which may be empty.
    Number {
        /// The number as written.
        text: String,
        /// The tooltip.
        tooltip: String,
    },
    /// Our number beside the paper's, for a column of [`ColumnKind::Compared`].
    Compared {
        /// Ours.
        ours: Option<f64>,
        /// The paper's.
        paper: Option<f64>,
        /// The number of decimals.
        decimals: usize,
    },
}

impl Column {
    /// A column with this heading.
    pub fn new(heading: &str, kind: ColumnKind) -> Column {
        Column { heading: heading.to_owned(), kind }
    }

    /// The number of columns on paper.
    const fn width(&self) -> usize {
        match self.kind {
            ColumnKind::Text | ColumnKind::Number => 1,
            ColumnKind::Compared => 3,
        }
    }
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A number rounded to `decimals`; the tooltip has all digits.
    pub fn number(value: f64, decimals: usize) -> Cell {
        Cell::Number { text: format!("{value:.decimals$}"), tooltip: format!("{value}") }
    }

    /// A mean with half of its 95 % interval after ±; the tooltip has the interval.
    pub fn estimate(estimate: &Estimate, decimals: usize) -> Cell {
        let (low, high) = estimate.interval();
        let tooltip = match estimate.error.is_finite() {
            true => format!("mean {}, 95 % interval {low} to {high}", estimate.mean),
            false => format!("{}, of one run", estimate.mean),
        };
        Cell::Number { text: estimate.text(decimals), tooltip }
    }

    /// A statistic with its interval by bootstrap: "1.62 [1.55-1.70]".
    pub fn resampled(value: &Resampled, decimals: usize) -> Cell {
        let Resampled { value, low, high } = value;
        Cell::Number {
            text: format!("{value:.decimals$} [{low:.decimals$}-{high:.decimals$}]"),
            tooltip: format!("{value}, interval by bootstrap {low} to {high}"),
        }
    }

    /// Our number beside the paper's.
    pub fn compared(ours: Option<f64>, paper: Option<f64>, decimals: usize) -> Cell {
        Cell::Compared { ours, paper, decimals }
    }
}

impl Table {
    /// Whether any ratio is marked.
    fn is_marked(&self) -> bool {
        self.rows.iter().flatten().any(|cell| match cell {
            Cell::Compared { ours, paper, decimals } => {
                let ratio = &compared(*ours, *paper, *decimals)[2].0;
                ratio.starts_with(ABOVE) || ratio.starts_with(BELOW)
            }
            _ => false,
        })
    }
}

/// A cell as one or three pieces of text, each with a tooltip, both empty where there is nothing.
fn pieces(cell: &Cell, column: &Column) -> Vec<(String, String)> {
    let mut pieces = match cell {
        Cell::Empty => Vec::new(),
        Cell::Text(text) => vec![(text.clone(), String::new())],
        Cell::Number { text, tooltip } => vec![(text.clone(), tooltip.clone())],
        Cell::Compared { ours, paper, decimals } => compared(*ours, *paper, *decimals),
    };
    pieces.resize(column.width(), Default::default());
    pieces
}

/// Ours over the paper's, where there are both and the ratio is finite.
fn ratio_of(ours: Option<f64>, paper: Option<f64>) -> Option<f64> {
    let ratio = ours.zip(paper).map(|(ours, paper)| ours / paper);
    ratio.filter(|ratio| ratio.is_finite())
}

fn compared(ours: Option<f64>, paper: Option<f64>, decimals: usize) -> Vec<(String, String)> {
    let piece = |value: Option<f64>| {
        value.map_or_else(Default::default, |value| {
            (format!("{value:.decimals$}"), format!("{value}"))
        })
    };
    let ratio = ratio_of(ours, paper).map(|ratio| {
        let mark = match ratio - 1.0 {
            above if above > FAR => ABOVE,
            below if below < -FAR => BELOW,
            _ => "",
        };
        let remark = if mark.is_empty() { "" } else { ": more than a third apart" };
        (format!("{mark}{ratio:.2}"), format!("ours is {ratio:.3} of the paper's{remark}"))
    });
    vec![piece(ours), piece(paper), ratio.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn page() -> Page {
        let columns = vec![
            Column::new("scheme", ColumnKind::Text),
            Column::new("throughput, Mbps", ColumnKind::Number),
            Column::new("speed-up", ColumnKind::Compared),
        ];
        let rows = vec![
            vec![
                Cell::text("Cubic | <sfqCoDel>"),
                Cell::estimate(&Estimate::of(&[1.0, 2.0, 3.0]), 2),
                Cell::compared(Some(1.4), Some(1.38), 2),
            ],
            vec![
                Cell::text("Vegas"),
                Cell::number(1.234_56, 2),
                Cell::compared(Some(1.5), Some(3.1), 1),
            ],
            vec![Cell::text("XCP")],
        ];
        let table = Table { caption: "Speed-ups & delays".to_owned(), columns, rows };
        let figure = Figure {
            svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>t</title></svg>\n".to_owned(),
            narrow: Some("<svg width=\"360\"></svg>".to_owned()),
            caption: "Medians".to_owned(),
            file: "figure-3-4.svg".to_owned(),
            downloads: vec![Download {
                label: "data, CSV".to_owned(),
                file: "figure-3-4.csv".to_owned(),
                media_type: "text/csv",
                content: "scheme,x\nCubic,\u{b5}1\n".to_owned(),
            }],
        };
        Page {
            title: "Figure 3-4 <b>".to_owned(),
            lead: "Eight senders.".to_owned(),
            provenance: vec![("seed".to_owned(), "1".to_owned())],
            sections: vec![Section {
                heading: "Dumbbell".to_owned(),
                blocks: vec![
                    Block::Finding("A is 2 times B.".to_owned()),
                    Block::Facts(vec![("seed".to_owned(), "1".to_owned())]),
                    Block::Prose("First `a < b`.\n\nSecond.".to_owned()),
                    Block::Figure(figure),
                    Block::Table(table),
                    Block::Command("exm experiment run 3-4 --seed 1 && echo done".to_owned()),
                    Block::Verbatim("@software{a}\n".to_owned()),
                ],
            }],
        }
    }

    #[test]
    fn ratios_are_ours_over_the_papers() {
        let column = Column::new("", ColumnKind::Compared);
        let texts = |ours, paper| -> Vec<String> {
            let pieces = pieces(&Cell::compared(ours, paper, 1), &column);
            pieces.into_iter().map(|piece| piece.0).collect()
        };
        assert_eq!(texts(Some(2.0), Some(2.5)), ["2.0", "2.5", "0.80"]);
        assert_eq!(texts(Some(4.0), Some(2.0)), ["4.0", "2.0", "\u{25b2} 2.00"]);
        assert_eq!(texts(Some(1.0), Some(2.0)), ["1.0", "2.0", "\u{25bc} 0.50"]);
        assert_eq!(texts(Some(1.0), None), ["1.0", "", ""]);
        assert_eq!(texts(Some(1.0), Some(0.0)), ["1.0", "0.0", ""]);
    }
}
