//! The language model of the settings: where its provider is at home, and where its key comes from.

use super::LlmSettings;
use crate::environment::Environment;
use portolan_model::Secret;

/// The variable that may hold the key. It is no row of the table, since the table is shown.
pub(crate) const LLM_KEY: &str = "PORTOLAN_LLM_KEY";

/// In whose dialect the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderSetting {
    Off,
    /// OpenAI itself, and whatever speaks as it does: Ollama, vLLM, LM Studio.
    OpenAi,
    Anthropic,
}

/// A provider's own service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    pub url: &'static str,
    /// The variable in which people have its key already.
    pub key: &'static str,
}

const OPENAI: Home = Home { url: "https://api.openai.com/v1", key: "OPENAI_API_KEY" };
const ANTHROPIC: Home = Home { url: "https://api.anthropic.com", key: "ANTHROPIC_API_KEY" };

impl LlmSettings {
    /// The provider's own service, if that is what is asked.
    pub fn home(&self) -> Option<Home> {
        let home = match self.provider {
            ProviderSetting::Off => return None,
            ProviderSetting::OpenAi => OPENAI,
            ProviderSetting::Anthropic => ANTHROPIC,
        };
        self.url.as_ref().is_none_or(|url| url.is_at(home.url)).then_some(home)
    }
}

/// The key for the language model. What people have in their environment for a provider goes to that provider alone:
/// another address may be anybody's.
pub fn llm_key(settings: &LlmSettings, env: &Environment) -> Option<Secret> {
    let of_home = || settings.home().and_then(|home| env.get_filled(home.key));
    env.get_filled(LLM_KEY).or_else(of_home).map(Secret::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::of;
    use crate::settings::url::HttpUrl;

    #[track_caller]
    fn check(provider: ProviderSetting, url: Option<&str>, env: &Environment, expected: Option<&str>) {
        let url = url.map(|url| HttpUrl::parse(url).unwrap());
        let settings = LlmSettings { provider, url, ..LlmSettings::default() };
        assert_eq!(llm_key(&settings, env), expected.map(Secret::from));
    }

    #[test]
    fn portolans_own_variable_goes_before_the_providers() {
        let mine = [("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a"), ("PORTOLAN_LLM_KEY", "p")];
        check(ProviderSetting::OpenAi, None, &of(&mine), Some("p"));
        check(ProviderSetting::OpenAi, Some("http://127.0.0.1:11434/v1"), &of(&mine), Some("p"));
        check(ProviderSetting::OpenAi, None, &of(&mine[..2]), Some("o"));
        check(ProviderSetting::Anthropic, None, &of(&mine[..2]), Some("a"));
        check(ProviderSetting::Anthropic, None, &of(&[("ANTHROPIC_API_KEY", "")]), None);
    }

    #[test]
    fn a_providers_key_goes_to_that_provider_alone() {
        let env = of(&[("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a")]);
        check(ProviderSetting::OpenAi, Some("https://api.openai.com/v1/"), &env, Some("o"));
        for elsewhere in
            ["http://127.0.0.1:11434/v1", "http://api.openai.com/v1", "https://api.anthropic.com"]
        {
            check(ProviderSetting::OpenAi, Some(elsewhere), &env, None);
        }
        check(ProviderSetting::Off, None, &env, None);
    }
}
