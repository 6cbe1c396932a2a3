//! A table as text in columns, for terminals.

use super::{Cell, ColumnKind, Table, ratio_of};
use exm_store::Columns;

/// What stands for a value that is absent.
const ABSENT: &str = "-";

impl Table {
    /// The table as text in columns, without its caption: two lines of headings, then the rows.
    pub fn text(&self) -> Columns {
        let is_word = |column: &&super::Column| column.kind == ColumnKind::Text;
        let mut text = Columns::new(self.columns.iter().take_while(is_word).count());
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for column in &self.columns {
            let halves = match (column.kind, column.heading.split_once(' ')) {
                (ColumnKind::Text, _) => ("", column.heading.as_str()),
                (ColumnKind::Compared, _) => (column.heading.as_str(), "ours"),
                (_, Some(halves)) => halves,
                (_, None) => (column.heading.as_str(), ""),
            };
            above.push(halves.0.to_owned());
            below.push(halves.1.to_owned());
            if column.kind == ColumnKind::Compared {
                above.extend(["the", "ours /"].map(str::to_owned));
                below.extend(["paper's", "paper's"].map(str::to_owned));
            }
        }
        text.line(above);
        text.line(below);
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns);
            text.line(cells.flat_map(|(cell, column)| texts(cell, column.kind)));
        }
        text
    }
}

fn texts(cell: &Cell, kind: ColumnKind) -> Vec<String> {
    let number = |value: Option<f64>, decimals: usize| {
        value.map_or(ABSENT.to_owned(), |value| format!("{value:.decimals$}"))
    };
    match cell {
        Cell::Compared { ours, paper, decimals } => vec![
            number(*ours, *decimals),
            number(*paper, *decimals),
            number(ratio_of(*ours, *paper), 2),
        ],
        Cell::Empty if kind == ColumnKind::Compared => vec![ABSENT.to_owned(); 3],
        Cell::Empty => vec![ABSENT.to_owned()],
        Cell::Text(text) | Cell::Number { text, .. } => vec![text.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column, ColumnKind, Table};

    #[test]
    fn tables_become_text() {
        let table = Table {
            caption: "c".to_owned(),
            columns: vec![
                Column::new("link rate, Mbps", ColumnKind::Text),
                Column::new("throughput Mbps", ColumnKind::Number),
                Column::new("speed-up", ColumnKind::Compared),
            ],
            rows: vec![
                vec![
                    Cell::text("a"),
                    Cell::number(1.25, 1),
                    Cell::compared(Some(1.0), Some(2.0), 1),
                ],
                vec![Cell::text("b"), Cell::Empty, Cell::Empty],
            ],
        };
        let expected = "                 throughput  speed-up      the   ours /
link rate, Mbps        Mbps      ours  paper's  paper's
a                       1.2       1.0      2.0     0.50
b                         -         -        -        -
";
        assert_eq!(table.text().to_string(), expected);
    }
}
