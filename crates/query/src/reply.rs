//! A server's answer, read once: the blocks of a tool's result or of a resource.

use crate::error::Reason;
use serde_json::Value;

/// A value takes some thirty bytes once it is read, however few it was written in: more values than this are a flood.
const MOST_VALUES: usize = 200_000;

/// Whether a JSON text may have more values than are read.
pub(crate) fn is_dense(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b',').count() > MOST_VALUES
}

/// An answer in the shape that its server gave it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub structured: Option<Value>,
    /// Content blocks of a tool's result, or contents of a resource: both say what they are.
    pub blocks: Vec<Value>,
}

impl Reply {
    /// Reads a result. One that is an error says why; one that is too long is not looked at.
    pub fn read(raw: &str, most_bytes: usize) -> Result<Self, Reason> {
        if raw.len() > most_bytes {
            let (bytes, most) = (raw.len(), most_bytes);
            return Err(Reason::new(format!("its answer has {bytes} bytes, and {most} are read at most")));
        }
        if is_dense(raw) {
            return Err(Reason::new(format!("its answer may have more than {MOST_VALUES} values")));
        }
        let Ok(Value::Object(mut result)) = serde_json::from_str(raw) else {
            return Err(Reason::new("its answer is no result that can be read"));
        };
        let structured = result.remove("structuredContent").filter(|value| !value.is_null());
        let blocks = match result.remove("content").or_else(|| result.remove("contents")) {
            Some(Value::Array(blocks)) => blocks,
            Some(_) => return Err(Reason::new("its answer has no list of contents")),
            None if structured.is_some() => Vec::new(),
            None => return Err(Reason::new("its answer has no contents")),
        };
        let reply = Self { structured, blocks };
        if result.get("isError") == Some(&Value::Bool(true)) {
            return Err(reply.complaint());
        }
        Ok(reply)
    }

    fn complaint(&self) -> Reason {
        let text = self.texts().next().unwrap_or("it says no more than that it failed");
        Reason::new(text)
    }

    /// The texts of all blocks.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(raw: &str, most: usize, expected: &str) {
        assert_eq!(Reply::read(raw, most).unwrap_err().as_str(), expected, "{raw}");
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_refused_with_its_reason() {
        let dense = format!("{{\"content\":[{}1]}}", "1,".repeat(MOST_VALUES + 1));
        refused(&dense, 1 << 20, "its answer may have more than 200000 values");
        refused("[]", 100, "its answer is no result that can be read");
        refused("{\"content\":", 100, "its answer is no result that can be read");
        refused("{}", 100, "its answer has no contents");
        refused(r#"{"content":"text"}"#, 100, "its answer has no list of contents");
        refused(r#"{"content":[]}"#, 3, "its answer has 14 bytes, and 3 are read at most");
        refused(r#"{"content":[{"type":"text","text":"no\nkey"}],"isError":true}"#, 100, "no key");
        refused(r#"{"content":[],"isError":true}"#, 100, "it says no more than that it failed");
        let deep = format!(r#"{{"content":[{}1{}]}}"#, "[".repeat(5000), "]".repeat(5000));
        refused(&deep, 100_000, "its answer is no result that can be read");
    }

    #[test]
    fn results_of_tools_and_of_resources_are_read_alike() {
        let tool =
            Reply::read(r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}"#, 1000);
        assert_eq!(tool.unwrap().texts().collect::<Vec<_>>(), ["a"]);
        let resource = Reply::read(r#"{"contents":[{"uri":"x:y","text":"b"}]}"#, 1000);
        assert_eq!(resource.unwrap().texts().collect::<Vec<_>>(), ["b"]);
        assert!(Reply::read(r#"{"structuredContent":{"b":1}}"#, 1000).is_ok());
    }
}
