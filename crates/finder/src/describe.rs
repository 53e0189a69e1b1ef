//! A tool's definition as words to search.

use portolan_model::Tool;
use portolan_search::{Doc, DocKey};
use serde_json::Value;

/// How deep arguments within arguments are read.
const DEEPEST: usize = 3;
/// Arguments that are read of one tool.
const MOST_ARGUMENTS: usize = 64;
/// What is read of one text: nobody describes a tool better with more.
const LONGEST: usize = 4 * 1024;

pub(crate) fn doc(key: DocKey, tool: &Tool) -> Doc {
    let definition: Value = serde_json::from_str(tool.definition.get()).unwrap_or_default();
    let title = definition["title"].as_str().or_else(|| definition["annotations"]["title"].as_str());
    let mut arguments = Vec::new();
    read(&definition["inputSchema"], DEEPEST, &mut arguments);
    Doc {
        key,
        name: tool.name.to_string(),
        title: title.map(cut).filter(|title| !title.trim().is_empty()),
        description: definition["description"].as_str().map(cut).unwrap_or_default(),
        arguments,
    }
}

fn read(schema: &Value, depth: usize, arguments: &mut Vec<(String, String)>) {
    for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
        if arguments.len() >= MOST_ARGUMENTS {
            return;
        }
        arguments.push((cut(name), argument["description"].as_str().map(cut).unwrap_or_default()));
        if depth > 1 {
            read(argument, depth - 1, arguments);
            read(&argument["items"], depth - 1, arguments);
        }
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    fn of(definition: &Value) -> Doc {
        doc(DocKey(7), &Tool { name: "t".into(), definition: to_raw_value(definition).unwrap() })
    }

    #[test]
    fn name_title_description_and_arguments_are_read_as_far_as_they_go() {
        let item = json!({"type": "object", "properties": {"city": {"description": "Where"}}});
        let doc = of(&json!({
            "name": "t", "title": "T", "description": "Does it",
            "inputSchema": {"type": "object", "properties": {
                "q": {"description": "What"}, "places": {"type": "array", "items": item},
            }},
        }));
        assert_eq!((doc.title.as_deref(), doc.description.as_str()), (Some("T"), "Does it"));
        let names: Vec<&str> = doc.arguments.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["places", "city", "q"]);
    }

    #[test]
    fn nothing_that_a_server_may_write_is_too_much() {
        let deep = (0..60).fold(json!({}), |inner, n| json!({"properties": {format!("p{n}"): inner}}));
        let wide: serde_json::Map<String, Value> = (0..500).map(|n| (n.to_string(), json!(3))).collect();
        for (schema, expected) in
            [(deep, DEEPEST), (json!({"properties": wide}), MOST_ARGUMENTS), (json!(null), 0)]
        {
            assert_eq!(of(&json!({"inputSchema": schema})).arguments.len(), expected);
        }
        let long = of(&json!({"description": "é".repeat(LONGEST)}));
        assert!(long.description.len() <= LONGEST);
        assert_eq!(of(&json!([1])), of(&json!({})));
    }
}
