//! What a query answers: results and numbers, as structure and as a text to read.

use crate::error::{Reason, lines};
use crate::item::Over;
use crate::rank::RankedItem;
use portolan_model::Moment;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryResult {
    pub content: String,
    pub server: String,
    pub relevance_score: f64,
    /// From 1.
    pub rank: usize,
    /// When it was retrieved.
    pub timestamp: Moment,
    /// Other servers that said the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_from: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The item's own date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Moment>,
}

impl QueryResult {
    pub(crate) fn of(ranked: &RankedItem<'_>, rank: usize) -> Self {
        Self {
            content: ranked.item.text.clone(),
            server: ranked.server.to_owned(),
            relevance_score: ranked.score,
            rank,
            timestamp: ranked.at,
            also_from: ranked.also_from.iter().map(ToString::to_string).collect(),
            title: ranked.item.title.clone(),
            url: ranked.item.url.clone(),
            date: ranked.item.date,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Those that were asked, whether or not they answered.
    pub servers_queried: usize,
    pub servers_succeeded: usize,
    /// Items that were cut from all answers and kept.
    pub total_results_raw: usize,
    pub total_results_dedup: usize,
    pub results_returned: usize,
    pub processing_time_ms: u64,
    /// Which part of the servers that were asked has a result among those returned.
    pub server_diversity: f64,
    /// Servers that were asked and did not answer, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Servers that there is no safe way to ask, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<String>,
    /// What there was beyond the limits.
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

/// What servers sent beyond what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LeftOut {
    pub items: usize,
    pub bytes: usize,
    /// Pictures, sounds and the like.
    pub untold: usize,
}

impl LeftOut {
    pub(crate) fn of(over: Over) -> Self {
        Self { items: over.items, bytes: over.bytes, untold: over.untold }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryOutput {
    pub results: Vec<QueryResult>,
    pub metadata: Metadata,
}

impl QueryOutput {
    /// What goes into `structuredContent`.
    pub fn structured(&self) -> Value {
        // Texts, numbers and lists of them: there is nothing in it that JSON has no word for.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same for people and for models that read text: each result under its rank, and then who did not answer.
    pub fn readable(&self) -> String {
        let mut text = String::new();
        for result in &self.results {
            // Writing into a string cannot fail.
            write!(text, "{}. {} ({:.2})", result.rank, result.server, result.relevance_score)
                .unwrap_or_default();
            if !result.also_from.is_empty() {
                write!(text, ", also {}", result.also_from.join(", ")).unwrap_or_default();
            }
            text.push('\n');
            if let Some(title) = result.title.as_deref().filter(|title| !result.content.starts_with(title)) {
                writeln!(text, "{title}").unwrap_or_default();
            }
            text.push_str(&result.content);
            text.push('\n');
            if let Some(url) = result.url.as_deref().filter(|url| !result.content.contains(url)) {
                writeln!(text, "{url}").unwrap_or_default();
            }
            text.push('\n');
        }
        let numbers = &self.metadata;
        let (count, succeeded, queried) =
            (numbers.results_returned, numbers.servers_succeeded, numbers.servers_queried);
        write!(text, "{count} results; {succeeded} of {queried} servers answered.").unwrap_or_default();
        for line in &numbers.errors {
            write!(text, "\nNo answer from {line}").unwrap_or_default();
        }
        for line in &numbers.not_asked {
            write!(text, "\nNot asked: {line}").unwrap_or_default();
        }
        let left_out = numbers.left_out;
        if !left_out.is_nothing() {
            write!(
                text,
                "\nLeft out: {} items, {} bytes, {} that are no text",
                left_out.items, left_out.bytes, left_out.untold
            )
            .unwrap_or_default();
        }
        text
    }
}

/// The servers that did not answer, as the metadata names them.
pub(crate) fn named(failures: &[(String, Reason)]) -> Vec<String> {
    lines(failures)
}

#[cfg(test)]
mod tests;
