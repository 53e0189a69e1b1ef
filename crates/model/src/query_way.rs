//! The way in which people want a server to be asked when one question goes to many.

use serde_json::{Map, Value};

/// A server's `portolan.query`: the tool that takes the question, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWay {
    pub tool: String,
    /// The argument that takes the question; found from the tool's schema where there is nothing.
    pub argument: Option<String>,
    /// Arguments that are the same in every call: a JSON object in its shortest form with sorted keys, so that equal ones
    /// are equal texts.
    arguments: String,
}

impl QueryWay {
    /// A tool that is given the question and nothing else.
    pub fn new(tool: impl Into<String>) -> Self {
        Self { tool: tool.into(), argument: None, arguments: "{}".to_owned() }
    }

    #[must_use]
    pub fn with_argument(self, argument: Option<String>) -> Self {
        Self { argument, ..self }
    }

    #[must_use]
    pub fn with_arguments(self, arguments: Map<String, Value>) -> Self {
        let mut arguments = Value::Object(arguments);
        arguments.sort_all_objects();
        Self { arguments: arguments.to_string(), ..self }
    }

    /// The arguments that are the same in every call.
    pub fn arguments(&self) -> Map<String, Value> {
        // What was written from an object is one.
        serde_json::from_str(&self.arguments).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(arguments: &str) -> QueryWay {
        QueryWay::new("search").with_arguments(serde_json::from_str(arguments).unwrap())
    }

    #[test]
    fn ways_are_equal_however_their_arguments_are_written() {
        assert_eq!(way(r#"{"b": {"y": 1, "x": 2}, "a": [1, 2]}"#), way(r#"{"a":[1,2],"b":{"x":2,"y":1}}"#));
        assert_ne!(way(r#"{"a": [1, 2]}"#), way(r#"{"a": [2, 1]}"#));
        assert_eq!(way("{}"), QueryWay::new("search"));
        assert_ne!(way("{}"), way("{}").with_argument(Some("q".to_owned())));
    }

    #[test]
    fn arguments_come_back_as_they_were_given() {
        let given = r#"{"limit": 5, "deep": {"text": "\u00e9\n", "share": 0.5, "none": null, "on": [true]}}"#;
        let given: Map<String, Value> = serde_json::from_str(given).unwrap();
        assert_eq!(QueryWay::new("t").with_arguments(given.clone()).arguments(), given);
        assert_eq!(QueryWay::new("t").arguments(), Map::new());
    }
}
