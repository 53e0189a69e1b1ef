//! The set-up as a whole: the settings, the data folder, the Portolan that runs there, and its servers.

use crate::Failure;
use crate::data::Note;
use crate::terminal::rest::{Found, Rest, RestError};
use crate::terminal::screen::plain;
use crate::terminal::servers::Server;
use portolan_config::{Environment, Loaded, Origin, Settings};
use rustix::fs::{Access, access};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Well,
    /// Not there, which need not be wrong.
    Off,
    Doubtful,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) what: &'static str,
    pub(super) verdict: Verdict,
    pub(super) told: String,
}

impl Verdict {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Off => "off",
            Self::Doubtful => "warning",
            Self::Wrong => "WRONG",
        }
    }
}

fn look(what: &'static str, verdict: Verdict, told: impl Into<String>) -> Look {
    Look { what, verdict, told: told.into() }
}

pub(super) async fn examine(loaded: &Loaded, env: &Environment) -> Result<Vec<Look>, Failure> {
    let mut looks = vec![settings(loaded)];
    let Some(folder) = portolan_config::data_folder(&loaded.settings, env) else {
        let told = "there is no home folder to keep the database in: say where with --data DIR";
        looks.push(look("data", Verdict::Wrong, told));
        return Ok(looks);
    };
    looks.push(data(&folder));
    looks.extend(key(&loaded.settings, env));
    looks.extend(serve(&folder).await?);
    Ok(looks)
}

/// That they can be read is known by now.
fn settings(loaded: &Loaded) -> Look {
    let file = loaded.origins.values().find_map(|origin| match origin {
        Origin::File(path) => Some(path),
        Origin::Default | Origin::Environment(_) | Origin::Flag(_) => None,
    });
    match file {
        Some(path) => look("settings", Verdict::Well, path.display().to_string()),
        None => {
            look("settings", Verdict::Off, "no settings file; `portolan config` shows what holds without one")
        }
    }
}

fn data(folder: &Path) -> Look {
    let shown = folder.display();
    let metadata = match std::fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let told = format!("{shown} is not there yet: `portolan serve` makes it");
            return look("data", Verdict::Off, told);
        }
        Err(error) => return look("data", Verdict::Wrong, format!("{shown} cannot be looked into: {error}")),
    };
    if !metadata.is_dir() {
        return look("data", Verdict::Wrong, format!("{shown} is no folder: say where with --data DIR"));
    }
    if access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return look("data", Verdict::Wrong, format!("{shown} is not yours to write to: chown or chmod it"));
    }
    match metadata.permissions().mode() {
        mode if mode & 0o022 != 0 => look(
            "data",
            Verdict::Wrong,
            format!("others may change what is in {shown}: run `chmod 700 {shown}`"),
        ),
        mode if mode & 0o055 != 0 => {
            look("data", Verdict::Doubtful, format!("others may look into {shown}: run `chmod 700 {shown}`"))
        }
        _ => look("data", Verdict::Well, shown.to_string()),
    }
}

/// The key that seals secrets is nobody else's to read; `portolan serve` does not start with one that is.
fn key(settings: &Settings, env: &Environment) -> Option<Look> {
    if portolan_config::secret_key(env).is_some() {
        return Some(look("key", Verdict::Well, "in PORTOLAN_SECRET_KEY"));
    }
    let path = portolan_config::key_file(settings, env)?;
    let mode = std::fs::metadata(&path).ok()?.permissions().mode();
    let shown = path.display();
    Some(if mode & 0o077 != 0 {
        look("key", Verdict::Wrong, format!("others may read {shown}: run `chmod 600 {shown}`"))
    } else {
        look("key", Verdict::Well, shown.to_string())
    })
}

/// The Portolan that runs with this folder, if one does, and which of its servers are not well.
async fn serve(folder: &Path) -> Result<Vec<Look>, Failure> {
    let Some(left) = Note::read(folder) else {
        let told = "no Portolan is running here: `portolan serve` starts one";
        return Ok(vec![look("serve", Verdict::Off, told)]);
    };
    let rest = Rest::new(left.address()?, Found::Left)?;
    let ready = match rest.ask_outside("readyz").await {
        Ok(_) => look("serve", Verdict::Well, format!("runs at {} as process {}", left.url, left.pid)),
        Err(RestError::NotRunning) => {
            let told =
                format!("one ran at {} and ended without a word: `portolan serve` starts another", left.url);
            return Ok(vec![look("serve", Verdict::Doubtful, told)]);
        }
        Err(error) => return Ok(vec![look("serve", Verdict::Wrong, error.to_string())]),
    };
    let list = rest.list(&["aggregator", "servers"], &[("status", "ERROR")]).await;
    let failing: Vec<Server> = match list {
        Ok(list) => list.read()?,
        Err(error) => return Ok(vec![ready, look("servers", Verdict::Wrong, error.to_string())]),
    };
    let wrong = failing.iter().map(|server| {
        let reason = server.error_message.as_deref().unwrap_or("it does not say why");
        look("server", Verdict::Wrong, plain(&format!("{}: {reason}", server.name)))
    });
    Ok(std::iter::once(ready).chain(wrong).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[track_caller]
    fn check(look: &Look, verdict: Verdict, told: &str) {
        assert_eq!(look.verdict, verdict, "{look:?}");
        assert!(look.told.contains(told), "{look:?}");
    }

    #[test]
    fn a_data_folder_is_there_and_nobody_elses() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("data");
        check(&data(&folder), Verdict::Off, "not there yet");
        std::fs::create_dir(&folder).unwrap();
        for (mode, verdict, told) in [
            (0o700, Verdict::Well, "data"),
            (0o755, Verdict::Doubtful, "chmod 700"),
            (0o777, Verdict::Wrong, "chmod 700"),
        ] {
            std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            check(&data(&folder), verdict, told);
        }
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        check(&data(&file), Verdict::Wrong, "is no folder");
    }

    #[test]
    fn a_key_that_others_may_read_is_wrong() {
        let home = tempfile::tempdir().unwrap();
        let settings = Settings { data: Some(home.path().to_owned()), ..Settings::default() };
        let env = Environment::default();
        assert!(key(&settings, &env).is_none());
        let file = home.path().join("secret.key");
        std::fs::write(&file, "x").unwrap();
        for (mode, verdict) in [(0o600, Verdict::Well), (0o640, Verdict::Wrong)] {
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            check(&key(&settings, &env).unwrap(), verdict, "secret.key");
        }
    }
}
