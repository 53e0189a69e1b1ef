//! Without any model.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::kit::{Does, FakeHands, ask, asked, steps};
use crate::{Answered, Ask, Destructive, Mind, PlannedCall, Unaided, Way};

pub(super) struct Plan(pub(super) Vec<PlannedCall>);

#[async_trait]
impl Unaided for Plan {
    async fn plan(&self, _query: &str) -> Vec<PlannedCall> {
        self.0.clone()
    }
}

fn call(tool: &str) -> PlannedCall {
    let arguments = to_raw_value(&json!({ "q": "x" })).unwrap();
    PlannedCall { tool: tool.to_owned(), way: Way::Call(arguments) }
}

fn nothing(plan: Vec<PlannedCall>) -> Mind {
    Mind::Nothing(Arc::new(Plan(plan)))
}

#[tokio::test]
async fn without_a_model_safe_calls_are_made_and_that_is_said() {
    let hands = FakeHands::new([
        ("search", Does::Says("found x".to_owned())),
        ("list", Does::Errs("no such list".to_owned())),
        ("create_issue", Does::Says("made".to_owned())),
    ]);
    let left = Way::NotByItself("it needs a title".to_owned());
    let plan = vec![
        call("search"),
        PlannedCall { tool: "create_issue".to_owned(), way: left },
        call("list"),
        call("foreign"),
    ];
    let report = asked(&hands, nothing(plan), &ask("x")).await;
    assert_eq!((&report.failure, report.model), (&None, None));
    let expected = "This was done without a model: no model is configured, and the client offers none. The tools were chosen \
                    by search, and nothing was summarised.\n\n\
                    1. search was called with {\"q\":\"x\"} and answered:\nfound x\n\n\
                    2. create_issue fits, but was not called: it needs a title\n\n\
                    3. list was to be called with {\"q\":\"x\"}: no such list";
    assert_eq!(report.answer, expected);
    assert_eq!(report.tools_used, ["search", "list"]);
    assert_eq!(report.notes.len(), 1);
    assert_eq!(report.contexts.len(), 1);
}

#[tokio::test]
async fn without_a_model_nothing_that_may_change_something_is_called_whoever_planned_it() {
    let hands = FakeHands::described([
        ("delete_all", json!({}), Does::Says("gone".to_owned())),
        ("send", json!({ "annotations": { "readOnlyHint": false } }), Does::Says("sent".to_owned())),
    ]);
    let allowed = Ask { destructive: Destructive::Allowed, ..ask("x") };
    let report = asked(&hands, nothing(vec![call("delete_all"), call("send")]), &allowed).await;
    assert_eq!(hands.log(), [""; 0]);
    assert_eq!(steps(&report)[2..4], ["refused delete_all", "refused send"]);
    assert!(report.answer.contains("without a model only what reads is called"), "{}", report.answer);
}

/// Asks where there is something, and then for it.
struct TwoSteps;

#[async_trait]
impl Unaided for TwoSteps {
    async fn plan(&self, _query: &str) -> Vec<PlannedCall> {
        vec![call("list_places")]
    }

    async fn go_on(&self, answers: &[Answered<'_>]) -> Vec<PlannedCall> {
        let told = answers[0].result.map(RawValue::get).unwrap_or_default();
        if answers[0].tool == "list_places" && told.contains("attic") {
            vec![call("search")]
        } else {
            Vec::new()
        }
    }
}

#[tokio::test]
async fn without_a_model_a_plan_goes_on_with_what_it_was_told() {
    let hands = FakeHands::new([
        ("list_places", Does::Says("attic".to_owned())),
        ("search", Does::Says("found x".to_owned())),
    ]);
    let report = asked(&hands, Mind::Nothing(Arc::new(TwoSteps)), &ask("x")).await;
    assert_eq!(
        (&report.failure, &report.tools_used[..]),
        (&None, &["list_places".to_owned(), "search".to_owned()][..])
    );
    assert!(report.answer.ends_with("2. search was called with {\"q\":\"x\"} and answered:\nfound x"));
    // Nothing is gone on with beyond what may be called.
    let once = Ask { max_tools: Some(1), ..ask("x") };
    let report = asked(&hands, Mind::Nothing(Arc::new(TwoSteps)), &once).await;
    assert_eq!(report.tools_used, ["list_places"]);
}

#[tokio::test]
async fn without_a_model_and_with_nothing_but_failures_there_is_no_answer() {
    let hands = FakeHands::new([("search", Does::Fails("away".to_owned()))]);
    let report = asked(&hands, nothing(vec![call("search")]), &ask("x")).await;
    assert!(report.failure.unwrap().message().contains("none of the calls that search suggests went well"));
    assert!(report.answer.contains("Tool search failed: away"), "{}", report.answer);
}

#[tokio::test]
async fn without_a_model_and_a_plan_there_is_no_answer() {
    let report = asked(&FakeHands::saying("a", "b"), nothing(Vec::new()), &ask("x")).await;
    assert!(report.failure.unwrap().message().contains("no model is at hand"));
}
