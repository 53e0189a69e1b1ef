//! What differs between operating systems: where settings live and what a child inherits.

use crate::environment::Environment;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Mac,
    Unix,
    Windows,
}

/// What the official SDKs hand to a server on Unix.
const UNIX: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// What the official SDKs hand to a server on Windows; a program cannot even open a socket there without
/// `SYSTEMROOT`, nor find `npx.cmd` without `PATHEXT`.
const WINDOWS: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// Locale, time zone and proxies: without these a server speaks the wrong language, dates its answers wrongly
/// or cannot get out of a company's network. Proxies are written in either case.
const EVERYWHERE: &[&str] = &["LANG", "TZ", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];

impl System {
    pub(crate) fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Unix
        }
    }

    /// Windows takes `Path` and `PATH` for one variable, the others do not.
    pub(crate) fn is_same_variable(self, one: &str, other: &str) -> bool {
        match self {
            Self::Windows => one.eq_ignore_ascii_case(other),
            Self::Mac | Self::Unix => one == other,
        }
    }

    /// Whether a child gets this variable without its entry asking for it.
    pub(crate) fn is_inherited(self, name: &str) -> bool {
        let own = match self {
            Self::Windows => WINDOWS,
            Self::Mac | Self::Unix => UNIX,
        };
        let is_proxy = |listed: &str| listed.ends_with("_PROXY") && name == listed.to_ascii_lowercase();
        own.iter().chain(EVERYWHERE).any(|listed| self.is_same_variable(listed, name) || is_proxy(listed))
            || name.starts_with("LC_")
    }

    pub(crate) fn home(self, env: &Environment) -> Option<PathBuf> {
        let name = match self {
            Self::Windows => "USERPROFILE",
            Self::Mac | Self::Unix => "HOME",
        };
        env.get_filled(name).map(PathBuf::from)
    }

    /// Where `portolan.toml` is looked for when nobody names it.
    pub(crate) fn settings_file(self, env: &Environment) -> Option<PathBuf> {
        self.config_folder(env).map(|folder| folder.join("portolan").join("portolan.toml"))
    }

    /// Where programs keep what people set for them.
    pub(crate) fn config_folder(self, env: &Environment) -> Option<PathBuf> {
        match self {
            Self::Windows => env.get_filled("APPDATA").map(PathBuf::from),
            Self::Mac => self.application_support(env),
            Self::Unix => self.xdg_folder(env, "XDG_CONFIG_HOME", ".config"),
        }
    }

    /// Where Portolan keeps what it has to remember. On Windows not with the settings: those follow a person from
    /// machine to machine, and a database that is open must not.
    pub(crate) fn data_folder(self, env: &Environment) -> Option<PathBuf> {
        let folder = match self {
            Self::Windows => env.get_filled("LOCALAPPDATA").map(PathBuf::from),
            Self::Mac => self.application_support(env),
            Self::Unix => self.xdg_folder(env, "XDG_DATA_HOME", ".local/share"),
        };
        folder.map(|folder| folder.join("portolan"))
    }

    fn application_support(self, env: &Environment) -> Option<PathBuf> {
        self.home(env).map(|home| home.join("Library").join("Application Support"))
    }

    /// The folder that the variable names, or its usual place. A relative one is to be ignored, by the
    /// specification that defines these variables.
    fn xdg_folder(self, env: &Environment, variable: &str, usual: &str) -> Option<PathBuf> {
        let named = env.get(variable).filter(|path| path.starts_with('/'));
        named.map(PathBuf::from).or_else(|| self.home(env).map(|home| home.join(usual)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::of;

    #[track_caller]
    fn check(system: System, env: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(system.settings_file(&of(env)), expected.map(PathBuf::from));
    }

    #[test]
    fn settings_live_where_each_system_keeps_them() {
        check(System::Unix, &[("HOME", "/h")], Some("/h/.config/portolan/portolan.toml"));
        check(System::Unix, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], Some("/x/portolan/portolan.toml"));
        check(
            System::Unix,
            &[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")],
            Some("/h/.config/portolan/portolan.toml"),
        );
        check(System::Unix, &[], None);
        let mac = "/h/Library/Application Support/portolan/portolan.toml";
        check(System::Mac, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], Some(mac));
        check(System::Windows, &[("APPDATA", "/a"), ("HOME", "/h")], Some("/a/portolan/portolan.toml"));
    }

    #[track_caller]
    fn check_data(system: System, env: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(system.data_folder(&of(env)), expected.map(PathBuf::from));
    }

    #[test]
    fn data_lives_where_each_system_keeps_it() {
        check_data(System::Unix, &[("HOME", "/h")], Some("/h/.local/share/portolan"));
        check_data(System::Unix, &[("HOME", "/h"), ("XDG_DATA_HOME", "/x")], Some("/x/portolan"));
        check_data(System::Unix, &[("HOME", "/h"), ("XDG_DATA_HOME", "x")], Some("/h/.local/share/portolan"));
        check_data(System::Unix, &[("HOME", "")], None);
        let mac = "/h/Library/Application Support/portolan";
        check_data(System::Mac, &[("HOME", "/h"), ("XDG_DATA_HOME", "/x")], Some(mac));
        check_data(System::Windows, &[("LOCALAPPDATA", "/l"), ("APPDATA", "/a")], Some("/l/portolan"));
        check_data(System::Windows, &[("APPDATA", "/a"), ("HOME", "/h")], None);
    }

    #[test]
    fn a_child_inherits_the_sdks_set_the_locale_and_the_proxies() {
        for name in ["HOME", "PATH", "LANG", "LC_ALL", "TZ", "HTTPS_PROXY", "https_proxy", "no_proxy"] {
            assert!(System::Unix.is_inherited(name), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "PORTOLAN_LISTEN", "APPDATA", "path", "XDG_RUNTIME_DIR", "lang"]
        {
            assert!(!System::Unix.is_inherited(name), "{name}");
        }
        for name in ["Path", "SystemRoot", "PATHEXT", "http_proxy"] {
            assert!(System::Windows.is_inherited(name), "{name}");
        }
        assert!(!System::Windows.is_inherited("SHELL"));
    }
}
