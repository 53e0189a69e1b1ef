//! The language model of the settings, which keeps to its budget.

use crate::Failure;
use anyhow::anyhow;
use portolan_config::{Dollars, HttpUrl, LlmSettings, ProviderSetting, Settings};
use portolan_llm::{
    Budget, ChatModel, Client, Cost, Dialect, Limits, Metered, Owner, Price, PriceTable, Provider,
};
use portolan_model::{Moment, Origin, Secret};
use portolan_outbound::Outbound;
use std::sync::Arc;

/// Who is told to have spent too much: all that is asked goes on one account.
const ACCOUNT: &str = "Portolan";

pub(crate) fn llm(
    settings: &Settings,
    outbound: &Outbound,
    key: Option<Secret>,
) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
    let llm = &settings.llm;
    let kind = match llm.provider {
        ProviderSetting::Off => return Ok(None),
        ProviderSetting::OpenAi => Dialect::OpenAi,
        ProviderSetting::Anthropic => Dialect::Anthropic,
    };
    let home = llm.home();
    if let (Some(home), None) = (home, &key) {
        let (url, variable) = (home.url, home.key);
        return Err(Failure::Wrong(anyhow!(
            "llm.provider: {url} wants a key: set the variable PORTOLAN_LLM_KEY or {variable}"
        )));
    }
    let set = llm.url.as_ref().map(HttpUrl::reveal);
    let provider = Provider {
        kind,
        base_url: set.or(home.map(|home| home.url)).unwrap_or_default().to_owned(),
        model: llm.model.clone(),
        api_key: key,
        timeout: llm.timeout,
        max_tokens: llm.max_tokens,
    };
    // The operator's own settings name the address.
    let client = Client::new(outbound.clone(), Origin::File, provider)
        .map_err(|error| Failure::Wrong(anyhow!("[llm]: {error}")))?;
    Ok(Some(Arc::new(Metered {
        model: Arc::new(client),
        budget: Arc::new(Budget::new(prices(llm), Arc::new(Moment::now))),
        owner: Owner::from(ACCOUNT),
        limits: limits(llm),
        max_tokens: llm.max_tokens,
    })))
}

/// A model of which nobody said what it costs has no price, which is something else than to cost nothing.
pub(super) fn prices(llm: &LlmSettings) -> PriceTable {
    let part = |price: Option<Dollars>| price.map_or(Cost::ZERO, cost);
    let price = Price { input: part(llm.price_in), output: part(llm.price_out) };
    let is_known = llm.price_in.is_some() || llm.price_out.is_some();
    is_known.then(|| (llm.model.clone(), price)).into_iter().collect()
}

fn limits(llm: &LlmSettings) -> Limits {
    Limits {
        requests_per_minute: llm.requests_per_minute,
        tokens_per_day: llm.tokens_per_day,
        cost_per_day: llm.budget.map(cost),
    }
}

pub(super) fn cost(amount: Dollars) -> Cost {
    Cost::from_nanos(amount.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_llm::{Chat, LlmError, Message, Refusal};
    use portolan_outbound::Options;
    use portolan_testkit::ModelServer;
    use portolan_testkit::model_server::{Reply, Wanted};
    use std::time::Duration;

    fn asked_at(provider: ProviderSetting, url: &str) -> LlmSettings {
        LlmSettings {
            provider,
            url: Some(HttpUrl::parse(url).unwrap()),
            model: "small".to_owned(),
            timeout: Duration::from_secs(30),
            max_tokens: 100,
            ..LlmSettings::default()
        }
    }

    fn made(llm: LlmSettings, key: Option<&str>) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
        let settings = Settings { llm, ..Settings::default() };
        super::llm(&settings, &Outbound::new(Options::default()).unwrap(), key.map(Secret::from))
    }

    fn model(llm: LlmSettings) -> Arc<dyn ChatModel> {
        made(llm, Some("hunter2")).unwrap_or_else(|_| panic!("settings that can work")).unwrap()
    }

    #[track_caller]
    fn check_wrong(llm: LlmSettings, expected: &str) {
        let Err(Failure::Wrong(wrong)) = made(llm, None) else { panic!("a mistake of the settings") };
        let told = format!("{wrong:#}");
        assert!(told.starts_with(expected) && !told.contains("hunter2"), "{told}");
    }

    fn question() -> Chat {
        Chat { messages: vec![Message::User("Hi".to_owned())], ..Chat::default() }
    }

    async fn refusal(llm: LlmSettings) -> Refusal {
        match model(llm).turn(&question()).await {
            Err(LlmError::OverBudget(refusal)) => refusal,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_a_provider_there_is_no_model() {
        assert!(made(LlmSettings::default(), Some("hunter2")).is_ok_and(|model| model.is_none()));
    }

    #[tokio::test]
    async fn the_model_is_asked_as_the_settings_say() {
        let server = ModelServer::answering(|_| Reply::text("Hello")).await;
        for (provider, url, wanted) in [
            (ProviderSetting::OpenAi, server.openai_url(), Wanted::OpenAiChat),
            (ProviderSetting::Anthropic, server.anthropic_url(), Wanted::AnthropicChat),
        ] {
            let turn = model(asked_at(provider, &url)).turn(&question()).await.unwrap();
            assert_eq!(turn.text, "Hello");
            let asked = server.asked().all().pop().unwrap();
            assert_eq!((asked.wanted, &asked.body["model"]), (wanted, &"small".into()));
            let key = asked.header("x-api-key").or(asked.header("authorization")).unwrap();
            assert!(key.ends_with("hunter2"), "{key}");
        }
    }

    #[tokio::test]
    async fn what_is_over_a_limit_of_the_settings_is_not_asked() {
        let server = ModelServer::answering(|_| Reply::text("Hello")).await;
        let free = asked_at(ProviderSetting::OpenAi, &server.openai_url());
        let dollars = |text: &str| Some(text.parse().unwrap());
        // An answer of 100 tokens may cost 0.001, and the question something more.
        let priced = LlmSettings { price_in: dollars("1"), price_out: dollars("10"), ..free.clone() };
        let tight = LlmSettings { budget: dollars("0.001"), ..priced.clone() };
        assert!(matches!(refusal(tight).await, Refusal::Money { .. }));
        let tight = LlmSettings { tokens_per_day: Some(100), ..free.clone() };
        assert!(matches!(refusal(tight).await, Refusal::Tokens { limit: 100, .. }));
        assert_eq!(server.asked().len(), 0);
        let ample = model(LlmSettings { budget: dollars("0.1"), requests_per_minute: Some(1), ..priced });
        ample.turn(&question()).await.unwrap();
        let refused = ample.turn(&question()).await.unwrap_err();
        assert!(matches!(refused, LlmError::OverBudget(Refusal::Requests { limit: 1, .. })), "{refused}");
        assert_eq!(server.asked().len(), 1);
    }

    #[test]
    fn a_provider_at_home_wants_a_key() {
        let llm = LlmSettings { url: None, ..asked_at(ProviderSetting::Anthropic, "http://host") };
        check_wrong(
            llm,
            "llm.provider: https://api.anthropic.com wants a key: set the variable PORTOLAN_LLM_KEY or ANTHROPIC_API_KEY",
        );
        assert!(made(asked_at(ProviderSetting::OpenAi, "http://127.0.0.1:1/v1"), None).is_ok());
    }

    #[test]
    fn an_address_with_a_password_or_a_key_is_a_mistake_that_does_not_show_them() {
        for url in ["http://ann:hunter2@host/v1", "http://host/v1?key=hunter2"] {
            check_wrong(asked_at(ProviderSetting::OpenAi, url), "[llm]: model settings: the address must");
        }
    }
}
