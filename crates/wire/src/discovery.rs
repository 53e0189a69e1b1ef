//! `tools/list` as a server answers it: one page taken apart, each tool checked.

use crate::json::{self, Members};
use portolan_model::{LeftOut, Tool};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One page of a listing.
#[derive(Debug)]
pub struct Page {
    pub tools: Vec<Tool>,
    pub left_out: Vec<LeftOut>,
    pub next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor", default)]
    next_cursor: Option<String>,
}

/// Reads a page; a tool that would break clients is left out with its reason, the rest stay.
pub fn page(result: &str) -> Result<Page, serde_json::Error> {
    let raw: RawPage<'_> = serde_json::from_str(result)?;
    let mut page = Page {
        tools: Vec::with_capacity(raw.tools.len()),
        left_out: Vec::new(),
        next_cursor: raw.next_cursor,
    };
    for definition in raw.tools {
        match check(definition.get()) {
            Ok(tool) => page.tools.push(tool),
            Err(left_out) => page.left_out.push(left_out),
        }
    }
    Ok(page)
}

fn check(definition: &str) -> Result<Tool, LeftOut> {
    let left_out = |tool: &str, reason: &str| LeftOut { tool: tool.to_owned(), reason: reason.to_owned() };
    let members = Members::parse(definition).map_err(|e| left_out("?", &format!("its definition is {e}")))?;
    let name = members
        .get("name")
        .and_then(json::text)
        .ok_or_else(|| left_out("?", "it has no name, or one that is no text"))?;
    if name.is_empty() {
        return Err(left_out("", "its name is empty"));
    }
    let definition = match members.get("inputSchema") {
        None => return Err(left_out(&name, "it has no inputSchema")),
        Some(schema) => {
            let inner =
                Members::parse(schema).map_err(|_| left_out(&name, "its inputSchema is no object"))?;
            match inner.get("type") {
                Some("\"object\"") => definition.to_owned(),
                // Many servers write `{}` for "no arguments"; clients refuse the whole list for it.
                None => with_object_type(&members, &inner),
                Some(other) => {
                    return Err(left_out(
                        &name,
                        &format!("its inputSchema has the type {other}, not \"object\""),
                    ));
                }
            }
        }
    };
    let definition = RawValue::from_string(definition).map_err(|e| left_out(&name, &e.to_string()))?;
    Ok(Tool { name: name.into(), definition })
}

fn with_object_type(members: &Members<'_>, schema: &Members<'_>) -> String {
    let mut typed = Vec::new();
    json::write_object([("type", "\"object\"")].into_iter().chain(schema.iter()), &mut typed);
    let typed = String::from_utf8_lossy(&typed).into_owned();
    let mut out = Vec::new();
    let swapped = members.iter().map(|(k, v)| (k, if k == "inputSchema" { typed.as_str() } else { v }));
    json::write_object(swapped, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f44_a_bad_tool_is_left_out_with_its_reason_and_the_rest_stay() {
        let page = page(
            r#"{"tools":[
                {"name":"good","inputSchema":{"type":"object"}},
                {"name":"empty","inputSchema":{}},
                {"name":"null","inputSchema":null},
                {"name":"array","inputSchema":{"type":"array"}},
                {"name":"none"},
                {"name":7,"inputSchema":{"type":"object"}},
                {"name":"","inputSchema":{"type":"object"}},
                3
            ],"nextCursor":"c"}"#,
        )
        .unwrap();
        let names: Vec<&str> = page.tools.iter().map(|t| &*t.name).collect();
        assert_eq!(names, ["good", "empty"]);
        assert_eq!(page.tools[1].definition.get(), r#"{"name":"empty","inputSchema":{"type":"object"}}"#);
        assert_eq!(page.left_out.len(), 6);
        assert_eq!(page.next_cursor.as_deref(), Some("c"));
    }
}
