//! Columns that line up, for people.

use core::fmt::Write as _;

use crate::terminal::{Look, Palette};

/// Rows of text in columns as wide as their widest cell.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// On which side of its column a text stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One text, and how it looks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Cell {
    text: String,
    look: Option<Look>,
}

impl Cell {
    /// A text of a certain look.
    pub(crate) fn looking(look: Look, text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Some(look) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), look: None }
    }
}

impl Table {
    /// Makes a table with these titles.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, a cell per column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Returns the text, a line per row.
    pub(crate) fn text(&self, palette: Palette) -> String {
        let mut out = String::new();
        let titles: Vec<_> =
            self.columns.iter().map(|(title, _)| Cell::looking(Look::Faint, *title)).collect();
        let widths: Vec<_> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        for row in core::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), &width) in row.iter().zip(&self.columns).zip(&widths) {
                let padded = match align {
                    Align::Left => format!("{:<width$}", cell.text),
                    Align::Right => format!("{:>width$}", cell.text),
                };
                match cell.look {
                    Some(look) => write!(line, "  {}", palette.paint(look, padded)),
                    None => write!(line, "  {padded}"),
                }
                .expect("a string takes any text");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn width(&self, column: usize) -> usize {
        let title = self.columns.get(column).map_or(0, |(title, _)| title.chars().count());
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.text.chars().count()).fold(title, usize::max)
    }
}

#[cfg(test)]
mod tests {
    use super::{Align, Table};
    use crate::terminal::Palette;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.push(vec!["EEG".into(), "12".into()]);
        table.push(vec!["µmeter".into(), "3".into()]);
        assert_eq!(table.text(Palette::Plain), "  name     n\n  EEG     12\n  µmeter   3\n");
    }
}
