//! Tool definitions and results, made fit for the revision of the client that gets them.

use crate::json::{self, Members};
use crate::revision::Revision;
use std::borrow::Cow;

/// Writes a tool's definition under another name, without what would break a client of this revision: before
/// 2026-07-28 one `outputSchema` that is no object makes clients refuse the whole list.
pub fn write_tool(definition: &str, name: &str, revision: Revision, out: &mut Vec<u8>) {
    let Ok(members) = Members::parse(definition) else { return };
    out.extend_from_slice(br#"{"name":"#);
    json::write_text(name, out);
    for (key, value) in members.iter() {
        let keep = match key {
            "name" => false,
            "outputSchema" => revision.has_free_output() || is_object_schema(value),
            "execution" => revision.has_tool_execution(),
            _ => true,
        };
        if keep {
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

#[cfg(test)]
mod tests {
    use super::*;
    use Revision::{V2025_06_18, V2025_11_25, V2026_07_28};

    fn tool(definition: &str, revision: Revision) -> String {
        let mut out = Vec::new();
        write_tool(definition, "s.t", revision, &mut out);
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
    fn a_result_passes_as_bytes_unless_its_structure_is_no_object() {
        let plain = r#"{"content":[ ],"structuredContent":{"a": 1}}"#;
        assert!(matches!(call_result(plain, V2025_06_18), Cow::Borrowed(_)));
        let list = r#"{"content":[ ],"structuredContent":[1]}"#;
        assert_eq!(&*call_result(list, V2025_06_18), br#"{"content":[ ]}"#);
        assert!(matches!(call_result(list, V2026_07_28), Cow::Borrowed(_)));
    }
}
