//! Definitions and results, made fit for the revision of the client that gets them.

use crate::json::{self, Members};
use crate::revision::Revision;
use crate::tasks::Support;
use portolan_model::{Kind, Piece};
use std::borrow::Cow;

/// Writes a definition under the key that it is shown by, and a tool's without what would break a client of this
/// revision.
pub fn write_piece(kind: Kind, piece: Piece<'_>, shown: &str, revision: Revision, out: &mut Vec<u8>) {
    match kind {
        Kind::Tools => write_tool(piece.definition, shown, revision, Support::Forbidden, out),
        Kind::Prompts | Kind::Resources | Kind::Templates if piece.key == shown => {
            out.extend_from_slice(piece.definition.as_bytes());
        }
        Kind::Prompts | Kind::Resources | Kind::Templates => {
            write_with(piece.definition, kind.key(), shown, |_, _| true, out);
        }
    }
}

/// Writes a tool's definition under another name, without what would break a client of this revision: before
/// 2026-07-28 one `outputSchema` that is no object makes clients refuse the whole list. Where tools say whether they can be
/// tasks and this one does not, it can as far as its server can.
pub fn write_tool(definition: &str, name: &str, revision: Revision, tasks: Support, out: &mut Vec<u8>) {
    let keep = |key: &str, value: &str| match key {
        "outputSchema" => revision.has_free_output() || is_object_schema(value),
        "execution" => revision.has_tool_execution(),
        _ => true,
    };
    write_with(definition, Kind::Tools.key(), name, keep, out);
    let execution = match tasks {
        Support::Forbidden => return,
        Support::Optional => r#","execution":{"taskSupport":"optional"}}"#,
        Support::Required => r#","execution":{"taskSupport":"required"}}"#,
    };
    let says_so = || Members::parse(definition).map_or(true, |members| members.get("execution").is_some());
    if revision.has_tool_execution() && !says_so() {
        out.truncate(out.len() - 1);
        out.extend_from_slice(execution.as_bytes());
    }
}

/// Writes a definition with another value for one member, which comes first, and what else is to be kept of it.
fn write_with(
    definition: &str,
    member: &str,
    text: &str,
    keep: impl Fn(&str, &str) -> bool,
    out: &mut Vec<u8>,
) {
    let Ok(members) = Members::parse(definition) else { return };
    out.push(b'{');
    json::write_text(member, out);
    out.push(b':');
    json::write_text(text, out);
    for (key, value) in members.iter() {
        if key != member && keep(key, value) {
            out.push(b',');
            json::write_text(key, out);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
    }
    out.push(b'}');
}

/// Whether a schema's root says `"type": "object"`, as clients before 2026-07-28 demand.
pub fn is_object_schema(schema: &str) -> bool {
    Members::parse(schema).is_ok_and(|m| m.get("type") == Some("\"object\""))
}

/// A call's result for a client of this revision. Bytes pass as they are unless `structuredContent` is of a kind
/// that the client cannot take; the text beside it stays.
pub fn call_result(result: &str, revision: Revision) -> Cow<'_, [u8]> {
    let unchanged = Cow::Borrowed(result.as_bytes());
    if revision.has_free_output()
        || memchr::memmem::find(result.as_bytes(), br#""structuredContent""#).is_none()
    {
        return unchanged;
    }
    let Ok(members) = Members::parse(result) else { return unchanged };
    match members.get("structuredContent") {
        Some(content) if !content.starts_with('{') => {
            let mut out = Vec::with_capacity(result.len());
            json::write_object(members.iter().filter(|(k, _)| *k != "structuredContent"), &mut out);
            Cow::Owned(out)
        }
        _ => unchanged,
    }
}

/// A result of `resources/read` whose contents are shown under another URI; `None` where none of them has the first one.
pub fn contents_as(result: &str, own: &str, shown: &str) -> Option<Vec<u8>> {
    let members = Members::parse(result).ok()?;
    let contents: Vec<&serde_json::value::RawValue> = serde_json::from_str(members.get("contents")?).ok()?;
    let mut quoted = Vec::new();
    json::write_text(shown, &mut quoted);
    let quoted = String::from_utf8(quoted).ok()?;
    let mut list = vec![b'['];
    let mut is_changed = false;
    for raw in contents {
        if list.len() > 1 {
            list.push(b',');
        }
        let content = Members::parse(raw.get()).ok()?;
        if content.get("uri").and_then(json::text).as_deref() == Some(own) {
            is_changed = true;
            let swapped = content.iter().map(|(k, v)| (k, if k == "uri" { quoted.as_str() } else { v }));
            json::write_object(swapped, &mut list);
        } else {
            list.extend_from_slice(raw.get().as_bytes());
        }
    }
    list.push(b']');
    let list = String::from_utf8(list).ok()?;
    let mut out = Vec::with_capacity(result.len() + shown.len());
    let swapped = members.iter().map(|(k, v)| (k, if k == "contents" { list.as_str() } else { v }));
    json::write_object(swapped, &mut out);
    is_changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Revision::{V2025_06_18, V2025_11_25, V2026_07_28};

    fn tool(definition: &str, revision: Revision) -> String {
        tool_of(definition, revision, Support::Forbidden)
    }

    fn tool_of(definition: &str, revision: Revision, tasks: Support) -> String {
        let mut out = Vec::new();
        write_tool(definition, "s.t", revision, tasks, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_tool_keeps_every_field_that_its_reader_can_take() {
        let definition = r#"{"name":"t","x":{"y":1},"outputSchema":{"type":"array"},"execution":{"taskSupport":"optional"}}"#;
        assert_eq!(tool(definition, V2025_06_18), r#"{"name":"s.t","x":{"y":1}}"#);
        assert_eq!(
            tool(definition, V2025_11_25),
            r#"{"name":"s.t","x":{"y":1},"execution":{"taskSupport":"optional"}}"#
        );
        assert_eq!(
            tool(definition, V2026_07_28),
            r#"{"name":"s.t","x":{"y":1},"outputSchema":{"type":"array"}}"#
        );
    }

    #[test]
    fn a_tool_that_says_nothing_of_tasks_says_what_its_server_can_to_those_who_go_by_it() {
        let [plain, own] = [r#"{"name":"t"}"#, r#"{"name":"t","execution":{}}"#];
        let optional = r#"{"name":"s.t","execution":{"taskSupport":"optional"}}"#;
        assert_eq!(tool_of(plain, V2025_11_25, Support::Optional), optional);
        assert_eq!(tool_of(own, V2025_11_25, Support::Optional), r#"{"name":"s.t","execution":{}}"#);
        for revision in [V2025_06_18, V2026_07_28] {
            assert_eq!(tool_of(plain, revision, Support::Optional), r#"{"name":"s.t"}"#);
        }
        assert_eq!(tool_of("no object", V2025_11_25, Support::Optional), "");
    }

    #[test]
    fn what_is_shown_under_its_own_key_passes_as_bytes_and_else_only_the_key_is_another() {
        let definition = r#"{ "title":"T","uri":"x:\u0041","size":1e400}"#;
        let shown = |shown: &str| {
            let mut out = Vec::new();
            let piece = Piece { key: "x:A", definition };
            write_piece(Kind::Resources, piece, shown, V2025_06_18, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown("x:A"), definition);
        assert_eq!(shown("y:\"B\""), r#"{"uri":"y:\"B\"","title":"T","size":1e400}"#);
    }

    #[test]
    fn a_result_passes_as_bytes_unless_its_structure_is_no_object() {
        let plain = r#"{"content":[ ],"structuredContent":{"a": 1}}"#;
        assert!(matches!(call_result(plain, V2025_06_18), Cow::Borrowed(_)));
        let list = r#"{"content":[ ],"structuredContent":[1]}"#;
        assert_eq!(&*call_result(list, V2025_06_18), br#"{"content":[ ]}"#);
        assert!(matches!(call_result(list, V2026_07_28), Cow::Borrowed(_)));
    }

    #[test]
    fn contents_are_shown_under_the_uri_that_was_asked_for() {
        let result =
            r#"{"contents":[{"uri":"a://1","text":"x", "k":1.0},{"uri":"a://2"}],"_meta":{"u":"a://1"}}"#;
        let shown = contents_as(result, "a://1", "portolan://s/a").unwrap();
        assert_eq!(
            String::from_utf8(shown).unwrap(),
            r#"{"contents":[{"uri":"portolan://s/a","text":"x","k":1.0},{"uri":"a://2"}],"_meta":{"u":"a://1"}}"#
        );
        assert_eq!(contents_as(result, "a://3", "b"), None);
    }
}
