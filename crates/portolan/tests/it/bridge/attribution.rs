//! Whose question it is: many clients at once on one server, each asked what its own calls caused and nothing else.

use super::{Answering, Behind, Form, Front};
use crate::kit::{call, listed};
use portolan_testkit::{Client, Gateway, HttpClient, Journal, ModernStdio, Profile, SseClient};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many questions two clients have between them.
const QUESTIONS: usize = 1000;
/// How many calls a client has in flight. One of 2026-07-28 has more: each of its questions waits a moment for others.
const SIDE_BY_SIDE: usize = 4;
const SIDE_BY_SIDE_MODERN: usize = 16;

/// Somebody who calls, and is asked.
struct Caller {
    front: Front,
    who: Arc<Answering>,
    kinds: &'static [&'static str],
}

impl Caller {
    fn new(front: Front, name: &str, capabilities: Value, kinds: &'static [&'static str]) -> Self {
        Self { front, who: Arc::new(Answering::named(name, capabilities)), kinds }
    }

    /// Its share of the questions; each is answered in its own name.
    async fn calls(&self, behind: &Behind) {
        let client = Arc::new(self.front.connect(behind, self.who.profile.clone()).await);
        let side_by_side = if self.front.is_modern() { SIDE_BY_SIDE_MODERN } else { SIDE_BY_SIDE };
        let workers = (0..side_by_side).map(|worker| {
            let (client, who, kinds) = (Arc::clone(&client), Arc::clone(&self.who), self.kinds);
            tokio::spawn(async move {
                for n in (worker..QUESTIONS / 2).step_by(side_by_side) {
                    let tag = format!("{}-{n}", who.profile.name);
                    who.is_asked(&*client, kinds[n % kinds.len()], &tag).await;
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await.unwrap();
        }
    }

    /// Each of its own questions, once, and nobody else's.
    fn was_asked_its_own(&self, form: Form) {
        let mut tags = self.who.tags();
        tags.sort();
        let mut expected: Vec<String> =
            (0..QUESTIONS / 2).map(|n| format!("{}-{n}", self.who.profile.name)).collect();
        expected.sort();
        assert_eq!(tags, expected, "{form:?}");
    }
}

async fn each_reaches_the_right_one(form: Form, callers: [Caller; 2]) {
    let behind = form.serve(&[]).await;
    let [one, two] = &callers;
    tokio::join!(one.calls(&behind), two.calls(&behind));
    for caller in &callers {
        caller.was_asked_its_own(form);
    }
}

fn different() -> [Caller; 2] {
    let both = json!({ "elicitation": {}, "sampling": {} });
    [
        Caller::new(Front::Http, "a", json!({ "elicitation": {} }), &["elicitation"]),
        Caller::new(Front::Sse, "b", both, &["elicitation", "sampling"]),
    ]
}

fn equal() -> [Caller; 2] {
    let both = || json!({ "elicitation": {}, "sampling": {} });
    [
        Caller::new(Front::Http, "a", both(), &["elicitation", "sampling"]),
        Caller::new(Front::Http, "b", both(), &["sampling", "elicitation"]),
    ]
}

fn of_two_eras() -> [Caller; 2] {
    let both = || json!({ "elicitation": {}, "sampling": {} });
    [
        Caller::new(Front::Http, "old", both(), &["elicitation", "sampling"]),
        Caller::new(Front::Modern, "new", both(), &["sampling", "elicitation"]),
    ]
}

#[tokio::test]
async fn a_thousand_questions_over_stdio_legacy_each_reach_the_one_of_two_different_clients_that_is_meant() {
    each_reaches_the_right_one(Form::StdioLegacy, different()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_stdio_modern_each_reach_the_one_of_two_different_clients_that_is_meant() {
    each_reaches_the_right_one(Form::StdioModern, different()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_http_legacy_each_reach_the_one_of_two_different_clients_that_is_meant() {
    each_reaches_the_right_one(Form::HttpLegacy, different()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_http_modern_each_reach_the_one_of_two_different_clients_that_is_meant() {
    each_reaches_the_right_one(Form::HttpModern, different()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_sse_each_reach_the_one_of_two_different_clients_that_is_meant() {
    each_reaches_the_right_one(Form::Sse, different()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_stdio_each_reach_the_right_one_of_two_clients_that_declare_the_same() {
    each_reaches_the_right_one(Form::StdioLegacy, equal()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_sse_each_reach_the_right_one_of_two_clients_that_declare_the_same() {
    each_reaches_the_right_one(Form::Sse, equal()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_one_http_session_each_reach_the_right_one_of_its_two_clients() {
    each_reaches_the_right_one(Form::HttpLegacy, equal()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_stdio_each_reach_the_client_of_the_era_that_is_meant() {
    each_reaches_the_right_one(Form::StdioLegacy, of_two_eras()).await;
}

#[tokio::test]
async fn a_thousand_questions_over_http_each_reach_the_client_of_the_era_that_is_meant() {
    each_reaches_the_right_one(Form::HttpLegacy, of_two_eras()).await;
}

#[tokio::test]
async fn a_thousand_questions_of_a_modern_server_each_reach_the_client_of_the_era_that_is_meant() {
    each_reaches_the_right_one(Form::HttpModern, of_two_eras()).await;
}

/// Two clients on the one session that all share, the second with a call that does not end.
async fn on_a_shared_session(form: Form) -> (Behind, [Answering; 2], HttpClient, SseClient) {
    let extras = json!({ "session": "shared" });
    let behind = form.serve_as(&["--faults"], extras, Gateway::builder()).await;
    let who = [Answering::everything("a"), Answering::everything("b")];
    let one = HttpClient::connect_as(&behind.gateway.url(), who[0].profile.clone()).await;
    let url = behind.gateway.url_of("/sse");
    let two = SseClient::connect_as(&url, who[1].profile.clone()).await;
    let params = call("one.hang", json!({}));
    let hanging = json!({ "jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": params });
    two.post(hanging.to_string()).await;
    behind.journal.wait_for_executions("hang", 1).await;
    (behind, who, one, two)
}

#[tokio::test]
async fn a_question_that_may_be_either_clients_is_refused_and_shown_to_neither() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let (_behind, who, one, _two) = on_a_shared_session(form).await;
        for tool in ["ask_elicitation", "ask_sampling", "ask_roots"] {
            let text = one.call_text(&format!("one.{tool}"), json!({})).await;
            let seen: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(seen["error"]["code"], -32601, "{form:?} {tool}: {text}");
        }
        assert!(who.iter().all(|who| who.asked().is_empty()), "{form:?}");
    }
}

#[tokio::test]
async fn a_question_on_the_calls_own_stream_reaches_its_client_on_a_shared_session_too() {
    let (_behind, who, one, _two) = on_a_shared_session(Form::HttpLegacy).await;
    let text = one.call_text("one.ask_elicitation", json!({})).await;
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["result"], who[0].says("elicitation", "untagged"), "{text}");
    assert_eq!((who[0].asked().len(), who[1].asked().len()), (1, 0));
}

#[tokio::test]
async fn a_question_is_attributed_while_all_calls_in_flight_are_of_one_client() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let extras = json!({ "session": "shared" });
        let behind = form.serve_as(&["--faults"], extras, Gateway::builder()).await;
        let (who, idle) = (Answering::everything("a"), Answering::everything("b"));
        let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
        let _other = HttpClient::connect_as(&behind.gateway.url(), idle.profile.clone()).await;
        let hanging = tokio::spawn({
            let client = client.clone();
            async move { client.request("\"h\"", "tools/call", call("one.hang", json!({}))).await }
        });
        behind.journal.wait_for_executions("hang", 1).await;
        let text = client.call_text("one.ask_elicitation", json!({})).await;
        let seen: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(seen["result"], who.says("elicitation", "untagged"), "{form:?}: {text}");
        assert!(idle.asked().is_empty(), "{form:?}");
        hanging.abort();
    }
}

/// Has a server answer a call, and ask for something after that.
async fn ask_late(form: Form, client: &impl Client) {
    let answer = r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[]}}"#;
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "message": "Who was that?", "requestedSchema": schema });
    let question =
        json!({ "jsonrpc": "2.0", "id": "late", "method": "elicitation/create", "params": params });
    let text = match form {
        Form::Sse => format!("data: {answer}\n\ndata: {question}\n\n"),
        _ => format!("{answer}\n{question}\n"),
    };
    client.call("one.raw", json!({ "text": text })).await;
}

/// What the server was answered to its late question.
async fn answer_to_late(journal: &Journal) -> Value {
    let is_answer = |line: &Value| line["id"] == "late";
    journal.wait_for("an answer", |journal| journal.messages().iter().any(is_answer)).await;
    journal.messages().into_iter().find(is_answer).unwrap()
}

#[tokio::test]
async fn a_question_that_comes_when_nobody_calls_is_refused() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let behind = form.serve(&["--faults"]).await;
        let who = Answering::everything("a");
        let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
        let _stream = client.open_get_stream().await;
        // On the session that all share, since this one declares nothing.
        ask_late(form, &behind.gateway.connect().await).await;
        assert_eq!(answer_to_late(&behind.journal).await["error"]["code"], -32601, "{form:?}");
        assert!(who.asked().is_empty(), "{form:?}");
    }
}

#[tokio::test]
async fn a_question_that_comes_after_its_call_is_shown_to_none_of_those_who_share_the_session() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let behind = form.serve(&["--faults"]).await;
        let capabilities = json!({ "elicitation": {} });
        let who = ["first", "second"].map(|name| Answering::named(name, capabilities.clone()));
        let mut clients = Vec::new();
        for who in &who {
            let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
            let stream = client.open_get_stream().await;
            // One after the other they have had the same session.
            who.is_asked(&client, "elicitation", "in time").await;
            clients.push((client, stream));
        }
        let sessions = behind.journal.of("initialize").len();
        assert_eq!(sessions, 2, "{form:?}: that of all, and that of these two");
        ask_late(form, &clients[1].0).await;
        assert_eq!(answer_to_late(&behind.journal).await["error"]["code"], -32601, "{form:?}");
        for who in &who {
            assert_eq!(who.tags(), ["in time"], "{form:?}: {}", who.profile.name);
        }
    }
}

#[tokio::test]
async fn a_question_on_a_session_of_one_client_alone_is_that_clients_at_any_time() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let behind = form.serve(&["--faults"]).await;
        let who = ["own", "other"].map(Answering::everything);
        let mut clients = Vec::new();
        for who in &who {
            let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
            let stream = client.open_get_stream().await;
            who.is_asked(&client, "roots", "in time").await;
            clients.push((client, stream));
        }
        ask_late(form, &clients[0].0).await;
        let answer = answer_to_late(&behind.journal).await;
        assert_eq!(answer["result"], who[0].says("elicitation", "untagged"), "{form:?}: {answer}");
        assert_eq!(who[1].tags(), ["in time"], "{form:?}");
    }
}

#[tokio::test]
async fn calls_at_once_over_one_pair_of_pipes_have_each_their_own_answer_in_either_era() {
    for form in Form::ALL {
        let who = Arc::new(Answering::everything("piped"));
        let (_behind, pipes) = form.over_stdio(&[], who.profile.clone()).await;
        pipes.initialize().await;
        listed(&pipes, &["one"]).await;
        let modern = ModernStdio::over(pipes, who.profile.clone());
        let client = Arc::new(modern);
        let calls = (0..20).map(|n| {
            let (client, who) = (Arc::clone(&client), Arc::clone(&who));
            tokio::spawn(async move {
                let tag = format!("p-{n}");
                if n % 2 == 0 {
                    who.is_asked(&client.pipes, "elicitation", &tag).await;
                } else {
                    who.is_asked(&*client, "sampling", &tag).await;
                }
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        let mut tags = who.tags();
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), 20, "{form:?}: {tags:?}");
    }
}

#[tokio::test]
async fn t06_questions_of_two_servers_at_once_have_each_their_own_answer() {
    for form in Form::ALL {
        let builder = Gateway::builder();
        let other = form.start("two", &[], &builder).await;
        let behind = form.serve_as(&[], json!({}), builder.server("two", other.entry.clone())).await;
        for front in Front::ALL {
            let who = Arc::new(Answering::everything("a"));
            let client = Arc::new(front.connect(&behind, who.profile.clone()).await);
            listed(&*client, &["one", "two"]).await;
            // Both servers count their questions from 0.
            let calls = (0..8).flat_map(|n| ["one", "two"].map(|server| (n, server))).map(|(n, server)| {
                let (who, client) = (Arc::clone(&who), Arc::clone(&client));
                tokio::spawn(async move {
                    let tag = format!("{server}-{n}");
                    let arguments = json!({ "tag": tag });
                    let text = client.call_text(&format!("{server}.who_asks"), arguments).await;
                    let expected = json!({ "result": who.says("elicitation", &tag) });
                    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
                })
            });
            for call in calls.collect::<Vec<_>>() {
                call.await.unwrap();
            }
            assert_eq!(who.asked().len(), 16, "{form:?} {front:?}");
        }
    }
}

#[tokio::test]
async fn t06_nobody_answers_the_question_of_another_client() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::HttpModern, Form::Sse] {
        let behind = form.serve(&[]).await;
        // Answers nothing by itself.
        let profile = Profile::default().capabilities(json!({ "elicitation": {} }));
        let own = HttpClient::connect_as(&behind.gateway.url(), profile.clone()).await;
        let pending = own.start_call("one.who_asks", json!({ "tag": "mine" })).await;
        let question = pending.wait_for_method("elicitation/create").await;
        let answer = |said: &str| {
            let result = json!({ "action": "accept", "content": { "said": said } });
            json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }).to_string()
        };
        let stranger = HttpClient::connect_as(&behind.gateway.url(), profile.clone()).await;
        assert_eq!(stranger.post(answer("a stranger")).await.status, 202, "{form:?}");
        let over_sse = SseClient::connect_as(&behind.gateway.url_of("/sse"), profile).await;
        over_sse.post(answer("another stranger")).await;
        let unasked = json!({ "jsonrpc": "2.0", "id": 987_654, "result": {} }).to_string();
        assert_eq!(own.post(unasked).await.status, 202, "{form:?}");
        assert_eq!(own.post(answer("myself")).await.status, 202, "{form:?}");
        // A second word changes nothing.
        assert_eq!(own.post(answer("myself again")).await.status, 202, "{form:?}");
        let text = pending.wait_for_reply().await["result"]["content"][0]["text"].to_string();
        assert!(text.contains("myself") && !text.contains("again"), "{form:?}: {text}");
    }
}
