//! Tables: columns as wide as they need to be, cut where the terminal ends.

use super::screen::plain;
use anstyle::Style;
use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

const GAP: &str = "  ";
/// No column is cut below this: a letter or two say nothing.
const NARROWEST: usize = 6;
const HEAD: Style = Style::new().bold();

pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: &str, style: Style) -> Self {
        Self { text: plain(text).into_owned(), style }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn width(&self) -> usize {
        self.text.width()
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text.as_ref(), Style::new())
    }
}

pub(crate) struct Table {
    titles: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with a line of titles; without any it has none.
    pub(crate) fn new(titles: &'static [&'static str]) -> Self {
        Self { titles, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines, each no wider than the terminal, if there is one.
    pub(crate) fn render(&self, columns: Option<usize>) -> String {
        let head: Vec<Cell> = self.titles.iter().map(|title| Cell::styled(title, HEAD)).collect();
        let lines = || (!head.is_empty()).then_some(&head).into_iter().chain(&self.rows);
        let count = lines().map(Vec::len).max().unwrap_or(0);
        let natural = |at: usize| lines().filter_map(|cells| cells.get(at)).map(Cell::width).max();
        let mut widths: Vec<usize> = (0..count).map(|at| natural(at).unwrap_or(0)).collect();
        if let Some(columns) = columns {
            narrow(&mut widths, columns);
        }
        lines().map(|cells| line(cells, &widths)).collect()
    }
}

/// Takes from the widest columns, until all fit or none can give any more.
fn narrow(widths: &mut [usize], columns: usize) {
    let room = columns.saturating_sub(GAP.len() * widths.len().saturating_sub(1));
    let taken = |widest: usize| widths.iter().map(|width| (*width).min(widest)).sum::<usize>();
    let natural = widths.iter().copied().max().unwrap_or(0);
    let widest = (NARROWEST..=natural).rev().find(|widest| taken(*widest) <= room).unwrap_or(NARROWEST);
    // Where they do not share it evenly, the first ones get what is left.
    let mut left = room.saturating_sub(taken(widest));
    for width in widths.iter_mut().filter(|width| **width > widest) {
        *width = widest + left.min(1);
        left = left.saturating_sub(1);
    }
}

fn line(cells: &[Cell], widths: &[usize]) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let text = cut(&cell.text, *width);
        let style = cell.style;
        // Writing to a String cannot fail.
        write!(line, "{style}{text}{style:#}").unwrap_or_default();
        // Blanks at the end of a line are nobody's.
        if cells[at + 1..].iter().any(|cell| !cell.is_empty()) {
            line.push_str(&" ".repeat(width.saturating_sub(text.width())));
            line.push_str(GAP);
        }
    }
    line.push('\n');
    line
}

/// As much of a text as fits into this many columns, with a mark where something is missing.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let mut kept = String::new();
    let mut room = width.saturating_sub(1);
    for c in text.chars() {
        let needs = c.width().unwrap_or(0);
        if needs > room {
            break;
        }
        room -= needs;
        kept.push(c);
    }
    format!("{}…", kept.trim_end()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    fn table(rows: &[[&str; 3]]) -> Table {
        let mut table = Table::new(&["NAME", "STATUS", "DETAIL"]);
        for row in rows {
            table.row(row.map(Cell::from));
        }
        table
    }

    #[track_caller]
    fn check(rows: &[[&str; 3]], columns: Option<usize>, expected: &str) {
        let shown = anstream::adapter::strip_str(&table(rows).render(columns)).to_string();
        assert_eq!(shown, expected, "\n{shown}");
        let widest = shown.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
        assert!(columns.is_none_or(|columns| widest <= columns), "{widest} columns\n{shown}");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_end_where_their_text_does() {
        check(
            &[["github", "CONNECTED", ""], ["a", "ERROR", "it is gone"], ["b", "", ""]],
            None,
            "NAME    STATUS     DETAIL\n\
             github  CONNECTED\n\
             a       ERROR      it is gone\n\
             b\n",
        );
        check(&[], Some(80), "NAME  STATUS  DETAIL\n");
    }

    #[test]
    fn the_widest_columns_are_cut_to_the_terminal() {
        let rows = [["github", "CONNECTED", "https://api.example.com/mcp/with/a/long/path"]];
        check(
            &rows,
            Some(36),
            "NAME    STATUS     DETAIL\n\
             github  CONNECTED  https://api.exam…\n",
        );
        check(
            &rows,
            Some(26),
            "NAME    STATUS    DETAIL\n\
             github  CONNECT…  https:/…\n",
        );
        check(&[["a", "b", "exactly ten"]], Some(24), "NAME  STATUS  DETAIL\na     b       exactly t…\n");
    }

    #[test]
    fn a_terminal_that_is_too_narrow_still_shows_the_beginning_of_everything() {
        let shown = table(&[["github-enterprise", "CONNECTED", "https://x"]]).render(Some(5));
        assert!(
            anstream::adapter::strip_str(&shown).to_string().contains("githu…  CONNE…  https…"),
            "{shown}"
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_combining_ones_none() {
        check(
            &[["大阪", "x", "1"], ["e\u{301}", "y", "2"]],
            None,
            "NAME  STATUS  DETAIL\n大阪  x       1\ne\u{301}     y       2\n",
        );
        assert_eq!(cut("大阪大阪", 5), "大阪…");
        assert_eq!(cut("大阪大阪", 4), "大…");
    }

    #[test]
    fn a_cell_is_one_line_whatever_others_wrote_into_it() {
        check(
            &[["a", "b", "two\nlines\x1b[2J"]],
            None,
            "NAME  STATUS  DETAIL\na     b       two lines [2J\n",
        );
    }

    #[test]
    fn colour_is_around_the_text_and_not_around_its_blanks() {
        let mut table = Table::new(&[]);
        table.row([Cell::styled("up", AnsiColor::Green.on_default()), "x".into()]);
        table.row(["longer".into(), "y".into()]);
        assert_eq!(table.render(None), "\x1b[32mup\x1b[0m      x\nlonger  y\n");
    }
}
