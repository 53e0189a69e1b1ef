//! What an agent is asked: the input of `query_mcp_connector`.

use serde_json::{Map, Value};

/// How many calls there are where nothing is said.
pub const USUAL_TOOLS: u32 = 10;
/// More calls than this are no question any more.
pub const MOST_TOOLS: u32 = 100;
const LONGEST_QUERY: usize = 32 * 1024;
const LONGEST_CONTEXT: usize = 256 * 1024;

/// One query to one connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The server's id or its name.
    pub connector: String,
    pub query: String,
    /// What the caller knows already.
    pub context: Option<String>,
    /// How many calls the agent may make; the usual number where nothing is said.
    pub max_tools: Option<u32>,
    pub destructive: Destructive,
}

/// Whether the agent may call what destroys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destructive {
    /// The caller has said so.
    Allowed,
    /// Only if a person confirms each call.
    IfConfirmed,
}

/// Why a query cannot be taken, with the field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct BadAsk {
    pub field: &'static str,
    pub reason: String,
}

impl Ask {
    /// Reads the arguments of the tool.
    pub fn read(arguments: &Value) -> Result<Self, BadAsk> {
        let members = object(arguments)?;
        let connector = text(members, "connectorId")?.ok_or_else(|| missing("connectorId"))?;
        Self::of(connector, members)
    }

    /// Reads the body of a request that names the connector in its path; one within counts for nothing.
    pub fn read_for(connector: &str, body: &Value) -> Result<Self, BadAsk> {
        Self::of(connector, object(body)?)
    }

    fn of(connector: &str, members: &Map<String, Value>) -> Result<Self, BadAsk> {
        let query = text(members, "query")?.ok_or_else(|| missing("query"))?;
        let context = text(members, "context")?;
        bounded("query", query, LONGEST_QUERY)?;
        bounded("context", context.unwrap_or_default(), LONGEST_CONTEXT)?;
        Ok(Self {
            connector: connector.to_owned(),
            query: query.to_owned(),
            context: context.map(str::to_owned),
            max_tools: max_tools(members.get("maxTools"))?,
            destructive: destructive(members.get("allowDestructive"))?,
        })
    }
}

fn object(value: &Value) -> Result<&Map<String, Value>, BadAsk> {
    value.as_object().ok_or_else(|| bad("arguments", "must be a JSON object"))
}

/// A text that says something; `null` and blanks are the same as nothing.
fn text<'a>(members: &'a Map<String, Value>, field: &'static str) -> Result<Option<&'a str>, BadAsk> {
    match members.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(bad(field, "must be a string"))
        }
    }
}

fn bounded(field: &'static str, text: &str, longest: usize) -> Result<(), BadAsk> {
    if text.len() > longest {
        return Err(bad(field, &format!("must have at most {longest} bytes; it has {}", text.len())));
    }
    Ok(())
}

/// 0 is the same as nothing. Models write whole numbers as `10.0` at times.
fn max_tools(value: Option<&Value>) -> Result<Option<u32>, BadAsk> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let wrong = || bad("maxTools", &format!("must be a whole number from 1 to {MOST_TOOLS}"));
    // Written out, a whole number has no point whatever it was read from.
    let number: u32 = value.as_f64().and_then(|number| number.to_string().parse().ok()).ok_or_else(wrong)?;
    match number {
        0 => Ok(None),
        1..=MOST_TOOLS => Ok(Some(number)),
        _ => Err(wrong()),
    }
}

fn destructive(value: Option<&Value>) -> Result<Destructive, BadAsk> {
    match value {
        Some(Value::Bool(true)) => Ok(Destructive::Allowed),
        None | Some(Value::Null | Value::Bool(false)) => Ok(Destructive::IfConfirmed),
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            Err(bad("allowDestructive", "must be true or false"))
        }
    }
}

fn missing(field: &'static str) -> BadAsk {
    bad(field, "is needed, and must not be empty")
}

fn bad(field: &'static str, reason: &str) -> BadAsk {
    BadAsk { field, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_out_has_its_usual_value() {
        let ask = Ask::read(&json!({ "connectorId": "github", "query": " open issues " })).unwrap();
        let usual = Ask {
            connector: "github".to_owned(),
            query: "open issues".to_owned(),
            context: None,
            max_tools: None,
            destructive: Destructive::IfConfirmed,
        };
        assert_eq!(ask, usual);
        let full = json!({
            "connectorId": "other", "query": "open issues", "context": "of last week", "maxTools": 3.0,
            "allowDestructive": true,
        });
        let expected = Ask {
            context: Some("of last week".to_owned()),
            max_tools: Some(3),
            destructive: Destructive::Allowed,
            ..usual
        };
        assert_eq!(Ask::read_for("github", &full).unwrap(), expected);
    }

    #[track_caller]
    fn check_refused(mut change: Value, expected: &str) {
        let mut input = json!({ "connectorId": "github", "query": "q" });
        input.as_object_mut().unwrap().append(change.as_object_mut().unwrap());
        assert_eq!(Ask::read(&input).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        check_refused(json!({ "connectorId": "" }), "connectorId: is needed, and must not be empty");
        check_refused(json!({ "query": null }), "query: is needed, and must not be empty");
        check_refused(json!({ "query": ["q"] }), "query: must be a string");
        check_refused(json!({ "context": 1 }), "context: must be a string");
        let range = "maxTools: must be a whole number from 1 to 100";
        for wrong in [json!(-1), json!(1.5), json!(101), json!("3")] {
            check_refused(json!({ "maxTools": wrong }), range);
        }
        check_refused(json!({ "allowDestructive": "yes" }), "allowDestructive: must be true or false");
        let long = "x".repeat(LONGEST_QUERY + 1);
        check_refused(json!({ "query": long }), "query: must have at most 32768 bytes; it has 32769");
        assert_eq!(Ask::read(&json!([])).unwrap_err().to_string(), "arguments: must be a JSON object");
        assert_eq!(Ask::read_for("x", &json!({ "query": "q", "maxTools": 0 })).unwrap().max_tools, None);
    }
}
