//! Files as each program writes them, and what becomes of their servers.

use super::*;
use crate::problem::Code;
use crate::resolve::references;
use portolan_model::{RemoteKind, Secret};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn found(program: Program, text: &str) -> Found {
    parse_program(program, text, None).unwrap()
}

#[track_caller]
fn names(found: &Found) -> Vec<&str> {
    assert!(found.specs.iter().all(|spec| spec.origin == Origin::Registered));
    found.specs.iter().map(|spec| spec.name.as_str()).collect()
}

#[track_caller]
fn check_skipped(found: &Found, expected: &[(&str, &str)]) {
    assert_eq!(found.skipped.len(), expected.len(), "{:#?}", found.skipped);
    for ((key, reason), (expected_key, expected_reason)) in found.skipped.iter().zip(expected) {
        assert_eq!(key, expected_key);
        assert!(reason.contains(expected_reason), "{reason}\ndoes not hold\n{expected_reason}");
    }
}

fn child(command: &str, args: &[&str], env: &[(&str, &str)]) -> TransportSpec {
    TransportSpec::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| Secret::from(*arg)).collect(),
        env: secrets(env),
        cwd: None,
    }
}

fn remote(kind: RemoteKind, url: &str, headers: &[(&str, &str)]) -> TransportSpec {
    TransportSpec::Remote { kind, url: Secret::from(url), headers: secrets(headers) }
}

fn secrets(values: &[(&str, &str)]) -> BTreeMap<String, Secret> {
    values.iter().map(|(name, value)| ((*name).to_owned(), Secret::from(*value))).collect()
}

#[test]
fn claude_desktop_is_read() {
    let found = found(
        Program::ClaudeDesktop,
        r#"{
          "globalShortcut": "Alt+Space",
          "mcpServers": {
            "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"]},
            "GitHub": {"command": "docker", "args": ["run", "-i", "ghcr.io/github/github-mcp-server"],
                       "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "gh$p_1"}}
          },
          "preferences": {"quickEntry": true}
        }"#,
    );
    assert_eq!(names(&found), ["filesystem", "github"]);
    let token = [("GITHUB_PERSONAL_ACCESS_TOKEN", "gh$$p_1")];
    assert_eq!(
        found.specs[1].transport,
        child("docker", &["run", "-i", "ghcr.io/github/github-mcp-server"], &token)
    );
    check_skipped(&found, &[]);
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn claude_code_is_read_with_every_project() {
    let found = found(
        Program::ClaudeCode,
        r#"{
          "numStartups": 42,
          "mcpServers": {"sentry": {"type": "http", "url": "https://mcp.sentry.dev/mcp"}},
          "projects": {
            "/srv/shop": {
              "allowedTools": [], "history": [{"display": "hi"}],
              "mcpServers": {
                "db": {"type": "stdio", "command": "./bin/db-mcp", "args": [], "env": {"URL": "${DB_URL:-sqlite:}"}},
                "sentry": {"type": "http", "url": "https://mcp.sentry.dev/mcp"}
              }
            },
            "/srv/blog": {"mcpServers": {"sentry": {"type": "sse", "url": "https://mcp.sentry.dev/sse"}}},
            "/srv/none": {"mcpServers": {}}
          }
        }"#,
    );
    assert_eq!(names(&found), ["sentry", "db"]);
    let TransportSpec::Stdio { cwd, .. } = &found.specs[1].transport else { panic!("not stdio") };
    assert_eq!(cwd.as_deref(), Some("/srv/shop"));
    assert_eq!(references(&found.specs[1]), ["DB_URL"]);
    check_skipped(&found, &[("sentry", "another server in the same file is called `sentry` already")]);
}

#[test]
fn cursor_is_read_with_comments() {
    let found = found(
        Program::Cursor,
        r#"{
          // mine
          "mcpServers": {
            "linear": {"url": "https://mcp.linear.app/mcp", "headers": {"Authorization": "Bearer ${env:LINEAR}"}},
            "here": {"command": "node", "args": ["${workspaceFolder}/server.js"]},
          }
        }"#,
    );
    let headers = [("Authorization", "Bearer ${LINEAR}")];
    assert_eq!(found.specs[0].transport, remote(RemoteKind::Detect, "https://mcp.linear.app/mcp", &headers));
    assert_eq!(references(&found.specs[0]), ["LINEAR"]);
    check_skipped(&found, &[("here", "`${workspaceFolder}` is a path that only Cursor knows")]);
}

#[test]
fn vs_code_is_read_from_its_own_file() {
    let found = found(
        Program::VsCode,
        r#"{
          "inputs": [{"type": "promptString", "id": "key", "password": true}],
          "servers": {
            "playwright": {"type": "stdio", "command": "npx", "args": ["@playwright/mcp@latest"], "gallery": true},
            "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"},
            "perplexity": {"type": "stdio", "command": "npx", "env": {"KEY": "${input:key}"}},
            "off": {"type": "stdio", "command": "x", "disabled": true},
          },
        }"#,
    );
    assert_eq!(names(&found), ["playwright", "github"]);
    assert_eq!(found.specs[1].transport, remote(RemoteKind::Http, "https://api.githubcopilot.com/mcp/", &[]));
    check_skipped(
        &found,
        &[
            ("perplexity", "put the value into a secret (`portolan secret set NAME`)"),
            ("off", "it is switched off in VS Code"),
        ],
    );
}

#[test]
fn vs_code_is_read_from_its_settings_in_both_spellings() {
    let nested = r#"{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": {"a": {"command": "x"}}}}"#;
    let flat = r#"{"editor.fontSize": 12, "mcp.servers": {"a": {"command": "x"}}, // end
                   "mcp": {"discovery.enabled": true}}"#;
    for text in [nested, flat] {
        assert_eq!(found(Program::VsCode, text).specs[0].transport, child("x", &[], &[]), "{text}");
    }
    assert!(found(Program::VsCode, r#"{"editor.fontSize": 12, "mcp": true}"#).specs.is_empty());
}

#[test]
fn windsurf_is_read_with_the_tools_that_were_switched_off() {
    let found = found(
        Program::Windsurf,
        r#"{"mcpServers": {
            "figma": {"serverUrl": "https://mcp.figma.com/mcp", "disabledTools": ["delete_file"], "disabled": false},
            "both": {"command": "x", "disabledTools": ["a"], "portolan": {"tools": {"deny": ["b"]}}}
        }}"#,
    );
    assert_eq!(found.specs[0].transport, remote(RemoteKind::Detect, "https://mcp.figma.com/mcp", &[]));
    assert!(!found.specs[0].tools.admits("delete_file") && found.specs[0].tools.admits("get_file"));
    assert_eq!(found.specs[1].tools.deny, ["b"]);
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn zed_is_read_in_its_old_and_its_new_shape() {
    let found = found(
        Program::Zed,
        r#"// Zed settings
        {
          "theme": "One Dark",
          "context_servers": {
            "new": {"source": "custom", "enabled": true, "command": "uvx", "args": ["mcp-server-git"], "env": null},
            "old": {"source": "custom", "command": {"path": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "timeout": 60}},
            "far": {"url": "https://x.org/mcp", "headers": {"Authorization": "Bearer ${T}"}},
            "postgres-context-server": {"source": "extension", "settings": {"database_url": "postgres://"}},
            "off": {"enabled": false, "command": "x"},
          },
        }"#,
    );
    assert_eq!(names(&found), ["new", "old", "far"]);
    assert_eq!(found.specs[0].transport, child("uvx", &["mcp-server-git"], &[]));
    assert_eq!(found.specs[1].transport, child("npx", &["-y", "x"], &[("K", "v")]));
    assert_eq!(references(&found.specs[2]), ["T"]);
    check_skipped(
        &found,
        &[("postgres-context-server", "only Zed can run"), ("off", "it is switched off in Zed")],
    );
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn codex_is_read_with_its_variables_as_references() {
    let found = found(
        Program::Codex,
        r#"
        model = "o3"
        [mcp_servers.docs]
        command = "npx"
        args = ["-y", "docs-mcp"]
        env_vars = ["PLAIN", { name = "TOLD", source = "local" }]
        startup_timeout_sec = 20
        tool_timeout_sec = 1.5
        enabled_tools = ["search", "open"]
        disabled_tools = ["open"]
        [mcp_servers.docs.env]
        API_KEY = "pa$WORD"

        [mcp_servers.figma]
        url = "https://mcp.figma.com/mcp"
        bearer_token_env_var = "FIGMA_TOKEN"
        http_headers = { "X-Region" = "eu" }
        env_http_headers = { "X-Tenant" = "TENANT" }

        [mcp_servers.off]
        command = "x"
        enabled = false

        [mcp_servers."none at all"]
        command = "x"
        enabled_tools = []
        "#,
    );
    assert_eq!(names(&found), ["docs", "figma", "none-at-all"]);
    let env = [("API_KEY", "pa$$WORD"), ("PLAIN", "${PLAIN}"), ("TOLD", "${TOLD}")];
    assert_eq!(found.specs[0].transport, child("npx", &["-y", "docs-mcp"], &env));
    assert_eq!(found.specs[0].timeout, Some(Duration::from_millis(1500)));
    assert!(found.specs[0].tools.admits("search") && !found.specs[0].tools.admits("open"));
    let headers = [("Authorization", "Bearer ${FIGMA_TOKEN}"), ("X-Region", "eu"), ("X-Tenant", "${TENANT}")];
    assert_eq!(found.specs[1].transport, remote(RemoteKind::Http, "https://mcp.figma.com/mcp", &headers));
    assert!(!found.specs[2].tools.admits("anything"));
    check_skipped(&found, &[("off", "it is switched off in Codex")]);
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn an_entry_that_makes_no_sense_is_skipped_and_the_others_are_not() {
    let found = found(
        Program::ClaudeDesktop,
        r#"{"mcpServers": {
            "a": {"command": "x", "args": "hunter2"}, "b": "hunter2", "42": {"command": "x"},
            "Fine": {"command": "x", "colour": 1}, "fine": {"command": "y"}, "ws": {"type": "ws", "url": "wss://x"}
        }}"#,
    );
    assert_eq!(names(&found), ["fine"]);
    check_skipped(
        &found,
        &[
            ("a", "args must be an array of texts, not a text"),
            ("b", "it is no object but a text"),
            ("42", "no server name can be made of its key"),
            ("fine", "another server in the same file is called `fine` already"),
            ("ws", "type must be `stdio`"),
        ],
    );
    assert_eq!(found.warnings, ["$.mcpServers.Fine.colour: unknown key, ignored"]);
    assert!(!format!("{found:?}").contains("hunter2"));
}

#[test]
fn a_file_without_servers_is_none_that_is_wrong() {
    for program in Program::ALL {
        let nothing = if program == Program::Codex { "model = \"o3\"" } else { "{\"theme\": \"dark\"}" };
        for text in ["", " \n", "\u{feff}", nothing] {
            let found = found(program, text);
            assert!(found.specs.is_empty() && found.skipped.is_empty(), "{program}");
        }
    }
}

#[test]
fn a_broken_file_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let problem = |program, text: &str| {
        std::fs::write(&path, text).unwrap();
        let errors = read_program(program, &path).unwrap_err();
        assert_eq!(errors.path, path);
        errors.problems[0].clone()
    };
    let strict = problem(Program::ClaudeDesktop, "{\n // no\n}");
    assert_eq!((strict.code, strict.line), (Code::InvalidJson, Some(2)));
    let lenient = problem(Program::Zed, "{\n // yes\n \"a\" 1}");
    assert_eq!((lenient.code, lenient.line, lenient.column), (Code::InvalidJson, Some(3), Some(6)));
    let toml = problem(Program::Codex, "a = 1\nb = \n");
    assert_eq!((toml.line, toml.column), (Some(2), Some(5)));
    assert!(toml.message.starts_with("the file is no TOML: "), "{toml}");
    let shape = problem(Program::Cursor, "{\"mcpServers\": []}");
    assert_eq!((shape.code, shape.path.as_str()), (Code::InvalidSchema, "$.mcpServers"));
    assert_eq!(problem(Program::Cursor, "[]").code, Code::InvalidSchema);
    let none = read_program(Program::Cursor, &folder.path().join("none")).unwrap_err();
    assert_eq!(none.problems[0].code, Code::FileNotFound);
}

#[test]
fn a_file_that_is_nested_without_end_is_refused() {
    for program in Program::ALL {
        let brackets = "[".repeat(100_000);
        let text = if program == Program::Codex { format!("a = {brackets}") } else { brackets };
        assert!(parse_program(program, &text, None).is_err(), "{program}");
    }
}

#[test]
fn a_server_of_a_project_runs_in_its_folder_where_that_matters() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.py"), "").unwrap();
    let cwd = |entry: &str| {
        let text = format!("{{\"mcpServers\": {{\"a\": {entry}}}}}");
        let found = parse_program(Program::ClaudeCode, &text, Some(folder.path())).unwrap();
        match &found.specs[0].transport {
            TransportSpec::Stdio { cwd, .. } => cwd.clone(),
            TransportSpec::Remote { .. } => None,
        }
    };
    let here = Some(folder.path().to_str().unwrap().to_owned());
    assert_eq!(cwd(r#"{"command": "python", "args": ["server.py"]}"#), here);
    assert_eq!(cwd(r#"{"command": "node", "args": ["./dist/index.js"]}"#), here);
    assert_eq!(cwd(r#"{"command": "../run"}"#), here);
    assert_eq!(cwd(r#"{"command": "npx", "args": ["-y", "@scope/server", ""]}"#), None);
    assert_eq!(cwd(r#"{"command": "server.py"}"#), None);
    assert_eq!(cwd(r#"{"command": "x", "args": ["."], "cwd": "/elsewhere"}"#).as_deref(), Some("/elsewhere"));
    assert_eq!(cwd(r#"{"url": "https://x.org"}"#), None);
}

#[test]
fn a_relative_file_belongs_to_the_project_around_it() {
    let working = std::path::absolute(".").unwrap();
    for path in [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml"] {
        assert_eq!(project_folder(path.as_ref()), Some(working.clone()), "{path}");
    }
    assert_eq!(project_folder(&working.join(".cursor").join("mcp.json")), None);
}

#[test]
fn programs_are_named_for_people_and_for_the_command_line() {
    assert_eq!(Program::from_flag("claude"), [Program::ClaudeDesktop, Program::ClaudeCode]);
    assert_eq!(Program::from_flag("VSCode"), [Program::VsCode]);
    assert_eq!(Program::from_flag("servers.json"), []);
    for program in Program::ALL {
        assert_eq!(Program::from_flag(program.flag()), [program], "{program}");
    }
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(
        program in prop::sample::select(&Program::ALL[..]),
        section in "mcpServers|servers|context_servers|mcp_servers|projects|mcp",
        field in "command|url|type|args|env|headers|portolan|tools|enabledTools|disabled|\\PC{0,4}",
        value in r#"null|true|-1|1e400|"[$ {}a-z:/]{0,9}"|\[1, null\]|\{"a": \[\]\}|\{"path": 1\}|\["#,
    ) {
        let text = format!("{{{section:?}: {{\"a\": {{{field:?}: {value}}}, \"b\": {value}}}, // x\n}}");
        let _ = parse_program(program, &text, None);
        let _ = parse_program(Program::Codex, &format!("[{section}.a]\n{field} = {value}"), None);
    }
}
