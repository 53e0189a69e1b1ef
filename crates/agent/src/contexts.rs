//! What the tools returned, kept whole for whoever asked, within bounds.

use portolan_model::ServerName;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::shorten::shortened;

/// What is kept of one result, and of all of a query.
const MOST_EACH: usize = 1024 * 1024;
const MOST_IN_ALL: usize = 10 * 1024 * 1024;
/// How many a server may give of its own with one result.
const MOST_GIVEN: usize = 100;

/// One piece of what an answer stands on.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Context {
    /// The result of a call.
    Result(Fragment),
    /// What the server itself gave as a context, as it gave it.
    Given(Box<RawValue>),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fragment {
    pub id: String,
    pub content: String,
    pub source: Source,
    /// 1 for what a tool said: nobody has weighed it.
    pub confidence: f32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub doc_id: String,
    pub title: String,
    /// The connector's name.
    pub app: String,
    pub entity: &'static str,
}

/// Collects contexts while a query runs.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// With the number of the call that each came from.
    contexts: Vec<(u32, Context)>,
    bytes: usize,
    left_out: usize,
}

impl Kept {
    /// Keeps the result of call `number`.
    pub(crate) fn add(&mut self, server: &ServerName, tool: &str, number: u32, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let content = shortened(text, MOST_EACH).into_owned();
        let id = format!("{server}/{tool}/{number}");
        let source = Source {
            doc_id: id.clone(),
            title: tool.to_owned(),
            app: server.to_string(),
            entity: "tool_result",
        };
        let size = content.len();
        self.push(number, size, Context::Result(Fragment { id, content, source, confidence: 1.0 }));
    }

    /// Keeps what the server gave with it.
    pub(crate) fn add_given(&mut self, number: u32, given: Vec<Box<RawValue>>) {
        self.left_out += given.len().saturating_sub(MOST_GIVEN);
        for context in given.into_iter().take(MOST_GIVEN) {
            self.push(number, context.get().len(), Context::Given(context));
        }
    }

    fn push(&mut self, number: u32, size: usize, context: Context) {
        if self.bytes + size > MOST_IN_ALL {
            self.left_out += 1;
            return;
        }
        self.bytes += size;
        self.contexts.push((number, context));
    }

    /// All of them in the order of their calls, and a word on what is missing.
    pub(crate) fn into_parts(mut self) -> (Vec<Context>, Option<String>) {
        self.contexts.sort_by_key(|(number, _)| *number);
        let note = (self.left_out > 0).then(|| {
            format!("{} results are not among the contexts: there was too much of them.", self.left_out)
        });
        (self.contexts.into_iter().map(|(_, context)| context).collect(), note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn github() -> ServerName {
        ServerName::parse("github").unwrap()
    }

    #[test]
    fn contexts_are_fragments_with_their_source_in_the_order_of_the_calls() {
        let mut kept = Kept::default();
        kept.add(&github(), "list_issues", 2, "second");
        kept.add(&github(), "search", 1, "first");
        kept.add(&github(), "nothing", 3, " ");
        kept.add_given(1, vec![RawValue::from_string(r#"{"id":"x"}"#.to_owned()).unwrap()]);
        let (contexts, note) = kept.into_parts();
        let fragment = |id: &str, title: &str, content: &str| {
            json!({
                "id": id, "content": content, "confidence": 1.0,
                "source": { "docId": id, "title": title, "app": "github", "entity": "tool_result" },
            })
        };
        let expected = json!([
            fragment("github/search/1", "search", "first"),
            { "id": "x" },
            fragment("github/list_issues/2", "list_issues", "second"),
        ]);
        assert_eq!((json!(contexts), note), (expected, None));
    }

    #[test]
    fn more_than_ten_mebibytes_are_not_kept_and_that_is_said() {
        let mut kept = Kept::default();
        let large = "x".repeat(2 * MOST_EACH);
        for number in 0..12 {
            kept.add(&github(), "dump", number, &large);
        }
        let many = vec![RawValue::from_string("1".to_owned()).unwrap(); MOST_GIVEN + 1];
        kept.add_given(12, many);
        assert!(kept.bytes <= MOST_IN_ALL);
        let (contexts, note) = kept.into_parts();
        assert_eq!(contexts.len(), 9 + MOST_GIVEN);
        assert_eq!(note.unwrap(), "4 results are not among the contexts: there was too much of them.");
    }
}
