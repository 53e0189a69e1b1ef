//! What the servers file may and may not hold.

use super::*;
use portolan_model::{QueryWay, RemoteKind, Secret, TransportSpec};
use proptest::prelude::*;
use std::time::Duration;

fn entry(entry: &str) -> Result<Servers, Vec<Problem>> {
    parse_servers(&format!("{{\"mcpServers\": {{\"a\": {entry}}}}}"))
}

fn spec(text: &str) -> ServerSpec {
    entry(text).unwrap().specs.remove(0)
}

#[track_caller]
fn check_problems(text: &str, expected: &[&str]) {
    let problems = parse_servers(text).unwrap_err();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{line}\ndoes not hold\n{expected}");
    }
}

#[track_caller]
fn check_entry_problem(text: &str, expected: &str) {
    check_problems(&format!("{{\"mcpServers\": {{\"a\": {text}}}}}"), &[expected]);
}

#[track_caller]
fn check_warnings(text: &str, expected: &[&str]) {
    assert_eq!(entry(text).unwrap().warnings, expected);
}

#[track_caller]
fn check_remote(text: &str, expected: RemoteKind) {
    match spec(text).transport {
        TransportSpec::Remote { kind, url, .. } => {
            assert_eq!((kind, url.reveal()), (expected, "https://x/mcp"), "{text}");
        }
        TransportSpec::Stdio { .. } => panic!("{text} is stdio"),
    }
}

#[test]
fn a_command_is_a_stdio_server_with_its_values_as_written() {
    let spec = spec(r#"{"command": "npx", "args": ["-y", "$X"], "env": {"T": "${TOKEN}"}, "cwd": "/tmp"}"#);
    let expected = TransportSpec::Stdio {
        command: "npx".to_owned(),
        args: vec![Secret::new("-y"), Secret::new("$X")],
        env: BTreeMap::from([("T".to_owned(), Secret::new("${TOKEN}"))]),
        cwd: Some("/tmp".to_owned()),
    };
    assert_eq!(spec.transport, expected);
}

#[test]
fn a_url_is_a_remote_server_of_the_kind_that_any_program_may_call_it() {
    check_remote(r#"{"url": "https://x/mcp"}"#, RemoteKind::Detect);
    check_remote(r#"{"url": "https://x/mcp", "type": null}"#, RemoteKind::Detect);
    for http in ["http", "streamable-http", "streamableHttp", "streamable_http", "HTTP"] {
        check_remote(&format!(r#"{{"url": "https://x/mcp", "type": "{http}"}}"#), RemoteKind::Http);
    }
    for key in ["type", "transport", "transportType", "mode"] {
        check_remote(&format!(r#"{{"url": "https://x/mcp", "{key}": "sse"}}"#), RemoteKind::Sse);
    }
    for key in ["base_url", "serverUrl"] {
        check_remote(&format!(r#"{{"{key}": "https://x/mcp"}}"#), RemoteKind::Detect);
    }
    check_remote(r#"{"httpUrl": "https://x/mcp"}"#, RemoteKind::Http);
    check_remote(r#"{"url": "https://x/mcp", "command": "x", "type": "sse"}"#, RemoteKind::Sse);
}

#[test]
fn the_shape_of_vs_code_is_taken_too() {
    let text = r#"{"inputs": [], "servers": {"b": {"type": "stdio", "command": "x"}}, "mcpServers": {}}"#;
    let servers = parse_servers(text).unwrap();
    assert_eq!(servers.specs[0].name.as_str(), "b");
    assert_eq!(servers.places[&servers.specs[0].name], "$.servers.b");
    assert!(servers.warnings.is_empty(), "{:?}", servers.warnings);
}

#[test]
fn specs_come_sorted_and_the_disabled_ones_apart() {
    let text = r#"{"mcpServers": {
        "c": {"command": "x"}, "b": {"command": "x", "disabled": false},
        "off": {"disabled": true, "comand": 3}, "Off 2": {"enabled": false}, "C": {"disabled": true}, "7": {"disabled": true}
    }}"#;
    let servers = parse_servers(text).unwrap();
    let names: Vec<&str> = servers.specs.iter().map(|s| s.name.as_str()).collect();
    let disabled: Vec<&str> = servers.disabled.iter().map(ServerName::as_str).collect();
    assert_eq!((names, disabled), (vec!["b", "c"], vec!["off", "off-2"]));
    assert!(servers.warnings.is_empty(), "{:?}", servers.warnings);
}

#[test]
fn the_extras_of_portolan_are_read_and_theirs_are_no_noise() {
    let spec = spec(
        r#"{"command": "x", "description": "theirs", "portolan": {"description": "ours", "timeout": "500ms",
            "tools": {"allow": ["get_*"], "deny": ["get_x"]}, "health_check_url": "http://x", "query": "q",
            "session": "shared"}}"#,
    );
    assert_eq!(spec.description.as_deref(), Some("ours"));
    assert_eq!(spec.timeout, Some(Duration::from_millis(500)));
    assert!(spec.tools.admits("get_y") && !spec.tools.admits("get_x"));
    assert_eq!(spec.query, Some(QueryWay::new("q")));
    let foreign = r#"{"command": "x", "description": "theirs", "autoApprove": [], "alwaysAllow": ["a"], "gallery": true,
        "disabledTools": [], "inputs": [], "dev": {}, "note": "n"}"#;
    check_warnings(foreign, &[]);
    assert_eq!(super::tests::spec(foreign).description.as_deref(), Some("theirs"));
}

#[test]
fn br_006_a_health_check_url_is_an_address_or_refers_to_one() {
    let url = |url: &str| {
        spec(&format!(r#"{{"command": "x", "portolan": {{"health_check_url": {url}}}}}"#)).health_check_url
    };
    assert_eq!(url(r#""https://x.org/health""#), Some(Secret::new("https://x.org/health")));
    assert_eq!(url(r#""${BASE}/health""#), Some(Secret::new("${BASE}/health")));
    assert_eq!(url("null"), None);
    assert_eq!(spec(r#"{"command": "x"}"#).health_check_url, None);
    let problem = "invalid_schema at $.mcpServers.a.portolan.health_check_url: ";
    for (bad, expected) in
        [(r#""x.org""#, "The address must start with http"), ("7", "health_check_url must be a text")]
    {
        let text = format!(r#"{{"command": "x", "portolan": {{"health_check_url": {bad}}}}}"#);
        check_entry_problem(&text, &format!("{problem}{expected}"));
    }
}

#[test]
fn a_number_is_seconds_in_the_timeout_of_portolan() {
    assert_eq!(
        spec(r#"{"command": "x", "portolan": {"timeout": 90}}"#).timeout,
        Some(Duration::from_secs(90))
    );
    for bad in ["0", "-1", "\"soon\"", "1.5", "true", "\"0ms\""] {
        let text = format!(r#"{{"command": "x", "portolan": {{"timeout": {bad}}}}}"#);
        check_entry_problem(&text, "invalid_schema at $.mcpServers.a.portolan.timeout: timeout must be");
    }
}

#[test]
fn unknown_keys_are_warnings_that_name_the_nearest_known_one() {
    check_warnings(
        r#"{"command": "x", "arguments": [], "arg": [], "portolan": {"tool": {}, "tools": {"alow": []}}}"#,
        &[
            "$.mcpServers.a.arguments: unknown key, ignored",
            "$.mcpServers.a.arg: unknown key, ignored; did you mean `args`?",
            "$.mcpServers.a.portolan.tool: unknown key, ignored; did you mean `tools`?",
            "$.mcpServers.a.portolan.tools.alow: unknown key, ignored; did you mean `allow`?",
        ],
    );
    let warnings = parse_servers(r#"{"mcpServers": {}, "MCPservers": {}}"#).unwrap().warnings;
    assert_eq!(warnings, ["$.MCPservers: unknown key, ignored; did you mean `mcpServers`?"]);
}

#[test]
fn a_key_that_changes_how_a_server_runs_elsewhere_is_told_when_it_is_ignored() {
    let warnings = entry(r#"{"command": "x", "timeout": 5, "envFile": ".env"}"#).unwrap().warnings;
    assert!(warnings[0].starts_with("$.mcpServers.a.timeout: ignored: some programs mean seconds"));
    assert!(warnings[1].starts_with("$.mcpServers.a.envFile: not read"));
}

#[test]
fn an_extra_that_stands_beside_portolan_is_told_where_it_belongs() {
    check_warnings(
        r#"{"command": "x", "tools": {"deny": ["*"]}, "query": "q"}"#,
        &[
            "$.mcpServers.a.tools: ignored here; it belongs under `portolan`",
            "$.mcpServers.a.query: ignored here; it belongs under `portolan`",
        ],
    );
    check_warnings(r#"{"command": "x", "tools": ["*"]}"#, &[]);
}

#[test]
fn numbers_and_truth_values_are_taken_as_text_with_a_warning_that_hides_them() {
    let text = r#"{"command": "x", "args": [8080], "env": {"PORT": 4711, "DEBUG": true}}"#;
    check_warnings(
        text,
        &[
            "$.mcpServers.a.args[0]: a number is taken as text; put it in quotes",
            "$.mcpServers.a.env.PORT: a number is taken as text; put it in quotes",
            "$.mcpServers.a.env.DEBUG: true or false is taken as text; put it in quotes",
        ],
    );
    let TransportSpec::Stdio { env, .. } = spec(text).transport else { panic!("not stdio") };
    assert_eq!((env["PORT"].reveal(), env["DEBUG"].reveal()), ("4711", "true"));
}

#[test]
fn a_key_that_is_no_server_name_becomes_the_nearest_one() {
    let servers = parse_servers(r#"{"mcpServers": {"My Server": {"command": "x"}}}"#).unwrap();
    assert_eq!(servers.specs[0].name.as_str(), "my-server");
    let expected = r#"$.mcpServers["My Server"]: the key "My Server" is no server name; the server is called `my-server`"#;
    assert_eq!(servers.warnings, [expected]);
}

#[test]
fn names_that_cannot_be_made_or_meet_are_errors() {
    check_problems(
        r#"{"mcpServers": {"42": {"command": "x"}}}"#,
        &["$.mcpServers.42: No server name can be made"],
    );
    check_problems(
        r#"{"mcpServers": {"GitHub": {"command": "x"}}, "servers": {"github": {"command": "x"}}}"#,
        &["$.servers.github: The server would be called `github`, and so is $.mcpServers.GitHub"],
    );
}

#[test]
fn a_server_that_is_written_twice_is_one_error() {
    check_problems(
        r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
        &["invalid_schema at $.mcpServers.a: The key is written twice"],
    );
}

#[test]
fn the_validation_of_seed_002_holds() {
    check_problems("[]", &["invalid_schema at $: Config must be an object, not an array"]);
    check_problems("{}", &["invalid_schema at $.mcpServers: Missing required field: mcpServers"]);
    check_problems(r#"{"mcpserver": {}}"#, &["rename `mcpserver` to `mcpServers`"]);
    check_problems(r#"{"mcpServers": null}"#, &["$.mcpServers: mcpServers must be an object, not null"]);
    check_problems(r#"{"mcpServers": {"a": 1}}"#, &["$.mcpServers.a: Server config must be an object"]);
    let command = "invalid_schema at $.mcpServers.a.command: Missing or invalid command";
    for bad in
        [r"{}", r#"{"command": 1}"#, r#"{"command": " "}"#, r#"{"command": ["x"]}"#, r#"{"comand": "x"}"#]
    {
        check_entry_problem(bad, command);
    }
    check_entry_problem(r#"{"command": "x", "args": "y"}"#, "$.mcpServers.a.args: args must be an array");
    check_entry_problem(r#"{"command": "x", "args": null}"#, "$.mcpServers.a.args: args must be an array");
    check_entry_problem(r#"{"command": "x", "env": null}"#, "$.mcpServers.a.env: env must be an object");
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    check_entry_problem(r#"{"url": "https://x", "command": "x"}"#, "both a command and a url");
    check_entry_problem(r#"{"url": "https://x", "type": "ws"}"#, "$.mcpServers.a.type: type must be `stdio`");
    check_entry_problem(r#"{"type": "http"}"#, "$.mcpServers.a.url: Missing url");
    check_entry_problem(r#"{"url": "x.org/mcp"}"#, "$.mcpServers.a.url: The address must start with http://");
    check_entry_problem(r#"{"url": "https://"}"#, "name a host");
    check_entry_problem(r#"{"url": 7}"#, "$.mcpServers.a.url: url must be a text, not a number");
    check_entry_problem(
        r#"{"command": "x", "env": {"A=B": "c"}}"#,
        r#"$.mcpServers.a.env["A=B"]: No variable"#,
    );
    check_entry_problem(
        r#"{"command": "x", "env": {"A": []}}"#,
        "$.mcpServers.a.env.A: The value must be a text",
    );
    check_entry_problem(
        r#"{"command": "x", "disabled": "yes"}"#,
        "$.mcpServers.a.disabled: disabled must be true",
    );
}

#[test]
fn all_problems_come_at_once_and_hold_no_values() {
    let text = r#"{"mcpServers": {
        "a": {"args": "hunter2", "env": {"T": ["hunter2"]}},
        "b": {"url": "hunter2", "headers": {"K": null}},
        "c": {"command": "fine"}
    }}"#;
    let expected = ["a.command", "a.args", "a.env.T", "b.url", "b.headers.K"];
    check_problems(text, &expected);
    assert!(!format!("{:?}", parse_servers(text)).contains("hunter2"));
}

#[test]
fn a_byte_order_mark_does_no_harm() {
    assert!(parse_servers("\u{feff}{\"mcpServers\": {}}").unwrap().specs.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_not_found_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("none.json"), folder.path().to_owned()] {
        let errors = load_servers(&path).unwrap_err();
        assert_eq!(errors.problems[0].code, Code::FileNotFound);
        assert!(errors.to_string().starts_with(&path.display().to_string()), "{errors}");
        assert!(errors.to_string().contains("Config file cannot be read: "), "{errors}");
    }
}

#[test]
fn a_file_that_is_no_text_or_no_json_is_told_with_its_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let check = |bytes: &[u8], line: usize| {
        std::fs::write(file.path(), bytes).unwrap();
        let problem = load_servers(file.path()).unwrap_err().problems.remove(0);
        assert_eq!((problem.code, problem.line), (Code::InvalidJson, Some(line)), "{problem}");
    };
    check(b"{\n\"a\": \"\xff\"}", 2);
    check(b"\xff\xfe{\0}\0", 1);
    check(b"{\n\n\"mcpServers\" {}}", 3);
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(
        key in "[a-zA-Z.\u{e9} ]{0,5}",
        field in "command|url|type|args|env|headers|portolan|tools|disabled|\\PC{0,4}",
        value in r#"null|true|-1|1e400|"[$ {}a-z:/]{0,9}"|\[1, null\]|\{"a": \[\]\}|\{"timeout": 1, "tools": 2\}|\["#,
    ) {
        let _ = parse_servers(&format!("{{\"mcpServers\": {{{key:?}: {{{field:?}: {value}}}}}}}"));
    }
}

#[test]
fn the_servers_of_the_documentation_can_be_used_as_they_stand() {
    let docs = include_str!("../../../../docs/configuration.md");
    let examples: Vec<&str> =
        docs.split("```json\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    let read: Vec<Servers> = examples.into_iter().map(|text| parse_servers(text).unwrap()).collect();
    assert!(read.iter().all(|servers| servers.warnings.is_empty()), "{read:?}");
    assert_eq!(read.iter().flat_map(|servers| &servers.specs).filter(|spec| spec.query.is_some()).count(), 2);
}

/// The documentation shows what people will see, so it is held to what the program prints.
#[test]
fn the_examples_in_the_documentation_are_real() {
    let docs = include_str!("../../../../docs/configuration.md");
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, text).unwrap();
        let printed = match load_servers(&path) {
            Err(errors) => ConfigErrors { path: "mcp.json".into(), ..errors }.to_string(),
            Ok(servers) => {
                let problems = crate::check_variables(&servers, &crate::environment::of(&[]));
                let problems = ConfigErrors { path: "mcp.json".into(), problems }.to_string();
                servers.warnings.into_iter().chain([problems]).collect::<Vec<_>>().join("\n")
            }
        };
        assert!(docs.contains(&printed), "docs/configuration.md does not show:\n{printed}");
    };
    check("{\n  \"mcpServers\": {\n    \"fs\": { \"command\": \"npx\", }\n  }\n}\n");
    check(r#"{"mcpServers": {"fs": {"comand": "npx", "args": "-y"}, "web": {"url": "example.com/mcp"}}}"#);
    check(r#"{"mcpServers": {"My DB": {"command": "db", "envs": {}, "env": {"URL": "${DATABASE_URL}"}}}}"#);
}
