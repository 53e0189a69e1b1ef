//! `call_tool`: the call of another tool, as if the client had made it itself.

use crate::{Builtins, complaint};
use portolan_model::ToolName;
use portolan_router::{OwnAnswer, OwnCall, RouteError, resolve_tool};
use portolan_wire::json::{Members, text, write_object, write_text};
use portolan_wire::params::Params;
use serde_json::Value;

impl Builtins {
    pub(crate) fn call_tool(&self, call: &OwnCall<'_>) -> Result<OwnAnswer, RouteError> {
        let given = call.params.get("arguments").unwrap_or("{}");
        let Ok(members) = Members::parse(given) else {
            return Ok(complaint("call_tool needs {\"name\": \"server.tool\", \"arguments\": {…}}"));
        };
        let Some(name) = members.get("name").and_then(text) else {
            return Ok(complaint("call_tool needs the `name` of a tool, as search_tools tells it"));
        };
        let arguments = members.get("arguments").unwrap_or("{}");
        let found = resolve_tool(&self.catalog.snapshot(), call.view, &name);
        if let Ok(tool) = &found
            && let Some(wrong) = self.wrong(tool, arguments)
        {
            return Ok(complaint(&wrong));
        }
        // The router says in its own words what is wrong with a name.
        let mut quoted = Vec::new();
        write_text(&name, &mut quoted);
        let quoted = String::from_utf8_lossy(&quoted);
        let kept = call.params.iter().filter(|(key, _)| !matches!(*key, "name" | "arguments"));
        let mut params = Vec::new();
        write_object([("name", &*quoted), ("arguments", arguments)].into_iter().chain(kept), &mut params);
        Params::from_text(String::from_utf8_lossy(&params).into_owned())
            .map(OwnAnswer::Instead)
            .map_err(|error| RouteError::Invalid(error.to_string()))
    }

    /// What is wrong with arguments as far as that can be told without the tool, and the tool's own schema.
    fn wrong(&self, tool: &ToolName, arguments: &str) -> Option<String> {
        let snapshot = self.catalog.snapshot();
        let definition = &snapshot.servers().get(&tool.server)?.tool(&tool.tool)?.definition;
        let definition: Value = serde_json::from_str(definition.get()).ok()?;
        let schema = &definition["inputSchema"];
        let given: Value = serde_json::from_str(arguments).unwrap_or_default();
        let complaints = complaints(schema, &given);
        (!complaints.is_empty()).then(|| {
            format!(
                "{}.{} was not called: {}. Its arguments are:\n{schema}",
                tool.server,
                tool.tool,
                complaints.join("; ")
            )
        })
    }
}

/// What a look at names and plain types tells. What a schema says beyond that, its server knows best.
fn complaints(schema: &Value, given: &Value) -> Vec<String> {
    let Some(given) = given.as_object() else { return vec!["`arguments` must be an object".to_owned()] };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing =
        required.filter(|name| !given.contains_key(*name)).map(|name| format!("`{name}` is missing"));
    let known = schema["properties"].as_object();
    let is_closed = schema["additionalProperties"] == Value::Bool(false);
    let unknown =
        given.keys().filter(|name| is_closed && !known.is_some_and(|known| known.contains_key(*name)));
    let unknown = unknown.map(|name| format!("`{name}` is no argument of it"));
    let wrong = given.iter().filter_map(|(name, value)| {
        let wanted = known?.get(name)?["type"].as_str()?;
        (!is_of(value, wanted)).then(|| format!("`{name}` must be of the type {wanted}"))
    });
    missing.chain(unknown).chain(wrong).collect()
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(given: &Value, expected: &[&str]) {
        let schema = json!({
            "type": "object", "required": ["repo"], "additionalProperties": false,
            "properties": {
                "repo": {"type": "string"}, "count": {"type": "integer"}, "either": {"type": ["string", "null"]},
                "labels": {"type": "array"}, "odd": {"type": "potato"},
            },
        });
        assert_eq!(complaints(&schema, given), expected, "{given}");
    }

    #[test]
    fn names_and_plain_types_are_looked_at_and_nothing_else() {
        check(&json!({"repo": "a", "count": 2.0, "either": null, "labels": [1], "odd": 1}), &[]);
        check(&json!({}), &["`repo` is missing"]);
        check(
            &json!({"repo": 1, "x": 2}),
            &["`x` is no argument of it", "`repo` must be of the type string"],
        );
        check(&json!({"repo": "a", "count": 1.5}), &["`count` must be of the type integer"]);
        check(&json!([1]), &["`arguments` must be an object"]);
    }

    #[test]
    fn a_schema_that_says_nothing_forbids_nothing() {
        for schema in [json!({}), json!(null), json!({"properties": 3, "required": "x"})] {
            assert_eq!(complaints(&schema, &json!({"anything": 1})), [""; 0]);
        }
    }
}
