//! Resources as a way to ask: which of them are read for a query, and what is kept of their text.

use crate::cut::cut_all;
use crate::forms::Question;
use crate::item::Haul;
use crate::plan::{About, relevant};
use crate::reply::Reply;
use crate::target::Target;
use portolan_search::terms;
use serde_json::Value;

/// Resources that are read for one query.
const MOST_READ: usize = 6;
/// Definitions that are looked at.
const MOST_LISTED: usize = 2000;
/// What says itself that it is longer is not read.
const MOST_BYTES: u64 = 1 << 20;

/// A resource that is worth reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) uri: String,
    name: String,
}

/// Those whose names and descriptions share most with the query, and then in the server's own order.
pub(crate) fn sources(target: &Target, question: &Question) -> Vec<Source> {
    let mut sources: Vec<(usize, Source)> = Vec::new();
    for resource in target.resources.iter().take(MOST_LISTED) {
        let Ok(about) = serde_json::from_str::<Value>(resource.definition.get()) else { continue };
        let text = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_long = about.get("size").and_then(Value::as_u64).is_some_and(|size| size > MOST_BYTES);
        if is_long || !may_be_text(text("mimeType")) {
            continue;
        }
        let name = [text("title"), text("name"), &resource.key].into_iter().find(|name| !name.is_empty());
        let said = format!("{} {} {} {}", text("name"), text("title"), text("description"), resource.key);
        let source = Source { uri: resource.key.to_string(), name: name.unwrap_or_default().to_owned() };
        sources.push((question.shared(&terms(&said)), source));
    }
    sources.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    sources.into_iter().map(|(_, source)| source).take(MOST_READ).collect()
}

fn may_be_text(kind: &str) -> bool {
    let said = ["text/", "application/json", "application/xml", "application/yaml", "application/javascript"];
    kind.is_empty()
        || said.iter().any(|begin| kind.starts_with(begin))
        || kind.contains("+json")
        || kind.contains("+xml")
}

/// What the text of resources says to the query.
pub(crate) fn heard(replies: Vec<(Source, Reply)>, question: &Question) -> Haul {
    let mut haul = Haul::default();
    for (source, reply) in replies {
        let mut of_one = cut_all(&reply);
        for item in &mut of_one.items {
            let title = item.title.take();
            item.title = Some(title.map_or(source.name.clone(), |title| format!("{}: {title}", source.name)));
            item.url = item.url.take().or_else(|| Some(source.uri.clone()));
        }
        haul.add(of_one);
    }
    relevant(haul, question, &About::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_model::Item;
    use serde_json::json;
    use serde_json::value::RawValue;
    use std::sync::Arc;

    fn resource(uri: &str, about: &Value) -> Arc<Item> {
        let definition = RawValue::from_string(about.to_string()).unwrap();
        Arc::new(Item { key: uri.into(), definition })
    }

    #[test]
    fn the_resources_that_are_about_the_query_are_read_first_and_pictures_never() {
        let mut target = Target::named("docs");
        target.resources = vec![
            resource("x:logo", &json!({"name": "features", "mimeType": "image/png"})),
            resource("x:arch", &json!({"name": "architecture.md", "mimeType": "text/markdown"})),
            resource("x:features", &json!({"name": "features.md"})),
            resource("x:huge", &json!({"name": "features", "size": 1_u64 << 30})),
        ];
        let sources = sources(&target, &Question::read("Which features are there?"));
        assert_eq!(
            sources.iter().map(|source| source.uri.as_str()).collect::<Vec<_>>(),
            ["x:features", "x:arch"]
        );
    }

    #[test]
    fn only_passages_that_share_words_with_the_query_are_kept() {
        let source = Source { uri: "x:y".to_owned(), name: "notes".to_owned() };
        let text = "# Tea\nGreen tea is best.\n# Coffee\nNever mind.";
        let reply =
            Reply::read(&json!({"contents": [{"uri": "x:y", "text": text}]}).to_string(), 1000).unwrap();
        let haul = heard(vec![(source, reply)], &Question::read("Which tea is best?"));
        assert_eq!(haul.items.len(), 1);
        assert_eq!(haul.items[0].title.as_deref(), Some("notes: Tea"));
        assert_eq!(haul.items[0].url.as_deref(), Some("x:y"));
    }
}
