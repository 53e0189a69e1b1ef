//! Classification by a language model.

use super::kit::{ThreeWords, classifier, client_of, server, skills, tool};
use crate::{Found, Suggested, Trouble};
use portolan_model::SkillSource;
use portolan_store::ToolRecord;
use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Asked, Reply};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the model says of one tool: ids with confidences.
fn about(number: usize, skills: &[(&str, f64)]) -> Value {
    let skills: Vec<Value> =
        skills.iter().map(|(id, confidence)| json!({ "id": id, "confidence": confidence })).collect();
    json!({
        "number": number,
        "skills": skills,
        "missing_skill_name": null,
        "missing_skill_description": null,
    })
}

fn answer(tools: &[Value]) -> Reply {
    Reply::text(json!({ "tools": tools }).to_string())
}

async fn classified(model: &ModelServer, count: usize) -> Result<Vec<Found>, Trouble> {
    let tools: Vec<ToolRecord> = (0..count).map(|n| tool(&format!("tool_{n}"), "does something")).collect();
    let tools: Vec<&ToolRecord> = tools.iter().collect();
    let vectors = Arc::<ThreeWords>::default();
    classifier(&vectors, Some(client_of(model))).classify(&skills(), &server(None), &tools).await
}

fn ids(found: &Found) -> Vec<&str> {
    match found {
        Found::Skills(assignments) => {
            assert!(assignments.iter().all(|assignment| assignment.source == SkillSource::Llm));
            assignments.iter().map(|assignment| assignment.skill.as_str()).collect()
        }
        Found::Nothing(suggested) => panic!("{suggested:?}"),
    }
}

#[tokio::test]
async fn br_004_skills_of_half_a_confidence_and_more_are_kept_the_highest_is_primary() {
    let model = ModelServer::start().await;
    model.then(answer(&[
        about(2, &[("mail", 0.5)]),
        about(1, &[("mail", 0.6), ("shop", 0.49), ("weather", 0.95)]),
    ]));
    let found = classified(&model, 2).await.unwrap();
    assert_eq!(ids(&found[0]), ["weather", "mail"]);
    assert_eq!(ids(&found[1]), ["mail"]);
}

#[tokio::test]
async fn ec_006_a_model_is_asked_about_ten_tools_at_a_time() {
    let model = ModelServer::answering(|asked: &Asked| {
        let question: Value = serde_json::from_str(&asked.last_words()).unwrap();
        let count = question["tools"].as_array().unwrap().len();
        answer(&(1..=count).map(|number| about(number, &[("mail", 0.9)])).collect::<Vec<_>>())
    })
    .await;
    let found = classified(&model, 25).await.unwrap();
    assert_eq!((found.len(), model.asked().len()), (25, 3));
}

#[tokio::test]
async fn a_skill_that_is_missing_is_suggested() {
    let model = ModelServer::start().await;
    let mut missing = about(1, &[]);
    missing["missing_skill_name"] = json!(" Gardening ");
    missing["missing_skill_description"] = json!("Plants and beds.");
    model.then(answer(&[missing, about(2, &[("mail", 0.2)])]));
    let found = classified(&model, 2).await.unwrap();
    let gardening = Suggested { name: "Gardening".to_owned(), description: "Plants and beds.".to_owned() };
    assert_eq!(found[0], Found::Nothing(gardening));
    // The model has named none, so the tools of the server wait together.
    assert!(matches!(&found[1], Found::Nothing(suggested) if suggested.name == "Garden hub"));
}

#[tokio::test]
async fn f60_an_answer_that_cannot_be_used_is_complained_about_once() {
    let wrong = [
        (json!({ "tools": [about(1, &[("cooking", 0.9)])] }), "\"cooking\\\" is no skill of the list"),
        (json!({ "tools": [about(2, &[("mail", 0.9)])] }), "there is no tool 2"),
        (json!({ "tools": [] }), "does not speak of all 1 tools"),
        (json!({ "tools": [about(1, &[("mail", 0.9)]), about(1, &[])] }), "tool 1 is there twice"),
        (json!({ "tools": [about(1, &[("mail", 1.5)])] }), "not between 0 and 1"),
        (json!({ "tools": [about(1, &[("mail", 0.9), ("mail", 0.8)])] }), "twice"),
        (json!({ "tools": [about(1, &[("mail", 0.9); 4])] }), "more than 3 skills"),
        (json!("I would rather not"), "no JSON object"),
    ];
    for (wrong, complaint) in wrong {
        let model = ModelServer::start().await;
        model.then(Reply::text(wrong.to_string())).then(answer(&[about(1, &[("mail", 0.9)])]));
        let found = classified(&model, 1).await.unwrap();
        assert_eq!(ids(&found[0]), ["mail"]);
        let again = model.asked().all()[1].last_words();
        assert!(again.contains(&complaint.replace('\\', "")), "{again}");
    }
}

#[tokio::test]
async fn f60_a_model_that_goes_on_with_nonsense_is_given_up() {
    let model = ModelServer::answering(|_| Reply::text("no")).await;
    let trouble = classified(&model, 1).await.unwrap_err();
    assert!(matches!(trouble, Trouble::Unusable(_)), "{trouble:?}");
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn a_model_is_told_the_skills_and_bound_to_them() {
    let model = ModelServer::start().await;
    model.then(answer(&[about(1, &[("mail", 0.9)])]));
    classified(&model, 1).await.unwrap();
    let body = &model.bodies()[0];
    let schema = body["response_format"]["json_schema"]["schema"].to_string();
    assert!(schema.contains(r#""enum":["weather","mail","shop"]"#), "{schema}");
    let question: Value = serde_json::from_str(&model.asked().all()[0].last_words()).unwrap();
    assert_eq!(question["tools"][0]["name"], "tool_0");
    assert_eq!(question["skills"][2]["description"], "All about shop.");
}
