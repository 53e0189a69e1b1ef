//! A tool's result as text: what a model reads of it, and what is kept.

use portolan_llm::Outcome;
use portolan_wire::json::Members;
use serde_json::Value;
use serde_json::value::RawValue;

/// What a server answered, in words.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) outcome: Outcome,
    /// What the server itself gave as contexts, in `metadata` or `_meta`.
    pub(crate) contexts: Vec<Box<RawValue>>,
}

/// Reads the result of a `tools/call`. What is no such result is text, too.
pub(crate) fn read(result: &RawValue) -> Said {
    let Ok(members) = Members::parse(result.get()) else {
        return Said { text: result.get().to_owned(), outcome: Outcome::Done, contexts: Vec::new() };
    };
    let blocks: Vec<Value> =
        members.get("content").and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    let words: Vec<String> = blocks.iter().map(block).filter(|words| !words.is_empty()).collect();
    // Servers are asked to say in text what they say in structure, and some do only one of both.
    let has_text = blocks.iter().any(|block| block["type"] == "text");
    let structure = members.get("structuredContent").filter(|_| !has_text);
    let text = structure.map(str::to_owned).into_iter().chain(words).collect::<Vec<_>>().join("\n\n");
    let outcome = if members.get("isError") == Some("true") { Outcome::Failed } else { Outcome::Done };
    Said { text, outcome, contexts: contexts(&members) }
}

fn contexts(members: &Members<'_>) -> Vec<Box<RawValue>> {
    let given = ["metadata", "_meta"].into_iter().find_map(|key| {
        let inner = Members::parse(members.get(key)?).ok()?;
        serde_json::from_str(inner.get("contexts")?).ok()
    });
    given.unwrap_or_default()
}

/// One block of content. Pictures and sounds are named: nobody here can see or hear them.
fn block(block: &Value) -> String {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => text("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind} {}, {} characters of base64 left out]", text("mimeType"), text("data").len())
        }
        "resource_link" => {
            let parts = [text("name"), text("uri"), text("description")];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" — ")
        }
        "resource" => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            match resource["text"].as_str() {
                Some(text) => format!("{uri}\n{text}"),
                None => format!("[{uri}, binary, left out]"),
            }
        }
        _ => block.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    #[track_caller]
    fn check(result: &Value, expected: &str, outcome: Outcome) {
        let said = read(&to_raw_value(result).unwrap());
        assert_eq!((said.text.as_str(), said.outcome), (expected, outcome));
    }

    #[test]
    fn every_kind_of_content_becomes_words() {
        let content = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "resource_link", "name": "log", "uri": "file:///log" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "two" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": "AAAA" } },
            { "type": "new", "x": 1 },
        ]);
        let expected = "one\n\n[image image/png, 4 characters of base64 left out]\n\nlog — file:///log\n\n\
                        file:///a\ntwo\n\n[file:///b, binary, left out]\n\n{\"type\":\"new\",\"x\":1}";
        check(&json!({ "content": content, "structuredContent": { "n": 1 } }), expected, Outcome::Done);
    }

    #[test]
    fn structure_is_read_where_there_is_no_text() {
        check(&json!({ "content": [], "structuredContent": { "n": 1 } }), "{\"n\":1}", Outcome::Done);
        check(&json!({ "content": [], "isError": true }), "", Outcome::Failed);
        check(&json!([1]), "[1]", Outcome::Done);
        check(&json!({ "content": "odd" }), "", Outcome::Done);
    }

    #[test]
    fn contexts_that_a_server_gives_are_passed_on() {
        for key in ["metadata", "_meta"] {
            let result = json!({ "content": [], key: { "contexts": [{ "id": "a" }, 2] } });
            let said = read(&to_raw_value(&result).unwrap());
            let contexts: Vec<&str> = said.contexts.iter().map(|context| context.get()).collect();
            assert_eq!(contexts, [r#"{"id":"a"}"#, "2"]);
        }
    }
}
