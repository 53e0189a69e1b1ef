//! The kinds that are one word of a few.

use super::{Kind, Place};
use crate::settings::{EmbeddingsSetting, NamesSetting, ProviderSetting, StdioRegister};
use portolan_model::Exposure;

pub(crate) struct Names;

impl Kind for Names {
    type Value = NamesSetting;
    const ALLOWED: &'static str = "auto, dot, colon or safe";

    fn parse(text: &str, _: &Place) -> Option<NamesSetting> {
        match text {
            "auto" => Some(NamesSetting::Auto),
            "dot" => Some(NamesSetting::Dot),
            "colon" => Some(NamesSetting::Colon),
            "safe" => Some(NamesSetting::Safe),
            _ => None,
        }
    }

    fn show(value: &NamesSetting) -> String {
        let text = match value {
            NamesSetting::Auto => "auto",
            NamesSetting::Dot => "dot",
            NamesSetting::Colon => "colon",
            NamesSetting::Safe => "safe",
        };
        text.to_owned()
    }
}

pub(crate) struct Shown;

impl Kind for Shown {
    type Value = Exposure;
    const ALLOWED: &'static str = "all, search or agents";

    fn parse(text: &str, _: &Place) -> Option<Exposure> {
        Exposure::parse(text)
    }

    fn show(value: &Exposure) -> String {
        value.as_str().to_owned()
    }
}

pub(crate) struct Embeddings;

impl Kind for Embeddings {
    type Value = EmbeddingsSetting;
    const ALLOWED: &'static str = "builtin, endpoint or off";

    fn parse(text: &str, _: &Place) -> Option<EmbeddingsSetting> {
        match text {
            "builtin" => Some(EmbeddingsSetting::BuiltIn),
            "endpoint" => Some(EmbeddingsSetting::Endpoint),
            "off" => Some(EmbeddingsSetting::Off),
            _ => None,
        }
    }

    fn show(value: &EmbeddingsSetting) -> String {
        let text = match value {
            EmbeddingsSetting::BuiltIn => "builtin",
            EmbeddingsSetting::Endpoint => "endpoint",
            EmbeddingsSetting::Off => "off",
        };
        text.to_owned()
    }
}

pub(crate) struct Provider;

impl Kind for Provider {
    type Value = ProviderSetting;
    const ALLOWED: &'static str = "off, openai or anthropic";

    fn parse(text: &str, _: &Place) -> Option<ProviderSetting> {
        match text {
            "off" => Some(ProviderSetting::Off),
            "openai" => Some(ProviderSetting::OpenAi),
            "anthropic" => Some(ProviderSetting::Anthropic),
            _ => None,
        }
    }

    fn show(value: &ProviderSetting) -> String {
        let text = match value {
            ProviderSetting::Off => "off",
            ProviderSetting::OpenAi => "openai",
            ProviderSetting::Anthropic => "anthropic",
        };
        text.to_owned()
    }
}

pub(crate) struct Registering;

impl Kind for Registering {
    type Value = StdioRegister;
    const ALLOWED: &'static str = "auto, on or off";

    fn parse(text: &str, _: &Place) -> Option<StdioRegister> {
        match text {
            "auto" => Some(StdioRegister::Auto),
            "on" => Some(StdioRegister::On),
            "off" => Some(StdioRegister::Off),
            _ => None,
        }
    }

    fn show(value: &StdioRegister) -> String {
        let text = match value {
            StdioRegister::Auto => "auto",
            StdioRegister::On => "on",
            StdioRegister::Off => "off",
        };
        text.to_owned()
    }
}
