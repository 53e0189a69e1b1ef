//! How many calls, how many queries, and what is left when all are done.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use portolan_llm::ChatModel;
use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Asked, Gate, Reply};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::kit::{
    DIALECTS, Does, FakeHands, OPTIONS, ask, asked, asked_of, budget, card, client, configured, results,
};
use crate::{Agents, Ask, Failure, Mind, Options, UnderWay};

fn forbids_tools(body: &Value) -> bool {
    body["tool_choice"] == "none" || body["tool_choice"]["type"] == "none"
}

#[tokio::test]
async fn after_max_tools_calls_the_model_has_to_answer() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server
            .then(Reply::calls(["find"; 3].map(|name| (name, json!({})))))
            .then(Reply::text("Two of three."));
        let hands = FakeHands::saying("find", "x");
        let two = Ask { max_tools: Some(2), ..ask("find all") };
        let report = asked(&hands, configured(&server, kind), &two).await;
        assert_eq!((&report.failure, report.answer.as_str()), (&None, "Two of three."));
        assert_eq!(report.tools_used, ["find", "find"]);
        assert_eq!(hands.log().iter().filter(|line| line.starts_with("find {")).count(), 2);
        let bodies = server.bodies();
        assert_eq!((forbids_tools(&bodies[0]), forbids_tools(&bodies[1])), (false, true));
        assert!(results(&bodies[1])[2].contains("The 2 calls that this query may make are made"));
        assert_eq!(report.notes.len(), 1);
        assert!(report.notes[0].contains("may be incomplete"), "{:?}", report.notes);
    }
}

#[tokio::test]
async fn a_model_that_wants_ever_more_gets_no_more_and_what_was_found_stays() {
    for kind in DIALECTS {
        let server = ModelServer::answering(|_| Reply::calls([("find", json!({}))])).await;
        let hands = FakeHands::saying("find", "x");
        let three = Ask { max_tools: Some(3), ..ask("find all") };
        let report = asked(&hands, configured(&server, kind), &three).await;
        let reason = report.failure.unwrap().to_string();
        assert!(reason.contains("asked for more calls than the query may make"), "{reason}");
        assert_eq!((report.tools_used.len(), report.contexts.len(), server.asked().len()), (3, 3, 4));
    }
}

#[tokio::test]
async fn a_model_that_only_asks_for_what_it_cannot_have_comes_to_an_end() {
    let server = ModelServer::answering(|_| Reply::calls([("nothing", json!({}))])).await;
    let report = asked(&FakeHands::saying("find", "x"), configured(&server, DIALECTS[0]), &ask("find")).await;
    assert!(report.failure.is_some());
    // Ten calls, four turns to spare, and the last one that has to be an answer.
    assert_eq!(server.asked().len(), 15);
}

/// Calls once, then answers; the conversation itself says how far it is.
fn once_then_answer(asked: &Asked) -> Reply {
    if results(&asked.body).is_empty() { Reply::calls([("find", json!({}))]) } else { Reply::text("Found.") }
}

fn twenty(options: Options) -> Agents {
    let agents = Agents::new(options, budget(), None);
    for at in 0..20 {
        agents.ensure(card(&format!("server-{at}")));
    }
    agents
}

fn of_server(at: usize) -> Ask {
    Ask { connector: format!("server-{}", at % 20), ..ask("find") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_queries_at_once_are_all_answered_and_nothing_is_left_of_them() {
    for kind in DIALECTS {
        let server = ModelServer::answering(once_then_answer).await;
        let model: Arc<dyn ChatModel> = Arc::new(client(&server, kind));
        let (agents, hands) = (Arc::new(twenty(OPTIONS)), Arc::new(FakeHands::saying("find", "x")));
        let mut queries = JoinSet::new();
        for at in 0..200 {
            let (agents, hands, model) = (Arc::clone(&agents), Arc::clone(&hands), Arc::clone(&model));
            let mind = Mind::Configured { model, max_tokens: 100 };
            queries.spawn(async move { asked_of(&agents, &hands, mind, &of_server(at)).await });
        }
        let reports = queries.join_all().await;
        assert!(reports.iter().all(|report| report.failure.is_none() && report.answer == "Found."));
        assert_eq!((reports.len(), hands.log().len()), (200, 400));
        assert!(hands.most_in_flight.load(Ordering::SeqCst) <= OPTIONS.at_once);
        assert_eq!(agents.under_way(), UnderWay::default());
        let left = (Arc::strong_count(&model), Arc::strong_count(&hands), Arc::strong_count(&agents));
        assert_eq!(left, (1, 1, 1));
        assert!(
            agents.list().iter().all(|standing| standing.tally.calls == 10 && standing.tally.errors == 0)
        );
    }
}

#[tokio::test]
async fn queries_beyond_those_that_run_and_wait_are_refused_with_a_reason() {
    let gate = Gate::default();
    let server = ModelServer::answering({
        let gate = gate.clone();
        move |_| Reply::text("Hi").held(&gate)
    })
    .await;
    let agents = twenty(Options { at_once: 4, waiting: 6, ..OPTIONS });
    let hands = FakeHands::new([("find", Does::Hangs)]);
    let query = |at: usize| {
        let mind = configured(&server, DIALECTS[0]);
        let (agents, hands) = (&agents, &hands);
        async move { asked_of(agents, hands, mind, &of_server(at)).await }
    };
    let opening = async {
        server.asked().wait_for("a query at the model", |_| true).await;
        assert_eq!(agents.under_way(), UnderWay { running: 4, waiting: 6 });
        gate.open();
    };
    let (reports, ()) = tokio::join!(join_all((0..200).map(query)), opening);
    let busy = Failure::Busy { at_once: 4, waiting: 6 };
    let refused = reports.iter().filter(|report| report.failure.as_ref() == Some(&busy)).count();
    let answered = reports.iter().filter(|report| report.failure.is_none()).count();
    assert_eq!((answered, refused), (10, 190));
    let message =
        "Failed to execute MCP connector query: 4 agent queries run and 6 wait already: try again later";
    assert_eq!(json!(reports[199])["error"]["message"], message);
    assert_eq!(agents.under_way(), UnderWay::default());
}

#[tokio::test]
async fn a_query_whose_caller_is_gone_leaves_its_place_and_is_counted() {
    let gate = Gate::default();
    let server = ModelServer::start().await;
    server.then(Reply::text("late").held(&gate));
    let agents = twenty(OPTIONS);
    let hands = FakeHands::saying("find", "x");
    {
        let ask = of_server(0);
        let query = asked_of(&agents, &hands, configured(&server, DIALECTS[0]), &ask);
        let asked = server.asked().wait_for("the query at the model", |_| true);
        tokio::select! {
            report = query => panic!("{report:?}"),
            _ = asked => {}
        }
    }
    assert_eq!(agents.under_way(), UnderWay::default());
    let tally = agents.find("server-0").unwrap().tally;
    assert_eq!((tally.calls, tally.errors), (1, 0));
    gate.open();
}
