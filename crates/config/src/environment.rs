//! The environment as one value: read once from the process here, and handed to whoever needs it.

use crate::system::System;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// What this process was started with. Variables that are not Unicode are left out: nothing in a
    /// configuration file can name or hold them.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub fn of_process() -> Self {
        let unicode = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(unicode).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let exact = self.0.get(name);
        let found = exact.or_else(|| {
            let same = |other: &str| System::here().is_same_variable(other, name);
            self.0.iter().find(|(other, _)| same(other)).map(|(_, value)| value)
        });
        found.map(String::as_str)
    }

    /// Like `get`, but an empty value counts as none: `PORTOLAN_LISTEN=` is how people unset a variable in
    /// files that know no other way.
    pub(crate) fn get_filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl From<BTreeMap<String, String>> for Environment {
    fn from(variables: BTreeMap<String, String>) -> Self {
        Self(variables)
    }
}

/// Names only: the values are other programs' secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
pub(crate) fn of(variables: &[(&str, &str)]) -> Environment {
    Environment(variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_shows_names_and_no_values() {
        let shown = format!("{:?}", of(&[("TOKEN", "hunter2")]));
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_process_has_a_path_and_reading_it_does_not_fail() {
        assert!(Environment::of_process().get("PATH").is_some());
    }

    #[test]
    fn an_empty_variable_is_set_but_not_filled() {
        let env = of(&[("EMPTY", "")]);
        assert_eq!((env.get("EMPTY"), env.get_filled("EMPTY")), (Some(""), None));
    }
}
