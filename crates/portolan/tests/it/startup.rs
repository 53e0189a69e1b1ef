//! The first moments: no server's slowness delays the handshake or the lists of the others.

use crate::kit::{echoes, listed, ready, tool_error};
use portolan_testkit::{Client, Gateway, HttpClient, Profile};
use serde_json::{Value, json};

/// Longer than any wait of a test: whoever waits for such a server fails.
const NEVER_MS: &str = "600000";

#[tokio::test]
async fn f41_a_slow_server_delays_neither_the_handshake_nor_the_list_which_says_that_it_is_partial() {
    let builder = Gateway::builder()
        .fixture("quick", &[])
        .fixture("slow", &["--start-delay-ms", NEVER_MS])
        .env("PORTOLAN_LIMITS_CONNECT_TIMEOUT", "10m");
    let (gateway, client) = ready(builder, &["quick"]).await;
    let list = client.ask("tools/list", json!({})).await;
    assert_eq!(list["result"]["_meta"]["portolan/pending"], json!(["slow"]));
    let alone = gateway.connect_to("slow").await;
    let list = alone.ask("tools/list", json!({})).await;
    assert_eq!(list["result"], json!({ "tools": [], "_meta": { "portolan/pending": ["slow"] } }));
    echoes(&client, "quick.echo").await;
    // A call to it waits, unsent, and for so long only; it says what the server is doing.
    let error = tool_error(&client, "slow.echo", json!({})).await;
    assert!(error.contains("slow is CONNECTING"), "{error}");
    assert!(gateway.journal("slow").messages().is_empty());
}

#[tokio::test]
async fn f41_the_stdio_form_answers_at_once_too() {
    let builder = Gateway::builder()
        .fixture("quick", &[])
        .fixture("slow", &["--start-delay-ms", NEVER_MS])
        .env("PORTOLAN_LIMITS_CONNECT_TIMEOUT", "10m");
    let (_gateway, client) = builder.stdio(Profile::default());
    let welcome = client.initialize().await;
    assert_eq!(welcome["result"]["protocolVersion"], "2025-11-25", "{welcome}");
    listed(&client, &["quick"]).await;
    let list = client.ask("tools/list", json!({})).await;
    assert_eq!(list["result"]["_meta"]["portolan/pending"], json!(["slow"]));
    echoes(&client, "quick:echo").await;
}

#[tokio::test]
async fn a_server_that_comes_later_is_told_of_and_the_list_is_whole_then() {
    let builder = Gateway::builder()
        .fixture("quick", &[])
        .fixture("later", &["--start-delay-ms", "3000"])
        .env("PORTOLAN_LIST_WAIT", "0");
    let gateway = builder.serve().await;
    let client = gateway.connect().await;
    let listener = client.open_get_stream().await;
    let is_change = |message: &Value| message["method"] == "notifications/tools/list_changed";
    let mut heard = 0;
    loop {
        let names = client.tool_names().await;
        if names.contains(&"later.echo".to_owned()) && names.contains(&"quick.echo".to_owned()) {
            break;
        }
        heard = 1 + listener.messages.wait_after(heard, "news of the list", is_change).await.0;
    }
    let list = client.ask("tools/list", json!({})).await;
    assert!(list["result"].get("_meta").is_none(), "{}", list["result"]["_meta"]);
}

#[tokio::test]
async fn the_first_list_is_whole_if_all_servers_are_there_within_the_list_wait() {
    let builder = Gateway::builder()
        .fixture("one", &[])
        .fixture("two", &["--start-delay-ms", "1500"])
        .env("PORTOLAN_LIST_WAIT", "20s");
    let gateway = builder.serve().await;
    let names = gateway.connect().await.tool_names().await;
    assert!(names.contains(&"one.echo".to_owned()) && names.contains(&"two.echo".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_client_that_lists_at_once_finds_the_servers_starting_and_not_missing() {
    // A race with the start, which was lost more often than won: once proves nothing.
    for _ in 0..20 {
        let builder = Gateway::builder().fixture("one", &[]).env("PORTOLAN_LIST_WAIT", "20s");
        let (_gateway, client) = builder.stdio(Profile::default());
        client.initialize().await;
        let names = client.tool_names().await;
        assert!(names.contains(&"one:echo".to_owned()), "{names:?}");
    }
}

#[tokio::test]
async fn ec_010_a_call_to_a_server_that_is_starting_waits_for_it() {
    let builder =
        Gateway::builder().fixture("one", &["--start-delay-ms", "1500"]).env("PORTOLAN_LIST_WAIT", "0");
    let gateway = builder.serve().await;
    for style in ["one.echo", "one:echo", "one__echo"] {
        let client = gateway.connect().await;
        echoes(&client, style).await;
    }
}

#[tokio::test]
async fn a_server_by_itself_is_there_from_the_first_request_on() {
    let builder = Gateway::builder().fixture("one", &["--start-delay-ms", "500"]);
    let gateway = builder.serve().await;
    let alone = gateway.connect_to("one").await;
    echoes(&alone, "echo").await;
    let nobody = HttpClient::new(&gateway.server_url("nobody"));
    assert_eq!(nobody.initialize().await.status, 404);
}

#[tokio::test]
async fn f02_a_server_that_crashes_once_at_the_start_is_there_all_the_same() {
    let builder = Gateway::builder();
    let mark = builder.directory().join("crashed");
    let builder = builder.fixture("one", &["--crash-once", mark.to_str().unwrap()]);
    let (gateway, client) = ready(builder, &["one"]).await;
    echoes(&client, "one.echo").await;
    assert_eq!(gateway.journal("one").starts(), 2);
}

#[tokio::test]
async fn f25_revisions_that_we_do_not_know_are_an_error_that_names_both() {
    let builder = Gateway::builder()
        .fixture("well", &[])
        .fixture("ancient", &["--revision", "1999-01-01"])
        .fixture("refusing", &["--init-error"]);
    let (_gateway, client) = ready(builder, &["well"]).await;
    let error = tool_error(&client, "ancient.anything", json!({})).await;
    assert!(error.contains("1999-01-01") && error.contains("2025-11-25"), "{error}");
    let error = tool_error(&client, "refusing.anything", json!({})).await;
    assert!(error.contains("refuses to initialize"), "{error}");
}
