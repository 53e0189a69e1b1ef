//! Servers and secrets: added, listed, shown, connected, removed.

use super::{Person, fixture};
use portolan_testkit::Gateway;
use serde_json::json;

#[tokio::test]
async fn a_program_is_added_listed_shown_and_removed() {
    let gateway = Gateway::builder().serve().await;
    let (person, fixture) = (Person::at(&gateway), fixture());
    assert!(person.does(&["list"]).await.contains("portolan add"), "an empty list says how to fill it");
    let add = ["add", "one", "--description", "for tests", "--env", "A=b", "--", &fixture, "--tools", "3"];
    assert!(person.does(&add).await.starts_with("one is registered"));
    assert!(person.does(&["connect", "one", "--wait"]).await.starts_with("one is CONNECTED"));
    assert_eq!(person.does(&["connect", "one"]).await.trim(), "one is CONNECTED: Already connected");
    assert_eq!(
        person.does(&["list"]).await,
        format!(
            "NAME  STATUS     TRANSPORT  TOOLS  CONNECTED  DETAIL\n\
             one   CONNECTED  STDIO      3      just now   {fixture} --tools 3\n"
        )
    );
    let shown = person.does(&["show", "one"]).await;
    for line in ["status       CONNECTED", "description  for tests", "env          A=***", "tools        3"] {
        assert!(shown.lines().any(|shown| shown == line), "{line:?} is not in {shown}");
    }
    let tools = person.does(&["tools", "one"]).await;
    assert!(tools.lines().count() == 4 && tools.contains("one.tool_0000  on     "), "{tools}");
    assert_eq!(person.does(&["tools"]).await, tools);
    person.fails(&["remove", "one"], 2, "--yes").await;
    assert_eq!(person.does(&["remove", "one", "--yes"]).await, "one is removed\n");
    person.fails(&["show", "one"], 1, "Server not found: one").await;
}

#[tokio::test]
async fn json_is_what_the_server_sent_and_nothing_else() {
    let gateway = Gateway::builder().fixture("one", &["--tools", "2"]).serve().await;
    let (person, rest) = (Person::at(&gateway), gateway.rest());
    person.does(&["connect", "one", "--wait"]).await;
    for (verb, path) in [
        (&["list"][..], "/aggregator/servers"),
        (&["show", "one"], "/aggregator/servers/one"),
        (&["tools"], "/aggregator/tools"),
        (&["tools", "one"], "/aggregator/servers/one/tools"),
        (&["history", "one"], "/aggregator/servers/one/history"),
        (&["secret", "list"], "/secrets"),
    ] {
        let sent = rest.get(path).await;
        let printed = person.does(&[verb, &["--json"]].concat()).await;
        assert_eq!(printed, format!("{}\n", sent.body), "{verb:?}");
    }
}

#[tokio::test]
async fn what_the_server_refuses_is_told_in_its_words_with_code_1() {
    let gateway = Gateway::builder().serve().await;
    let person = Person::at(&gateway);
    person.does(&["add", "web", "--no-connect", "http://127.0.0.1:9/mcp"]).await;
    person.fails(&["add", "web", "http://127.0.0.1:9/"], 1, "portolan: Server already exists: web").await;
    let ran = person.run(&["add", "Web", "ftp://h"]).await;
    assert_eq!(ran.code, Some(1));
    let places = ["body.name: ", "body.connection_config.base_url: "];
    assert!(places.iter().all(|place| ran.err.matches(place).count() == 1), "{}", ran.err);
    for verb in ["show", "connect", "disconnect", "reconnect", "refresh", "history", "tools"] {
        person.fails(&[verb, "nobody"], 1, "Server not found: nobody").await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_connected_is_code_1_and_says_why() {
    let gateway = Gateway::builder().serve().await;
    let person = Person::at(&gateway);
    person.does(&["add", "gone", "--no-connect", "--", "portolan-no-such-program"]).await;
    person.fails(&["connect", "gone", "--wait"], 1, "gone is ERROR: ").await;
    let ran = person.run(&["connect", "gone", "--wait", "--json"]).await;
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &answer["status"], ran.err.as_str()), (Some(1), &json!("ERROR"), ""));
    let listed = person.does(&["list", "--status", "error"]).await;
    assert!(listed.contains("gone  ERROR") && listed.contains("not found"), "{listed}");
    assert_eq!(person.does(&["list", "--status", "CONNECTED"]).await, "no server is CONNECTED\n");
    assert!(person.does(&["history", "gone"]).await.contains("ERROR"));
}

#[tokio::test]
async fn a_server_goes_and_comes_as_it_is_told() {
    let gateway = Gateway::builder().serve().await;
    let (person, fixture) = (Person::at(&gateway), fixture());
    person.does(&["add", "one", "--no-connect", "--", &fixture]).await;
    person.does(&["connect", "one", "--wait"]).await;
    assert!(person.does(&["refresh", "one"]).await.starts_with("one is CONNECTED"));
    assert_eq!(person.does(&["disconnect", "one", "--force"]).await, "one is DISCONNECTED\n");
    person.fails(&["refresh", "one"], 1, "DISCONNECTED").await;
    assert!(person.does(&["reconnect", "one", "--wait"]).await.starts_with("one is CONNECTED"));
    let history = person.does(&["history", "one", "--limit", "3"]).await;
    let states: Vec<&str> = history.lines().skip(1).filter_map(|line| line.split("  ").nth(1)).collect();
    assert_eq!(states, ["CONNECTED", "CONNECTING", "DISCONNECTED"], "{history}");
}

#[tokio::test]
async fn a_secret_comes_from_a_pipe_reaches_its_server_and_is_never_shown() {
    let gateway = Gateway::builder().serve().await;
    let (person, fixture) = (Person::at(&gateway), fixture());
    let canary = "canary-41d0";
    let ran = person.run_with(&["secret", "set", "TOKEN"], &format!("{canary}\n")).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    person.does(&["add", "one", "--env", "T=<${TOKEN}>", "--", &fixture, "--faults"]).await;
    person.does(&["connect", "one", "--wait"]).await;
    let seen = person.does(&["call", "one.env"]).await;
    assert!(seen.contains(&format!("<{canary}>")), "one line break at the end is not part of it: {seen}");
    let listed = person.does(&["secret", "list"]).await;
    assert!(listed.lines().any(|line| line == "TOKEN  just now  one"), "{listed}");
    for verb in [&["secret", "list"][..], &["show", "one"], &["list"]] {
        assert!(!person.does(&[verb, &["--json"]].concat()).await.contains(canary));
    }
    person.fails(&["secret", "set", "TOKEN"], 2, "empty").await;
    person.fails(&["secret", "set", "TOKEN", canary], 2, "unexpected argument").await;
    assert_eq!(person.does(&["secret", "remove", "TOKEN"]).await, "TOKEN is removed\n");
    person.fails(&["secret", "remove", "TOKEN"], 1, "Secret not found: TOKEN").await;
}
