//! Entries of Zed, which once kept the whole command in an object of its own.

use crate::json::{Json, Object};

/// What Zed keeps with a server for itself. Its `timeout` has been seconds and milliseconds.
const FOREIGN: [&str; 4] = ["source", "settings", "remote", "timeout"];

pub(super) fn entry(fields: &Object) -> Result<Object, String> {
    if fields.get("command").is_none() && fields.get("url").is_none() {
        return Err(
            "it comes with an extension, which only Zed can run: find out its command and add it with \
                    `portolan add`"
                .to_owned(),
        );
    }
    let mut members = Vec::new();
    for (key, value) in fields.iter().filter(|(key, _)| !FOREIGN.contains(key)) {
        match (key, value) {
            ("command", Json::Object(command)) => {
                let named = |key: &str| if key == "path" { "command".to_owned() } else { key.to_owned() };
                let parts = command.iter().filter(|(key, _)| !FOREIGN.contains(key));
                members.extend(parts.map(|(key, value)| (named(key), value.clone())));
            }
            _ => members.push((key.to_owned(), value.clone())),
        }
    }
    // `null` is how Zed writes that there is no environment, which our own reader takes for a mistake.
    members.retain(|(_, value)| *value != Json::Null);
    Ok(members.into_iter().collect())
}
