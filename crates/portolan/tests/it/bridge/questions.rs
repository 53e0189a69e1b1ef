//! What a server asks: sampling, elicitation and roots, between every two eras.

use super::fronts::KINDS;
use super::{Answering, AnyClient, Form, Front};
use crate::kit::{call, listed};
use portolan_testkit::{Client, HttpClient, Journal, ModernStdio, Profile};
use serde_json::{Value, json};

/// How often a call was begun, however many rounds it took.
fn begun(journal: &Journal, tag: &str) -> usize {
    let calls = journal.calls("who_asks");
    let is_first = |params: &Value| params.get("inputResponses").is_none();
    calls.iter().filter(|call| call["params"]["arguments"]["tag"] == tag && is_first(&call["params"])).count()
}

async fn check(journal: &Journal, client: &AnyClient, who: &Answering, front: &str) {
    for kind in KINDS {
        let (tag, before) = (format!("{front}-{kind}"), who.asked().len());
        who.is_asked(client, kind, &tag).await;
        assert_eq!(who.asked().len(), before + 1, "{tag}: asked once");
        assert_eq!(begun(journal, &tag), 1, "{tag}: executed once");
    }
}

async fn reaches_its_client(form: Form) {
    let behind = form.serve(&[]).await;
    for front in Front::ALL {
        let who = Answering::everything(&format!("{front:?}"));
        let client = front.connect(&behind, who.profile.clone()).await;
        check(&behind.journal, &client, &who, &format!("{front:?}")).await;
    }
    let who = Answering::everything("stdio");
    let (behind, pipes) = form.over_stdio(&[], who.profile.clone()).await;
    pipes.initialize().await;
    listed(&pipes, &["one"]).await;
    let client = AnyClient::Stdio(pipes);
    check(&behind.journal, &client, &who, "stdio").await;
    // The other era on the same pipes.
    let AnyClient::Stdio(pipes) = client else { unreachable!() };
    let client = AnyClient::ModernStdio(ModernStdio::over(pipes, who.profile.clone()));
    check(&behind.journal, &client, &who, "modern-stdio").await;
}

#[tokio::test]
async fn a_question_over_stdio_legacy_reaches_the_client_whose_call_caused_it_in_either_era() {
    reaches_its_client(Form::StdioLegacy).await;
}

#[tokio::test]
async fn a_question_over_stdio_modern_reaches_the_client_whose_call_caused_it_in_either_era() {
    reaches_its_client(Form::StdioModern).await;
}

#[tokio::test]
async fn a_question_over_http_legacy_reaches_the_client_whose_call_caused_it_in_either_era() {
    reaches_its_client(Form::HttpLegacy).await;
}

#[tokio::test]
async fn a_question_over_http_without_sessions_reaches_the_client_whose_call_caused_it_in_either_era() {
    reaches_its_client(Form::HttpStateless).await;
}

#[tokio::test]
async fn a_question_over_http_modern_reaches_the_client_whose_call_caused_it_in_either_era() {
    reaches_its_client(Form::HttpModern).await;
}

#[tokio::test]
async fn a_question_over_sse_reaches_the_client_whose_call_caused_it_in_either_era() {
    reaches_its_client(Form::Sse).await;
}

#[tokio::test]
async fn a_person_who_says_no_or_nothing_has_answered() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        for action in ["decline", "cancel"] {
            for front in Front::ALL {
                let answer = json!({ "action": action });
                let profile = Profile::default().capabilities(json!({ "elicitation": {} }));
                let client =
                    front.connect(&behind, profile.answer("elicitation/create", answer.clone())).await;
                let text = client.call_text("one.who_asks", json!({ "tag": action })).await;
                assert_eq!(text, json!({ "result": answer }).to_string(), "{form:?} {front:?}");
            }
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_from_within_a_batch_which_has_one_answer() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        let who = Answering::everything("batching");
        let profile = who.profile.clone().revision("2025-03-26");
        let client = HttpClient::connect_as(&behind.gateway.url(), profile).await;
        let request = |id: u64, tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call(tool, arguments) });
        let batch = json!([
            request(1, "one.who_asks", json!({ "tag": "batch" })),
            request(2, "one.echo", json!({ "a": 1 })),
        ]);
        let answers = client.post(batch.to_string()).await;
        let replies = answers.messages[0].as_array().unwrap();
        assert_eq!(replies[1]["result"]["content"][0]["text"], r#"{"a":1}"#, "{form:?}: {}", answers.body);
        assert_eq!(replies[0]["id"], 1, "{form:?}: {}", answers.body);
        assert!(!answers.body.contains("batching saw"), "{form:?}: {}", answers.body);
        assert!(who.asked().is_empty(), "{form:?}");
    }
}

#[tokio::test]
async fn f24_a_client_that_did_not_declare_it_is_never_asked() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        for front in Front::ALL {
            let who = Answering::named("silent", json!({}));
            let client = front.connect(&behind, who.profile.clone()).await;
            for tool in ["ask_elicitation", "ask_sampling", "ask_roots"] {
                // With a handshake the fixture asks all the same and is declined; without one it says what it lacks.
                let called = client.try_call(&format!("one.{tool}"), json!({})).await;
                let code = match &called {
                    Ok(result) => result["content"][0]["text"].as_str().unwrap().contains("-32601"),
                    Err(error) => error["code"] == -32021,
                };
                assert!(code, "{form:?} {front:?} {tool}: {called:?}");
            }
            assert!(who.asked().is_empty(), "{form:?} {front:?}");
        }
    }
}
