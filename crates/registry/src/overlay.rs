//! What people have set for tools, laid over what their server says of them.

use portolan_model::{Offer, Tool};
use portolan_store::Curation;
use portolan_wire::json::{self, Members};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;

/// The offer as it is to be shown: without what is switched off, and with people's own descriptions.
pub(crate) fn apply(offer: &Offer, curations: &HashMap<String, Curation>) -> Offer {
    let mut shown = offer.clone();
    if curations.is_empty() {
        return shown;
    }
    shown.tools.retain(|tool| curations.get(&*tool.name).is_none_or(|curation| curation.is_enabled));
    for tool in &mut shown.tools {
        let curation = curations.get(&*tool.name);
        let Some(description) = curation.and_then(|curation| curation.description.as_deref()) else {
            continue;
        };
        if let Some(definition) = described(tool.definition.get(), description) {
            *tool = Arc::new(Tool { name: tool.name.clone(), definition });
        }
    }
    shown
}

/// What a definition says the tool is for.
pub(crate) fn description(definition: &str) -> Option<String> {
    let members = Members::parse(definition).ok()?;
    members.get("description").and_then(json::text).map(std::borrow::Cow::into_owned)
}

/// The same definition with another description; all else stays the bytes it was.
fn described(definition: &str, description: &str) -> Option<Box<RawValue>> {
    let members = Members::parse(definition).ok()?;
    let mut text = Vec::new();
    json::write_text(description, &mut text);
    let text = String::from_utf8(text).ok()?;
    let others = members.iter().filter(|(key, _)| *key != "description");
    let mut out = Vec::with_capacity(definition.len() + text.len());
    json::write_object(others.chain([("description", text.as_str())]), &mut out);
    RawValue::from_string(String::from_utf8(out).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, definition: &str) -> Arc<Tool> {
        let definition = RawValue::from_string(definition.to_owned()).unwrap();
        Arc::new(Tool { name: name.into(), definition })
    }

    #[test]
    fn a_tool_that_is_switched_off_is_not_shown_and_a_description_of_ours_goes_before_the_servers() {
        let offer = Offer {
            tools: vec![
                tool("off", r#"{"name":"off"}"#),
                tool("odd", r#"{"name":"odd","description":"a","x":1e400}"#),
                tool("as-is", r#"{ "name":"as-is" }"#),
            ],
            ..Offer::default()
        };
        let off = Curation { is_enabled: false, description: None };
        let odd = Curation { is_enabled: true, description: Some("say \"b\"".to_owned()) };
        let shown = apply(&offer, &HashMap::from([("off".to_owned(), off), ("odd".to_owned(), odd)]));
        let texts: Vec<&str> = shown.tools.iter().map(|tool| tool.definition.get()).collect();
        assert_eq!(texts, [r#"{"name":"odd","x":1e400,"description":"say \"b\""}"#, r#"{ "name":"as-is" }"#]);
        assert_eq!(description(texts[0]).as_deref(), Some("say \"b\""));
    }
}
