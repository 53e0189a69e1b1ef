//! A tool, the arguments it is called with, and what it answers.

use crate::Revision;
use serde_json::{Map, Value, json};

/// What a call does to the world; it becomes the tool's annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Reads,
    /// Adds something and harms nothing that was there.
    Adds,
    /// Takes something away for good.
    Destroys,
}

pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    /// Written for the model that has to choose: what it does, when to use it, what comes back.
    pub description: &'static str,
    pub kind: ToolKind,
    /// The arguments as JSON Schema properties.
    pub properties: Value,
    pub required: &'static [&'static str],
    pub output_schema: Value,
}

impl Tool {
    /// The tool as `tools/list` shows it to a client of `revision`.
    pub fn describe(&self, revision: Revision) -> Value {
        let mut tool = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": self.properties,
                "required": self.required,
                "additionalProperties": false,
            },
        });
        if revision.has_titles() {
            tool["title"] = self.title.into();
        }
        if revision.has_annotations() {
            tool["annotations"] = json!({
                "title": self.title,
                "readOnlyHint": self.kind == ToolKind::Reads,
                "destructiveHint": self.kind == ToolKind::Destroys,
                "idempotentHint": self.kind != ToolKind::Adds,
                "openWorldHint": false,
            });
        }
        if revision.has_structured_content() {
            tool["outputSchema"] = self.output_schema.clone();
        }
        tool
    }
}

/// What a tool answers: a sentence for people, and the same as data.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub text: String,
    /// An object that fits the tool's output schema.
    pub data: Value,
}

impl Answer {
    pub(crate) fn into_result(self, revision: Revision) -> Value {
        // The data goes along as text too: clients that do not know structured content would lose it otherwise.
        let mut result = json!({
            "content": [
                { "type": "text", "text": self.text },
                { "type": "text", "text": self.data.to_string() },
            ],
            "isError": false,
        });
        if revision.has_structured_content() {
            result["structuredContent"] = self.data;
        }
        result
    }
}

/// Why a call was not done, in words that help to call better.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    pub(crate) fn into_result(self) -> Value {
        json!({ "content": [{ "type": "text", "text": self.0 }], "isError": true })
    }
}

/// The arguments of one call, with every name known and every required one there.
#[derive(Debug)]
pub struct Args<'a>(Option<&'a Map<String, Value>>);

impl<'a> Args<'a> {
    pub(crate) fn read(tool: &Tool, arguments: Option<&'a Value>) -> Result<Self, Refusal> {
        let args = match arguments {
            None | Some(Value::Null) => Self(None),
            Some(Value::Object(map)) => Self(Some(map)),
            Some(other) => return Err(Refusal(format!("arguments must be an object, not {other}"))),
        };
        let takes = || match tool.properties.as_object() {
            Some(known) if !known.is_empty() => known.keys().cloned().collect::<Vec<_>>().join(", "),
            _ => "no arguments".to_owned(),
        };
        if let Some(missing) = tool.required.iter().find(|name| args.get(name).is_none()) {
            return Err(Refusal(format!("`{missing}` is missing; {} takes {}", tool.name, takes())));
        }
        let mut names = args.0.into_iter().flat_map(Map::keys);
        if let Some(unknown) = names.find(|name| tool.properties.get(name.as_str()).is_none()) {
            return Err(Refusal(format!("unknown argument `{unknown}`; {} takes {}", tool.name, takes())));
        }
        Ok(args)
    }

    /// An argument that is there; `null` counts as absent.
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0?.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        self.optional_text(name)?.ok_or_else(|| Refusal(format!("`{name}` is missing")))
    }

    pub fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(Some)
            .ok_or_else(|| Refusal(format!("`{name}` must be a text that is not empty, not {value}")))
    }

    pub fn number(&self, name: &str) -> Result<f64, Refusal> {
        let value = self.get(name).unwrap_or(&Value::Null);
        value.as_f64().ok_or_else(|| Refusal(format!("`{name}` must be a number, not {value}")))
    }

    /// A whole number from 1 up.
    pub fn optional_count(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let count = value.as_u64().filter(|&count| count > 0);
        count
            .map(Some)
            .ok_or_else(|| Refusal(format!("`{name}` must be a whole number from 1 up, not {value}")))
    }

    pub fn optional_texts(&self, name: &str) -> Result<Vec<String>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<String> =
            list.iter().filter_map(Value::as_str).map(|text| text.trim().to_owned()).collect();
        if !value.is_array() || texts.len() != list.len() || texts.iter().any(String::is_empty) {
            return Err(Refusal(format!("`{name}` must be a list of texts, not {value}")));
        }
        Ok(texts)
    }
}
