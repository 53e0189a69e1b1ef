//! The layer of `portolan.toml`: where it is, and what it says.

use super::{Flags, Layers, Origin, unknown};
use crate::environment::Environment;
use crate::settings::kind::Place;
use crate::settings::llm::LLM_KEY;
use crate::settings::places::SEARCH_KEY;
use crate::settings::profiles::Profiles;
use crate::settings::query::{QueryRoute, Weights};
use crate::settings::table;
use crate::system::System;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

impl Layers {
    pub(super) fn file(&mut self, flags: &Flags, env: &Environment) {
        let named = flags.settings.clone().map(|path| (path, Origin::Flag("--settings"))).or_else(|| {
            let path = env.get_filled("PORTOLAN_SETTINGS")?;
            Some((PathBuf::from(path), Origin::Environment("PORTOLAN_SETTINGS".to_owned())))
        });
        let (path, must_exist) = match (named, System::here().settings_file(env)) {
            (Some((path, origin)), _) => (path, Some(origin)),
            (None, Some(path)) => (path, None),
            (None, None) => return,
        };
        match (std::fs::read_to_string(&path), must_exist) {
            (Ok(text), _) => self.toml(&path, &text, env),
            (Err(reason), None) if reason.kind() == ErrorKind::NotFound => {}
            (Err(reason), origin) => {
                let message = format!("the settings file {} cannot be read: {reason}", path.display());
                self.problem(origin.unwrap_or(Origin::File(path)), message);
            }
        }
    }

    fn toml(&mut self, path: &Path, text: &str, env: &Environment) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match text.parse::<Table>() {
            Ok(values) => self.values("", &values, &Source { path, place: Place::beside(path, env) }),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let before = text.get(..start).unwrap_or_default();
                let (line, column) =
                    (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n'));
                let message = format!("line {line}, column {}: {}", column.count() + 1, error.message());
                self.problem(Origin::File(path.to_owned()), message.replace('\n', ", "));
            }
        }
    }

    /// `limits.call_timeout` is the same whether it is written so or under `[limits]`.
    fn values(&mut self, prefix: &str, values: &Table, source: &Source<'_>) {
        for (name, value) in values {
            let key = format!("{prefix}{name}");
            let inside = format!("{key}.");
            let origin = Origin::File(source.path.to_owned());
            if let Some(problems) = self.of_its_own_shape(&key, value) {
                for problem in problems {
                    self.problem(origin.clone(), problem);
                }
                continue;
            }
            match (value, table().find(|setting| setting.key == key)) {
                (Value::Table(inner), None) if table().any(|setting| setting.key.starts_with(&inside)) => {
                    self.values(&inside, inner, source);
                }
                (_, None) => self.problem(origin, no_setting(&key)),
                (value, Some(setting)) => match text_of(value) {
                    Some(text) => self.set(setting, &text, &source.place, origin),
                    None => self.problem(origin, format!("{key} must be {}", setting.allowed)),
                },
            }
        }
    }

    /// Reads what is more than one value, and so is no row of the table: what is wrong with it, if this is such a key.
    fn of_its_own_shape(&mut self, key: &str, value: &Value) -> Option<Vec<String>> {
        let settings = &mut self.loaded.settings;
        let problems;
        match key {
            "profiles" => (settings.profiles, problems) = Profiles::read(value),
            "query.weights" => (settings.query.weights, problems) = Weights::read(value),
            "query.routes" => (settings.query.routes, problems) = QueryRoute::read_all(value),
            _ => return None,
        }
        Some(problems)
    }
}

/// What may be written besides the rows of the table.
const OF_THEIR_OWN_SHAPE: [&str; 3] = ["profiles", "query.weights", "query.routes"];

/// Files are shown to others and put under version control: a key does not belong there.
const KEPT_OUT: [(&str, &str); 4] = [
    ("search.key", SEARCH_KEY),
    ("search.api_key", SEARCH_KEY),
    ("llm.key", LLM_KEY),
    ("llm.api_key", LLM_KEY),
];

fn no_setting(key: &str) -> String {
    if let Some((_, variable)) = KEPT_OUT.iter().find(|(name, _)| *name == key) {
        return format!("{key}: a key does not go into the file; set the variable {variable}");
    }
    let keys = table().map(|setting| setting.key).chain(OF_THEIR_OWN_SHAPE);
    let known: Vec<String> = keys.map(str::to_owned).collect();
    unknown("setting", key, &known)
}

struct Source<'a> {
    path: &'a Path,
    place: Place,
}

/// As it would be written in a variable, so that one reader does for both.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            Some(value.to_string())
        }
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map(|texts| texts.join(","))
        }
        Value::Table(_) => None,
    }
}
