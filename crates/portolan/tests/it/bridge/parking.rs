//! Calls that wait for a client of 2026-07-28 to come back: only with its own state, and never a second time.

use super::{Answering, Form};
use crate::kit::{call, echoes};
use portolan_testkit::{Client, Gateway, Journal, Modern, ModernClient, ModernStdio, Profile};
use serde_json::{Value, json};

/// The forms whose calls are parked: servers of the handshake era ask while they work.
const PARKED: [Form; 4] = [Form::StdioLegacy, Form::HttpLegacy, Form::HttpStateless, Form::Sse];

/// The first round of a call: what it asks for, as its result.
async fn parked(client: &impl Modern, params: &Value) -> Value {
    let mut reply = client.once("tools/call", params.clone()).await;
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    assert!(reply["result"]["requestState"].is_string(), "{reply}");
    reply["result"].take()
}

/// Sends what must not be taken for a return.
async fn refused(client: &impl Modern, params: Value, why: &str) {
    let reply = client.once("tools/call", params).await;
    assert_eq!(reply["error"]["code"], -32602, "{why}: {reply}");
}

fn who_asks(tag: &str) -> Value {
    call("one.who_asks", json!({ "tag": tag }))
}

async fn answers(client: &impl Modern, params: Value, expected: &Value) {
    let reply = client.once("tools/call", params).await;
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({ "result": expected }));
}

#[tokio::test]
async fn t26_a_state_that_was_touched_or_is_used_for_another_request_is_refused_and_the_call_still_waits() {
    for form in PARKED {
        let behind = form.serve(&[]).await;
        let who = Answering::everything("a");
        let client = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        let params = who_asks("t26");
        let asked = parked(&client, &params).await;
        let right = who.profile.retried(&params, &asked).unwrap();
        let state = asked["requestState"].as_str().unwrap();
        for touched in touched(state) {
            let mut wrong = right.clone();
            wrong["requestState"] = json!(touched);
            refused(&client, wrong, &format!("{form:?}, {state} as {touched}")).await;
        }
        let with = |key: &str, value: Value| {
            let mut wrong = right.clone();
            wrong[key] = value;
            wrong
        };
        refused(&client, with("name", json!("one.capabilities")), "another tool").await;
        refused(&client, with("arguments", json!({ "tag": "other" })), "other arguments").await;
        refused(&client, with("task", json!({})), "another member").await;
        let prompt = json!({ "name": "one.test_simple_prompt", "requestState": state });
        let reply = client.once("prompts/get", prompt).await;
        assert_eq!(reply["error"]["code"], -32602, "{form:?}, another method: {reply}");
        assert_eq!(behind.journal.executions("who_asks"), 1, "{form:?}");
        answers(&client, right.clone(), &who.says("elicitation", "t26")).await;
        refused(&client, right, &format!("{form:?}, used twice")).await;
        assert_eq!(behind.journal.executions("who_asks"), 1, "{form:?}");
        assert_eq!(behind.journal.executions("capabilities"), 0, "{form:?}");
    }
}

/// The state with one character changed, in each of its parts; cut, and made longer.
fn touched(state: &str) -> Vec<String> {
    let (head, seal) = state.rsplit_once('.').unwrap();
    let last = head.rsplit_once('.').unwrap();
    let number: u64 = last.1.parse().unwrap();
    let mut flipped = seal.to_owned();
    let first = if flipped.starts_with('A') { "B" } else { "A" };
    flipped.replace_range(..1, first);
    vec![
        format!("{head}.{flipped}"),
        format!("{}.{}.{seal}", last.0, number + 1),
        state[..state.len() - 1].to_owned(),
        format!("{state}AAAA"),
        format!("{head}."),
        head.to_owned(),
    ]
}

#[tokio::test]
async fn t26_of_two_who_come_back_at_once_with_one_state_exactly_one_is_answered() {
    for form in PARKED {
        let behind = form.serve(&[]).await;
        let who = Answering::everything("a");
        let client = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        for n in 1..=10 {
            let params = who_asks(&format!("race-{n}"));
            let asked = parked(&client, &params).await;
            let right = who.profile.retried(&params, &asked).unwrap();
            let (one, two) =
                tokio::join!(client.once("tools/call", right.clone()), client.once("tools/call", right));
            let answered = [&one, &two].iter().filter(|reply| reply.get("result").is_some()).count();
            assert_eq!(answered, 1, "{form:?}: {one} {two}");
            let refused = if one.get("error").is_some() { &one } else { &two };
            assert_eq!(refused["error"]["code"], -32602, "{form:?}: {refused}");
            assert_eq!(behind.journal.executions("who_asks"), n, "{form:?}");
        }
    }
}

#[tokio::test]
async fn t26_a_state_of_a_gateway_before_its_restart_is_refused_and_nothing_is_executed_again() {
    for form in PARKED {
        let behind = form.serve(&[]).await;
        let who = Answering::everything("a");
        let client = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        let params = who_asks("restart");
        let asked = parked(&client, &params).await;
        let again = who.profile.retried(&params, &asked).unwrap();
        let gateway = behind.gateway.kill_and_restart().await;
        let plain = gateway.connect().await;
        crate::kit::listed(&plain, &["one"]).await;
        let client = ModernClient::with(&gateway.url(), who.profile.clone());
        refused(&client, again, &format!("{form:?}")).await;
        assert_eq!(behind.journal.executions("who_asks"), 1, "{form:?}");
    }
}

#[tokio::test]
async fn t26_a_state_that_nobody_here_made_is_refused_by_a_server_that_makes_none() {
    for form in PARKED {
        let behind = form.serve(&[]).await;
        let client = ModernClient::with(&behind.gateway.url(), Answering::everything("a").profile);
        for state in ["", "made up", "portolan.", "portolan.0.1.AAAA"] {
            let mut params = who_asks("made-up");
            params["requestState"] = json!(state);
            params["inputResponses"] = json!({});
            refused(&client, params, &format!("{form:?}, {state:?}")).await;
        }
        assert_eq!(behind.journal.executions("who_asks"), 0, "{form:?}");
    }
}

#[tokio::test]
async fn what_was_not_answered_is_asked_again_and_what_was_is_not() {
    for form in PARKED {
        let behind = form.serve(&[]).await;
        let client = ModernClient::with(&behind.gateway.url(), Answering::everything("a").profile);
        let params = call("one.test_input_required_result_multiple_inputs", json!({}));
        let first = parked(&client, &params).await;
        assert_eq!(keys(&first), ["client_roots", "greeting", "user_name"], "{form:?}");
        // Nothing at all, then one of three, then an answer that nobody asked for with the second, then the last.
        let again = |state: &Value, responses: Value| {
            let mut params = params.clone();
            params["requestState"] = state["requestState"].clone();
            params["inputResponses"] = responses;
            params
        };
        let second = parked(&client, &again(&first, json!({}))).await;
        assert_eq!(keys(&second), keys(&first), "{form:?}");
        assert_eq!(second["inputRequests"], first["inputRequests"], "{form:?}: in the same words");
        let name = json!({ "user_name": { "action": "accept", "content": { "name": "Ada" } } });
        let third = parked(&client, &again(&second, name)).await;
        assert_eq!(keys(&third), ["client_roots", "greeting"], "{form:?}");
        let greeting =
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Hi" } });
        let more = json!({ "greeting": greeting, "nobody_asked": {} });
        let fourth = parked(&client, &again(&third, more)).await;
        assert_eq!(keys(&fourth), ["client_roots"], "{form:?}");
        let roots = json!({ "client_roots": { "roots": [{ "uri": "file:///a" }] } });
        let reply = client.once("tools/call", again(&fourth, roots)).await;
        let text =
            reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{form:?}: {reply}"));
        assert!(["Ada", "Hi", "file:///a"].iter().all(|said| text.contains(said)), "{form:?}: {text}");
        assert_eq!(behind.journal.executions("test_input_required_result_multiple_inputs"), 1, "{form:?}");
    }
}

fn keys(asked: &Value) -> Vec<&str> {
    asked["inputRequests"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_call_with_several_rounds_is_one_call_and_answers_under_the_id_of_the_last() {
    for form in PARKED {
        let behind = form.serve(&[]).await;
        let profile = Profile::default().capabilities(super::fronts::everything()).answer_with(
            "elicitation/create",
            |params| {
                let is_first = params["message"].as_str().unwrap().contains("Step 1");
                let content = if is_first { json!({ "name": "Ada" }) } else { json!({ "color": "teal" }) };
                json!({ "action": "accept", "content": content })
            },
        );
        let client = ModernClient::with(&behind.gateway.url(), profile.clone());
        let params = call("one.test_input_required_result_multi_round", json!({}));
        assert_eq!(
            client.call_text("one.test_input_required_result_multi_round", json!({})).await,
            "Ada likes teal",
            "{form:?}"
        );
        assert_eq!(behind.journal.executions("test_input_required_result_multi_round"), 1, "{form:?}");
        // Each round has another id, and each is answered under its own.
        let first = client.start("\"r1\"", "tools/call", params.clone()).await.finish().await;
        let second = profile.retried(&params, first.result()).unwrap();
        let answered = client.start("2.0", "tools/call", second.clone()).await.finish().await;
        let third = profile.retried(&second, answered.result()).unwrap();
        let last = client.start("\"r3\"", "tools/call", third).await.finish().await;
        assert!(answered.body.contains(r#""id":2.0,"#), "{form:?}: {}", answered.body);
        assert_eq!((&first.reply["id"], &last.reply["id"]), (&json!("r1"), &json!("r3")), "{form:?}");
        assert_eq!(last.result()["content"][0]["text"], "Ada likes teal", "{form:?}");
    }
}

#[tokio::test]
async fn prompts_and_resources_that_ask_first_are_parked_like_calls() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        let profile = Profile::default().capabilities(super::fronts::everything()).answer(
            "elicitation/create",
            json!({ "action": "accept", "content": { "context": "tests", "reason": "tests" } }),
        );
        let client = ModernClient::with(&behind.gateway.url(), profile.clone());
        let old = portolan_testkit::HttpClient::connect_as(&behind.gateway.url(), profile).await;
        let prompt = json!({ "name": "one.test_input_required_result_prompt" });
        let resource = json!({ "uri": "test://input-required" });
        for replies in [
            [
                client.ask("prompts/get", prompt.clone()).await,
                client.ask("resources/read", resource.clone()).await,
            ],
            [old.ask("prompts/get", prompt).await, old.ask("resources/read", resource).await],
        ] {
            let said = &replies[0]["result"]["messages"][0]["content"]["text"];
            assert_eq!(said, "Prompt in the context: tests", "{form:?}: {}", replies[0]);
            let read = &replies[1]["result"]["contents"][0]["text"];
            assert_eq!(read, "Read because: tests", "{form:?}: {}", replies[1]);
        }
        // A server without a handshake is asked once more in the second round of each.
        let rounds = if form.is_modern() { 4 } else { 2 };
        let count = |journal: &Journal, method: &str| journal.of(method).len();
        assert_eq!(count(&behind.journal, "prompts/get"), rounds, "{form:?}");
        assert_eq!(count(&behind.journal, "resources/read"), rounds, "{form:?}");
    }
}

#[tokio::test]
async fn t26_the_same_holds_over_stdio() {
    for form in PARKED {
        let who = Answering::everything("a");
        let (behind, pipes) = form.over_stdio(&[], who.profile.clone()).await;
        let client = ModernStdio::over(pipes, who.profile.clone());
        crate::kit::listed(&client, &["one"]).await;
        let params = who_asks("stdio");
        let asked = parked(&client, &params).await;
        let right = who.profile.retried(&params, &asked).unwrap();
        for touched in touched(asked["requestState"].as_str().unwrap()) {
            let mut wrong = right.clone();
            wrong["requestState"] = json!(touched);
            refused(&client, wrong, &format!("{form:?}, {touched}")).await;
        }
        answers(&client, right.clone(), &who.says("elicitation", "stdio")).await;
        refused(&client, right, "used twice").await;
        assert_eq!(behind.journal.executions("who_asks"), 1, "{form:?}");
    }
}

#[tokio::test]
async fn t26_the_state_of_a_modern_server_passes_as_it_is_and_is_judged_by_that_server() {
    for form in [Form::StdioModern, Form::HttpModern] {
        let behind = form.serve_as(&[], json!({}), Gateway::builder()).await;
        let who = Answering::everything("a");
        let client = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        let params = call("one.test_input_required_result_tampered_state", json!({}));
        let asked = parked(&client, &params).await;
        let mut right = who.profile.retried(&params, &asked).unwrap();
        right["inputResponses"]["confirm"] = json!({ "action": "accept", "content": { "ok": true } });
        let mut wrong = right.clone();
        wrong["requestState"] = json!(format!("{}-TAMPERED", asked["requestState"].as_str().unwrap()));
        refused(&client, wrong, &format!("{form:?}")).await;
        let reply = client.once("tools/call", right).await;
        assert_eq!(reply["result"]["content"][0]["text"], "state-ok, confirmed: true", "{form:?}: {reply}");
        let seen = behind.journal.calls("test_input_required_result_tampered_state");
        assert_eq!(seen[2]["params"]["requestState"], asked["requestState"], "{form:?}");
    }
}

#[tokio::test]
async fn calls_that_wait_for_people_keep_nobody_else_waiting() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let behind = form.serve(&[]).await;
        let who = Answering::everything("a");
        let client = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        // One for each session that the server may have.
        let mut waiting = Vec::new();
        for n in 0..8 {
            let params = who_asks(&format!("w{n}"));
            waiting.push((parked(&client, &params).await, params));
        }
        let other = ModernClient::with(&behind.gateway.url(), Answering::everything("b").profile);
        echoes(&other, "one.echo").await;
        for (n, (asked, params)) in waiting.into_iter().enumerate() {
            let back = who.profile.retried(&params, &asked).unwrap();
            answers(&client, back, &who.says("elicitation", &format!("w{n}"))).await;
        }
        assert_eq!(behind.journal.executions("who_asks"), 8, "{form:?}");
    }
}
