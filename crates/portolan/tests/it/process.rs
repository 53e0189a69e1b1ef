//! Servers as children: how they start, how they end, what they get and what they leave behind.

use crate::kit::{echoes, listed, one, pid_of, ready, tool_error, until};
use portolan_testkit::{Client, Fixture, Gateway, Signal, bin, processes};
use serde_json::{Value, json};

#[tokio::test]
async fn f01_a_command_that_is_missing_or_not_executable_is_an_error_with_its_reason_and_the_others_serve() {
    let builder = Gateway::builder().fixture("well", &[]);
    let plain = builder.directory().join("plain.txt");
    std::fs::write(&plain, "not a program").unwrap();
    let builder = builder
        .server("missing", json!({ "command": "/nonexistent/portolan-test-program" }))
        .server("plain", json!({ "command": plain }))
        .server("elsewhere", json!({ "command": "true", "cwd": "/nonexistent/folder" }));
    let (gateway, client) = ready(builder, &["well"]).await;
    echoes(&client, "well.echo").await;
    let said = |name: &'static str| {
        let client = client.clone();
        async move { tool_error(&client, name, json!({})).await }
    };
    let (missing, plain, elsewhere) =
        tokio::join!(said("missing.anything"), said("plain.anything"), said("elsewhere.anything"));
    assert!(missing.contains("server missing") && missing.contains("was not found"), "{missing}");
    assert!(plain.contains("is not executable"), "{plain}");
    assert!(elsewhere.contains("working directory"), "{elsewhere}");
    // The tries are used up: the state is ERROR, and people can see why.
    let is_given_up = |line: &String| line.contains("not connected") && line.contains("was not found");
    gateway.stderr().wait_for("the end of the tries", is_given_up).await;
    let now = tool_error(&client, "missing.anything", json!({})).await;
    assert!(now.contains("ERROR"), "{now}");
    echoes(&client, "well.echo").await;
}

#[tokio::test]
async fn f02_a_child_that_exits_at_once_is_not_started_without_end_and_its_code_and_last_words_are_told() {
    let flags = ["--exit", "3", "--stderr", "the licence has run out"];
    let builder = Gateway::builder().fixture("well", &[]).fixture("bad", &flags);
    let (gateway, client) = ready(builder, &["well"]).await;
    let told = gateway.stderr_contains("not connected").await;
    assert!(told.contains("exit status: 3") && told.contains("the licence has run out"), "{told}");
    // Its end may have been its answer to a question of the newer era, so the first try is made without it as well.
    assert_eq!(
        gateway.journal("bad").starts(),
        5,
        "one try, once more without the question, and three quick retries"
    );
    let error = tool_error(&client, "bad.anything", json!({})).await;
    assert!(error.contains("exit status: 3") && error.contains("the licence has run out"), "{error}");
    echoes(&client, "well.echo").await;
}

#[tokio::test]
async fn f03_a_child_that_prints_200k_lines_of_noise_first_connects() {
    let (_gateway, client) = one(&["--noise", "200000"]).await;
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn f04_a_child_that_is_alive_but_mute_is_an_error_at_the_limit_and_nothing_of_it_is_left() {
    let builder = Gateway::builder().fixture("well", &[]).fixture("mute", &["--mute", "--grandchild"]);
    let builder = builder.env("PORTOLAN_LIMITS_CONNECT_TIMEOUT", "1s");
    let (gateway, client) = ready(builder, &["well"]).await;
    let told = gateway.stderr_contains("not connected").await;
    assert!(told.contains("did not answer within 1s"), "{told}");
    until("nothing of the mute server is left", || gateway.fixtures().len() == 1).await;
    let error = tool_error(&client, "mute.anything", json!({})).await;
    assert!(error.contains("did not answer within 1s"), "{error}");
    echoes(&client, "well.echo").await;
}

#[tokio::test]
async fn f05_a_child_that_crashes_mid_call_fails_that_call_at_once_and_comes_back() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &["--faults"]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let (before, neighbour) = (pid_of(&client, "one").await, pid_of(&client, "two").await);
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { tool_error(&client, "one.hang", json!({})).await }
    });
    let elsewhere = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("two.slow", json!({ "ms": 500 })).await }
    });
    gateway.journal("one").wait_for_executions("hang", 1).await;
    gateway.journal("two").wait_for_executions("slow", 1).await;
    let error = tool_error(&client, "one.crash", json!({ "code": 7 })).await;
    assert!(error.contains("server one") && error.contains("exit status: 7"), "{error}");
    let error = hanging.await.unwrap();
    assert!(error.contains("may have taken effect"), "{error}");
    assert_eq!(elsewhere.await.unwrap(), "slept 500 ms");
    // It keeps its place in the list, and a call to it waits until it is back.
    assert!(client.tool_names().await.contains(&"one.echo".to_owned()));
    echoes(&client, "one.echo").await;
    assert_ne!(pid_of(&client, "one").await, before);
    assert_eq!(pid_of(&client, "two").await, neighbour);
    assert_eq!(gateway.journal("one").executions("crash"), 1, "never sent again");
    assert_eq!(gateway.journal("one").executions("hang"), 1, "never sent again");
}

#[tokio::test]
async fn f07_a_child_that_dies_right_after_each_connect_is_not_respawned_in_a_storm() {
    let builder = Gateway::builder().fixture("well", &[]).fixture("dying", &["--exit-after-list"]);
    let (gateway, client) = ready(builder, &["well"]).await;
    gateway
        .stderr()
        .wait_for("the server given up", |line| line.contains("not connected") && line.contains("dying"))
        .await;
    let starts = gateway.journal("dying").starts();
    assert!(starts <= 5, "{starts} starts before it was given up");
    echoes(&client, "well.echo").await;
}

/// The fixture behind a shell, with a child of its own: three processes that belong together.
fn wrapped(gateway: &std::path::Path) -> Value {
    let journal = gateway.join("wrapped.journal");
    let line = format!(
        "{} --faults --grandchild --journal {}; true",
        bin("portolan-fixture").display(),
        journal.display()
    );
    json!({ "command": "sh", "args": ["-c", line] })
}

#[tokio::test]
async fn f08_grandchildren_end_with_a_removed_server_and_with_the_gateway() {
    let builder = Gateway::builder().fixture("stays", &["--grandchild"]);
    let entry = wrapped(builder.directory());
    let (mut gateway, client) = ready(builder.server("wrapped", entry), &["stays", "wrapped"]).await;
    let server = pid_of(&client, "wrapped").await;
    let group = processes::Process::read(server).unwrap().group;
    let members = processes::group_members(group);
    assert_eq!(members.len(), 3, "the shell, the fixture and its child: {members:?}");
    gateway.rewrite_config(&json!({ "mcpServers": {
        "stays": gateway.fixture_entry("stays", &["--grandchild"]) } }));
    processes::wait_gone(&members).await;
    echoes(&client, "stays.echo").await;
    let rest = gateway.children();
    assert!(rest.len() >= 3, "the fixture, its child and the watchdog: {rest:?}");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&rest).await;
}

#[tokio::test]
async fn f09_a_killed_gateway_takes_its_children_and_their_children_along() {
    let builder = Gateway::builder().fixture("one", &["--grandchild"]).fixture("deaf", &["--ignore-term"]);
    let entry = wrapped(builder.directory());
    let (mut gateway, _client) = ready(builder.server("wrapped", entry), &["one", "deaf", "wrapped"]).await;
    let family = gateway.children();
    assert!(family.len() >= 7, "two, one, three and the watchdog: {family:?}");
    gateway.signal(Signal::KILL);
    gateway.wait_exit().await;
    processes::wait_gone(&family).await;
}

#[tokio::test]
async fn f10_a_child_that_ignores_eof_and_term_is_killed_and_reaped() {
    let builder = Gateway::builder().fixture("well", &[]).fixture("deaf", &["--ignore-term", "--faults"]);
    let (gateway, client) = ready(builder, &["well", "deaf"]).await;
    let deaf = pid_of(&client, "deaf").await;
    gateway.rewrite_config(&json!({ "mcpServers": { "well": gateway.fixture_entry("well", &[]) } }));
    processes::wait_gone(&[deaf]).await;
    let journal = gateway.journal("deaf");
    assert_eq!((journal.events("eof").len(), journal.events("term").len()), (1, 1), "asked twice before");
    until("it is reaped", || processes::zombies_of(gateway.pid()).is_empty()).await;
    echoes(&client, "well.echo").await;
}

#[tokio::test]
async fn f11_fifty_reconnects_leave_neither_processes_nor_descriptors() {
    let (gateway, client) = one(&["--faults"]).await;
    let with_mark = |mark: usize| {
        let mut entry = gateway.fixture_entry("one", &["--faults"]);
        entry["env"] = json!({ "MARK": mark.to_string() });
        json!({ "mcpServers": { "one": entry } })
    };
    let journal = gateway.journal("one");
    let mut after_first = None;
    for round in 1..=50 {
        gateway.rewrite_config(&with_mark(round));
        journal.wait_for("one more start", |journal| journal.starts() > round).await;
        let env = client.call_text("one.env", json!({})).await;
        assert!(env.contains(&format!(r#""MARK":"{round}""#)), "round {round}: {env}");
        let now = processes::open_fds(gateway.pid());
        after_first.get_or_insert(now);
    }
    let limit = after_first.unwrap();
    until("no more descriptors than after the first", || processes::open_fds(gateway.pid()) <= limit).await;
    until("one child is left", || gateway.fixtures().len() == 1).await;
    assert_eq!(processes::zombies_of(gateway.pid()), [0_u32; 0]);
    assert_eq!(journal.starts(), 51);
}

#[tokio::test]
async fn f12_five_megabytes_on_stderr_block_nobody_and_only_the_end_is_told() {
    let (gateway, client) = one(&["--faults"]).await;
    let said = client.call_text("one.stderr", json!({ "bytes": 5_000_000 })).await;
    assert_eq!(said, "5000000 bytes written to stderr");
    let error = tool_error(&client, "one.crash", json!({})).await;
    assert!(error.contains("it said:") && error.contains("eeee"), "{error}");
    assert!(error.len() < 4000, "an error is no log: {} bytes", error.len());
    let logged: usize = gateway.stderr().all().iter().map(String::len).sum();
    assert!(logged < 20_000, "{logged} bytes were logged");
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn t23_a_child_gets_the_minimal_environment_and_what_its_entry_declares() {
    let builder = Gateway::builder();
    let journal = builder.directory().join("one.journal");
    let entry = |key: &str| {
        json!({ "command": bin("portolan-fixture"), "args": ["--faults", "--journal", journal],
            "env": { key: "${TEST_GIVEN}" } })
    };
    let builder = builder
        .server("one", entry("OWN_KEY"))
        .server("two", entry("OTHER_KEY"))
        .env("TEST_GIVEN", "given")
        .env("DATABASE_URL", "canary")
        .env("LC_ALL", "C.UTF-8");
    let (_gateway, client) = ready(builder, &["one", "two"]).await;
    let seen: Value = serde_json::from_str(&client.call_text("one.env", json!({})).await).unwrap();
    assert_eq!(seen["OWN_KEY"], "given");
    assert_eq!(seen["LC_ALL"], "C.UTF-8");
    let common = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TZ", "LANG", "TMPDIR", "OWN_KEY"];
    for name in seen.as_object().unwrap().keys() {
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        let is_known = common.contains(&name.as_str()) || name.starts_with("LC_") || is_proxy;
        assert!(is_known || name == "PORTOLAN_CHAIN", "{name} is none of its business");
    }
    let other: Value = serde_json::from_str(&client.call_text("two.env", json!({})).await).unwrap();
    assert!(other.get("OWN_KEY").is_none() && other["OTHER_KEY"] == "given", "{other}");
}

#[tokio::test]
async fn t22_secrets_of_the_configuration_show_in_no_log_no_error_and_no_command_line() {
    let canary = "canary-2f7c19";
    let remote = Fixture::http(&["--faults"]).await;
    let locked = Fixture::http(&["--unauthorized"]).await;
    let with_header = |fixture: &Fixture| {
        let mut entry = fixture.entry();
        entry["headers"] = json!({ "Authorization": "Bearer ${CANARY}" });
        entry
    };
    let builder = Gateway::builder();
    let child =
        json!({ "command": bin("portolan-fixture"), "args": ["--faults"], "env": { "TOKEN": "${CANARY}" } });
    let broken = json!({ "command": "/nonexistent/program", "env": { "TOKEN": canary } });
    let builder = builder
        .server("child", child)
        .server("broken", broken)
        .server("remote", with_header(&remote))
        .server("locked", with_header(&locked))
        .env("CANARY", canary)
        .arg("--debug");
    let (mut gateway, client) = ready(builder, &["child", "remote"]).await;
    assert!(client.call_text("child.env", json!({})).await.contains(canary), "the child has it");
    echoes(&client, "remote.echo").await;
    let authorization = remote.journal().calls("echo")[0]["headers"]["authorization"].clone();
    assert_eq!(authorization, format!("Bearer {canary}"));
    let error = tool_error(&client, "locked.anything", json!({})).await;
    assert!(error.contains("refuses the credentials") && !error.contains(canary), "{error}");
    tool_error(&client, "child.crash", json!({})).await;
    listed(&client, &["child"]).await;
    assert!(processes::mentioning(canary).is_empty(), "nothing of it in any command line");
    gateway.signal(Signal::TERM);
    gateway.wait_exit().await;
    gateway.stderr().wait_closed("stderr").await;
    for line in gateway.stderr().all() {
        // What passes through as a message at the client's own wish is not logged either.
        assert!(!line.contains(canary), "{line}");
    }
}

#[tokio::test]
async fn a_crash_is_noticed_without_any_call() {
    let (gateway, client) = one(&["--faults"]).await;
    let before = pid_of(&client, "one").await;
    processes::signal(before, Signal::KILL);
    let journal = gateway.journal("one");
    journal.wait_for("a second start", |journal| journal.starts() == 2).await;
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn the_last_answer_of_a_child_that_exits_is_still_delivered() {
    let (gateway, client) = one(&["--faults"]).await;
    assert_eq!(client.call_text("one.exit_after_reply", json!({})).await, "the last answer");
    gateway.journal("one").wait_for("a second start", |journal| journal.starts() == 2).await;
    echoes(&client, "one.echo").await;
}
