//! A model on somebody's account.

use std::sync::Arc;

use portolan_model::Moment;
use portolan_testkit::ModelServer;
use portolan_testkit::model_server::Reply;

use super::kit::{DIALECTS, client, question};
use crate::{Budget, ChatModel as _, Limits, LlmError, Metered, Owner, PriceTable, Usage};

#[tokio::test]
async fn what_is_over_the_budget_is_refused_before_anything_is_sent() {
    for kind in DIALECTS {
        let server = ModelServer::answering(|_| Reply::text("Hi").using(Some((50, 20)))).await;
        let clock = Arc::new(|| Moment::from_millis(0));
        let budget = Arc::new(Budget::new(PriceTable::default(), clock));
        let owner = Owner::from("github");
        let metered = Metered {
            model: Arc::new(client(&server, kind)),
            budget: Arc::clone(&budget),
            owner: owner.clone(),
            limits: Limits { tokens_per_day: Some(160), ..Limits::default() },
            max_tokens: 100,
        };
        metered.turn(&question("Hi")).await.unwrap();
        assert_eq!(budget.spent(&owner).usage, Usage { input: 50, output: 20 });
        let refused = metered.turn(&question("Hi")).await.unwrap_err();
        assert!(matches!(refused, LlmError::OverBudget(_)), "{refused}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_request_that_fails_gives_back_what_was_set_aside() {
    let server = ModelServer::start().await;
    server.then(Reply::refusal(400, "no")).then(Reply::text("Hi"));
    let budget = Arc::new(Budget::new(PriceTable::default(), Arc::new(|| Moment::from_millis(0))));
    let metered = Metered {
        model: Arc::new(client(&server, DIALECTS[0])),
        budget,
        owner: Owner::from("github"),
        limits: Limits { tokens_per_day: Some(110), ..Limits::default() },
        max_tokens: 100,
    };
    metered.turn(&question("Hi")).await.unwrap_err();
    assert_eq!(metered.turn(&question("Hi")).await.unwrap().text, "Hi");
}
