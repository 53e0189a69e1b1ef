//! A change laid over a server as it is, so that the whole is judged as if it had been sent in one piece.

use crate::draft::{ConnectionConfig, Draft, Patch, ToolPatterns};
use crate::mask;
use crate::registry::Listed;
use portolan_model::{Secret, TransportSpec, keep_masked, keep_masked_args, keep_masked_url};
use std::collections::BTreeMap;
use url::Url;

/// What is absent stays, and so does what came back masked.
pub(crate) fn patched(old: &Listed, patch: Patch) -> Draft {
    let (record, spec) = (&old.record, &old.spec);
    let kept_url = spec.health_check_url.as_ref().map(|url| url.reveal().to_owned());
    Draft {
        name: patch.name.unwrap_or_else(|| record.name.to_string()),
        transport_type: patch
            .transport_type
            .unwrap_or_else(|| mask::transport_type(&spec.transport).to_owned()),
        connection_config: match patch.connection_config {
            Some(config) => unmasked(config, &spec.transport),
            None => plain(&spec.transport),
        },
        description: patch.description.or_else(|| record.description.clone()),
        health_check_url: match patch.health_check_url {
            Some(url) => Some(keep_masked_url(&url, kept_url.as_deref())),
            None => kept_url,
        },
        auto_connect: patch.auto_connect.unwrap_or(record.is_wanted),
        timeout: patch.timeout.or_else(|| spec.timeout.map(|timeout| timeout.as_secs_f64())),
        tools: Some(patch.tools.unwrap_or_else(|| ToolPatterns {
            allow: spec.tools.allow.clone(),
            deny: spec.tools.deny.clone(),
        })),
    }
}

/// The configuration as it is stored.
fn plain(transport: &TransportSpec) -> ConnectionConfig {
    match transport {
        TransportSpec::Stdio { command, args, env, cwd } => ConnectionConfig {
            command: Some(command.clone()),
            args: Some(args.iter().map(|arg| arg.reveal().to_owned()).collect()),
            env: Some(revealed(env)),
            cwd: cwd.clone(),
            ..ConnectionConfig::default()
        },
        TransportSpec::Remote { url, headers, .. } => ConnectionConfig {
            url: Some(url.reveal().to_owned()),
            headers: Some(revealed(headers)),
            ..ConnectionConfig::default()
        },
    }
}

fn revealed(values: &BTreeMap<String, Secret>) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect()
}

/// What came back masked stays only where it goes to the same place as before: whoever may change an address is not
/// to have a secret sent there that they cannot see.
fn unmasked(config: ConnectionConfig, transport: &TransportSpec) -> ConnectionConfig {
    let mut old = plain(transport);
    let url = |new: Option<String>| new.map(|url| keep_masked_url(&url, old.url.as_deref()));
    let (new_url, new_base_url) = (url(config.url), url(config.base_url));
    let goes_to = new_base_url.as_deref().or(new_url.as_deref());
    let is_same_place = match transport {
        TransportSpec::Stdio { command, .. } => config.command.as_ref() == Some(command),
        TransportSpec::Remote { url, .. } => goes_to.is_some_and(|new| is_same_origin(new, url.reveal())),
    };
    if !is_same_place {
        old = ConnectionConfig::default();
    }
    let values = |new: Option<BTreeMap<String, String>>, old: Option<BTreeMap<String, String>>| {
        let old = old.unwrap_or_default();
        let keep = |(name, value): (String, String)| {
            let kept = keep_masked(&value, old.get(&name).map(String::as_str));
            (name, kept)
        };
        new.map(|values| values.into_iter().map(keep).collect())
    };
    let old_args = old.args.as_deref().unwrap_or_default();
    ConnectionConfig {
        args: config.args.map(|args| keep_masked_args(&args, old_args.iter().map(String::as_str))),
        env: values(config.env, old.env),
        headers: values(config.headers, old.headers),
        url: new_url,
        base_url: new_base_url,
        ..config
    }
}

fn is_same_origin(new: &str, old: &str) -> bool {
    let origin = |text: &str| Url::parse(text).ok().map(|url| url.origin());
    new == old || origin(new).is_some_and(|new| new.is_tuple() && Some(new) == origin(old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::tests::{record, specs, vault};

    fn listed() -> Vec<Listed> {
        let vault = vault();
        specs().into_iter().map(|spec| Listed { record: record(&spec, &vault), spec }).collect()
    }

    #[test]
    fn what_is_sent_back_as_it_was_shown_changes_nothing() {
        for old in listed() {
            let shown = mask::connection_config(&old.spec.transport);
            assert!(!shown.to_string().contains("hunter2"), "{shown}");
            let config = serde_json::from_value(shown).unwrap();
            let draft = patched(&old, Patch { connection_config: Some(config), ..Patch::default() });
            let (new, old) = (draft.connection_config, plain(&old.spec.transport));
            assert_eq!((new.args, new.env, new.headers), (old.args, old.env, old.headers));
            assert_eq!(new.base_url.or(new.url), old.url);
        }
    }

    #[test]
    fn a_masked_value_does_not_follow_to_another_place() {
        for old in listed() {
            let mut shown = mask::connection_config(&old.spec.transport);
            for (key, other) in [
                ("command", "curl"),
                ("url", "https://evil.example/mcp"),
                ("base_url", "https://evil.example"),
            ] {
                if shown.get(key).is_some() {
                    shown[key] = other.into();
                }
            }
            let config = serde_json::from_value(shown).unwrap();
            let draft = patched(&old, Patch { connection_config: Some(config), ..Patch::default() });
            let left = format!("{:?}", draft.connection_config);
            assert!(!left.contains("hunter2"), "{left}");
        }
    }

    #[test]
    fn what_is_absent_stays_and_what_is_there_changes() {
        let old = &listed()[0];
        let draft = patched(old, Patch { description: Some("another".to_owned()), ..Patch::default() });
        assert_eq!((draft.name.as_str(), draft.description.as_deref()), ("one", Some("another")));
        assert_eq!((draft.transport_type.as_str(), draft.timeout), ("STDIO", Some(1.5)));
        assert_eq!(draft.connection_config.env.unwrap()["TOKEN"], "hunter2");
        assert_eq!(draft.tools.unwrap().deny, ["b"]);
    }
}
