//! What models are shown, as the texts that they are shown, counted by the tokenizer that they use.

use anyhow::{Context, Result};
use serde_json::Value;
use tiktoken_rs::CoreBPE;

pub(crate) struct Tokenizer(CoreBPE);

impl Tokenizer {
    /// `o200k_base`, whose vocabulary is part of this program.
    pub(crate) fn new() -> Result<Self> {
        tiktoken_rs::o200k_base().map(Self).context("the vocabulary o200k_base cannot be read")
    }

    /// Marks that steer a model are plain text here: servers write what they like.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.encode_ordinary(text).len()
    }

    /// What a list of tools takes in a request.
    pub(crate) fn count_tools(&self, tools: &[Value]) -> usize {
        tools.iter().map(|tool| self.count(&function(tool))).sum()
    }
}

/// A listed tool as clients hand it to a model. What else a definition has (its title, the schema of its results)
/// stays with the client.
pub(crate) fn function(tool: &Value) -> String {
    let (name, parameters) = (&tool["name"], &tool["inputSchema"]);
    let description = tool.get("description").map(|text| format!(r#""description":{text},"#));
    format!(r#"{{"name":{name},{}"parameters":{parameters}}}"#, description.unwrap_or_default())
}

/// A call as a model writes it.
pub(crate) fn call(name: &str, arguments: &Value) -> String {
    format!(r#"{{"name":{},"arguments":{arguments}}}"#, Value::from(name))
}

/// A result as a model reads it: its texts.
pub(crate) fn answer(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::LazyLock;

    /// Reading the vocabulary takes seconds in a build that is not optimised.
    static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::new().unwrap());

    #[track_caller]
    fn check(text: &str, tokens: usize) {
        assert_eq!(TOKENIZER.count(text), tokens, "{text:?}");
    }

    #[test]
    fn tokens_are_those_of_o200k_base() {
        check("", 0);
        check("hello world", 2);
        check("tiktoken is great!", 6);
        check("antidisestablishmentarianism", 6);
        check("お誕生日おめでとう", 8);
    }

    #[test]
    fn marks_that_steer_a_model_count_as_the_text_that_they_are() {
        assert!(TOKENIZER.count("<|endoftext|>") > 1);
    }

    #[test]
    fn a_tool_is_shown_by_its_name_its_description_and_its_parameters_alone() {
        let mut tool = json!({
            "name": "s__find", "title": "Find", "description": "Finds \"it\".", "outputSchema": {"type": "object"},
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        });
        let shown = r#"{"name":"s__find","description":"Finds \"it\".","parameters":{"type":"object"}}"#;
        assert_eq!(function(&tool), shown);
        tool.as_object_mut().unwrap().remove("description");
        assert_eq!(function(&tool), r#"{"name":"s__find","parameters":{"type":"object"}}"#);
    }

    #[test]
    fn a_list_takes_what_its_tools_take() {
        let tool = |name: &str| json!({"name": name, "description": "Finds it.", "inputSchema": {}});
        let (one, other) = (tool("one"), tool("quite_another"));
        let each = [&one, &other].map(|tool| TOKENIZER.count(&function(tool)));
        assert_eq!(TOKENIZER.count_tools(&[one, other]), each[0] + each[1]);
        assert_eq!(TOKENIZER.count_tools(&[]), 0);
    }

    #[test]
    fn calls_and_answers_are_what_a_model_writes_and_reads() {
        assert_eq!(call("a \"b\"", &json!({"n": 1})), r#"{"name":"a \"b\"","arguments":{"n":1}}"#);
        let result = json!({
            "content": [{"type": "text", "text": "one"}, {"type": "image", "data": "…"}, {"type": "text", "text": "two"}],
            "structuredContent": {"not": "read"},
        });
        assert_eq!(answer(&result), "one\ntwo");
        assert_eq!(answer(&json!({})), "");
    }
}
