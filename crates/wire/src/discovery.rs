//! A list as a server answers it: one page taken apart, each entry checked.

use crate::json::{self, Members};
use crate::mirror;
use portolan_model::{Item, Kind, LeftOut};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

/// One page of a listing.
#[derive(Debug)]
pub struct Page {
    /// What can be offered, each under the key by which it is asked for.
    pub items: Vec<Item>,
    pub left_out: Vec<LeftOut>,
    pub next_cursor: Option<String>,
}

/// What else a definition has to stand.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checks {
    /// Arguments that are repeated in headers have to be so by the rules: 2026-07-28 over HTTP.
    pub mirrors: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPage<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resources: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource_templates: Option<&'a RawValue>,
    #[serde(default)]
    next_cursor: Option<String>,
}

/// Reads a page; what would break clients is left out with its reason, the rest stay.
pub fn page(kind: Kind, result: &str, checks: Checks) -> Result<Page, serde_json::Error> {
    let raw: RawPage<'_> = serde_json::from_str(result)?;
    let list = match kind {
        Kind::Tools => raw.tools,
        Kind::Prompts => raw.prompts,
        Kind::Resources => raw.resources,
        Kind::Templates => raw.resource_templates,
    };
    let list = list.ok_or_else(|| serde_json::Error::missing_field(kind.list()))?;
    let list: Vec<&RawValue> = serde_json::from_str(list.get())?;
    let mut page =
        Page { items: Vec::with_capacity(list.len()), left_out: Vec::new(), next_cursor: raw.next_cursor };
    for definition in list {
        match check(kind, definition, checks) {
            Ok(item) => page.items.push(item),
            Err(left_out) => page.left_out.push(left_out),
        }
    }
    Ok(page)
}

fn check(kind: Kind, definition: &RawValue, checks: Checks) -> Result<Item, LeftOut> {
    let left_out =
        |key: &str, reason: &str| LeftOut { kind, tool: key.to_owned(), reason: reason.to_owned() };
    let members =
        Members::parse(definition.get()).map_err(|e| left_out("?", &format!("its definition is {e}")))?;
    let member = kind.key();
    let key = members
        .get(member)
        .and_then(json::text)
        .ok_or_else(|| left_out("?", &format!("it has no {member}, or one that is no text")))?;
    if key.is_empty() {
        return Err(left_out("", &format!("its {member} is empty")));
    }
    let definition = match kind {
        Kind::Tools => tool(&members, definition, checks).map_err(|reason| left_out(&key, &reason))?,
        Kind::Prompts | Kind::Resources | Kind::Templates => definition.to_owned(),
    };
    Ok(Item { key: key.into(), definition })
}

/// A tool's definition as it can be offered, or why it cannot.
fn tool(members: &Members<'_>, definition: &RawValue, checks: Checks) -> Result<Box<RawValue>, String> {
    let schema = members.get("inputSchema").ok_or("it has no inputSchema")?;
    let schema = Members::parse(schema).map_err(|_| "its inputSchema is no object")?;
    let definition = match schema.get("type") {
        Some("\"object\"") => definition.to_owned(),
        // Many servers write `{}` for "no arguments"; clients refuse the whole list for it.
        None => RawValue::from_string(with_object_type(members, &schema)).map_err(|e| e.to_string())?,
        Some(other) => return Err(format!("its inputSchema has the type {other}, not \"object\"")),
    };
    if checks.mirrors {
        mirror::mirrors(definition.get()).map_err(|bad| bad.to_string())?;
    }
    Ok(definition)
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
            Kind::Tools,
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
            Checks::default(),
        )
        .unwrap();
        let names: Vec<&str> = page.items.iter().map(|t| &*t.key).collect();
        assert_eq!(names, ["good", "empty"]);
        assert_eq!(page.items[1].definition.get(), r#"{"name":"empty","inputSchema":{"type":"object"}}"#);
        assert_eq!(page.left_out.len(), 6);
        assert_eq!(page.next_cursor.as_deref(), Some("c"));
    }

    #[track_caller]
    fn check(kind: Kind, list: &str, expected: &[&str], left_out: &[(&str, &str)]) {
        let page = page(kind, list, Checks::default()).unwrap();
        let texts: Vec<&str> = page.items.iter().map(|item| item.definition.get()).collect();
        assert_eq!(texts, expected);
        let told = |left: &LeftOut| (left.kind, left.tool.clone(), left.reason.clone());
        let expected = left_out.iter().map(|(key, why)| (kind, (*key).to_owned(), (*why).to_owned()));
        assert_eq!(page.left_out.iter().map(told).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn prompts_resources_and_templates_keep_their_bytes_and_need_what_they_are_asked_for_by() {
        check(
            Kind::Prompts,
            r#"{"prompts":[{ "name":"p" ,"x":1e400},{"title":"t"},{"name":""}],"tools":7}"#,
            &[r#"{ "name":"p" ,"x":1e400}"#],
            &[("?", "it has no name, or one that is no text"), ("", "its name is empty")],
        );
        check(
            Kind::Resources,
            r#"{"resources":[{"uri":"x:\u0041","name":"n"},{"name":"n"},{"uri":null}]}"#,
            &[r#"{"uri":"x:\u0041","name":"n"}"#],
            &[("?", "it has no uri, or one that is no text"), ("?", "it has no uri, or one that is no text")],
        );
        check(
            Kind::Templates,
            r#"{"resourceTemplates":[{"uriTemplate":"x:{y}"},{"uri":"x:y"}]}"#,
            &[r#"{"uriTemplate":"x:{y}"}"#],
            &[("?", "it has no uriTemplate, or one that is no text")],
        );
    }

    #[test]
    fn the_key_is_the_text_that_the_json_stands_for() {
        let page = page(Kind::Resources, r#"{"resources":[{"uri":"x:\u0041"}]}"#, Checks::default()).unwrap();
        assert_eq!(&*page.items[0].key, "x:A");
    }

    #[test]
    fn a_page_without_the_list_that_was_asked_for_cannot_be_read() {
        for result in ["{}", r#"{"tools":[]}"#, r#"{"prompts":{}}"#, "[]", "null"] {
            assert!(page(Kind::Prompts, result, Checks::default()).is_err(), "{result}");
        }
    }

    #[test]
    fn a_tool_that_mirrors_arguments_against_the_rules_is_left_out_where_that_matters() {
        let tool = |kind: &str| {
            format!(
                r#"{{"name":"t","inputSchema":{{"type":"object","properties":{{"a":{{"type":"{kind}","x-mcp-header":"A"}}}}}}}}"#
            )
        };
        let list = format!(r#"{{"tools":[{},{}]}}"#, tool("string"), tool("object"));
        let checked = page(Kind::Tools, &list, Checks { mirrors: true }).unwrap();
        assert_eq!((checked.items.len(), checked.left_out.len()), (1, 1));
        assert!(checked.left_out[0].reason.contains('A'), "{}", checked.left_out[0].reason);
        assert_eq!(page(Kind::Tools, &list, Checks::default()).unwrap().items.len(), 2);
    }
}
