//! Where a model is reached and what it is called: what the settings say, made ready for requests.

use std::fmt;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::uri::Scheme;
use portolan_model::{Secret, mask_url};

use crate::LlmError;

/// The revision of Anthropic's interface that the structs of `anthropic.rs` are written for.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Which of the two ways of asking a model the provider understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `chat/completions` and `embeddings` below the address: OpenAI, Ollama, vLLM, TEI, LM Studio.
    OpenAi,
    /// `v1/messages` below the address; it has no embeddings.
    Anthropic,
}

/// One model at one provider.
#[derive(Clone)]
pub struct Provider {
    pub kind: Dialect,
    /// For the OpenAI dialect with its `/v1`, as every manual writes it; for Anthropic's with or without.
    pub base_url: String,
    pub model: String,
    /// Local providers need none.
    pub api_key: Option<Secret>,
    /// Bounds a chat, or one batch of embeddings, with all its tries.
    pub timeout: Duration,
    /// What one answer may have at most.
    pub max_tokens: u32,
}

/// An address may hold a password, too.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("kind", &self.kind)
            .field("base_url", &mask_url(&self.base_url))
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("timeout", &self.timeout)
            .field("max_tokens", &self.max_tokens)
            .finish()
    }
}

/// The two places that requests go to.
#[derive(Debug)]
pub(crate) struct Addresses {
    pub(crate) chat: http::Uri,
    pub(crate) embeddings: Option<http::Uri>,
}

impl Provider {
    pub(crate) fn addresses(&self) -> Result<Addresses, LlmError> {
        let base = self.base_url.trim().trim_end_matches('/');
        match self.kind {
            Dialect::OpenAi => Ok(Addresses {
                chat: address(base, "/chat/completions")?,
                embeddings: Some(address(base, "/embeddings")?),
            }),
            Dialect::Anthropic => {
                let base = base.strip_suffix("/v1").unwrap_or(base);
                Ok(Addresses { chat: address(base, "/v1/messages")?, embeddings: None })
            }
        }
    }

    /// What goes with every request.
    pub(crate) fn headers(&self) -> Result<HeaderMap, LlmError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("portolan/", env!("CARGO_PKG_VERSION"))));
        if self.kind == Dialect::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        if let Some(key) = &self.api_key {
            let (name, value) = match self.kind {
                Dialect::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.reveal().trim())),
                Dialect::Anthropic => (HeaderName::from_static("x-api-key"), key.reveal().trim().to_owned()),
            };
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| misconfigured("the key holds characters that no key can have"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// The address itself stays out of the messages: it may hold a password.
fn address(base: &str, path: &str) -> Result<http::Uri, LlmError> {
    let no_address = || misconfigured("the address must be one like http://127.0.0.1:11434/v1");
    let uri: http::Uri = format!("{base}{path}").parse().map_err(|_| no_address())?;
    if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
        return Err(no_address());
    }
    if uri.query().is_some() {
        return Err(misconfigured("the address must end with its path: nothing after a `?` is sent"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(misconfigured(
            "the address must not hold a user or a password: a key goes into its own variable",
        ));
    }
    Ok(uri)
}

fn misconfigured(reason: &str) -> LlmError {
    LlmError::Misconfigured { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(kind: Dialect, base_url: &str) -> Provider {
        Provider {
            kind,
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            api_key: Some("sk-canary".into()),
            timeout: Duration::from_secs(1),
            max_tokens: 10,
        }
    }

    #[track_caller]
    fn check(kind: Dialect, base_url: &str, chat: &str) {
        assert_eq!(provider(kind, base_url).addresses().unwrap().chat, chat);
    }

    #[test]
    fn addresses_lie_below_the_base_however_it_ends() {
        check(Dialect::OpenAi, "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1/chat/completions");
        check(Dialect::OpenAi, " https://host/a/v1/ ", "https://host/a/v1/chat/completions");
        check(Dialect::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages");
        check(Dialect::Anthropic, "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages");
    }

    #[test]
    fn an_address_that_cannot_work_is_refused_before_anything_is_sent() {
        for base in ["", "localhost:11434/v1", "ftp://host/v1", "http://u:p@host/v1", "http://host/v1?key=x"]
        {
            let refused = provider(Dialect::OpenAi, base).addresses().unwrap_err();
            assert!(matches!(refused, LlmError::Misconfigured { .. }), "{base}");
            assert!(!refused.to_string().contains("u:p"), "{refused}");
        }
        let mut broken = provider(Dialect::OpenAi, "http://host/v1");
        broken.api_key = Some("sk\ncanary".into());
        let refused = broken.headers().unwrap_err().to_string();
        assert!(refused.contains("key") && !refused.contains("canary"), "{refused}");
    }

    #[test]
    fn t22_neither_the_provider_nor_its_headers_show_the_key() {
        for kind in [Dialect::OpenAi, Dialect::Anthropic] {
            let provider = provider(kind, "http://host:1/v1");
            let shown = format!("{provider:?} {:?}", provider.headers().unwrap());
            assert!(!shown.contains("canary"), "{shown}");
        }
        let with_password = provider(Dialect::OpenAi, "http://u:canary@host/v1");
        assert!(!format!("{with_password:?}").contains("canary"));
    }
}
