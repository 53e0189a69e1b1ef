//! Who says what texts mean.

use crate::Failure;
use anyhow::anyhow;
use portolan_config::{EmbeddingsSetting, HttpUrl, Settings};
use portolan_finder::{BuiltIn, Embedder, Endpoint};
use portolan_llm::{Client, Dialect, Provider};
use portolan_model::{Origin, Secret};
use portolan_outbound::Outbound;
use std::sync::Arc;
use std::time::Duration;

/// What one batch of texts may take an endpoint, all tries together.
const EMBEDDING: Duration = Duration::from_secs(30);

pub(crate) fn embedder(
    settings: &Settings,
    outbound: &Outbound,
    key: Option<Secret>,
) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    let search = &settings.search;
    Ok(match search.embeddings {
        EmbeddingsSetting::Off => None,
        EmbeddingsSetting::BuiltIn => Some(Arc::new(BuiltIn::default())),
        EmbeddingsSetting::Endpoint => Some(Arc::new(endpoint(settings, outbound, key, &search.model)?)),
    })
}

/// The model that knew every tool when Portolan last ran, where it is another one. One inside the process can always be
/// asked, and one behind an address for as long as the settings name the address.
pub(crate) fn before(
    settings: &Settings,
    outbound: &Outbound,
    key: Option<Secret>,
    known_by: &str,
) -> Option<Arc<dyn Embedder>> {
    let built_in = BuiltIn::default();
    if built_in.id() == known_by {
        return Some(Arc::new(built_in));
    }
    let (model, _) = known_by.split_once('@')?;
    let there = endpoint(settings, outbound, key, model).ok().filter(|there| there.id() == known_by)?;
    Some(Arc::new(there))
}

fn endpoint(
    settings: &Settings,
    outbound: &Outbound,
    key: Option<Secret>,
    model: &str,
) -> Result<Endpoint, Failure> {
    // That there is an address was seen to when the settings were read.
    let url = settings.search.url.as_ref().map(HttpUrl::reveal).unwrap_or_default();
    let provider = Provider {
        kind: Dialect::OpenAi,
        base_url: url.to_owned(),
        model: model.to_owned(),
        api_key: key,
        timeout: EMBEDDING,
        max_tokens: 1,
    };
    // The operator's own settings name the address.
    let client = Client::new(outbound.clone(), Origin::File, provider)
        .map_err(|error| Failure::Wrong(anyhow!("search.url: {error}")))?;
    Ok(Endpoint::new(client, model, url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_config::SearchSettings;
    use portolan_outbound::Options;

    fn made(url: &str) -> Result<Option<Arc<dyn Embedder>>, Failure> {
        let search = SearchSettings {
            embeddings: EmbeddingsSetting::Endpoint,
            url: HttpUrl::parse(url),
            model: "small".to_owned(),
        };
        let settings = Settings { search, ..Settings::default() };
        embedder(&settings, &Outbound::new(Options::default()).unwrap(), None)
    }

    #[track_caller]
    fn check_id(url: &str, expected: &str) {
        let made = made(url).unwrap_or_else(|_| panic!("settings that can work"));
        assert_eq!(made.unwrap().id(), expected);
    }

    #[test]
    fn an_endpoint_is_known_by_its_model_and_its_address_without_what_opens_doors() {
        check_id("http://127.0.0.1:11434/v1", "small@http://127.0.0.1:11434/v1");
        check_id("https://host/ghp_1234567890abcdef/v1", "small@https://host/***/v1");
    }

    #[test]
    fn an_address_with_a_password_is_a_mistake_that_does_not_show_it() {
        let Err(Failure::Wrong(wrong)) = made("http://ann:hunter2@host/v1") else { panic!("a mistake") };
        let told = format!("{wrong:#}");
        assert!(told.starts_with("search.url: ") && !told.contains("hunter2"), "{told}");
    }
}
