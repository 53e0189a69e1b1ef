//! The kinds of values that settings have: how each is read from text, shown, and described.

mod choice;

pub(crate) use choice::{Embeddings, Names, Provider, Registering, Shown};

use super::dollars::Dollars;
use super::url::HttpUrl;
use crate::environment::Environment;
use crate::quantity::{TIME_HELP, duration, show_duration, show_size, size};
use crate::system::System;
use portolan_model::{ServerName, mask_url};
use std::fmt::Display;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
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

    /// A text that is not allowed, for the message that says so.
    fn quote(text: &str) -> String {
        format!("{text:?}")
    }
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

/// A web address, or nothing. It may hold a password or a key, and so may what was meant for one.
pub(crate) struct WebAddress;

impl Kind for WebAddress {
    type Value = Option<HttpUrl>;
    const ALLOWED: &'static str = "an address that starts with http:// or https:// and names a host";

    fn parse(text: &str, _: &Place) -> Option<Option<HttpUrl>> {
        let text = text.trim();
        if text.is_empty() { Some(None) } else { HttpUrl::parse(text).map(Some) }
    }

    fn show(value: &Option<HttpUrl>) -> String {
        value.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    fn quote(text: &str) -> String {
        format!("{:?}", mask_url(text.trim()))
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

pub(crate) struct Count<T = usize>(PhantomData<T>);

impl<T: FromStr + Display + Default + PartialOrd> Kind for Count<T> {
    type Value = T;
    const ALLOWED: &'static str = "a whole number of at least 1";

    fn parse(text: &str, _: &Place) -> Option<T> {
        text.trim().parse().ok().filter(|count| *count > T::default())
    }

    fn show(value: &T) -> String {
        value.to_string()
    }
}

/// Calls of tools for one question: without any there is no answer, and more than these are no question any more.
pub(crate) struct Calls;

impl Kind for Calls {
    type Value = u32;
    const ALLOWED: &'static str = "a whole number from 1 to 100";

    fn parse(text: &str, _: &Place) -> Option<u32> {
        text.trim().parse().ok().filter(|calls| (1..=100).contains(calls))
    }

    fn show(value: &u32) -> String {
        value.to_string()
    }
}

/// A limit that need not be there.
pub(crate) struct Limit<T>(PhantomData<T>);

impl<T: FromStr + Display + Default + PartialOrd> Kind for Limit<T> {
    type Value = Option<T>;
    const ALLOWED: &'static str = "a whole number, or 0 for no limit";

    fn parse(text: &str, _: &Place) -> Option<Option<T>> {
        let limit: T = text.trim().parse().ok()?;
        Some((limit > T::default()).then_some(limit))
    }

    fn show(value: &Option<T>) -> String {
        value.as_ref().map_or_else(|| "0".to_owned(), ToString::to_string)
    }
}

/// An amount of money that need not be there.
pub(crate) struct Money;

impl Kind for Money {
    type Value = Option<Dollars>;
    const ALLOWED: &'static str = "US dollars such as 0.15, with nine decimals at most, or 0 for none";

    fn parse(text: &str, _: &Place) -> Option<Option<Dollars>> {
        let amount: Dollars = text.trim().parse().ok()?;
        Some((amount > Dollars::default()).then_some(amount))
    }

    fn show(value: &Option<Dollars>) -> String {
        value.unwrap_or_default().to_string()
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
