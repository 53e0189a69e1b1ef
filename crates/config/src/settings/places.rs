//! Where `portolan serve` keeps its data, and where the key comes from that seals secrets.

use super::Settings;
use crate::environment::Environment;
use crate::system::System;
use portolan_model::Secret;
use std::path::PathBuf;

/// The variable that may hold the key itself. It is no row of the table, since the table is shown.
pub(crate) const SECRET_KEY: &str = "PORTOLAN_SECRET_KEY";

/// The variable that may hold a key for the endpoint that embeds, likewise.
pub(crate) const SEARCH_KEY: &str = "PORTOLAN_SEARCH_KEY";

/// The key's file in the data folder.
pub(crate) const KEY_FILE: &str = "secret.key";

/// The folder that was set, or the system's own place for data; nothing where even that is unknown, because no
/// variable says where home is.
pub fn data_folder(settings: &Settings, env: &Environment) -> Option<PathBuf> {
    settings.data.clone().or_else(|| System::here().data_folder(env))
}

/// The file with the key that seals secrets.
pub fn key_file(settings: &Settings, env: &Environment) -> Option<PathBuf> {
    let set = settings.secrets.key_file.clone();
    set.or_else(|| data_folder(settings, env).map(|folder| folder.join(KEY_FILE)))
}

/// The key itself, where the environment holds it; it goes before the file.
pub fn secret_key(env: &Environment) -> Option<Secret> {
    env.get_filled(SECRET_KEY).map(Secret::from)
}

/// The key for the endpoint that says what texts mean.
pub fn search_key(env: &Environment) -> Option<Secret> {
    env.get_filled(SEARCH_KEY).map(Secret::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::of;

    #[test]
    fn the_key_lies_in_the_data_folder_unless_it_is_set_elsewhere() {
        let mut settings = Settings { data: Some("/d".into()), ..Settings::default() };
        let env = of(&[]);
        assert_eq!(data_folder(&settings, &env), Some("/d".into()));
        assert_eq!(key_file(&settings, &env), Some(PathBuf::from("/d").join("secret.key")));
        settings.secrets.key_file = Some("/k".into());
        assert_eq!(key_file(&settings, &env), Some("/k".into()));
    }

    #[test]
    fn without_a_setting_the_folder_is_the_systems_own() {
        let env = of(&[("HOME", "/h"), ("LOCALAPPDATA", "/l")]);
        let folder = System::here().data_folder(&env);
        assert!(folder.is_some());
        assert_eq!(data_folder(&Settings::default(), &env), folder);
        assert_eq!(data_folder(&Settings::default(), &of(&[])), None);
    }

    #[test]
    fn the_key_may_come_from_the_environment_and_an_empty_one_is_none() {
        assert_eq!(secret_key(&of(&[("PORTOLAN_SECRET_KEY", "k")])), Some(Secret::new("k")));
        assert_eq!(secret_key(&of(&[("PORTOLAN_SECRET_KEY", "")])), None);
    }
}
