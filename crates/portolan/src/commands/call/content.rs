//! The result of a call in words: texts as they are, all else by its kind and size.

use serde_json::Value;

/// What a person reads of a result.
pub(super) fn words(result: &Value) -> String {
    let content = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let structured = &result["structuredContent"];
    if content.is_empty() && !structured.is_null() {
        return format!("{structured:#}");
    }
    content.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &Value) -> String {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => text("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind}: {}, {}]", text("mimeType"), size(decoded(text("data"))))
        }
        "resource" => resource(&block["resource"]),
        "resource_link" => format!("[link: {} {}]", text("name"), text("uri")),
        kind => format!("[{}]", if kind.is_empty() { "content of no known kind" } else { kind }),
    }
}

fn resource(resource: &Value) -> String {
    let uri = resource["uri"].as_str().unwrap_or_default();
    match (resource["text"].as_str(), resource["blob"].as_str()) {
        (Some(text), _) => format!("[resource: {uri}]\n{text}"),
        (None, Some(blob)) => {
            let kind = resource["mimeType"].as_str().unwrap_or("of no known type");
            format!("[resource: {uri}, {kind}, {}]", size(decoded(blob)))
        }
        (None, None) => format!("[resource: {uri}]"),
    }
}

/// How many bytes a text in base64 stands for.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(result: &Value, expected: &str) {
        assert_eq!(words(result), expected);
    }

    #[test]
    fn texts_are_shown_and_all_else_is_named_with_its_size() {
        check(
            &json!({"content": [
                {"type": "text", "text": "one\ntwo"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "audio", "mimeType": "audio/wav", "data": "A".repeat(4096)},
                {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "x/y", "blob": "AA=="}},
                {"type": "resource_link", "uri": "file:///c", "name": "c"},
                {"type": "hologram"},
            ]}),
            "one\ntwo\n[image: image/png, 3 bytes]\n[audio: audio/wav, 3.0 KiB]\n[resource: file:///a]\ninside\n\
             [resource: file:///b, x/y, 1 bytes]\n[link: c file:///c]\n[hologram]",
        );
    }

    #[test]
    fn structured_content_is_shown_where_there_is_no_other() {
        check(&json!({"content": [], "structuredContent": {"a": 1}}), "{\n  \"a\": 1\n}");
        let both = json!({"content": [{"type": "text", "text": "t"}], "structuredContent": {"a": 1}});
        check(&both, "t");
        check(&json!({}), "");
    }
}
