//! Defaults, `portolan.toml`, `PORTOLAN_*` and flags, laid over each other: the later wins.

mod file;

use super::kind::Place;
use super::llm::{LLM_KEY, ProviderSetting};
use super::places::{SEARCH_KEY, SECRET_KEY};
use super::{EmbeddingsSetting, Setting, Settings, table};
use crate::environment::Environment;
use crate::nearest::nearest;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What the command line says. Texts are read by the same table as those of the other layers.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--settings`: the settings file, which then must exist.
    pub settings: Option<PathBuf>,
    pub listen: Option<String>,
    pub config: Option<PathBuf>,
    pub data: Option<PathBuf>,
    pub names: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    /// `--debug`: log at the level `debug`.
    pub debug: bool,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// The effective settings, and for each key of the table where its value comes from.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub settings: Settings,
    pub origins: BTreeMap<&'static str, Origin>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {message}")]
pub struct SettingsProblem {
    pub origin: Origin,
    pub message: String,
}

/// Everything that is wrong in all layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsErrors {
    pub problems: Vec<SettingsProblem>,
}

impl std::error::Error for SettingsErrors {}

impl fmt::Display for SettingsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Read by other parts of Portolan, not by this table: what the table has, `portolan config` shows.
const RESERVED: [&str; 3] = ["PORTOLAN_URL", "PORTOLAN_SETTINGS", "PORTOLAN_CHAIN"];

/// Likewise, and each of them opens a door.
const KEYS: [&str; 3] = [SECRET_KEY, SEARCH_KEY, LLM_KEY];

pub fn load_settings(flags: &Flags, env: &Environment) -> Result<Loaded, SettingsErrors> {
    let origins = table().map(|setting| (setting.key, Origin::Default)).collect();
    let mut layers =
        Layers { loaded: Loaded { settings: Settings::default(), origins }, problems: Vec::new() };
    layers.file(flags, env);
    layers.environment(env);
    layers.flags(flags, env);
    layers.profile();
    layers.endpoint();
    layers.language_model();
    let Layers { loaded, problems } = layers;
    if problems.is_empty() { Ok(loaded) } else { Err(SettingsErrors { problems }) }
}

struct Layers {
    loaded: Loaded,
    problems: Vec<SettingsProblem>,
}

impl Layers {
    fn set(&mut self, setting: &Setting, text: &str, place: &Place, origin: Origin) {
        if (setting.set)(&mut self.loaded.settings, text, place) {
            self.loaded.origins.insert(setting.key, origin);
        } else {
            self.problem(
                origin,
                format!("{} must be {}; {} is not", setting.key, setting.allowed, (setting.quote)(text)),
            );
        }
    }

    fn problem(&mut self, origin: Origin, message: String) {
        self.problems.push(SettingsProblem { origin, message });
    }

    /// A profile that is chosen has to be there.
    fn profile(&mut self) {
        let Settings { profile, profiles, .. } = &self.loaded.settings;
        let Some(name) = profile.as_ref().filter(|name| profiles.get(name.as_str()).is_none()) else {
            return;
        };
        let message = format!("profile: there is no [profiles.{name}] in portolan.toml");
        let origin = self.loaded.origins.get("profile").cloned().unwrap_or(Origin::Default);
        self.problem(origin, message);
    }

    /// An endpoint that is to be asked has an address.
    fn endpoint(&mut self) {
        let search = &self.loaded.settings.search;
        if search.embeddings == EmbeddingsSetting::Endpoint && search.url.is_none() {
            let message = "search.url: say where the endpoint is, as in http://127.0.0.1:11434/v1".to_owned();
            let origin = self.loaded.origins.get("search.embeddings").cloned().unwrap_or(Origin::Default);
            self.problem(origin, message);
        }
    }

    /// A model that is to be asked has a name, and what is to stay within an amount of money has a price.
    fn language_model(&mut self) {
        let Settings { llm, agents, .. } = &self.loaded.settings;
        if llm.provider == ProviderSetting::Off {
            return;
        }
        let has_price = llm.price_in.is_some() || llm.price_out.is_some();
        let missing = [
            ("llm.provider", llm.model.is_empty(), "llm.model: say which model is asked, as in gpt-4.1-mini"),
            (
                "llm.budget",
                llm.budget.is_some() && !has_price,
                "llm.budget: say what the model costs with llm.price_in and llm.price_out, or limit \
                 llm.tokens_per_day instead",
            ),
            (
                "agents.budget",
                agents.budget.is_some() && !has_price,
                "agents.budget: say what the model costs with llm.price_in and llm.price_out, or limit \
                 agents.tokens_per_day instead",
            ),
        ];
        for (key, is_missing, message) in missing {
            if is_missing {
                let origin = self.loaded.origins.get(key).cloned().unwrap_or(Origin::Default);
                self.problem(origin, message.to_owned());
            }
        }
    }

    fn environment(&mut self, env: &Environment) {
        let place = Place::here(env);
        let ours = env.iter().filter(|(name, value)| name.starts_with("PORTOLAN_") && !value.is_empty());
        for (name, value) in ours {
            let origin = Origin::Environment(name.to_owned());
            if let Some(setting) = table().find(|setting| setting.variable() == name) {
                self.set(setting, value, &place, origin);
            } else if !RESERVED.contains(&name) && !KEYS.contains(&name) && !is_service_link(name, value) {
                let known: Vec<String> =
                    table().map(Setting::variable).chain(KEYS.map(str::to_owned)).collect();
                self.problem(origin, unknown("variable", name, &known));
            }
        }
    }

    fn flags(&mut self, flags: &Flags, env: &Environment) {
        let debug = flags.debug.then(|| "debug".to_owned());
        let given = [
            ("--listen", "listen", &flags.listen),
            ("--names", "names", &flags.names),
            ("--name", "name", &flags.name),
            ("--version", "version", &flags.version),
            ("--debug", "log", &debug),
        ];
        for (flag, key, text) in given {
            let setting = table().find(|setting| setting.key == key);
            if let (Some(setting), Some(text)) = (setting, text) {
                self.set(setting, text, &Place::here(env), Origin::Flag(flag));
            }
        }
        // A path need not be text, so it does not go through the table.
        let Settings { config, data, .. } = &mut self.loaded.settings;
        let paths = [("--config", "config", &flags.config, config), ("--data", "data", &flags.data, data)];
        for (flag, key, path, setting) in paths {
            if path.is_some() {
                setting.clone_from(path);
                self.loaded.origins.insert(key, Origin::Flag(flag));
            }
        }
    }
}

/// Kubernetes puts these into every container that runs beside a service whose name starts with `portolan`; they
/// are nobody's mistake.
fn is_service_link(name: &str, value: &str) -> bool {
    let mut after_port = name.split("_PORT_").skip(1);
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.ends_with("_PORT") && value.contains("://"))
        || after_port.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn unknown(what: &str, name: &str, known: &[String]) -> String {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("unknown {what} `{name}`; did you mean `{meant}`?"),
        None => format!("unknown {what} `{name}`; `portolan config` lists those that there are"),
    }
}

#[cfg(test)]
mod tests;
