//! Where answers go: tables and colour for people, JSON for programs, and nothing that could steer a terminal.

use super::json;
use super::table::Table;
use crate::Failure;
use anstream::AutoStream;
use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _, stdout};

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Words,
    /// For programs: JSON and nothing else.
    Json,
}

/// Where it is printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto {
    Terminal,
    /// A pipe or a file.
    Elsewhere,
}

pub(crate) struct Screen {
    pub(crate) form: Form,
    pub(crate) onto: Onto,
}

/// Rows and columns of a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            form: if json { Form::Json } else { Form::Words },
            onto: if stdout().is_terminal() { Onto::Terminal } else { Onto::Elsewhere },
        }
    }

    /// The size of the terminal; none where there is none, or where it does not know its own.
    pub(crate) fn size(&self) -> Option<Size> {
        let Onto::Terminal = self.onto else { return None };
        let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
        let (rows, columns) = (usize::from(size.ws_row), usize::from(size.ws_col));
        (rows > 0 && columns > 0).then_some(Size { rows, columns })
    }

    /// Prints a text for people, with colour where a terminal shows it and nobody minds.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = match self.onto {
            Onto::Terminal => AutoStream::auto(stdout()),
            Onto::Elsewhere => AutoStream::never(stdout()),
        };
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(closed)
    }

    pub(crate) fn line(&self, line: &str) -> Result<(), Failure> {
        self.print(&format!("{line}\n"))
    }

    pub(crate) fn table(&self, table: &Table) -> Result<(), Failure> {
        self.print(&table.render(self.size().map(|size| size.columns)))
    }

    /// Prints JSON as it came, spread over lines where a person reads it. No answer is no JSON.
    pub(crate) fn json(&self, text: &str) -> Result<(), Failure> {
        match (self.onto, text.trim()) {
            (_, "") => Ok(()),
            // JSON may hold what steers a terminal only within its texts, and there it can be written otherwise.
            (Onto::Terminal, text) => write(json::escaped(&json::pretty(text)).as_bytes(), b"\n"),
            (Onto::Elsewhere, text) => write(text.as_bytes(), b"\n"),
        }
    }

    /// Prints what a server wrote: to a terminal without what could steer it, to anywhere else byte for byte.
    pub(crate) fn foreign(&self, text: &str) -> Result<(), Failure> {
        let end: &[u8] = if text.is_empty() || text.ends_with('\n') { b"" } else { b"\n" };
        match self.onto {
            Onto::Terminal => write(plain_lines(text).as_bytes(), end),
            Onto::Elsewhere => write(text.as_bytes(), end),
        }
    }
}

/// Prints bytes that nothing is taken out of.
pub(crate) fn write(bytes: &[u8], end: &[u8]) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(bytes).and_then(|()| out.write_all(end)).and_then(|()| out.flush()).map_err(closed)
}

fn closed(error: std::io::Error) -> Failure {
    Failure::Failed(error.into())
}

/// Whether a character could do something to a terminal, or turn the reading direction of what follows.
pub(crate) fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of a text that others wrote.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(is_steering) { text.replace(is_steering, " ").into() } else { text.into() }
}

/// Lines and tabs stay; whatever else could steer a terminal becomes visible.
pub(crate) fn plain_lines(text: &str) -> String {
    let shown = |c: char| if is_steering(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_steer_a_terminal() {
        assert_eq!(plain("a\x1b[2Jb\nc"), "a [2Jb c");
        assert_eq!(
            plain_lines("a\r\nb\tc\x1b]0;title\x07\u{9b}2J\u{202e}"),
            "a\nb\tc\u{fffd}]0;title\u{fffd}\u{fffd}2J\u{fffd}"
        );
        assert_eq!(plain("größer → 大"), "größer → 大");
    }
}
