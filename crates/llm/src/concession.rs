//! What a provider has turned out not to take: found out by its refusals, and remembered while the program runs.
//!
//! Nothing says beforehand which model takes a temperature, which name the limit has, or how an answer is bound to a
//! schema; lists of model names would be out of date within a month. A refusal costs one request, once.

use crate::chat::{Answer, Chat};

/// How the next request is written. It begins with everything, and each refusal takes something away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Manners {
    pub(crate) binding: Binding,
    pub(crate) temperature: Temperature,
    pub(crate) limit: LimitName,
}

/// How an answer is bound to be an object of a schema, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Binding {
    /// The provider itself keeps the model to the schema.
    #[default]
    Schema,
    /// The provider sees to it that there is an object: `json_object` with OpenAI, a tool that must be called with
    /// Anthropic.
    Object,
    /// The prompt alone.
    Prompt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Temperature {
    #[default]
    Zero,
    /// Models that reason, and newer ones of Anthropic, refuse to have it set.
    LeftOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum LimitName {
    #[default]
    MaxTokens,
    /// What OpenAI's newer models want it to be called.
    MaxCompletionTokens,
}

impl Manners {
    /// How to ask after a refusal for this reason, if there is anything left to do without.
    pub(crate) fn concede(self, chat: &Chat, reason: &str) -> Option<Self> {
        if self.limit == LimitName::MaxTokens && reason.contains("max_completion_tokens") {
            return Some(Self { limit: LimitName::MaxCompletionTokens, ..self });
        }
        if self.temperature == Temperature::Zero && reason.contains("temperature") {
            return Some(Self { temperature: Temperature::LeftOut, ..self });
        }
        let is_bound = match chat.answer {
            Answer::Text => false,
            Answer::Object { .. } => true,
        };
        let binding = match self.binding {
            Binding::Schema => Binding::Object,
            Binding::Object => Binding::Prompt,
            Binding::Prompt => return None,
        };
        is_bound.then_some(Self { binding, ..self })
    }

    /// What two requests have found out together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            binding: self.binding.max(other.binding),
            temperature: self.temperature.max(other.temperature),
            limit: self.limit.max(other.limit),
        }
    }
}

/// The system prompt, and in it what the answer has to be. That is said even where the provider binds it: some take the
/// binding without a word and do nothing about it.
pub(crate) fn system(chat: &Chat) -> String {
    let schema = match &chat.answer {
        Answer::Text => return chat.system.clone(),
        Answer::Object { schema, .. } => schema,
    };
    let order = format!(
        "Answer with one JSON object that fits this JSON schema, and with nothing before or after it:\n{schema}"
    );
    if chat.system.is_empty() { order } else { format!("{}\n\n{order}", chat.system) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn bound() -> Chat {
        let schema = RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap();
        let answer = Answer::Object { name: "plan".to_owned(), schema };
        Chat { system: "Be brief.".to_owned(), answer, ..Chat::default() }
    }

    #[test]
    fn each_refusal_takes_one_thing_away_until_nothing_is_left() {
        let mut manners = Manners::default();
        let reasons =
            ["use 'max_completion_tokens' instead", "`temperature` is deprecated", "response_format", "no"];
        for reason in reasons {
            manners = manners.concede(&bound(), reason).unwrap();
        }
        let last = Manners {
            binding: Binding::Prompt,
            temperature: Temperature::LeftOut,
            limit: LimitName::MaxCompletionTokens,
        };
        assert_eq!(manners, last);
        for reason in reasons {
            assert_eq!(manners.concede(&bound(), reason), None);
        }
    }

    #[test]
    fn a_free_answer_has_no_binding_to_give_up() {
        assert_eq!(Manners::default().concede(&Chat::default(), "context too long"), None);
    }

    #[test]
    fn what_was_found_out_is_never_forgotten_for_another_request() {
        let one = Manners { binding: Binding::Object, ..Manners::default() };
        let other = Manners { temperature: Temperature::LeftOut, ..Manners::default() };
        assert_eq!(one.and(other), other.and(one));
        assert_eq!(one.and(other), Manners { temperature: Temperature::LeftOut, ..one });
    }

    #[test]
    fn the_prompt_says_what_the_answer_has_to_be() {
        let said = system(&bound());
        assert!(said.starts_with("Be brief.\n\nAnswer with one JSON object"), "{said}");
        assert!(said.ends_with(r#"{"type":"object"}"#), "{said}");
        let free = Chat { answer: Answer::Text, ..bound() };
        assert_eq!(system(&free), "Be brief.");
    }
}
