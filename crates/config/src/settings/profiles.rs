//! The profiles of `portolan.toml`: `[profiles.NAME]`, each a part of everything and how it is shown.

use crate::nearest::nearest;
use portolan_model::{Exposure, NameStyle, Profile, ServerName, ToolFilter};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

const KEYS: [&str; 4] = ["servers", "tools", "exposure", "names"];

/// The profiles by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profiles(BTreeMap<ServerName, Arc<Profile>>);

impl Profiles {
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.0.get(&ServerName::parse(name).ok()?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.0.values()
    }

    /// Reads what stands under `profiles`. What is wrong is told, with its place, and the rest is read all the same.
    pub(super) fn read(value: &Value) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let Some(table) = value.as_table() else {
            return (Self::default(), vec!["profiles must be tables, as in [profiles.coding]".to_owned()]);
        };
        let mut all = BTreeMap::new();
        for (key, value) in table {
            let at = format!("profiles.{key}");
            match (ServerName::parse(key), value.as_table()) {
                (Ok(name), Some(fields)) => {
                    let profile = Reader { at, problems: &mut problems }.profile(name.clone(), fields);
                    all.insert(name, Arc::new(profile));
                }
                (Err(_), _) => problems.push(format!(
                    "{at}: the name of a profile starts with a lower-case letter and goes on with lower-case \
                     letters, digits, `-` or `_`"
                )),
                (_, None) => problems.push(format!("{at} must be a table, as in [{at}]")),
            }
        }
        (Self(all), problems)
    }
}

struct Reader<'r> {
    at: String,
    problems: &'r mut Vec<String>,
}

impl Reader<'_> {
    fn profile(&mut self, name: ServerName, fields: &Table) -> Profile {
        let mut profile = Profile::new(name);
        for (key, value) in fields {
            match key.as_str() {
                "servers" => profile.servers = self.texts(key, value),
                "tools" => profile.tools = self.tools(value),
                "exposure" => match value.as_str().and_then(Exposure::parse) {
                    Some(exposure) => profile.exposure = exposure,
                    None => self.wrong(key, "must be all, search or agents"),
                },
                "names" => match value.as_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
                    "auto" => profile.names = None,
                    "dot" => profile.names = Some(NameStyle::Dot),
                    "colon" => profile.names = Some(NameStyle::Colon),
                    "safe" => profile.names = Some(NameStyle::Safe),
                    _ => self.wrong(key, "must be auto, dot, colon or safe"),
                },
                other => {
                    let meant = nearest(other, KEYS);
                    let hint = meant.map_or_else(
                        || format!("a profile has {}", KEYS.join(", ")),
                        |meant| format!("did you mean `{meant}`?"),
                    );
                    self.wrong(other, &format!("is not known; {hint}"));
                }
            }
        }
        profile
    }

    /// A list of patterns, or a table with `allow` and `deny`.
    fn tools(&mut self, value: &Value) -> ToolFilter {
        let Some(fields) = value.as_table() else {
            return ToolFilter { allow: self.texts("tools", value), deny: Vec::new() };
        };
        let mut filter = ToolFilter::default();
        for (key, value) in fields {
            match key.as_str() {
                "allow" => filter.allow = self.texts("tools.allow", value),
                "deny" => filter.deny = self.texts("tools.deny", value),
                other => self.wrong(&format!("tools.{other}"), "is not known; there are allow and deny"),
            }
        }
        filter
    }

    fn texts(&mut self, key: &str, value: &Value) -> Vec<String> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
            .collect();
        match texts {
            Some(texts) if value.is_array() => texts,
            Some(_) | None => {
                self.wrong(key, "must be an array of patterns, such as [\"git*\", \"files\"]");
                Vec::new()
            }
        }
    }

    fn wrong(&mut self, key: &str, what: &str) {
        self.problems.push(format!("{}.{key} {what}", self.at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Profiles, Vec<String>) {
        let table: Table = text.parse().unwrap();
        Profiles::read(&table["profiles"])
    }

    #[test]
    fn a_profile_says_what_it_has_and_how_it_is_shown() {
        let (profiles, problems) = read(
            r#"
            [profiles.coding]
            servers = ["git", "file*"]
            tools = { allow = ["git.*"], deny = ["*.push"] }
            exposure = "search"
            names = "safe"
            [profiles.plain]
            tools = ["a.*"]
            [profiles.asking]
            exposure = "agents"
            "#,
        );
        assert_eq!(problems, [""; 0]);
        let coding = profiles.get("coding").unwrap();
        assert_eq!((coding.exposure, coding.names), (Exposure::Search, Some(NameStyle::Safe)));
        assert_eq!((coding.servers.len(), coding.tools.deny.len()), (2, 1));
        assert_eq!(profiles.get("plain").unwrap().tools.allow, ["a.*"]);
        assert_eq!(profiles.get("asking").unwrap().exposure, Exposure::Agents);
        assert!(profiles.get("Coding").is_none() && profiles.get("none").is_none());
    }

    #[test]
    fn whatever_is_wrong_is_told_with_its_place() {
        let (profiles, problems) = read(
            r#"
            [profiles]
            flat = 1
            [profiles.Upper]
            [profiles.a]
            servers = "git"
            exposures = "all"
            exposure = "some"
            names = "bare"
            tools = { allow = [1], forbid = [] }
            "#,
        );
        assert_eq!(profiles.iter().count(), 1);
        for start in [
            "profiles.flat must be a table",
            "profiles.Upper: the name",
            "profiles.a.servers must be an array",
            "profiles.a.exposures is not known; did you mean `exposure`?",
            "profiles.a.exposure must be all, search or agents",
            "profiles.a.names must be",
            "profiles.a.tools.allow must be an array",
            "profiles.a.tools.forbid is not known",
        ] {
            assert!(problems.iter().any(|problem| problem.starts_with(start)), "{start}: {problems:?}");
        }
        assert_eq!(problems.len(), 8, "{problems:?}");
    }
}
