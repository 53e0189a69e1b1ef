//! Resources that clients want to hear of: exactly those who asked are told, once each, across eras.

use super::{Behind, Form, Front};
use crate::kit::{listed, until};
use portolan_testkit::client::EventStream;
use portolan_testkit::{
    Client, HttpClient, Journal, ModernClient, ModernStdio, Profile, Record, Signal, SseClient,
};
use serde_json::{Value, json};
use std::sync::Arc;

const WATCHED: &str = "test://watched-resource";
/// Everybody hears of this one. Messages of one server keep their order, so whoever has heard of it has heard of all
/// that came before.
const MARK: &str = "test://static-text";
const UPDATED: &str = "notifications/resources/updated";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Somebody who wants to hear of resources.
enum Watcher {
    Http(HttpClient, EventStream),
    Sse(SseClient),
    Modern(ModernClient, EventStream),
}

impl Watcher {
    async fn new(front: Front, behind: &Behind, uris: &[&str]) -> Self {
        let gateway = &behind.gateway;
        let watcher = match front {
            Front::Http => {
                let client = gateway.connect().await;
                let stream = client.open_get_stream().await;
                Self::Http(client, stream)
            }
            Front::Sse => Self::Sse(SseClient::connect(&gateway.url_of("/sse")).await),
            Front::Modern => {
                let client = ModernClient::new(&gateway.url());
                let stream = client.listen("\"w\"", json!({ "resourceSubscriptions": uris })).await;
                return Self::Modern(client, stream);
            }
        };
        for uri in uris {
            watcher.asks("resources/subscribe", uri).await;
        }
        watcher
    }

    async fn asks(&self, method: &str, uri: &str) {
        let params = json!({ "uri": uri });
        let reply = match self {
            Self::Http(client, _) => client.ask(method, params).await,
            Self::Sse(client) => client.ask(method, params).await,
            Self::Modern(..) => unreachable!("it opens another stream"),
        };
        assert_eq!(reply["result"], json!({}), "{method}: {reply}");
    }

    /// Wants to hear of the mark only from now on.
    async fn leaves(self) -> Self {
        match self {
            Self::Modern(client, stream) => {
                let next = client.listen("\"w2\"", json!({ "resourceSubscriptions": [MARK] })).await;
                drop(stream);
                Self::Modern(client, next)
            }
            legacy => {
                legacy.asks("resources/unsubscribe", WATCHED).await;
                legacy
            }
        }
    }

    fn messages(&self) -> &Record<Value> {
        match self {
            Self::Http(_, stream) | Self::Modern(_, stream) => &stream.messages,
            Self::Sse(client) => client.messages(),
        }
    }

    fn heard_of(&self, uri: &str) -> usize {
        let is_it = |message: &&Value| message["method"] == UPDATED && message["params"]["uri"] == uri;
        self.messages().all().iter().filter(is_it).count()
    }
}

async fn touch(client: &impl Client, uri: &str) {
    client.call("one.touch_resource", json!({ "uri": uri })).await;
}

/// Touches the mark, and waits until all have heard of it that many times.
async fn all_have_heard(client: &impl Client, watchers: &[Watcher], times: usize) {
    touch(client, MARK).await;
    for watcher in watchers {
        until("everybody has heard of the mark", || watcher.heard_of(MARK) >= times).await;
    }
}

async fn exactly_those_who_asked(form: Form) {
    let behind = form.serve(&[]).await;
    let client = behind.gateway.connect().await;
    let (mut watchers, mut bystanders) = (Vec::new(), Vec::new());
    for front in Front::ALL {
        bystanders.push(Watcher::new(front, &behind, &[MARK]).await);
        watchers.push(Watcher::new(front, &behind, &[MARK, WATCHED]).await);
    }
    for round in 1..=3 {
        touch(&client, WATCHED).await;
        all_have_heard(&client, &watchers, round).await;
        all_have_heard_of_mark_too(&bystanders, round).await;
        for (at, front) in Front::ALL.into_iter().enumerate() {
            assert_eq!(watchers[at].heard_of(WATCHED), round, "{form:?} {front:?}, round {round}");
            assert_eq!(watchers[at].heard_of(MARK), round, "{form:?} {front:?}, round {round}");
            assert_eq!(bystanders[at].heard_of(WATCHED), 0, "{form:?} {front:?}, round {round}");
        }
    }
    // One after another leaves, and the rest still hear.
    let mut left: Vec<Watcher> = Vec::new();
    while !watchers.is_empty() {
        let leaving = watchers.remove(0);
        let before = watchers.iter().map(|watcher| watcher.heard_of(WATCHED)).collect::<Vec<_>>();
        let leaving = leaving.leaves().await;
        let (heard, marks) = (leaving.heard_of(WATCHED), leaving.heard_of(MARK));
        touch(&client, WATCHED).await;
        touch(&client, MARK).await;
        until("whoever left has heard of the mark", || leaving.heard_of(MARK) > marks).await;
        assert_eq!(leaving.heard_of(WATCHED), heard, "{form:?}: it has left");
        for (watcher, before) in watchers.iter().zip(before) {
            until("those who stay have heard", || watcher.heard_of(WATCHED) == before + 1).await;
        }
        left.push(leaving);
    }
}

async fn all_have_heard_of_mark_too(bystanders: &[Watcher], times: usize) {
    for bystander in bystanders {
        until("the bystanders have heard of the mark", || bystander.heard_of(MARK) >= times).await;
    }
}

#[tokio::test]
async fn an_update_over_stdio_legacy_reaches_exactly_those_who_subscribed_once_each() {
    exactly_those_who_asked(Form::StdioLegacy).await;
}

#[tokio::test]
async fn an_update_over_stdio_modern_reaches_exactly_those_who_subscribed_once_each() {
    exactly_those_who_asked(Form::StdioModern).await;
}

#[tokio::test]
async fn an_update_over_http_legacy_reaches_exactly_those_who_subscribed_once_each() {
    exactly_those_who_asked(Form::HttpLegacy).await;
}

#[tokio::test]
async fn an_update_over_http_modern_reaches_exactly_those_who_subscribed_once_each() {
    exactly_those_who_asked(Form::HttpModern).await;
}

#[tokio::test]
async fn an_update_over_sse_reaches_exactly_those_who_subscribed_once_each() {
    exactly_those_who_asked(Form::Sse).await;
}

#[tokio::test]
async fn whoever_stays_hears_of_every_update_once_while_others_come_and_go() {
    const UPDATES: usize = 100;
    for form in Form::LASTING {
        let behind = Arc::new(form.serve(&[]).await);
        let client = behind.gateway.connect().await;
        let mut watchers = Vec::new();
        for front in Front::ALL {
            watchers.push(Watcher::new(front, &behind, &[WATCHED]).await);
        }
        let churning = Front::ALL.map(|front| {
            let behind = Arc::clone(&behind);
            tokio::spawn(async move {
                loop {
                    // Some want the same as those who stay, some what nobody else does.
                    drop(Watcher::new(front, &behind, &[MARK]).await);
                    drop(Watcher::new(front, &behind, &[MARK, WATCHED]).await);
                }
            })
        });
        for _ in 0..UPDATES {
            touch(&client, WATCHED).await;
        }
        for (watcher, front) in watchers.iter().zip(Front::ALL) {
            until(&format!("{form:?} {front:?} has heard of all"), || watcher.heard_of(WATCHED) >= UPDATES)
                .await;
        }
        churning.iter().for_each(tokio::task::JoinHandle::abort);
        // One more, behind all of them: nothing came twice before it.
        touch(&client, WATCHED).await;
        for (watcher, front) in watchers.iter().zip(Front::ALL) {
            until("the last was heard of", || watcher.heard_of(WATCHED) > UPDATES).await;
            assert_eq!(watcher.heard_of(WATCHED), UPDATES + 1, "{form:?} {front:?}");
        }
    }
}

/// Whether a server was asked to tell of both resources, after that many lines of its journal.
fn is_wished_after(journal: &Journal, lines: usize) -> bool {
    let lines = journal.lines().split_off(lines);
    let is_asked_for = |uri: &str| {
        let has = |line: &Value| {
            let uris = &line["params"]["notifications"]["resourceSubscriptions"];
            let is_told = uris.as_array().is_some_and(|uris| uris.contains(&json!(uri)));
            is_told || (line["method"] == "resources/subscribe" && line["params"]["uri"] == uri)
        };
        lines.iter().any(has)
    };
    is_asked_for(WATCHED) && is_asked_for(MARK)
}

#[tokio::test]
async fn whoever_subscribed_hears_of_it_after_the_server_was_started_again() {
    for form in Form::LASTING {
        let mut behind = form.serve(&[]).await;
        let client = behind.gateway.connect().await;
        let mut watchers = Vec::new();
        for front in Front::ALL {
            watchers.push(Watcher::new(front, &behind, &[MARK, WATCHED]).await);
        }
        let before = behind.journal.lines().len();
        behind.server.start_again(&[]).await;
        // One that runs by itself has a journal of its own again.
        let is_new = behind.server.journal.path() != behind.journal.path();
        let seen_before = if is_new { 0 } else { before };
        let journal = behind.server.journal.clone();
        journal.wait_for("the wish once more", |journal| is_wished_after(journal, seen_before)).await;
        touch(&client, WATCHED).await;
        all_have_heard(&client, &watchers, 1).await;
        for watcher in &watchers {
            assert_eq!(watcher.heard_of(WATCHED), 1, "{form:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_begins_with_what_it_will_bring_and_every_message_on_it_names_it() {
    for form in Form::LASTING {
        let behind = form.serve(&[]).await;
        let client = ModernClient::new(&behind.gateway.url());
        for (id, raw) in [(json!("s"), "\"s\""), (json!(9), "9")] {
            let wanted = json!({ "resourceSubscriptions": [WATCHED, MARK, "test://nowhere/at/all"],
                "toolsListChanged": true, "promptsListChanged": false });
            let stream = client.listen(raw, wanted).await;
            touch(&client, WATCHED).await;
            client.call("one.test_trigger_tool_change", json!({})).await;
            stream.wait_for_method(UPDATED).await;
            stream.wait_for_method("notifications/tools/list_changed").await;
            let messages = stream.messages.all();
            assert_eq!(messages[0]["method"], "notifications/subscriptions/acknowledged", "{form:?}");
            let granted = &messages[0]["params"]["notifications"];
            assert_eq!(granted["toolsListChanged"], true, "{form:?}: {granted}");
            assert_eq!(granted.get("promptsListChanged"), None, "{form:?}: {granted}");
            let uris = granted["resourceSubscriptions"].as_array().unwrap();
            assert!(uris.contains(&json!(WATCHED)) && uris.contains(&json!(MARK)), "{form:?}: {granted}");
            for message in &messages {
                assert_eq!(message["params"]["_meta"][SUBSCRIPTION], id, "{form:?}: {message}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_brings_nothing_that_was_not_asked_for() {
    for form in Form::LASTING {
        let behind = form.serve(&[]).await;
        let client = ModernClient::new(&behind.gateway.url());
        let resources = client.listen("1", json!({ "resourceSubscriptions": [MARK] })).await;
        let prompts = client.listen("2", json!({ "promptsListChanged": true })).await;
        let everything = client
            .listen(
                "3",
                json!({ "toolsListChanged": true, "promptsListChanged": true,
                "resourcesListChanged": true, "resourceSubscriptions": [WATCHED] }),
            )
            .await;
        for tool in ["tool", "resource"] {
            client.call(&format!("one.test_trigger_{tool}_change"), json!({})).await;
            everything.wait_for_method(&format!("notifications/{tool}s/list_changed")).await;
        }
        touch(&client, WATCHED).await;
        everything.wait_for_method(UPDATED).await;
        // What is asked for comes last, and behind all that is not.
        client.call("one.test_trigger_prompt_change", json!({})).await;
        prompts.wait_for_method("notifications/prompts/list_changed").await;
        touch(&client, MARK).await;
        resources.wait_for_method(UPDATED).await;
        let methods = |stream: &EventStream| {
            let mut all: Vec<String> = stream
                .messages
                .all()
                .iter()
                .map(|message| message["method"].as_str().unwrap().to_owned())
                .collect();
            all.dedup();
            all
        };
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert_eq!(methods(&resources), [acknowledged, UPDATED], "{form:?}");
        assert_eq!(methods(&prompts), [acknowledged, "notifications/prompts/list_changed"], "{form:?}");
    }
}

#[tokio::test]
async fn one_pair_of_pipes_hears_in_the_words_of_each_era() {
    for form in Form::LASTING {
        let (_behind, pipes) = form.over_stdio(&[], Profile::default()).await;
        pipes.initialize().await;
        listed(&pipes, &["one"]).await;
        let subscribed = pipes.ask("resources/subscribe", json!({ "uri": WATCHED })).await;
        assert_eq!(subscribed["result"], json!({}), "{form:?}: {subscribed}");
        let client = ModernStdio::over(pipes, Profile::default());
        client.listen("\"l\"", json!({ "resourceSubscriptions": [WATCHED, MARK] })).await;
        let heard = |uri: &str, is_modern: bool| {
            let is_it = |message: &&Value| {
                message["method"] == UPDATED
                    && message["params"]["uri"] == uri
                    && (message["params"]["_meta"][SUBSCRIPTION] == "l") == is_modern
            };
            client.pipes.messages().all().iter().filter(is_it).count()
        };
        touch(&client, WATCHED).await;
        touch(&client, MARK).await;
        until("the mark was heard of", || heard(MARK, true) == 1).await;
        assert_eq!((heard(WATCHED, true), heard(WATCHED, false)), (1, 1), "{form:?}");
        assert_eq!(heard(MARK, false), 0, "{form:?}");
        // The stream ends by a cancellation, and the subscription goes on.
        client.pipes.notify("notifications/cancelled", json!({ "requestId": "l" })).await;
        client.pipes.ask("resources/subscribe", json!({ "uri": MARK })).await;
        touch(&client, WATCHED).await;
        touch(&client, MARK).await;
        until("the other era has heard of the mark", || heard(MARK, false) == 1).await;
        assert_eq!((heard(WATCHED, true), heard(WATCHED, false)), (1, 2), "{form:?}");
    }
}

#[tokio::test]
async fn the_server_is_told_of_the_first_who_wants_a_resource_and_of_the_last_who_does_not() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::Sse] {
        let behind = form.serve(&[]).await;
        let one = Watcher::new(Front::Http, &behind, &[WATCHED]).await;
        let two = Watcher::new(Front::Sse, &behind, &[WATCHED]).await;
        let three = Watcher::new(Front::Modern, &behind, &[WATCHED]).await;
        one.asks("resources/subscribe", WATCHED).await;
        assert_eq!(behind.journal.of("resources/subscribe").len(), 1, "{form:?}");
        one.asks("resources/unsubscribe", WATCHED).await;
        one.asks("resources/unsubscribe", WATCHED).await;
        // Clients that just go have unsubscribed too.
        drop(two);
        drop(three);
        behind.journal.wait_for_method("resources/unsubscribe").await;
        assert_eq!(behind.journal.of("resources/unsubscribe").len(), 1, "{form:?}");
    }
}

#[tokio::test]
async fn a_gateway_that_ends_ends_its_streams_in_good_order() {
    let behind = Form::StdioLegacy.serve(&[]).await;
    let client = ModernClient::new(&behind.gateway.url());
    let stream = client.listen("\"end\"", json!({ "toolsListChanged": true })).await;
    behind.gateway.signal(Signal::TERM);
    let reply = stream.wait_for_reply().await;
    assert_eq!(reply["result"]["resultType"], "complete", "{reply}");
    assert_eq!(reply["result"]["_meta"][SUBSCRIPTION], "end", "{reply}");
}

#[tokio::test]
async fn a_resource_that_collides_is_heard_of_under_the_name_it_was_asked_for_by() {
    let builder = portolan_testkit::Gateway::builder().fixture("two", &[]);
    let behind = Form::StdioLegacy.serve_as(&[], json!({}), builder).await;
    let client = behind.gateway.connect().await;
    listed(&client, &["one", "two"]).await;
    let theirs = "portolan://two/test%3A%2F%2Fwatched-resource";
    for front in Front::ALL {
        let own = Watcher::new(front, &behind, &[WATCHED, MARK]).await;
        let other = Watcher::new(front, &behind, &[theirs, MARK]).await;
        client.call("two.touch_resource", json!({ "uri": WATCHED })).await;
        until("the second server's was heard of", || other.heard_of(theirs) == 1).await;
        touch(&client, WATCHED).await;
        touch(&client, MARK).await;
        until("the mark was heard of", || own.heard_of(MARK) == 1 && other.heard_of(MARK) == 1).await;
        assert_eq!((own.heard_of(WATCHED), own.heard_of(theirs)), (1, 0), "{front:?}");
        assert_eq!((other.heard_of(WATCHED), other.heard_of(theirs)), (0, 1), "{front:?}");
    }
}
