//! A spec and the environment become an endpoint with every value in place, when a session starts.

use crate::environment::Environment;
use crate::expand::{Missing, expand};
use crate::json::JsonPath;
use crate::problem::{Code, Problem};
use crate::servers::{NO_WEB_ADDRESS, Servers, is_web_address};
use crate::system::System;
use portolan_model::{ChildSpec, Endpoint, Secret, ServerSpec, TransportSpec};
use std::collections::BTreeMap;

/// Everything expanded, and for a child its whole environment. Problems name variables and places, never values.
pub fn resolve(spec: &ServerSpec, env: &Environment) -> Result<Endpoint, Vec<Problem>> {
    resolve_at(&JsonPath::root().key("mcpServers").key(spec.name.as_str()), spec, env)
}

/// What would keep any of the servers from starting in this environment, all at once.
pub fn check_variables(servers: &Servers, env: &Environment) -> Vec<Problem> {
    let problems = |spec: &ServerSpec| match servers.places.get(&spec.name) {
        Some(place) => resolve_at(&JsonPath::from(place.as_str()), spec, env).err(),
        None => resolve(spec, env).err(),
    };
    servers.specs.iter().filter_map(problems).flatten().collect()
}

fn resolve_at(at: &JsonPath, spec: &ServerSpec, env: &Environment) -> Result<Endpoint, Vec<Problem>> {
    let mut expander = Expander { env, problems: Vec::new() };
    let endpoint = match &spec.transport {
        TransportSpec::Stdio { command, args, env: declared, cwd } => {
            let args_at = at.key("args");
            let args = args.iter().enumerate();
            Endpoint::Child(ChildSpec {
                command: expander.text(&at.key("command"), command),
                args: args.map(|(n, arg)| expander.secret(&args_at.index(n), arg)).collect(),
                env: child_environment(env, expander.map(&at.key("env"), declared)),
                cwd: cwd.as_ref().map(|cwd| expander.text(&at.key("cwd"), cwd)),
            })
        }
        TransportSpec::Remote { kind, url, headers } => Endpoint::Remote {
            kind: *kind,
            url: expander.url(&at.key("url"), url),
            headers: expander.headers(&at.key("headers"), headers),
        },
    };
    if expander.problems.is_empty() { Ok(endpoint) } else { Err(expander.problems) }
}

/// What every program needs to run at all, and what the entry declares; nothing else of Portolan's own, so that
/// no server sees another's keys.
fn child_environment(env: &Environment, declared: BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
    let system = System::here();
    let mut whole: BTreeMap<String, Secret> = env
        .iter()
        // Old versions of bash export functions as values that start so; the SDKs keep them out, because a
        // shell further down would run them.
        .filter(|(name, value)| system.is_inherited(name) && !value.starts_with("()"))
        .map(|(name, value)| (name.to_owned(), Secret::new(value)))
        .collect();
    for (name, value) in declared {
        whole.retain(|inherited, _| !system.is_same_variable(inherited, &name));
        whole.insert(name, value);
    }
    whole
}

struct Expander<'a> {
    env: &'a Environment,
    problems: Vec<Problem>,
}

impl Expander<'_> {
    fn text(&mut self, at: &JsonPath, template: &str) -> String {
        // VS Code and Cursor write `${env:NAME}` for what others write as `${NAME}`.
        let lookup = |name: &str| self.env.get(name.strip_prefix("env:").unwrap_or(name)).map(str::to_owned);
        match expand(template, &lookup) {
            Ok(text) if text.contains('\0') => {
                self.problems
                    .push(Problem::schema(at.as_str(), "The value holds a NUL character: remove it"));
                String::new()
            }
            Ok(text) => text,
            Err(Missing(names)) => {
                let missing = |name: &String| Problem::new(Code::MissingEnvVar, at.as_str(), missing(name));
                self.problems.extend(names.iter().map(missing));
                String::new()
            }
        }
    }

    fn secret(&mut self, at: &JsonPath, template: &Secret) -> Secret {
        Secret::new(self.text(at, template.reveal()))
    }

    fn map(&mut self, at: &JsonPath, templates: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
        templates.iter().map(|(name, value)| (name.clone(), self.secret(&at.key(name), value))).collect()
    }

    fn url(&mut self, at: &JsonPath, template: &Secret) -> Secret {
        let problems_before = self.problems.len();
        let url = self.text(at, template.reveal());
        if self.problems.len() == problems_before && !is_web_address(&url) {
            self.problems.push(Problem::schema(at.as_str(), NO_WEB_ADDRESS));
        }
        Secret::new(url.trim())
    }

    /// A line break at the end of a token is what `cat` leaves there; inside one it would end the header.
    fn headers(&mut self, at: &JsonPath, templates: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
        let headers = self.map(at, templates);
        for (name, value) in &headers {
            if value.reveal().chars().any(|c| c.is_control() && c != '\t') {
                let message = "The value holds a line break or another control character: remove it";
                self.problems.push(Problem::schema(at.key(name).as_str(), message));
            }
        }
        headers
    }
}

fn missing(name: &str) -> String {
    match name.split_once(':') {
        Some(("env", name)) => missing(name),
        Some(("input", _)) => format!(
            "Missing environment variable: {name}; only VS Code can ask for its inputs: write ${{NAME}} instead, and \
             set NAME in Portolan's environment"
        ),
        Some(_) | None => format!(
            "Missing environment variable: {name}; set it in Portolan's environment, give a default as in \
             ${{{name}:-default}}, or write $$ where a plain $ is meant"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::of;
    use crate::servers::parse_servers;

    fn servers(entries: &str) -> Servers {
        parse_servers(&format!("{{\"mcpServers\": {entries}}}")).unwrap()
    }

    fn endpoint(entry: &str, env: &[(&str, &str)]) -> Result<Endpoint, Vec<Problem>> {
        resolve(&servers(&format!("{{\"a\": {entry}}}")).specs[0], &of(env))
    }

    fn child(entry: &str, env: &[(&str, &str)]) -> ChildSpec {
        match endpoint(entry, env) {
            Ok(Endpoint::Child(child)) => child,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(entry: &str, env: &[(&str, &str)], expected: &[&str]) {
        let problems = endpoint(entry, env).unwrap_err();
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), expected.len(), "{lines:#?}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.contains(expected), "{line}\ndoes not hold\n{expected}");
        }
    }

    #[test]
    fn everything_of_a_child_is_expanded() {
        let entry =
            r#"{"command": "$BIN/run", "args": ["${A}", "$$"], "env": {"T": "x${A}"}, "cwd": "$BIN"}"#;
        let child = child(entry, &[("BIN", "/bin"), ("A", "1")]);
        assert_eq!((child.command.as_str(), child.cwd.as_deref()), ("/bin/run", Some("/bin")));
        assert_eq!(child.args, [Secret::new("1"), Secret::new("$")]);
        assert_eq!(child.env, BTreeMap::from([("T".to_owned(), Secret::new("x1"))]));
    }

    #[test]
    fn t23_a_child_gets_the_minimal_environment_and_what_is_declared() {
        let env = [
            ("HOME", "/h"),
            ("PATH", "/bin"),
            ("LC_TIME", "C"),
            ("no_proxy", "x"),
            ("SHELL", "() { echo; }"),
            ("OTHER_SERVERS_TOKEN", "s"),
            ("PORTOLAN_LISTEN", "1.1.1.1:1"),
        ];
        let child = child(r#"{"command": "x", "env": {"PATH": "/mine:$PATH", "B": "c"}}"#, &env);
        let found: Vec<(&str, &str)> = child.env.iter().map(|(n, v)| (n.as_str(), v.reveal())).collect();
        let expected =
            [("B", "c"), ("HOME", "/h"), ("LC_TIME", "C"), ("PATH", "/mine:/bin"), ("no_proxy", "x")];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_missing_variable_is_named_with_its_path() {
        check(
            r#"{"command": "$X", "args": ["a", "$Y"], "env": {"TOKEN": "${Z} $W"}, "cwd": "${V}"}"#,
            &[],
            &[
                "missing_env_var at $.mcpServers.a.command: Missing environment variable: X",
                "missing_env_var at $.mcpServers.a.args[1]: Missing environment variable: Y",
                "missing_env_var at $.mcpServers.a.env.TOKEN: Missing environment variable: Z",
                "missing_env_var at $.mcpServers.a.env.TOKEN: Missing environment variable: W",
                "missing_env_var at $.mcpServers.a.cwd: Missing environment variable: V",
            ],
        );
        check(r#"{"url": "https://x/${K}"}"#, &[], &["$.mcpServers.a.url: Missing environment variable: K"]);
    }

    #[test]
    fn the_forms_of_vs_code_are_understood_or_explained() {
        let child = child(r#"{"command": "x", "env": {"T": "${env:A}"}}"#, &[("A", "1")]);
        assert_eq!(child.env["T"].reveal(), "1");
        check(r#"{"command": "${env:A}"}"#, &[], &["Missing environment variable: A;"]);
        check(r#"{"command": "${input:key}"}"#, &[], &["only VS Code can ask"]);
    }

    #[test]
    fn addresses_and_headers_are_checked_after_expansion() {
        check(r#"{"url": "$U"}"#, &[("U", "ftp://x")], &["invalid_schema at $.mcpServers.a.url"]);
        let headers = r#"{"url": "http://x", "headers": {"A b": "$T"}}"#;
        check(headers, &[("T", "x\n")], &["$.mcpServers.a.headers[\"A b\"]: The value holds a line break"]);
    }

    #[test]
    fn t22_no_problem_holds_a_value() {
        let entry = r#"{"command": "x", "args": ["hunter2 $X"], "env": {"A": "$T$X"}}"#;
        let mut problems = endpoint(entry, &[("T", "hunter2")]).unwrap_err();
        problems.extend(endpoint(r#"{"url": "hunter2$T"}"#, &[("T", "hunter2")]).unwrap_err());
        assert_eq!(problems.len(), 3);
        assert!(!format!("{problems:?}").contains("hunter2"), "{problems:?}");
    }

    #[test]
    fn all_servers_are_checked_at_once_at_the_place_they_were_written() {
        let text = r#"{"servers": {"B b": {"command": "$X"}, "a": {"url": "$Y"}, "ok": {"command": "x"}}}"#;
        let problems = check_variables(&parse_servers(text).unwrap(), &of(&[]));
        let paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["$.servers.a.url", "$.servers[\"B b\"].command"]);
    }
}
