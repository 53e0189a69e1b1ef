//! Questions over REST: one to many servers, one to a server's agent, and what agents have done.

use crate::rest::eventually;
use portolan_testkit::model_server::Reply;
use portolan_testkit::{Gateway, GatewayBuilder, ModelServer, Rest, bin};
use serde_json::{Value, json};

fn example(name: &str) -> Value {
    json!({ "command": bin(&format!("portolan-example-{name}")) })
}

/// Two desks with notes on them, and units that are converted.
fn desks() -> GatewayBuilder {
    let builder = Gateway::builder().server("desk", example("notes")).server("shelf", example("notes"));
    builder.server("units", example("units"))
}

/// Serves, and waits until that many servers are connected.
async fn served(builder: GatewayBuilder, count: u64) -> (Gateway, Rest) {
    let gateway = builder.serve().await;
    let rest = gateway.rest();
    connected(&rest, count).await;
    (gateway, rest)
}

async fn connected(rest: &Rest, count: u64) {
    eventually("the servers are connected", async || {
        let state = rest.get("/aggregator/state").await.json(200);
        (state["connected_servers"] == count).then_some(())
    })
    .await;
}

async fn note(rest: &Rest, server: &str, text: &str) {
    let call = json!({ "name": format!("{server}.add_note"), "arguments": { "text": text } });
    rest.post("/tools/call", call).await.json(200);
}

async fn query(rest: &Rest, body: Value) -> Value {
    rest.post("/aggregator/query", body).await.json(200)
}

/// The members of every result that depend on nothing but what was said.
fn told(answer: &Value) -> Vec<(u64, &str, &str)> {
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|result| {
            let text = |member: &str| result[member].as_str().unwrap();
            (result["rank"].as_u64().unwrap(), text("server"), text("content").lines().next().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn seed_004_results_of_two_servers_are_in_one_ranking_and_the_numbers_are_exact() {
    let (_gateway, rest) = served(desks(), 3).await;
    note(&rest, "desk", "The marathon in Oslo begins at nine").await;
    note(&rest, "desk", "Water the plants on Monday").await;
    note(&rest, "shelf", "Buy shoes for the marathon before May").await;
    note(&rest, "shelf", "Water the plants on Monday").await;
    let answer = query(&rest, json!({ "query": "marathon in Oslo", "servers": ["shelf", "desk"] })).await;
    assert_eq!(
        told(&answer),
        [
            (1, "desk", "The marathon in Oslo begins at nine"),
            (2, "shelf", "Buy shoes for the marathon before May")
        ],
        "{answer}"
    );
    let score = |at: usize| answer["results"][at]["relevanceScore"].as_f64().unwrap();
    assert!(1.0 >= score(0) && score(0) > score(1) && score(1) >= 0.0, "{answer}");
    let numbers = |answer: &Value| {
        let metadata = &answer["metadata"];
        let number = |member: &str| metadata[member].as_f64().unwrap();
        let counts = ["serversQueried", "serversSucceeded", "totalResultsRaw", "totalResultsDedup"];
        (counts.map(number), number("resultsReturned"), number("serverDiversity"))
    };
    assert_eq!(numbers(&answer), ([2.0, 2.0, 2.0, 2.0], 2.0, 1.0), "{answer}");
    let same = query(&rest, json!({ "query": "plants", "servers": ["desk", "shelf"] })).await;
    assert_eq!(told(&same), [(1, "desk", "Water the plants on Monday")], "{same}");
    assert_eq!(same["results"][0]["alsoFrom"], json!(["shelf"]));
    assert_eq!(numbers(&same), ([2.0, 2.0, 2.0, 1.0], 1.0, 0.5), "{same}");
    let again = query(&rest, json!({ "query": "plants", "servers": ["shelf", "desk"] })).await;
    assert_eq!(again["results"][0]["relevanceScore"], same["results"][0]["relevanceScore"]);
}

#[tokio::test]
async fn a_server_is_named_by_its_id_too_and_one_that_does_not_answer_is_named_with_its_reason() {
    let builder = desks().server("gone", json!({ "command": "/nonexistent" }));
    let (_gateway, rest) = served(builder, 3).await;
    note(&rest, "shelf", "The ferry leaves at noon").await;
    let shelf = rest.get("/aggregator/servers/shelf").await.json(200);
    let answer = query(&rest, json!({ "query": "ferry", "servers": [shelf["id"], "gone"] })).await;
    assert_eq!(told(&answer), [(1, "shelf", "The ferry leaves at noon")]);
    let metadata = &answer["metadata"];
    assert_eq!((&metadata["serversQueried"], &metadata["serversSucceeded"]), (&json!(2), &json!(1)));
    let errors = metadata["errors"].as_array().unwrap();
    assert!(errors.len() == 1 && errors[0].as_str().unwrap().starts_with("gone: "), "{metadata}");
}

#[tokio::test]
async fn seed_004_what_cannot_be_taken_is_422_with_its_field_and_says_what_mcp_says() {
    let (_gateway, rest) = served(Gateway::builder().server("desk", example("notes")), 1).await;
    for (body, field, reason) in [
        (json!({}), "query", "Is required"),
        (json!({ "query": " " }), "query", "Must not be blank"),
        (json!({ "query": "q", "maxResults": 500 }), "maxResults", "Must be between 10 and 100, got 500"),
        (json!({ "query": "q", "maxResults": null }), "maxResults", "Must be an integer, got null"),
        (json!({ "query": "q", "servers": "desk" }), "servers", "Must be an array of strings, got a string"),
        (json!({ "query": "q", "servers": ["nobody"] }), "servers", "No server is called \"nobody\""),
        (
            json!({ "query": "q", "max_results": 20 }),
            "max_results",
            "there is no such field; known are query, maxResults, servers",
        ),
    ] {
        let problem = rest.post("/aggregator/query", body).await.problem(422, "VALIDATION_ERROR");
        assert_eq!(problem["errors"], json!([{ "loc": ["body", field], "msg": reason }]));
        assert_eq!(
            (&problem["code"], &problem["message"]),
            (&json!(-32602), &json!("Invalid query parameters"))
        );
        assert_eq!(problem["data"], json!({ "field": field, "reason": reason }));
    }
    rest.post("/aggregator/query", json!([])).await.problem(422, "VALIDATION_ERROR");
    let twice = Some(r#"{"query":"a","query":"b"}"#.to_owned());
    let twice = rest.send(http::Method::POST, "/api/v1/aggregator/query", twice).await;
    twice.problem(422, "VALIDATION_ERROR");
}

#[tokio::test]
async fn seed_004_that_all_have_failed_is_503_with_every_reason() {
    let nowhere = || json!({ "command": "/nonexistent" });
    let gateway = Gateway::builder().server("gone", nowhere()).server("lost", nowhere()).serve().await;
    let rest = gateway.rest();
    let problem = rest.post("/aggregator/query", json!({ "query": "q" })).await;
    let problem = problem.problem(503, "AGGREGATION_FAILED");
    assert_eq!(problem["attemptedServers"], json!(["gone", "lost"]));
    assert_eq!(problem["detail"], "Aggregation failed: all servers unavailable");
    assert_eq!((&problem["code"], &problem["message"]), (&json!(-32603), &problem["detail"]));
    for (at, server) in ["gone", "lost"].into_iter().enumerate() {
        assert_eq!(problem["errors"][at]["loc"], json!(["servers", server]));
        let reason = problem["errors"][at]["msg"].as_str().unwrap();
        assert!(!reason.is_empty());
        assert_eq!(problem["data"]["errors"][at], format!("{server}: {reason}"));
    }
    assert_eq!(problem["data"]["attemptedServers"], problem["attemptedServers"]);
}

#[tokio::test]
async fn seed_003_an_agent_without_a_model_says_so_and_calls_what_is_safe() {
    let (gateway, rest) = served(desks(), 3).await;
    note(&rest, "desk", "The ferry leaves at noon").await;
    let report = rest.post("/agents/desk/query", json!({ "query": "ferry" })).await.json(200);
    let metadata = &report["metadata"];
    assert_eq!((&report["status"], &metadata["model"]), (&json!("success"), &Value::Null), "{report}");
    assert!(metadata["notes"][0].as_str().unwrap().contains("without a model"), "{report}");
    assert!(metadata["answer"].as_str().unwrap().contains("The ferry leaves at noon"), "{report}");
    assert_eq!((&metadata["connectorId"], &metadata["connectorName"]), (&json!("desk"), &json!("desk")));
    assert_eq!(metadata["toolsUsed"], json!(["search_notes"]));
    assert_eq!(metadata["contexts"][0]["source"]["title"], "search_notes");
    drop(gateway);
}

#[tokio::test]
async fn the_numbers_of_an_agent_go_up_and_survive_a_restart() {
    let (gateway, rest) = served(desks(), 3).await;
    let before = rest.get("/agents/desk").await.json(200);
    let id = before["id"].as_str().unwrap().to_owned();
    assert_eq!((&before["calls"], &before["errors"], &before["cost"]), (&json!(0), &json!(0), &json!("0")));
    assert_eq!((&before["tool_count"], &before["status"]), (&json!(4), &json!("CONNECTED")));
    for member in ["latency_mean_ms", "latency_max_ms", "last_used_at"] {
        assert_eq!(before[member], Value::Null, "{before}");
    }
    for connector in ["desk", &id] {
        let asked = json!({ "query": "ferry", "context": "at sea", "maxTools": 2 });
        let report = rest.post(&format!("/agents/{connector}/query"), asked).await.json(200);
        assert_eq!(report["metadata"]["connectorId"], connector);
    }
    let after = rest.get(&format!("/agents/{id}")).await.json(200);
    assert_eq!((&after["calls"], &after["errors"]), (&json!(2), &json!(0)), "{after}");
    let latency = |member: &str| after[member].as_u64().unwrap();
    assert!(latency("latency_mean_ms") <= latency("latency_max_ms"), "{after}");
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    connected(&rest, 3).await;
    let kept = rest.get("/agents/desk").await.json(200);
    for member in
        ["id", "calls", "errors", "latency_mean_ms", "latency_max_ms", "last_used_at", "spent_today"]
    {
        assert_eq!(kept[member], after[member], "{member}");
    }
    assert!(kept["since"].as_str() > after["since"].as_str(), "{kept}");
}

#[tokio::test]
async fn an_agent_with_a_model_answers_and_what_it_used_is_counted() {
    let model = ModelServer::answering(|asked| match asked.body["tools"].is_array() {
        true if asked.body.to_string().contains("tool_call_id") => {
            Reply::text("At noon.").using(Some((100, 10)))
        }
        true => Reply::calls([("search_notes", json!({ "query": "ferry" }))]).using(Some((50, 5))),
        // Whoever sorts tools asks it for nothing.
        false => Reply::refusal(400, "not this"),
    })
    .await;
    let builder = Gateway::builder().server("desk", example("notes")).env("PORTOLAN_LLM_PROVIDER", "openai");
    let builder = builder.env("PORTOLAN_LLM_URL", model.openai_url()).env("PORTOLAN_LLM_MODEL", "small");
    let (_gateway, rest) =
        served(builder.env("PORTOLAN_LLM_PRICE_IN", "2").env("PORTOLAN_LLM_PRICE_OUT", "10"), 1).await;
    let report = rest.post("/agents/desk/query", json!({ "query": "When does it leave?" })).await.json(200);
    let metadata = &report["metadata"];
    assert_eq!((&metadata["answer"], &metadata["model"]), (&json!("At noon."), &json!("small")), "{report}");
    assert_eq!(metadata["usage"], json!({ "inputTokens": 150, "outputTokens": 15, "cost": "0.00045" }));
    let agent = rest.get("/agents/desk").await.json(200);
    assert_eq!((&agent["tokens_in"], &agent["tokens_out"]), (&json!(150), &json!(15)), "{agent}");
    assert_eq!(agent["cost"], "0.00045");
    let today = json!({ "tokens_in": 150, "tokens_out": 15, "cost": "0.00045" });
    assert_eq!(agent["spent_today"], today);
}

#[tokio::test]
async fn agents_are_listed_by_name_in_pages_and_end_with_their_servers() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    assert_eq!(rest.get("/agents").await.json(200), json!([]));
    for name in ["c", "a", "b"] {
        let config = gateway.fixture_entry(name, &["--only", "echo"]);
        let draft = json!({
            "name": name, "transport_type": "STDIO", "connection_config": config, "description": format!("It is {name}."),
        });
        rest.post("/aggregator/servers", draft).await.json(201);
    }
    let all = rest.get("/agents").await;
    assert_eq!(all.header("x-total-count"), Some("3"));
    let all = all.json(200);
    let names: Vec<&Value> = all.as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(all[1]["description"], "It is b.");
    let page = rest.get("/agents?limit=1&offset=2").await;
    assert_eq!((page.header("x-total-count"), &page.json(200)[0]["name"]), (Some("3"), &json!("c")));
    rest.delete("/aggregator/servers/b").await.empty(204);
    let gone = rest.get("/agents/b").await.problem(404, "SERVER_NOT_FOUND");
    assert_eq!(gone["detail"], "Server not found: b");
    assert_eq!(rest.get("/agents").await.header("x-total-count"), Some("2"));
}

#[tokio::test]
async fn a_question_that_is_not_taken_up_is_a_problem_with_its_reason() {
    let builder = desks().env("PORTOLAN_AGENTS_QUERIES_PER_MINUTE", "1");
    let (_gateway, rest) = served(builder.server("gone", json!({ "command": "/nonexistent" })), 3).await;
    let unknown = rest.post("/agents/nobody/query", json!({ "query": "q" })).await;
    assert_eq!(unknown.problem(404, "SERVER_NOT_FOUND")["detail"], "Server not found: nobody");
    for (body, field) in [
        (json!({}), "query"),
        (json!({ "query": "q", "maxTools": 101 }), "maxTools"),
        (json!({ "query": "q", "context": 1 }), "context"),
        (json!({ "query": "q", "allowDestructive": "yes" }), "allowDestructive"),
        (json!({ "query": "q", "connectorId": "desk" }), "connectorId"),
    ] {
        let problem = rest.post("/agents/desk/query", body).await.problem(422, "VALIDATION_ERROR");
        assert_eq!(problem["errors"][0]["loc"], json!(["body", field]), "{problem}");
    }
    let away = rest.post("/agents/gone/query", json!({ "query": "q" })).await;
    let away = away.problem(503, "SERVER_UNAVAILABLE");
    assert_eq!(away["server"], "gone");
    assert!(away["detail"].as_str().unwrap().starts_with("server gone is "), "{away}");
    rest.post("/agents/desk/query", json!({ "query": "q" })).await.json(200);
    let often = rest.post("/agents/desk/query", json!({ "query": "q" })).await;
    let wait: u64 = often.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let often = often.problem(429, "TOO_MANY_QUERIES");
    assert!(often["detail"].as_str().unwrap().contains("desk takes 1 queries a minute"), "{often}");
    // Whoever is refused took nothing from the others.
    rest.post("/agents/shelf/query", json!({ "query": "q" })).await.json(200);
}

#[tokio::test]
async fn a_question_that_fails_is_an_answer_that_says_why() {
    let model = ModelServer::answering(|_| Reply::refusal(401, "wrong key")).await;
    let builder = Gateway::builder().server("desk", example("notes")).env("PORTOLAN_LLM_PROVIDER", "openai");
    let builder = builder.env("PORTOLAN_LLM_URL", model.openai_url()).env("PORTOLAN_LLM_MODEL", "small");
    let (_gateway, rest) = served(builder, 1).await;
    let report = rest.post("/agents/desk/query", json!({ "query": "q" })).await.json(200);
    assert_eq!(
        (&report["status"], &report["error"]["code"]),
        (&json!("error"), &json!("MCP_ORCHESTRATION_FAILED"))
    );
    assert!(report["data"].as_str().unwrap().contains("refuses the key"), "{report}");
    let agent = rest.get("/agents/desk").await.json(200);
    assert_eq!((&agent["calls"], &agent["errors"]), (&json!(1), &json!(1)));
}
