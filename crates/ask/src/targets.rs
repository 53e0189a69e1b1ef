//! The servers as a query sees them.

use crate::Asker;
use portolan_catalog::{Entry, View};
use portolan_model::{Kind, ServerName, ServerSpec, State, TransportSpec};
use portolan_query::{QueryInput, Reason, Standing, Target, WaySetting};
use std::path::Path;

impl Asker {
    /// The servers that a query may go to: those that are meant to be there, and whatever it names.
    pub(crate) fn targets(&self, input: &QueryInput, view: &View) -> Vec<Target> {
        let snapshot = self.parts.router.catalog.snapshot();
        let is_named = |server: &ServerName| {
            input.servers.as_ref().is_some_and(|all| all.iter().any(|s| s == server.as_str()))
        };
        let seen = snapshot.servers().iter().filter(|(server, _)| view.has_server(server));
        let wanted = seen.filter(|(server, entry)| entry.state != State::Disconnected || is_named(server));
        wanted.map(|(server, entry)| self.shown(server, entry, view)).collect()
    }

    /// One of them.
    pub(crate) fn target(&self, server: &ServerName, view: &View) -> Target {
        let snapshot = self.parts.router.catalog.snapshot();
        let entry = snapshot.servers().get(server).filter(|_| view.has_server(server));
        entry.map_or_else(|| Target::named(server.as_str()), |entry| self.shown(server, entry, view))
    }

    fn shown(&self, server: &ServerName, entry: &Entry, view: &View) -> Target {
        let member = self.parts.router.fleet.member(server.as_str());
        let spec = member.as_ref().map(|member| &member.spec);
        let offer = entry.offer();
        let tools = offer.map(|offer| offer.tools.as_slice()).unwrap_or_default().iter();
        let tools = tools.filter(|tool| view.has(Kind::Tools, server, &tool.name)).cloned().collect();
        Target {
            name: server.to_string(),
            standing: standing(entry),
            tools,
            resources: offer.map(|offer| offer.resources.clone()).unwrap_or_default(),
            setting: spec.and_then(setting),
            places: spec.map(places).unwrap_or_default(),
        }
    }
}

fn standing(entry: &Entry) -> Standing {
    match (entry.state, entry.error.as_deref()) {
        (State::Connected | State::Degraded, _) => Standing::Ready,
        (State::Connecting | State::Disconnected | State::Error, Some(error)) => {
            Standing::Away(Reason::new(error))
        }
        (state @ (State::Connecting | State::Disconnected | State::Error), None) => {
            Standing::Away(Reason::new(format!("it is {}", state.as_str().to_lowercase())))
        }
    }
}

fn setting(spec: &ServerSpec) -> Option<WaySetting> {
    let way = spec.query.as_ref()?;
    Some(WaySetting { tool: way.tool.clone(), argument: way.argument.clone(), arguments: way.arguments() })
}

/// The places that a server's own entry gives it to work on: folders among its arguments, by their absolute paths.
fn places(spec: &ServerSpec) -> Vec<String> {
    let TransportSpec::Stdio { args, .. } = &spec.transport else { return Vec::new() };
    let path = |argument: &str| {
        let value = argument.split_once('=').map_or(argument, |(_, value)| value);
        (value.starts_with('/') && value.len() > 1 && Path::new(value).is_dir()).then(|| value.to_owned())
    };
    args.iter().filter_map(|argument| path(argument.reveal())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_model::{Origin, Secret, Sharing, ToolFilter};
    use std::collections::BTreeMap;

    #[test]
    fn the_places_of_a_server_are_the_folders_that_its_entry_names() {
        let here = env!("CARGO_MANIFEST_DIR");
        let (source, file) = (format!("--repository={here}/src"), format!("{here}/Cargo.toml"));
        let args = ["-y", "pkg", &source, here, &file, "--key=s3cret", "/${HOME}/x", "/", "a/b"];
        let spec = ServerSpec {
            name: ServerName::parse("git").unwrap(),
            transport: TransportSpec::Stdio {
                command: "npx".to_owned(),
                args: args.into_iter().map(Secret::from).collect(),
                env: BTreeMap::new(),
                cwd: None,
            },
            description: None,
            timeout: None,
            tools: ToolFilter::default(),
            health_check_url: None,
            sharing: Sharing::default(),
            query: None,
            origin: Origin::File,
        };
        assert_eq!(places(&spec), [format!("{here}/src"), here.to_owned()]);
    }
}
