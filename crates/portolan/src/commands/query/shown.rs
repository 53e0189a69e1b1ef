//! The answer to a query as people read it: each result under its rank, and then how it was come by.

use crate::terminal::screen::{plain, plain_lines};
use crate::terminal::table::cut;
use crate::terminal::wrap::wrapped;
use anstyle::{AnsiColor, Style};
use serde::Deserialize;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// What is shown of one result; `--json` prints all of it.
const MOST_LINES: usize = 4;
/// How wide a line is where no terminal says so.
const WIDTH: usize = 100;
const INDENT: &str = "    ";
/// What a score takes beside the name of its server, with the blanks around it.
const SCORE: usize = 8;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default();

#[derive(Deserialize)]
pub(super) struct Answer {
    results: Vec<Found>,
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    content: String,
    server: String,
    relevance_score: f64,
    rank: u64,
    #[serde(default)]
    also_from: Vec<String>,
    title: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    servers_queried: u64,
    servers_succeeded: u64,
    total_results_dedup: u64,
    results_returned: u64,
    processing_time_ms: u64,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    not_asked: Vec<String>,
}

impl Answer {
    pub(super) fn shown(&self, columns: Option<usize>) -> String {
        let width = columns.unwrap_or(WIDTH).saturating_sub(INDENT.len());
        let mut text = String::new();
        for result in &self.results {
            result.show(width, &mut text);
        }
        if self.results.is_empty() {
            text.push_str("nothing was found: say it in other words, or see `portolan list`\n");
        }
        self.metadata.show(&mut text);
        text
    }
}

/// Adds one line. Writing to a String cannot fail.
fn line(style: Style, line: &str, text: &mut String) {
    writeln!(text, "{style}{line}{style:#}").unwrap_or_default();
}

impl Found {
    fn show(&self, width: usize, text: &mut String) {
        let content = plain_lines(self.content.trim());
        let mut lines = content.lines();
        let title = self.title.as_deref().map(|title| plain(title.trim()));
        // What begins with its title, or with the end of it, says it once.
        let repeats = |first: &str| title.as_deref().is_some_and(|title| title.ends_with(first.trim()));
        if lines.clone().next().is_some_and(repeats) {
            lines.next();
        }
        let (server, score) = (plain(&self.server), self.relevance_score);
        let head = format!("{BOLD}{:>2}. {server}{BOLD:#}  {DIM}{score:.2}{DIM:#}", self.rank);
        let room = width.saturating_sub(server.width() + SCORE);
        let title = title.filter(|title| !title.is_empty()).map(|title| format!("  {}", cut(&title, room)));
        writeln!(text, "{head}{}", title.unwrap_or_default()).unwrap_or_default();
        for part in wrapped(lines, width, MOST_LINES) {
            line(Style::new(), &format!("{INDENT}{part}"), text);
        }
        if let Some(url) = self.url.as_deref().filter(|url| !self.content.contains(*url)) {
            line(DIM, &format!("{INDENT}{}", plain(url)), text);
        }
        if !self.also_from.is_empty() {
            line(DIM, &format!("{INDENT}also from {}", plain(&self.also_from.join(", "))), text);
        }
        text.push('\n');
    }
}

impl Metadata {
    fn show(&self, text: &mut String) {
        let results = match (self.results_returned, self.total_results_dedup) {
            (1, 1) => "1 result".to_owned(),
            (shown, all) if shown == all => format!("{shown} results"),
            (shown, all) => format!("{shown} of {all} results"),
        };
        let Self { servers_succeeded, servers_queried, processing_time_ms, .. } = self;
        let numbers = format!(
            "{results}; {servers_succeeded} of {servers_queried} servers answered; {processing_time_ms} ms"
        );
        line(DIM, &numbers, text);
        for failed in &self.errors {
            line(WARNING, &format!("no answer from {}", plain(failed)), text);
        }
        for silent in &self.not_asked {
            line(DIM, &format!("not asked: {}", plain(silent)), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(answer: Value, columns: usize, expected: &str) {
        let answer: Answer = serde_json::from_value(answer).unwrap();
        let shown = anstream::adapter::strip_str(&answer.shown(Some(columns))).to_string();
        assert_eq!(shown, expected, "\n{shown}");
    }

    fn numbers(returned: u64, all: u64) -> Value {
        json!({
            "serversQueried": 3, "serversSucceeded": 2, "totalResultsRaw": 9, "totalResultsDedup": all,
            "resultsReturned": returned, "processingTimeMs": 12, "serverDiversity": 0.5,
        })
    }

    #[test]
    fn a_result_is_its_rank_its_server_its_score_and_its_first_lines() {
        let mut metadata = numbers(2, 7);
        metadata["errors"] = json!(["late: timeout after 3s"]);
        metadata["notAsked"] = json!(["mail: nothing of it is safe to call"]);
        let answer = json!({
            "results": [
                {"content": "Release plan\n\nThe next release is on Friday, if all goes well.", "server": "docs",
                 "relevanceScore": 0.914, "rank": 1, "title": "plan.md: Release plan", "alsoFrom": ["wiki", "mail"]},
                {"content": "on\x1b[2J\ntwo\nthree\nfour\nfive", "server": "git", "relevanceScore": 0.5, "rank": 2,
                 "title": "log", "url": "https://h/x"},
            ],
            "metadata": metadata,
        });
        check(
            answer,
            40,
            " 1. docs  0.91  plan.md: Release plan\n    The next release is on Friday, if\n    all goes well.\n    also from wiki, mail\n\n \
             2. git  0.50  log\n    on\u{fffd}[2J\n    two\n    three\n    four …\n    https://h/x\n\n\
             2 of 7 results; 2 of 3 servers answered; 12 ms\nno answer from late: timeout after 3s\n\
             not asked: mail: nothing of it is safe to call\n",
        );
    }

    #[test]
    fn that_nothing_was_found_is_said() {
        check(
            json!({"results": [], "metadata": numbers(0, 0)}),
            80,
            "nothing was found: say it in other words, or see `portolan list`\n\
             0 results; 2 of 3 servers answered; 12 ms\n",
        );
    }
}
