//! The settings for people: those in effect for `portolan config`, and all of them for the documentation.

use super::layers::{Loaded, Origin};
use super::places::KEY_FILE;
use super::{Settings, table};
use std::fmt::Write as _;

/// One line of `portolan config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: &'static str,
    pub value: String,
    pub origin: Origin,
}

pub fn describe(loaded: &Loaded) -> Vec<Row> {
    let origin = |key| loaded.origins.get(key).cloned().unwrap_or(Origin::Default);
    table()
        .map(|setting| Row {
            key: setting.key,
            value: (setting.get)(&loaded.settings),
            origin: origin(setting.key),
        })
        .collect()
}

/// The table of all settings in Markdown.
pub fn reference_markdown() -> String {
    let defaults = Settings::default();
    let mut page = "| Setting | Default | Variable | What it does |\n|---|---|---|---|\n".to_owned();
    for setting in table() {
        let default = match (setting.key, (setting.get)(&defaults)) {
            ("version", _) => "Portolan's own".to_owned(),
            ("data", _) => "the system's place for data".to_owned(),
            ("secrets.key_file", _) => format!("`{KEY_FILE}` in `data`"),
            ("llm.url", _) => "the provider's own".to_owned(),
            (_, empty) if empty.is_empty() => "none".to_owned(),
            (_, value) => format!("`{value}`"),
        };
        let (key, variable, doc) = (setting.key, setting.variable(), setting.doc.trim());
        // Writing to a String cannot fail.
        let _ =
            writeln!(page, "| `{key}` | {default} | `{variable}` | {doc} It must be {}. |", setting.allowed);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::of;
    use crate::settings::layers::{Flags, load_settings};

    #[test]
    fn every_setting_in_effect_has_a_row_with_its_origin() {
        let loaded =
            load_settings(&Flags::default(), &of(&[("PORTOLAN_LIMITS_CALL_TIMEOUT", "90")])).unwrap();
        let rows = describe(&loaded);
        let row = |key| {
            rows.iter().find(|row| row.key == key).map(|r| format!("{} ({})", r.value, r.origin)).unwrap()
        };
        assert_eq!(row("limits.call_timeout"), "90s (PORTOLAN_LIMITS_CALL_TIMEOUT)");
        assert_eq!(row("listen"), "127.0.0.1:7777 (default)");
        assert_eq!(row("stdio.register"), "auto (default)");
        assert_eq!(rows.len(), table().count());
    }

    #[test]
    fn the_key_that_seals_secrets_is_shown_nowhere() {
        let env = of(&[("PORTOLAN_SECRET_KEY", "hunter2")]);
        let loaded = load_settings(&Flags::default(), &env).unwrap();
        assert!(!format!("{:?} {loaded:?}", describe(&loaded)).contains("hunter2"));
    }

    #[test]
    fn an_address_is_shown_without_what_opens_doors() {
        let env = of(&[
            ("PORTOLAN_SEARCH_URL", "http://ann:hunter2@host/v1"),
            ("PORTOLAN_LLM_URL", "https://host/v1?key=hunter2"),
            ("PORTOLAN_LLM_KEY", "hunter2"),
        ]);
        let loaded = load_settings(&Flags::default(), &env).unwrap();
        let rows = describe(&loaded);
        let value = |key| rows.iter().find(|row| row.key == key).map(|row| row.value.as_str()).unwrap();
        assert_eq!(value("search.url"), "http://***@host/v1");
        assert_eq!(value("llm.url"), "https://host/v1?key=***");
        assert!(!format!("{rows:?} {loaded:?}").contains("hunter2"));
    }

    #[test]
    fn the_reference_has_a_row_for_every_setting() {
        let page = reference_markdown();
        assert_eq!(page.lines().count(), 2 + table().count());
        let row = "| `limits.request_body_bytes` | `4MiB` | `PORTOLAN_LIMITS_REQUEST_BODY_BYTES` | The largest request \
                   that a client may send. It must be more than zero: bytes, or a text such as \"512KiB\" or \"4MiB\". |";
        assert!(page.contains(row), "{page}");
        assert!(page.lines().all(|line| line.matches(" | ").count() == 3 || line.contains("---")), "{page}");
    }
}
