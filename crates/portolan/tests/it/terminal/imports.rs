//! `portolan import`: the plan, and what becomes of it.

use super::{Person, fixture, text};
use portolan_testkit::Gateway;
use serde_json::{Value, json};

/// What Cursor and Codex of this person have configured.
fn configure(person: &Person) -> String {
    let cursor = json!({ "mcpServers": {
        "one": { "command": fixture(), "args": ["--faults"], "env": { "T": "<${MY_TOKEN}>" } },
        "needy": { "command": "true", "args": ["${NOT_SET_ANYWHERE}"] },
        "off": { "command": "true", "disabled": true },
    } })
    .to_string();
    person.write(".cursor/mcp.json", &cursor);
    person.write(
        ".codex/config.toml",
        "[mcp_servers.one]\ncommand = \"other\"\n[mcp_servers.web]\nurl = \"http://127.0.0.1:9/mcp\"\n",
    );
    cursor
}

fn steps(plan: &Value) -> Vec<(&str, &str)> {
    let rows = plan["servers"].as_array().unwrap();
    rows.iter().map(|row| (row["server"].as_str().unwrap(), row["step"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_dry_run_shows_the_plan_without_a_running_portolan_and_does_nothing() {
    let person = Person::new().with("MY_TOKEN", "canary-9f3c");
    configure(&person);
    let shown = person.does(&["import", "--dry-run"]).await;
    for line in [
        "add, with MY_TOKEN from your environment",
        "skip: ${NOT_SET_ANYWHERE} is not set",
        "skip: it is switched off in Cursor",
        "skip: another server of this name comes from ~/.cursor/mcp.json",
        "secrets that are set from your environment: MY_TOKEN",
        "no Portolan is running here",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    assert!(!shown.contains("canary"), "{shown}");
    let plan = person.reads(&["import", "--dry-run", "--from", "cursor"]).await;
    assert_eq!(steps(&plan), [("needy", "skip"), ("one", "add"), ("off", "skip")]);
    assert_eq!(plan["secrets"], json!(["MY_TOKEN"]));
    person.fails(&["list"], 1, "no Portolan is running here").await;
}

#[tokio::test]
async fn with_none_running_they_go_into_the_data_folder_and_connect_with_the_next_start() {
    let builder = Gateway::builder();
    let data = builder.directory().join("data");
    let person = Person::new().with("MY_TOKEN", "canary-9f3c");
    configure(&person);
    let said = person.does(&["import", "--yes", "--from", "cursor", "--data", text(&data)]).await;
    assert!(said.contains("1 server is added: `portolan serve` connects them"), "{said}");
    let again = person.reads(&["import", "--yes", "--from", "cursor", "--data", text(&data)]).await;
    assert!(steps(&again).contains(&("one", "skip")), "{again}");
    let gateway = builder.serve().await;
    let person = Person::at(&gateway);
    person.does(&["connect", "one", "--wait"]).await;
    assert!(person.does(&["call", "one.env"]).await.contains("<canary-9f3c>"));
}

#[tokio::test]
async fn servers_are_added_once_with_their_secrets_and_other_programs_files_stay_as_they_are() {
    let gateway = Gateway::builder().serve().await;
    let person = Person::at(&gateway).with("MY_TOKEN", "canary-9f3c");
    let cursor = configure(&person);
    let ran = person.run(&["import"]).await;
    assert_eq!(ran.code, Some(2), "nobody can be asked here: {ran:?}");
    assert!(ran.out.contains("PLAN") && ran.err.contains("--yes"), "{ran:?}");
    assert_eq!(person.reads(&["list"]).await, json!([]));
    let ran = person.run(&["import", "--yes"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("2 servers are added"), "{ran:?}");
    person.does(&["connect", "one", "--wait"]).await;
    assert!(person.does(&["call", "one.env"]).await.contains("<canary-9f3c>"));
    let again = person.reads(&["import", "--yes"]).await;
    assert!(steps(&again).iter().all(|(_, step)| *step == "skip"), "{again}");
    assert_eq!(std::fs::read_to_string(person.home.path().join(".cursor/mcp.json")).unwrap(), cursor);
}

#[tokio::test]
async fn a_secret_that_is_there_already_is_used_as_it_is() {
    let gateway = Gateway::builder().serve().await;
    let person = Person::at(&gateway).with("MY_TOKEN", "from the environment");
    configure(&person);
    person.run_with(&["secret", "set", "MY_TOKEN"], "kept").await;
    let plan = person.reads(&["import", "--from", "cursor", "--yes"]).await;
    assert_eq!(plan["secrets"], json!([]));
    assert!(steps(&plan).contains(&("one", "added")), "{plan}");
    person.does(&["connect", "one", "--wait"]).await;
    assert!(person.does(&["call", "one.env"]).await.contains("<kept>"));
}

#[tokio::test]
async fn what_the_server_refuses_is_said_and_the_others_are_added() {
    let gateway = Gateway::builder().env("PORTOLAN_STDIO_REGISTER", "off").serve().await;
    let person = Person::at(&gateway);
    let file = person.write(
        "any.json",
        r#"{"mcpServers": {"program": {"command": "true"}, "web": {"url": "http://127.0.0.1:9/mcp"}}}"#,
    );
    let ran = person.run(&["import", "--yes", "--from", text(&file)]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("program is not added: ") && ran.out.contains("1 server is added"), "{ran:?}");
    person.fails(&["import", "--from", "emacs"], 2, "cursor").await;
    person.fails(&["import", "--from", "zed"], 1, "zed has no file here").await;
}
