//! Columns of text, padded to the widest cell by what a terminal really draws.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

const GAP: usize = 3;
/// A longer cell sticks out of its column instead of pushing all others to the right.
const WIDTH_MAX: usize = 100;

/// A table without lines: a header in capitals and rows of styled cells.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// One cell; the text must be escaped already.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text in the given style.
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::new(text, Style::new())
    }
}

impl Table {
    /// An empty table with these columns.
    pub(crate) fn new(header: &[impl AsRef<str>]) -> Table {
        Table { header: header.iter().map(|name| name.as_ref().to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row with one cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.header.len(), "a row has one cell for each column");
        self.rows.push(cells);
    }

    /// Writes the table; a column in which every cell is empty is left out, and nothing is written of no rows.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let used: Vec<usize> =
            (0..self.header.len()).filter(|at| self.rows.iter().any(|row| !row[*at].text.is_empty())).collect();
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].text.width());
            cells.chain([self.header[at].width()]).filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0) + GAP
        };
        let widths: Vec<usize> = used.iter().map(|at| width(*at)).collect();
        let header: Vec<Cell> = self.header.iter().map(|name| Cell::new(name, super::style::HEADING)).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            write_row(out, row, &used, &widths)?;
        }
        Ok(())
    }
}

fn write_row(out: &mut dyn Write, row: &[Cell], used: &[usize], widths: &[usize]) -> io::Result<()> {
    let last = used.iter().rposition(|at| !row[*at].text.is_empty()).unwrap_or(0);
    for (at, width) in used.iter().zip(widths).take(last + 1) {
        let Cell { text, style } = &row[*at];
        let is_last = used[last] == *at;
        let padding = if is_last { 0 } else { width.saturating_sub(text.width()).max(GAP) };
        write!(out, "{style}{text}{style:#}{:padding$}", "")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_ones_vanish() {
        let mut table = Table::new(&["ID", "LABEL", "CREATED"]);
        table.row(vec!["a".into(), "".into(), "now".into()]);
        table.row(vec!["長い".into(), "".into(), "then".into()]);
        let mut out = Vec::new();
        table.write(&mut anstream::StripStream::new(&mut out)).expect("a vector takes everything");
        assert_eq!(String::from_utf8_lossy(&out), "ID     CREATED\na      now\n長い   then\n");
    }
}
