//! A spec and the environment become an endpoint with every value in place, when a session starts.

use crate::environment::Environment;
use crate::expand::{Missing, Reference, expand, references_in};
use crate::json::JsonPath;
use crate::problem::{Code, Problem};
use crate::servers::{NO_WEB_ADDRESS, Servers, is_web_address};
use crate::system::System;
use portolan_model::{ChildSpec, Endpoint, Reached, Secret, ServerSpec, TransportSpec};
use std::collections::BTreeMap;

/// What a name in `${NAME}` stands for.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Everything expanded with the process's own environment, as only the operator's file may.
pub fn resolve(spec: &ServerSpec, env: &Environment) -> Result<Reached, Vec<Problem>> {
    resolve_with(spec, env, &|name| env.get(name).map(str::to_owned))
}

/// Everything expanded, and for a child its whole environment. Problems name variables and places, never values.
pub fn resolve_with(
    spec: &ServerSpec,
    env: &Environment,
    lookup: Lookup<'_>,
) -> Result<Reached, Vec<Problem>> {
    resolve_at(&JsonPath::root().key("mcpServers").key(spec.name.as_str()), spec, env, lookup)
}

/// What would keep any of the servers from starting in this environment, all at once.
pub fn check_variables(servers: &Servers, env: &Environment) -> Vec<Problem> {
    let lookup = |name: &str| env.get(name).map(str::to_owned);
    let problems = |spec: &ServerSpec| match servers.places.get(&spec.name) {
        Some(place) => resolve_at(&JsonPath::from(place.as_str()), spec, env, &lookup).err(),
        None => resolve(spec, env).err(),
    };
    servers.specs.iter().filter_map(problems).flatten().collect()
}

/// Every name that the spec refers to, in the order of first use.
pub fn references(spec: &ServerSpec) -> Vec<String> {
    names(spec, |_| true)
}

/// Those of them that must stand for something: the others have a default everywhere they are used.
pub fn required_references(spec: &ServerSpec) -> Vec<String> {
    names(spec, |reference| !reference.has_default)
}

fn names(spec: &ServerSpec, is_wanted: fn(&Reference<'_>) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for reference in templates(spec).into_iter().flat_map(references_in).filter(is_wanted) {
        let name = plain_name(reference.name);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Every text of a spec that is expanded.
fn templates(spec: &ServerSpec) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    match &spec.transport {
        TransportSpec::Stdio { command, args, env, cwd } => {
            texts.push(command);
            texts.extend(args.iter().chain(env.values()).map(Secret::reveal));
            texts.extend(cwd.as_deref());
        }
        TransportSpec::Remote { kind: _, url, headers } => {
            texts.push(url.reveal());
            texts.extend(headers.values().map(Secret::reveal));
        }
    }
    texts.extend(spec.health_check_url.as_ref().map(Secret::reveal));
    texts
}

/// VS Code and Cursor write `${env:NAME}` for what others write as `${NAME}`.
fn plain_name(name: &str) -> &str {
    name.strip_prefix("env:").unwrap_or(name)
}

fn resolve_at(
    at: &JsonPath,
    spec: &ServerSpec,
    env: &Environment,
    lookup: Lookup<'_>,
) -> Result<Reached, Vec<Problem>> {
    let mut expander = Expander { lookup, problems: Vec::new() };
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
            origin: spec.origin,
        },
    };
    let health = at.key("portolan").key("health_check_url");
    let health_check_url = spec.health_check_url.as_ref().map(|url| expander.url(&health, url));
    if expander.problems.is_empty() {
        Ok(Reached { endpoint, health_check_url })
    } else {
        Err(expander.problems)
    }
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
    lookup: Lookup<'a>,
    problems: Vec<Problem>,
}

impl Expander<'_> {
    fn text(&mut self, at: &JsonPath, template: &str) -> String {
        let lookup = |name: &str| (self.lookup)(plain_name(name));
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
        resolve(&servers(&format!("{{\"a\": {entry}}}")).specs[0], &of(env)).map(|reached| reached.endpoint)
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
    fn a_spec_knows_every_name_that_it_refers_to() {
        let spec = |entry: &str| servers(&format!("{{\"a\": {entry}}}")).specs.remove(0);
        let child = spec(
            r#"{"command": "$BIN", "args": ["${A:-1}", "$$B", "${C} $BIN"], "env": {"X": "${A}${env:D}"}, "cwd": "${E}",
                "portolan": {"health_check_url": "http://${H}"}}"#,
        );
        assert_eq!(references(&child), ["BIN", "A", "C", "D", "E", "H"]);
        let remote = spec(r#"{"url": "https://${H:-x}/${H:-y}", "headers": {"K": "Bearer $T"}}"#);
        assert_eq!(
            (references(&remote), required_references(&remote)),
            (vec!["H".into(), "T".into()], vec!["T".into()])
        );
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
