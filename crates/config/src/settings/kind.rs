//! The kinds of values that settings have: how each is read from text, shown, and described.

use super::{EmbeddingsSetting, NamesSetting, StdioRegister};
use crate::environment::Environment;
use crate::quantity::{TIME_HELP, duration, show_duration, show_size, size};
use crate::system::System;
use portolan_model::{Exposure, ServerName};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a text was written, for the paths in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// Relative paths start here; empty means the working directory.
    folder: PathBuf,
    home: Option<PathBuf>,
}

impl Place {
    pub(crate) fn here(env: &Environment) -> Self {
        Self { folder: PathBuf::new(), home: System::here().home(env) }
    }

    pub(crate) fn beside(file: &Path, env: &Environment) -> Self {
        Self { folder: file.parent().map(Path::to_owned).unwrap_or_default(), ..Self::here(env) }
    }

    /// `~/` is meant for the home folder wherever no shell has replaced it.
    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => self.folder.join(text),
        }
    }
}

pub(crate) trait Kind {
    type Value;
    /// What may be written, as an end to "must be".
    const ALLOWED: &'static str;
    fn parse(text: &str, place: &Place) -> Option<Self::Value>;
    fn show(value: &Self::Value) -> String;
}

pub(crate) struct Address;

impl Kind for Address {
    type Value = SocketAddr;
    const ALLOWED: &'static str = "an IP address and a port, such as 127.0.0.1:7777 or [::1]:7777";

    fn parse(text: &str, _: &Place) -> Option<SocketAddr> {
        text.trim().parse().ok()
    }

    fn show(value: &SocketAddr) -> String {
        value.to_string()
    }
}

pub(crate) struct FilePath;

impl Kind for FilePath {
    type Value = Option<PathBuf>;
    const ALLOWED: &'static str = "the path of a file";

    fn parse(text: &str, place: &Place) -> Option<Option<PathBuf>> {
        (!text.is_empty()).then(|| Some(place.path(text)))
    }

    fn show(value: &Option<PathBuf>) -> String {
        value.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }
}

pub(crate) struct FolderPath;

impl Kind for FolderPath {
    type Value = Option<PathBuf>;
    const ALLOWED: &'static str = "the path of a folder";

    fn parse(text: &str, place: &Place) -> Option<Option<PathBuf>> {
        FilePath::parse(text, place)
    }

    fn show(value: &Option<PathBuf>) -> String {
        FilePath::show(value)
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

/// The name of a profile.
pub(crate) struct Chosen;

impl Kind for Chosen {
    type Value = Option<ServerName>;
    const ALLOWED: &'static str = "the name of a profile";

    fn parse(text: &str, _: &Place) -> Option<Option<ServerName>> {
        ServerName::parse(text.trim()).ok().map(Some)
    }

    fn show(value: &Option<ServerName>) -> String {
        value.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

pub(crate) struct Shown;

impl Kind for Shown {
    type Value = Exposure;
    const ALLOWED: &'static str = "all or search";

    fn parse(text: &str, _: &Place) -> Option<Exposure> {
        Exposure::parse(text)
    }

    fn show(value: &Exposure) -> String {
        value.as_str().to_owned()
    }
}

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

pub(crate) struct Text;

impl Kind for Text {
    type Value = String;
    const ALLOWED: &'static str = "a text that is not empty";

    fn parse(text: &str, _: &Place) -> Option<String> {
        (!text.trim().is_empty()).then(|| text.to_owned())
    }

    fn show(value: &String) -> String {
        value.clone()
    }
}

/// A text, or nothing.
pub(crate) struct Anything;

impl Kind for Anything {
    type Value = String;
    const ALLOWED: &'static str = "a text";

    fn parse(text: &str, _: &Place) -> Option<String> {
        Some(text.trim().to_owned())
    }

    fn show(value: &String) -> String {
        value.clone()
    }
}

/// A limit: zero would let nothing through.
pub(crate) struct Time;

impl Kind for Time {
    type Value = Duration;
    const ALLOWED: &'static str = TIME_HELP;

    fn parse(text: &str, _: &Place) -> Option<Duration> {
        duration(text).filter(|time| !time.is_zero())
    }

    fn show(value: &Duration) -> String {
        show_duration(*value)
    }
}

/// A patience: zero is not to wait at all.
pub(crate) struct Wait;

impl Kind for Wait {
    type Value = Duration;
    const ALLOWED: &'static str =
        "zero or more: seconds, or a text such as \"500ms\", \"30s\", \"5m\" or \"1h\", up to a year";

    fn parse(text: &str, _: &Place) -> Option<Duration> {
        duration(text)
    }

    fn show(value: &Duration) -> String {
        show_duration(*value)
    }
}

pub(crate) struct Bytes;

impl Kind for Bytes {
    type Value = usize;
    const ALLOWED: &'static str = "more than zero: bytes, or a text such as \"512KiB\" or \"4MiB\"";

    fn parse(text: &str, _: &Place) -> Option<usize> {
        size(text).filter(|bytes| *bytes > 0)
    }

    fn show(value: &usize) -> String {
        show_size(*value)
    }
}

pub(crate) struct Number;

impl Kind for Number {
    type Value = usize;
    const ALLOWED: &'static str = "a whole number";

    fn parse(text: &str, _: &Place) -> Option<usize> {
        text.trim().parse().ok()
    }

    fn show(value: &usize) -> String {
        value.to_string()
    }
}

pub(crate) struct Switch;

impl Kind for Switch {
    type Value = bool;
    const ALLOWED: &'static str = "true or false";

    fn parse(text: &str, _: &Place) -> Option<bool> {
        text.trim().parse().ok()
    }

    fn show(value: &bool) -> String {
        value.to_string()
    }
}

pub(crate) struct Count;

impl Kind for Count {
    type Value = usize;
    const ALLOWED: &'static str = "a whole number of at least 1";

    fn parse(text: &str, _: &Place) -> Option<usize> {
        text.trim().parse().ok().filter(|count| *count > 0)
    }

    fn show(value: &usize) -> String {
        value.to_string()
    }
}

/// Hosts, origins and names of variables, which hold no comma.
pub(crate) struct List;

impl Kind for List {
    type Value = Vec<String>;
    const ALLOWED: &'static str = "an array of texts, or one text with commas between them";

    fn parse(text: &str, _: &Place) -> Option<Vec<String>> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        Some(items.map(str::to_owned).collect())
    }

    fn show(value: &Vec<String>) -> String {
        value.join(",")
    }
}
