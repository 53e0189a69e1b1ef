//! Tools sorted into skills by themselves: by meaning, by a language model, and while that is away.

use crate::rest::eventually;
use portolan_testkit::model_server::{Asked, Nobody, Reply};
use portolan_testkit::{Client as _, Gateway, GatewayBuilder, ModelServer, Rest, bin};
use serde_json::{Value, json};

/// The example servers with their six tools: notes that are kept, and units that are converted.
fn desk() -> GatewayBuilder {
    let entry = |name: &str| json!({ "command": bin(&format!("portolan-example-{name}")) });
    Gateway::builder().server("notes", entry("notes")).server("units", entry("units"))
}

fn by_meaning() -> GatewayBuilder {
    desk().env("PORTOLAN_SEARCH_EMBEDDINGS", "builtin")
}

fn by_model(url: &str) -> GatewayBuilder {
    let desk = desk().env("PORTOLAN_LLM_PROVIDER", "openai").env("PORTOLAN_LLM_URL", url);
    desk.env("PORTOLAN_LLM_MODEL", "small")
}

/// Waits until so many tools have skills, and gives all tools.
async fn classified(rest: &Rest, count: u64) -> Vec<Value> {
    eventually(&format!("{count} tools have skills"), async || {
        let state = rest.get("/aggregator/state").await.json(200);
        (state["classified_tools"] == count && state["total_tools"] == 6).then_some(())
    })
    .await;
    rest.get("/aggregator/tools").await.json(200).as_array().unwrap().clone()
}

/// Says of every tool that it has this skill.
fn everything_is(skill: &'static str) -> impl Fn(&Asked) -> Reply {
    move |asked| {
        let question: Value = serde_json::from_str(&asked.last_words()).unwrap_or_default();
        let count = question["tools"].as_array().map_or(0, Vec::len);
        let about = |number: usize| {
            json!({
                "number": number, "skills": [{ "id": skill, "confidence": 0.9 }],
                "missing_skill_name": null, "missing_skill_description": null,
            })
        };
        Reply::text(json!({ "tools": (1..=count).map(about).collect::<Vec<_>>() }).to_string())
    }
}

#[tokio::test]
async fn br_004_tools_get_skills_by_what_they_mean_and_are_found_by_them() {
    let gateway = by_meaning().serve().await;
    let rest = gateway.rest();
    let tools = classified(&rest, 6).await;
    let add = tools.iter().find(|tool| tool["name"] == "notes.add_note").unwrap();
    let (skills, primary) = (add["skill_ids"].as_array().unwrap(), add["primary_skill_id"].clone());
    assert_eq!((skills.first(), &add["is_classified"]), (Some(&primary), &json!(true)), "{add}");
    let filtered = json!({ "query": "anything", "skill_filter": [primary], "limit": 20 });
    let found = wait_for(&rest, &filtered, |found| !found["tools"].as_array().unwrap().is_empty()).await;
    for tool in found["tools"].as_array().unwrap() {
        assert!(tool["skill_ids"].as_array().unwrap().contains(&primary), "{tool}");
    }
}

/// Search hears of skills a moment after they are stored.
async fn wait_for(rest: &Rest, body: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    let look = async || Some(rest.post("/search", body.clone()).await.json(200)).filter(&is_so);
    eventually("search has heard of the skills", look).await
}

#[tokio::test]
async fn hierarchical_search_goes_by_skills_and_falls_back_where_none_fits() {
    let gateway = by_meaning().serve().await;
    let rest = gateway.rest();
    classified(&rest, 6).await;
    let body = |query: &str, way: &str| json!({ "query": query, "strategy": way, "limit": 3 });
    let by_skills = body("write down a note", "HIERARCHICAL");
    let is_by_skills = |found: &Value| found["metadata"]["strategy"] == "hierarchical";
    let found = wait_for(&rest, &by_skills, is_by_skills).await;
    let matched: Vec<&Value> =
        found["matched_skills"].as_array().unwrap().iter().map(|skill| &skill["id"]).collect();
    assert!(!matched.is_empty(), "{found}");
    for tool in found["tools"].as_array().unwrap() {
        let skills = tool["skill_ids"].as_array().unwrap();
        assert!(skills.iter().any(|skill| matched.contains(&skill)), "{tool} has none of {matched:?}");
    }
    let direct = rest.post("/search", body("write down a note", "direct")).await.json(200);
    assert_eq!((&direct["matched_skills"], &direct["metadata"]["strategy"]), (&json!([]), &json!("direct")));
    let odd = rest.post("/search", body("xqzw", "hierarchical")).await.json(200);
    assert_eq!(odd["metadata"]["strategy"], "hybrid", "{odd}");
    let wrong = rest.post("/search", body("note", "sideways")).await.problem(422, "VALIDATION_ERROR");
    assert_eq!(wrong["errors"][0]["loc"], json!(["body", "strategy"]));
    let unknown = json!({ "query": "note", "skill_filter": ["juggling"] });
    rest.post("/search", unknown).await.problem(404, "SKILL_NOT_FOUND");
}

#[tokio::test]
async fn models_are_told_skills_and_can_ask_by_them() {
    let gateway = by_meaning().env("PORTOLAN_EXPOSURE", "search").serve().await;
    let rest = gateway.rest();
    let skill = classified(&rest, 6).await[0]["primary_skill_id"].clone();
    let query = json!({ "query": "anything", "skill_filter": [skill] });
    wait_for(&rest, &query, |found| !found["tools"].as_array().unwrap().is_empty()).await;
    let client = gateway.connect().await;
    let arguments = json!({ "query": "anything", "skills": [skill], "limit": 50 });
    let result = client.call("search_tools", arguments).await;
    let tools = result["structuredContent"]["tools"].as_array().unwrap();
    assert!(!tools.is_empty());
    for tool in tools {
        assert!(tool["skills"].as_array().unwrap().contains(&skill), "{tool}");
    }
    let unknown = json!({ "query": "anything", "skills": ["juggling"] });
    assert_eq!(client.call("search_tools", unknown).await["isError"], true);
}

#[tokio::test]
async fn br_004_a_configured_language_model_decides() {
    let model = ModelServer::answering(everything_is("time_calendar")).await;
    let gateway = by_model(&model.openai_url()).serve().await;
    let tools = classified(&gateway.rest(), 6).await;
    for tool in &tools {
        assert_eq!(tool["primary_skill_id"], "time_calendar", "{tool}");
    }
}

#[tokio::test]
async fn ec_009_f60_tools_are_found_while_the_model_is_away_and_sorted_when_it_is_back() {
    let nobody = Nobody::bind();
    let gateway = by_model(&nobody.url()).serve().await;
    let rest = gateway.rest();
    let trouble = eventually("it is told that the model is away", async || {
        let health = rest.get("/aggregator/health").await.json(200);
        health["skills"]["trouble"].as_str().map(str::to_owned)
    })
    .await;
    assert!(!trouble.is_empty());
    let found = rest.post("/search", json!({ "query": "add a note" })).await.json(200);
    assert_eq!(found["tools"][0]["name"], "notes.add_note", "{found}");
    assert_eq!(found["tools"][0]["skill_ids"], json!([]));
    let _model = nobody.answering(everything_is("time_calendar"));
    rest.post("/skills/classify", json!({})).await.json(202);
    classified(&rest, 6).await;
}

#[tokio::test]
async fn f60_an_answer_that_is_no_answer_leaves_tools_unsorted_and_callable() {
    let model = ModelServer::answering(|_| Reply::text("I would rather not.")).await;
    let gateway = by_model(&model.openai_url()).serve().await;
    let rest = gateway.rest();
    // Once, and once more after it was told that this is no answer.
    eventually("the model was asked twice", async || (model.asked().len() > 1).then_some(())).await;
    for tool in classified(&rest, 0).await {
        assert_eq!((&tool["is_classified"], &tool["skill_ids"]), (&json!(false), &json!([])), "{tool}");
    }
    let call = json!({ "name": "units.list_units", "arguments": {} });
    assert_eq!(rest.post("/tools/call", call).await.json(200)["isError"], false);
}
