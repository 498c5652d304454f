//! Columns that line up, for people, in the room that there is.

use core::fmt::Write as _;

use crate::terminal::{Look, Palette, printable};

/// Rows of text in columns as wide as their widest cell.
///
/// If there is too little room, the least important columns are left out, and then the first one is shortened. The
/// verdict on a stream must be visible in the narrowest window.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A title, the side of its texts, and how soon the column is left out: 0 never, the highest first.
pub(crate) type Column = (&'static str, Align, u8);

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
        Self { look: Some(look), ..Self::from(text) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: printable(&text.into()).into_owned(), look: None }
    }
}

impl Table {
    /// Makes a table of these columns.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, a cell per column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Returns the text, a line per row, each of at most `room` characters; none sets no limit.
    pub(crate) fn text(&self, palette: Palette, room: Option<usize>) -> String {
        let widths = self.widths(room.unwrap_or(usize::MAX));
        let titles: Vec<_> =
            self.columns.iter().map(|(title, ..)| Cell::looking(Look::Faint, *title)).collect();
        let mut out = String::new();
        for row in core::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align, _)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let Some(width) = *width else { continue };
                let text = shortened(&cell.text, width);
                let padded = match align {
                    Align::Left => format!("{text:<width$}"),
                    Align::Right => format!("{text:>width$}"),
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

    /// The width of every column; none for one that is left out.
    fn widths(&self, room: usize) -> Vec<Option<usize>> {
        let mut widths: Vec<_> = (0..self.columns.len()).map(|column| Some(self.width(column))).collect();
        let needed = |widths: &[Option<usize>]| widths.iter().flatten().map(|width| width + 2).sum::<usize>();
        while needed(&widths) > room {
            let shown =
                widths.iter().zip(&self.columns).enumerate().filter(|(_, (width, _))| width.is_some());
            let least = shown.map(|(at, (_, (.., rank)))| (*rank, at)).max().filter(|(rank, _)| *rank > 0);
            let Some((_, least)) = least else { break };
            if let Some(width) = widths.get_mut(least) {
                *width = None;
            }
        }
        let surplus = needed(&widths).saturating_sub(room);
        if let Some(Some(first)) = widths.first_mut() {
            *first = first.saturating_sub(surplus).max(SHORTEST.min(*first));
        }
        widths
    }

    fn width(&self, column: usize) -> usize {
        let title = self.columns.get(column).map_or(0, |(title, ..)| title.chars().count());
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.text.chars().count()).fold(title, usize::max)
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// The first column is not made narrower than this.
const SHORTEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::{Align, Table};
    use crate::terminal::Palette;

    fn table() -> Table {
        let mut table =
            Table::new(&[("name", Align::Left, 0), ("n", Align::Right, 1), ("host", Align::Left, 2)]);
        table.push(vec!["EEG".into(), "12".into(), "amplifier-pc".into()]);
        table.push(vec!["a µmeter of names".into(), "3".into(), "b".into()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        assert_eq!(
            table().text(Palette::Plain, None),
            "  name                n  host\n  EEG                12  amplifier-pc\n  a µmeter of names   3  b\n"
        );
    }

    #[test]
    fn what_matters_least_is_left_out_first() {
        let lines = |room| table().text(Palette::Plain, Some(room));
        assert_eq!(lines(37), table().text(Palette::Plain, None));
        assert_eq!(lines(36), "  name                n\n  EEG                12\n  a µmeter of names   3\n");
        assert_eq!(lines(14), "  name\n  EEG\n  a µmeter of…\n");
        assert_eq!(lines(1), "  name\n  EEG\n  a µmete…\n", "but something is always said");
    }

    #[test]
    fn a_cell_cannot_repaint_the_terminal() {
        let mut table = Table::new(&[("name", Align::Left, 0)]);
        table.push(vec!["\x1b[2Jx".into()]);
        assert!(!table.text(Palette::Plain, None).contains('\x1b'));
    }
}
