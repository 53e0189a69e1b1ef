//! The command line: what it prints where, and with which code it ends.

use crate::kit::{echoes, listed};
use portolan_testkit::{Client, DEADLINE, Fixture, Gateway, Profile, bin};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A home of its own for each run, so that nobody's settings are read.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[]).await
    }

    async fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        let mut command = tokio::process::Command::new(bin("portolan"));
        command.args(arguments).env("HOME", self.0.path()).env_remove("XDG_CONFIG_HOME").kill_on_drop(true);
        command.env_remove("XDG_DATA_HOME");
        command.envs(environment.iter().copied()).stdin(std::process::Stdio::null());
        let output = tokio::time::timeout(DEADLINE, command.output()).await.expect("it ends").unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn every_problem_of_a_configuration_is_told_at_once_with_code_and_path() {
    let home = Home::new();
    let file = home.write(
        "servers.json",
        &json!({ "mcpServers": {
            "a": { "command": 7 },
            "b": { "args": ["x"] },
            "c": { "command": "true", "url": "http://localhost/" },
            "d": { "url": "gopher://x" },
            "e": { "type": "carrier-pigeon", "url": "http://localhost/" },
            "f": { "command": "true", "args": "not a list" },
            "g": { "command": "true", "portolan": { "timeout": "soon" } },
        } })
        .to_string(),
    );
    for verb in
        [&["--config", text(&file)][..], &["serve", "--listen", "127.0.0.1:0", "--config", text(&file)]]
    {
        let ran = home.run(verb).await;
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        for place in
            ["a.command", "b.command", "c.command", "d.url", "e.type", "f.args", "g.portolan.timeout"]
        {
            let line = ran.err.lines().find(|line| line.contains(&format!("$.mcpServers.{place}")));
            assert!(line.is_some_and(|line| line.contains("invalid_schema")), "{place} in {}", ran.err);
        }
    }
}

#[tokio::test]
async fn broken_missing_and_incomplete_files_have_their_codes() {
    let home = Home::new();
    let broken = home.write("broken.json", "{\n  \"mcpServers\": {\n    \"a\": }\n");
    let ran = home.run(&["--config", text(&broken)]).await;
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("invalid_json") && ran.err.contains("(3:10)"), "{}", ran.err);
    let ran = home.run(&["--config", "/nonexistent/servers.json"]).await;
    assert!(ran.code == Some(2) && ran.err.contains("file_not_found"), "{}", ran.err);
    let needy = home.write(
        "needy.json",
        r#"{"mcpServers":{"a":{"command":"true","env":{"T":"${NOT_SET_1}"}},"b":{"url":"http://${NOT_SET_2}/"}}}"#,
    );
    let ran = home.run(&["--config", text(&needy)]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    for (variable, place) in [("NOT_SET_1", "$.mcpServers.a.env.T"), ("NOT_SET_2", "$.mcpServers.b.url")] {
        let line = ran.err.lines().find(|line| line.contains(variable)).unwrap_or_default();
        assert!(line.contains("missing_env_var") && line.contains(place), "{}", ran.err);
    }
}

#[tokio::test]
async fn a_wrong_command_line_is_code_2() {
    let home = Home::new();
    let file = home.write("servers.json", r#"{"mcpServers":{}}"#);
    for arguments in [
        &[][..],
        &["--no-such-flag"],
        &["no-such-verb"],
        &["serve", "--listen", "nowhere"],
        &["--config", text(&file), "--names", "shouting"],
    ] {
        let ran = home.run(arguments).await;
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{arguments:?}");
    }
}

#[tokio::test]
async fn t05_an_address_that_others_can_reach_is_refused() {
    let home = Home::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let ran = home.run(&["serve", "--listen", address]).await;
        assert_eq!(ran.code, Some(2), "{address}");
        assert!(ran.err.contains("authentication"), "{}", ran.err);
    }
    let ran = home.run_with(&["serve"], &[("PORTOLAN_LISTEN", "0.0.0.0:0")]).await;
    assert_eq!(ran.code, Some(2));
}

#[tokio::test]
async fn version_alone_prints_ours_and_with_a_value_announces_that() {
    let home = Home::new();
    let ran = home.run(&["--version"]).await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains(env!("CARGO_PKG_VERSION")), "{}", ran.out);
    let arguments = ["--version", "9.8.7", "--name", "harbour"];
    let builder = arguments.into_iter().fold(Gateway::builder(), portolan_testkit::GatewayBuilder::arg);
    let (_gateway, client) = builder.stdio(Profile::default());
    let welcome = client.initialize().await;
    assert_eq!(welcome["result"]["serverInfo"], json!({ "name": "harbour", "version": "9.8.7" }));
    let (_gateway, client) = Gateway::builder().stdio(Profile::default());
    let welcome = client.initialize().await;
    assert_eq!(
        welcome["result"]["serverInfo"],
        json!({ "name": "portolan", "version": env!("CARGO_PKG_VERSION") })
    );
}

#[tokio::test]
async fn stdout_carries_mcp_and_nothing_else() {
    let builder =
        Gateway::builder().fixture("one", &["--faults", "--stderr", "words of a child"]).arg("--debug");
    let (gateway, client) = builder.stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    client.send_line("this is not JSON").await;
    echoes(&client, "one:echo").await;
    client.call("one:crash", json!({})).await;
    echoes(&client, "one:echo").await;
    gateway.stderr_contains("words of a child").await;
    for line in client.lines().all() {
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not MCP: {line}"));
        assert_eq!(message["jsonrpc"], "2.0");
    }
}

#[tokio::test]
async fn config_shows_every_setting_and_where_it_came_from() {
    let home = Home::new();
    let settings = home.write("portolan.toml", "names = \"safe\"\n[limits]\ncall_timeout = \"5s\"\n");
    let flags = ["config", "--settings", text(&settings), "--name", "harbour"];
    let ran = home.run_with(&flags, &[("PORTOLAN_LIMITS_CALL_TIMEOUT", "7s")]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let row = |key: &str| ran.out.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(row("names").contains("safe") && row("names").contains("portolan.toml"), "{}", ran.out);
    assert!(row("limits.call_timeout").contains("PORTOLAN_LIMITS_CALL_TIMEOUT"), "{}", ran.out);
    assert!(row("name ").contains("harbour") && row("listen").contains("default"), "{}", ran.out);
    let ran = home.run(&[&flags[..], &["--json"]].concat()).await;
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(all["limits.call_timeout"]["value"], "5s");
    let wrong = home.write("wrong.toml", "nmaes = \"safe\"\n");
    let ran = home.run(&["config", "--settings", text(&wrong)]).await;
    assert!(ran.code == Some(2) && ran.err.contains("nmaes") && ran.err.contains("names"), "{}", ran.err);
    let ran = home.run_with(&["config"], &[("PORTOLAN_LIMITS_CALL_TIMEOUT", "soon")]).await;
    assert!(ran.code == Some(2) && ran.err.contains("PORTOLAN_LIMITS_CALL_TIMEOUT"), "{}", ran.err);
}

#[tokio::test]
async fn doctor_says_of_every_server_what_is_wrong_and_how_to_mend_it() {
    let home = Home::new();
    let canary = "canary-77e1";
    let web = Fixture::http(&[]).await;
    let locked = Fixture::http(&["--unauthorized"]).await;
    let mut closed = Fixture::http(&[]).await;
    closed.stop().await;
    let fixture =
        |flags: &[&str]| json!({ "command": bin("portolan-fixture"), "args": flags, "env": { "T": canary } });
    let mut guarded = locked.entry();
    guarded["headers"] = json!({ "Authorization": canary });
    let mut off = fixture(&[]);
    off["disabled"] = json!(true);
    let config = json!({ "mcpServers": {
        "good": fixture(&["--tools", "3"]),
        "odd": fixture(&["--bad-tools", "--only", "echo"]),
        "web": web.entry(),
        "locked": guarded,
        "closed": closed.entry(),
        "missing": { "command": "portolan-no-such-program" },
        "dying": fixture(&["--exit", "4", "--stderr", "out of paper"]),
        "off": off,
    } });
    let file = home.write("servers.json", &config.to_string());
    let ran = home.run(&["doctor", "--config", text(&file)]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let after = |start: &str| {
        let at = ran.out.find(start).unwrap_or_else(|| panic!("no {start:?} in {}", ran.out));
        ran.out[at..].lines().take(3).collect::<Vec<_>>().join("\n")
    };
    assert!(after("ok      good").contains("3 tools, revision 2025-11-25"), "{}", ran.out);
    after("ok      web");
    assert!(ran.out.contains("schema_null") && ran.out.contains("left out"), "{}", ran.out);
    assert!(after("WRONG   missing").contains("not found"), "{}", ran.out);
    let dying = after("WRONG   dying");
    assert!(dying.contains("exit status: 4") && dying.contains("out of paper"), "{dying}");
    assert!(after("WRONG   closed").contains("nothing listens there"), "{}", ran.out);
    assert!(after("WRONG   locked").contains("401"), "{}", ran.out);
    after("off     off");
    assert!(ran.out.contains("7 servers, 4 with problems"), "{}", ran.out);
    assert!(!ran.out.contains(canary) && !ran.err.contains(canary));
    assert!(portolan_testkit::processes::mentioning(text(home.0.path())).is_empty());
}

#[tokio::test]
async fn doctor_speaks_json_and_all_well_is_code_0() {
    let home = Home::new();
    let fixture = json!({ "command": bin("portolan-fixture"), "args": ["--tools", "3"] });
    let file = home.write("servers.json", &json!({ "mcpServers": { "good": fixture } }).to_string());
    let ran = home.run(&["doctor", "--json", "--config", text(&file)]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&report["servers"][0]["ok"], &report["servers"][0]["tools"]),
        (&json!(true), &json!(3)),
        "{report}"
    );
}

#[tokio::test]
async fn more_servers_than_the_limit_are_code_2() {
    let home = Home::new();
    let file =
        home.write("servers.json", r#"{"mcpServers":{"a":{"command":"true"},"b":{"command":"true"}}}"#);
    let ran = home.run_with(&["--config", text(&file)], &[("PORTOLAN_LIMITS_SERVERS", "1")]).await;
    assert!(ran.code == Some(2) && ran.err.contains("limit of 1"), "{}", ran.err);
}
