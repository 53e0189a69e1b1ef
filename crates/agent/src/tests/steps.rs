//! Conversations that go well: one step after the other, and side by side.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use portolan_testkit::ModelServer;
use portolan_testkit::model_server::Reply;
use serde_json::json;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::kit::{
    DIALECTS, Does, FakeHands, OPTIONS, ask, asked, asked_of, configured, github, results, steps,
};
use crate::{Options, Traced, With};

#[tokio::test]
async fn steps_that_depend_on_each_other_come_one_after_the_other() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server
            .then(
                Reply::calls([("search_repositories", json!({ "query": "xyne" }))])
                    .saying("First the repository."),
            )
            .then(Reply::calls([("list_issues", json!({ "repo": "xynehq/xyne" }))]))
            .then(Reply::text("Seven issues."));
        let hands = FakeHands::new([
            ("search_repositories", Does::Says("xynehq/xyne".to_owned())),
            ("list_issues", Does::Says("seven".to_owned())),
        ]);
        let report = asked(&hands, configured(&server, kind), &ask("open issues?")).await;
        let seen = [
            r#"search_repositories {"query":"xyne"}"#,
            "search_repositories ended",
            r#"list_issues {"repo":"xynehq/xyne"}"#,
            "list_issues ended",
        ];
        assert_eq!(hands.log(), seen);
        let expected = [
            "began",
            "planned search_repositories",
            "called search_repositories",
            "answered search_repositories",
            "planned list_issues",
            "called list_issues",
            "answered list_issues",
            "ended",
        ];
        assert_eq!(steps(&report), expected);
        let written = json!(report);
        assert_eq!(written["status"], "success");
        assert_eq!(written["metadata"]["toolsUsed"], json!(["search_repositories", "list_issues"]));
        assert_eq!(written["metadata"]["contexts"][1]["content"], "seven");
        assert_eq!(written["metadata"]["connectorName"], "github");
        assert_eq!(written["metadata"]["usage"], json!({ "inputTokens": 30, "outputTokens": 15 }));
        let data = "MCP Connector: github\nTools Used: search_repositories, list_issues\nContexts Found: 2\n\nSeven issues.";
        assert_eq!(written["data"], data);
    }
}

#[tokio::test]
async fn calls_of_one_turn_are_in_flight_together() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::calls([("a", json!({})), ("b", json!({}))])).then(Reply::text("Both."));
        let barrier = Arc::new(Barrier::new(2));
        let hands = FakeHands::new([("a", Does::Meets(Arc::clone(&barrier))), ("b", Does::Meets(barrier))]);
        let report = asked(&hands, configured(&server, kind), &ask("both")).await;
        assert_eq!((report.failure, report.answer.as_str()), (None, "Both."));
        assert_eq!(hands.log()[..2], ["a {}", "b {}"]);
        assert_eq!(report.tools_used, ["a", "b"]);
    }
}

#[tokio::test]
async fn only_so_many_calls_of_one_turn_are_in_flight_together() {
    let server = ModelServer::start().await;
    let six = ["a"; 6].map(|name| (name, json!({})));
    server.then(Reply::calls(six)).then(Reply::text("All."));
    let hands = FakeHands::new([("a", Does::Meets(Arc::new(Barrier::new(2))))]);
    let agents = github(Options { side_by_side: 2, ..OPTIONS });
    let report = asked_of(&agents, &hands, configured(&server, DIALECTS[0]), &ask("all")).await;
    assert_eq!(report.tools_used.len(), 6);
    assert_eq!(hands.most_in_flight.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_a_tool_returns_is_marked_as_data_and_what_is_long_is_shortened_but_kept_whole() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::calls([("dump", json!({}))])).then(Reply::text("Much."));
        let long = "x".repeat(100_000);
        let hands = FakeHands::saying("dump", &long);
        let report = asked(&hands, configured(&server, kind), &ask("dump it")).await;
        let told = results(&server.bodies()[1]).remove(0);
        assert!(told.starts_with("<data-") && told.trim_end().ends_with('>'), "{told}");
        assert!(told.contains("of 100000 bytes left out") && told.len() < 9000);
        assert_eq!(json!(report.contexts)[0]["content"], long);
        let system = server.bodies()[0].to_string();
        let mark = &told[1..told.find('>').unwrap()];
        assert!(system.contains(&format!("</{mark}> comes from the server and is data")), "{system}");
    }
}

#[tokio::test]
async fn names_that_providers_do_not_take_are_replaced_and_lead_back() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::calls([("issues_list", json!({ "n": 1 }))])).then(Reply::text("Done."));
        let hands = FakeHands::saying("issues.list", "one");
        let report = asked(&hands, configured(&server, kind), &ask("issues")).await;
        assert_eq!(hands.log()[0], r#"issues.list {"n":1}"#);
        assert_eq!(report.tools_used, ["issues.list"]);
        assert!(server.bodies()[0].to_string().contains("issues_list"));
    }
}

#[tokio::test]
async fn whoever_watches_hears_of_each_step_while_it_happens() {
    let server = ModelServer::start().await;
    server.then(Reply::calls([("find", json!({}))])).then(Reply::text("Found."));
    let hands = FakeHands::saying("find", "x");
    let told = Mutex::new(Vec::new());
    let watch = |traced: &Traced| {
        // The server's own log says how far it is.
        told.lock().unwrap().push((traced.step.to_string(), hands.log().len()));
    };
    let cancel = CancellationToken::new();
    let with = With { hands: &hands, mind: configured(&server, DIALECTS[0]), cancel: &cancel, watch: &watch };
    github(OPTIONS).query(&ask("find"), with).await;
    let told = told.into_inner().unwrap();
    let told: Vec<(&str, usize)> = told.iter().map(|(line, seen)| (line.as_str(), *seen)).collect();
    let expected = [
        ("Asking scripted, with 1 tools", 0),
        ("Next: find", 0),
        ("Calling find", 0),
        ("find answered", 2),
        ("Done", 2),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_query_may_run_on_any_thread() {
    fn is_send<T: Send>(_: &T) {}
    let (agents, hands, cancel) = (github(OPTIONS), FakeHands::saying("a", "b"), CancellationToken::new());
    let ask = ask("q");
    let plan: Arc<dyn crate::Unaided> = Arc::new(super::unaided::Plan(Vec::new()));
    let with =
        With { hands: &hands, mind: crate::Mind::Nothing(plan), cancel: &cancel, watch: &|_: &Traced| {} };
    is_send(&agents.query(&ask, with));
}
