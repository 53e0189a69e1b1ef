//! Skills: the taxonomy and people's changes to it, how tools come to have skills, and that a person's word holds.

use crate::rest::eventually;
use portolan_testkit::model_server::{Asked, Nobody, Reply};
use portolan_testkit::{Gateway, GatewayBuilder, ModelServer, Rest, bin};
use serde_json::{Value, json};

/// What the scripted model says of a tool: notes are notes, units are data, and nothing else fits anything.
fn opinion(tool: &Value) -> Value {
    let name = tool["name"].as_str().unwrap();
    let skills = match name {
        _ if name.contains("note") => json!([
            { "id": "tasks_notes", "confidence": 0.9 },
            { "id": "knowledge_memory", "confidence": 0.6 },
            { "id": "games", "confidence": 0.4 },
        ]),
        _ if name.contains("unit") || name == "convert" => {
            json!([{ "id": "data_analysis", "confidence": 0.8 }])
        }
        _ => json!([]),
    };
    let missing = skills.as_array().unwrap().is_empty();
    json!({
        "number": tool["number"],
        "skills": skills,
        "missing_skill_name": missing.then_some("Bee keeping"),
        "missing_skill_description": missing.then_some("Look after bees."),
    })
}

fn opinions(asked: &Asked) -> Reply {
    let question: Value = serde_json::from_str(&asked.last_words()).unwrap();
    let tools: Vec<Value> = question["tools"].as_array().unwrap().iter().map(opinion).collect();
    Reply::text(json!({ "tools": tools }).to_string())
}

async fn model() -> ModelServer {
    ModelServer::answering(opinions).await
}

/// A gateway that has this model sort its tools.
fn sorted_by(model: &ModelServer) -> GatewayBuilder {
    sorted_at(&model.openai_url())
}

fn sorted_at(url: &str) -> GatewayBuilder {
    let builder = Gateway::builder().env("PORTOLAN_LLM_PROVIDER", "openai");
    builder.env("PORTOLAN_LLM_URL", url).env("PORTOLAN_LLM_MODEL", "scripted")
}

/// The example servers: notes that are kept, and units that are converted.
fn desk(builder: GatewayBuilder) -> GatewayBuilder {
    let entry = |name: &str| json!({ "command": bin(&format!("portolan-example-{name}")) });
    builder.server("notes", entry("notes")).server("units", entry("units"))
}

/// Waits until that many tools have skills, and that many have none.
async fn sorted(rest: &Rest, classified: u64, unclassified: u64) {
    eventually("the tools are sorted", async || {
        let state = rest.get("/aggregator/state").await.json(200);
        let is_so = state["classified_tools"] == classified
            && state["unclassified_tools"] == unclassified
            && state["total_tools"] == classified + unclassified;
        is_so.then_some(())
    })
    .await;
}

async fn tool(rest: &Rest, name: &str) -> Value {
    let all = rest.get("/aggregator/tools?limit=1000").await.json(200);
    let found = all.as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("there is no {name} in {all}"))
}

async fn connected(rest: &Rest, server: &str) {
    let answer =
        rest.post_nothing(&format!("/aggregator/servers/{server}/connect?wait=true")).await.json(200);
    assert_eq!(answer["status"], "CONNECTED", "{answer}");
}

/// Makes these the skills of a tool; the tool as it is then.
async fn assign(rest: &Rest, name: &str, body: Value) -> Value {
    let id = tool(rest, name).await["id"].as_str().unwrap().to_owned();
    rest.put(&format!("/tools/{id}/skills"), body).await.json(200)
}

/// Waits until a tool has these skills.
async fn has(rest: &Rest, name: &str, skills: &[&str]) {
    eventually(&format!("{name} has {skills:?}"), async || {
        (tool(rest, name).await["skill_ids"] == json!(skills)).then_some(())
    })
    .await;
}

async fn tool_count(rest: &Rest, skill: &str) -> u64 {
    rest.get(&format!("/skills/{skill}")).await.json(200)["tool_count"].as_u64().unwrap()
}

#[tokio::test]
async fn the_taxonomy_is_there_from_the_start_and_is_listed_in_pages() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let all = rest.get("/skills?limit=1000").await;
    let total: usize = all.header("x-total-count").unwrap().parse().unwrap();
    let skills = all.json(200).as_array().unwrap().clone();
    assert!(skills.len() == total && (25..=40).contains(&total), "{total}");
    for skill in &skills {
        assert_eq!((&skill["is_built_in"], &skill["tool_count"]), (&json!(true), &json!(0)), "{skill}");
        let id = skill["id"].as_str().unwrap();
        assert_eq!(rest.get(&format!("/skills/{id}")).await.json(200), *skill);
    }
    let page = rest.get("/skills?limit=2&offset=3").await;
    assert_eq!(page.header("x-total-count"), Some(&*total.to_string()));
    assert_eq!(page.json(200), json!(skills[3..5]));
    assert_eq!(rest.get("/skills/web_search/tools").await.json(200), json!([]));
}

#[tokio::test]
async fn a_skill_is_added_changed_and_removed_and_stays_so() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let draft = json!({ "name": "Bee keeping", "description": "Look after bees.", "keywords": ["hive"] });
    let answer = rest.post("/skills", draft.clone()).await;
    assert_eq!(answer.header("location"), Some("/api/v1/skills/bee_keeping"));
    let added = answer.json(201);
    for (field, value) in [
        ("id", json!("bee_keeping")),
        ("name", json!("Bee keeping")),
        ("keywords", json!(["hive"])),
        ("examples", json!([])),
        ("domain", json!("Other")),
        ("is_built_in", json!(false)),
    ] {
        assert_eq!(added[field], value, "{field} in {added}");
    }
    let taken = rest.post("/skills", draft).await;
    assert_eq!(taken.problem(409, "SKILL_EXISTS")["detail"], "Skill already exists: bee_keeping");
    let other = json!({ "id": "bees", "name": "Bee keeping", "description": "The same in short." });
    assert_eq!(rest.post("/skills", other).await.json(201)["id"], "bees");
    rest.delete("/skills/bees").await.empty(204);
    let patch = json!({ "domain": "World", "examples": ["Count the bees."] });
    let changed = rest.patch("/skills/bee_keeping", patch).await.json(200);
    assert_eq!((&changed["domain"], &changed["keywords"]), (&json!("World"), &json!(["hive"])));
    rest.patch("/skills/weather", json!({ "name": "Sky" })).await.json(200);
    rest.delete("/skills/games").await.empty(204);
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    assert_eq!(rest.get("/skills/bee_keeping").await.json(200), changed);
    assert_eq!(rest.get("/skills/weather").await.json(200)["name"], "Sky");
    rest.get("/skills/games").await.problem(404, "SKILL_NOT_FOUND");
    let again = json!({ "id": "games", "name": "Games", "description": "Play." });
    assert_eq!(rest.post("/skills", again).await.json(201)["name"], "Games");
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_its_place() {
    let gateway = Gateway::builder().fixture("one", &["--only", "echo"]).serve().await;
    let rest = gateway.rest();
    for (body, fields) in [
        (json!({ "name": "a" }), &["body.description"][..]),
        (json!({ "name": " ", "description": "" }), &["body.name", "body.description"]),
        (json!({ "name": "a", "description": "d", "id": "Not so" }), &["body.id"]),
        (json!({ "name": "a", "description": "d", "id": "suggestions" }), &["body.id"]),
        (json!({ "name": "a", "description": "d", "keywords": ["x", ""] }), &["body.keywords.1"]),
        (json!({ "name": "a", "description": "d", "parent": "b" }), &["body.parent"]),
    ] {
        let answer = rest.post("/skills", body.clone()).await;
        answer.problem(422, "VALIDATION_ERROR");
        assert_eq!(answer.wrong_fields(), fields, "{body}");
    }
    let patched = rest.patch("/skills/weather", json!({ "id": "sky" })).await;
    assert_eq!(patched.wrong_fields(), ["body.id"]);
    connected(&rest, "one").await;
    let id = tool(&rest, "one.echo").await["id"].as_str().unwrap().to_owned();
    let place = format!("/tools/{id}/skills");
    for (body, field) in [
        (json!({ "skill_ids": ["games", "weather", "email", "security"] }), "body.skill_ids"),
        (json!({ "skill_ids": ["games", "games"] }), "body.skill_ids"),
        (json!({ "skill_ids": ["games"], "primary_skill_id": "weather" }), "body.primary_skill_id"),
        (json!({ "skill_ids": "games" }), "body.skill_ids"),
        (json!({}), "body.skill_ids"),
    ] {
        assert_eq!(rest.put(&place, body.clone()).await.wrong_fields(), [field], "{body}");
    }
    let many = rest.post("/skills/classify", json!({ "tool_ids": vec!["1"; 1001] })).await;
    assert_eq!(many.wrong_fields(), ["body.tool_ids"]);
    let status = rest.get("/skills/suggestions?status=open").await;
    assert_eq!(status.wrong_fields(), ["query.status"]);
    assert_eq!(tool(&rest, "one.echo").await["skill_ids"], json!([]));
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let gateway = Gateway::builder().fixture("one", &["--only", "echo"]).serve().await;
    let rest = gateway.rest();
    connected(&rest, "one").await;
    let id = tool(&rest, "one.echo").await["id"].as_str().unwrap().to_owned();
    let (skill, suggestion, tool) = ("SKILL_NOT_FOUND", "SUGGESTION_NOT_FOUND", "TOOL_NOT_FOUND");
    let none = json!({ "skill_ids": ["none"] });
    for (answer, code, detail) in [
        (rest.get("/skills/none").await, skill, "Skill not found: none"),
        (rest.get("/skills/Not%20so/tools").await, skill, "Skill not found: Not so"),
        (rest.patch("/skills/none", json!({})).await, skill, "Skill not found: none"),
        (rest.delete("/skills/none").await, skill, "Skill not found: none"),
        (rest.put(&format!("/tools/{id}/skills"), none.clone()).await, skill, "Skill not found: none"),
        (rest.put("/tools/0/skills", none).await, tool, "Tool not found: 0"),
        (
            rest.put("/tools/one.echo/skills", json!({ "skill_ids": [] })).await,
            tool,
            "Tool not found: one.echo",
        ),
        (rest.post("/skills/classify", json!({ "tool_ids": [id, "0"] })).await, tool, "Tool not found: 0"),
        (rest.post_nothing("/skills/suggestions/7/approve").await, suggestion, "Suggestion not found: 7"),
        (rest.post_nothing("/skills/suggestions/x/reject").await, suggestion, "Suggestion not found: x"),
        (
            rest.post("/skills/suggestions/7/merge", json!({ "skill_id": "games" })).await,
            suggestion,
            "Suggestion not found: 7",
        ),
        (
            rest.post("/skills/classify", json!({ "server_id": "nobody" })).await,
            "SERVER_NOT_FOUND",
            "Server not found: nobody",
        ),
    ] {
        assert_eq!(answer.problem(404, code)["detail"], detail);
    }
}

#[tokio::test]
async fn br_004_tools_are_sorted_by_the_model_and_shown_with_their_skills() {
    let model = model().await;
    let gateway = desk(sorted_by(&model)).serve().await;
    let rest = gateway.rest();
    sorted(&rest, 6, 0).await;
    let note = tool(&rest, "notes.add_note").await;
    assert_eq!(note["skill_ids"], json!(["tasks_notes", "knowledge_memory"]));
    assert_eq!((&note["primary_skill_id"], &note["is_classified"]), (&json!("tasks_notes"), &json!(true)));
    let servers = rest.get("/aggregator/servers?include_tools=true").await.json(200);
    assert!(servers[0]["tools"].as_array().unwrap().contains(&note), "{servers}");
    assert_eq!((tool_count(&rest, "tasks_notes").await, tool_count(&rest, "data_analysis").await), (4, 2));
    let having = rest.get("/skills/knowledge_memory/tools?limit=3&offset=1").await;
    assert_eq!(having.header("x-total-count"), Some("4"));
    for shown in having.json(200).as_array().unwrap() {
        assert_eq!((&shown["confidence"], &shown["source"]), (&json!(0.6), &json!("LLM")), "{shown}");
        assert_eq!((&shown["server_name"], &shown["is_classified"]), (&json!("notes"), &json!(true)));
    }
    eventually("nothing waits any more", async || {
        let health = rest.get("/aggregator/health").await.json(200);
        (health["skills"] == json!({ "waiting": 0, "trouble": null })).then_some(())
    })
    .await;
}

#[tokio::test]
async fn br_004_a_persons_word_holds_against_the_model_a_restart_and_a_new_look() {
    let model = model().await;
    let gateway = desk(sorted_by(&model)).serve().await;
    let rest = gateway.rest();
    sorted(&rest, 6, 0).await;
    let body = json!({ "skill_ids": ["education", "games", "weather"], "primary_skill_id": "games" });
    let given = assign(&rest, "units.convert", body).await;
    let persons = ["games", "education", "weather"];
    assert_eq!((&given["skill_ids"], &given["primary_skill_id"]), (&json!(persons), &json!("games")));
    let shown = rest.get("/skills/games/tools").await.json(200);
    assert_eq!((&shown[0]["confidence"], &shown[0]["source"]), (&json!(1.0), &json!("HUMAN")), "{shown}");
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    connected(&rest, "units").await;
    rest.post_nothing("/aggregator/servers/units/tools/refresh").await.json(202);
    assert_eq!(tool(&rest, "units.convert").await["skill_ids"], json!(persons));
    // The other tool of the batch shows that it has been looked at.
    assign(&rest, "units.list_units", json!({ "skill_ids": [] })).await;
    let wish = json!({ "server_id": "units" });
    assert_eq!(rest.post("/skills/classify", wish).await.json(202), json!({ "waiting": 2 }));
    has(&rest, "units.list_units", &["data_analysis"]).await;
    assert_eq!(tool(&rest, "units.convert").await["skill_ids"], json!(persons));
    assign(&rest, "units.convert", json!({ "skill_ids": [] })).await;
    has(&rest, "units.convert", &["data_analysis"]).await;
}

#[tokio::test]
async fn br_004_force_overwrites_a_persons_word_for_the_tools_that_are_named() {
    let model = model().await;
    let gateway = desk(sorted_by(&model)).serve().await;
    let rest = gateway.rest();
    sorted(&rest, 6, 0).await;
    for name in ["units.convert", "units.list_units"] {
        assign(&rest, name, json!({ "skill_ids": ["games"] })).await;
    }
    let id = tool(&rest, "units.convert").await["id"].clone();
    let wish = json!({ "tool_ids": [id], "force": true });
    assert_eq!(rest.post("/skills/classify", wish).await.json(202), json!({ "waiting": 1 }));
    has(&rest, "units.convert", &["data_analysis"]).await;
    assert_eq!(tool(&rest, "units.list_units").await["skill_ids"], json!(["games"]));
    assert_eq!(rest.post_nothing("/skills/classify").await.json(202), json!({ "waiting": 6 }));
}

#[tokio::test]
async fn without_any_model_tools_have_the_skills_that_people_give_them() {
    let gateway = Gateway::builder().fixture("one", &["--faults"]).serve().await;
    let rest = gateway.rest();
    connected(&rest, "one").await;
    let before = assign(&rest, "one.echo", json!({ "skill_ids": ["api_integration"] })).await;
    let state = rest.get("/aggregator/state").await.json(200);
    assert_eq!(state["classified_tools"], 1, "{state}");
    // One that goes and comes back is another tool with the same name, and what a person said holds for it.
    let change = async |change: Value| {
        rest.post("/tools/call", json!({ "name": "one.change_tools", "arguments": change })).await.json(200);
    };
    change(json!({ "remove": ["echo"] })).await;
    eventually("it is gone", async || (tool_count(&rest, "api_integration").await == 0).then_some(())).await;
    assert_eq!(rest.get("/aggregator/state").await.json(200)["classified_tools"], 0);
    change(json!({ "add": ["echo"] })).await;
    eventually("it is back", async || (tool_count(&rest, "api_integration").await == 1).then_some(())).await;
    let after = tool(&rest, "one.echo").await;
    assert_ne!(after["id"], before["id"]);
    assert_eq!(after["primary_skill_id"], "api_integration");
    let gateway = gateway.kill_and_restart().await;
    assert_eq!(tool(&gateway.rest(), "one.echo").await["primary_skill_id"], "api_integration");
}

#[tokio::test]
async fn br_008_a_server_that_goes_takes_its_part_of_the_skills_with_it() {
    let model = model().await;
    let gateway = desk(sorted_by(&model)).serve().await;
    let rest = gateway.rest();
    sorted(&rest, 6, 0).await;
    let mut config: Value =
        serde_json::from_str(&std::fs::read_to_string(gateway.config_path()).unwrap()).unwrap();
    config["mcpServers"].as_object_mut().unwrap().remove("notes");
    gateway.rewrite_config(&config);
    sorted(&rest, 2, 0).await;
    assert_eq!((tool_count(&rest, "tasks_notes").await, tool_count(&rest, "data_analysis").await), (0, 2));
    assert_eq!(rest.get("/skills/tasks_notes/tools").await.header("x-total-count"), Some("0"));
}

/// A gateway with a server whose two tools nothing fits, and the suggestion that is made of it.
async fn suggesting(model: &ModelServer) -> (Gateway, Rest, Value) {
    let gateway = sorted_by(model).fixture("one", &["--tools", "2"]).serve().await;
    let rest = gateway.rest();
    let suggestion = eventually("something is suggested", async || {
        let answer = rest.get("/skills/suggestions?status=pending").await;
        let first = answer.json(200)[0].clone();
        (first["tools"].as_array().is_some_and(|tools| tools.len() == 2)).then_some(first)
    })
    .await;
    (gateway, rest, suggestion)
}

async fn settle(rest: &Rest, suggestion: &Value, verdict: &str, body: Value) -> Value {
    let id = suggestion["id"].as_str().unwrap();
    rest.post(&format!("/skills/suggestions/{id}/{verdict}"), body).await.json(200)
}

#[tokio::test]
async fn a_suggestion_is_approved_under_another_name_once() {
    let model = model().await;
    let (_gateway, rest, suggestion) = suggesting(&model).await;
    assert_eq!((&suggestion["name"], &suggestion["status"]), (&json!("Bee keeping"), &json!("PENDING")));
    assert_eq!((&suggestion["skill_id"], &suggestion["settled_at"]), (&Value::Null, &Value::Null));
    let first = &suggestion["tools"][0];
    assert_eq!((&first["name"], &first["original_name"]), (&json!("one.tool_0000"), &json!("tool_0000")));
    let place = format!("/skills/suggestions/{}/approve", suggestion["id"].as_str().unwrap());
    assert_eq!(rest.post(&place, json!({ "name": "" })).await.wrong_fields(), ["body.name"]);
    rest.post(&place, json!({ "name": "Weather" })).await.problem(409, "SKILL_EXISTS");
    let change = json!({ "name": "Apiculture", "domain": "World" });
    let settled = settle(&rest, &suggestion, "approve", change).await;
    assert_eq!((&settled["status"], &settled["skill_id"]), (&json!("APPROVED"), &json!("apiculture")));
    let skill = rest.get("/skills/apiculture").await.json(200);
    assert_eq!((&skill["tool_count"], &skill["domain"]), (&json!(2), &json!("World")));
    assert_eq!(skill["description"], "Look after bees.");
    has(&rest, "one.tool_0001", &["apiculture"]).await;
    let late = rest.post_nothing(&place).await;
    let id = suggestion["id"].as_str().unwrap();
    let detail = format!("Suggestion already settled: {id} is APPROVED");
    assert_eq!(late.problem(409, "SUGGESTION_SETTLED")["detail"], detail);
    let answer = rest.get("/skills/suggestions?status=Approved").await;
    assert_eq!((answer.header("x-total-count"), &answer.json(200)[0]), (Some("1"), &settled));
}

#[tokio::test]
async fn a_suggestion_is_merged_into_a_skill_that_is_there() {
    let model = model().await;
    let (_gateway, rest, suggestion) = suggesting(&model).await;
    let place = format!("/skills/suggestions/{}/merge", suggestion["id"].as_str().unwrap());
    rest.post(&place, json!({ "skill_id": "none" })).await.problem(404, "SKILL_NOT_FOUND");
    assert_eq!(rest.post(&place, json!({})).await.wrong_fields(), ["body.skill_id"]);
    let settled = settle(&rest, &suggestion, "merge", json!({ "skill_id": "devices_home" })).await;
    assert_eq!((&settled["status"], &settled["skill_id"]), (&json!("MERGED"), &json!("devices_home")));
    has(&rest, "one.tool_0000", &["devices_home"]).await;
}

#[tokio::test]
async fn a_rejected_suggestion_leaves_its_tools_without_a_skill_and_is_not_made_again() {
    let model = model().await;
    let (gateway, rest, suggestion) = suggesting(&model).await;
    let settled = settle(&rest, &suggestion, "reject", json!({})).await;
    assert_eq!((&settled["status"], &settled["skill_id"]), (&json!("REJECTED"), &Value::Null));
    let asked = model.asked().all().len();
    rest.post_nothing("/skills/classify").await.json(202);
    eventually("they have been looked at", async || {
        let health = rest.get("/aggregator/health").await.json(200);
        (model.asked().all().len() > asked && health["skills"]["waiting"] == 0).then_some(())
    })
    .await;
    sorted(&rest, 0, 2).await;
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    connected(&rest, "one").await;
    let all = rest.get("/skills/suggestions").await.json(200);
    assert_eq!((all.as_array().unwrap().len(), &all[0]["status"]), (1, &json!("REJECTED")), "{all}");
}

#[tokio::test]
async fn ec_009_while_the_model_is_away_tools_have_no_skills_and_get_them_when_it_is_back() {
    let nobody = Nobody::bind();
    let gateway = desk(sorted_at(&nobody.url())).serve().await;
    let rest = gateway.rest();
    sorted(&rest, 0, 6).await;
    eventually("the trouble is told", async || {
        let health = rest.get("/aggregator/health").await.json(200);
        health["skills"]["trouble"].is_string().then_some(())
    })
    .await;
    rest.post("/tools/call", json!({ "name": "units.list_units", "arguments": {} })).await.json(200);
    let _model = nobody.answering(opinions);
    sorted(&rest, 6, 0).await;
}
