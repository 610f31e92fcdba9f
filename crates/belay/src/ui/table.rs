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
        write(out, &self.header, || self.rows.iter())
    }
}

/// Writes a table whose rows are made twice and never held, because there may be very many.
pub(crate) fn write<R: AsRef<[Cell]>, I: Iterator<Item = R>>(
    out: &mut dyn Write,
    header: &[impl AsRef<str>],
    rows: impl Fn() -> I,
) -> io::Result<()> {
    let mut is_used = vec![false; header.len()];
    let mut widths: Vec<usize> = header.iter().map(|name| name.as_ref().width()).collect();
    for row in rows() {
        for (at, cell) in row.as_ref().iter().enumerate() {
            is_used[at] |= !cell.text.is_empty();
            widths[at] = widths[at].max(Some(cell.text.width()).filter(|width| *width <= WIDTH_MAX).unwrap_or(0));
        }
    }
    let used: Vec<usize> = (0..header.len()).filter(|at| is_used[*at]).collect();
    if used.is_empty() {
        return Ok(());
    }
    let widths: Vec<usize> = used.iter().map(|at| widths[*at] + GAP).collect();
    let header: Vec<Cell> = header.iter().map(|name| Cell::new(name.as_ref(), super::style::HEADING)).collect();
    write_row(out, &header, &used, &widths)?;
    rows().try_for_each(|row| write_row(out, row.as_ref(), &used, &widths))
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
