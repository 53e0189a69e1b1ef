//! A model in the process, for tests of time and of what a model can make an agent do at worst.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use portolan_llm::{Chat, ChatModel, LlmError, Stop, ToolCall, ToolUse, Turn, Usage};
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::kit::{AMPLE, Does, FakeHands, OPTIONS, ask, asked, asked_of, github};
use crate::{Ask, Consent, Failure, Mind, Options};

/// Plays its turns, then answers with how the last request let it use tools.
struct Played {
    turns: Mutex<VecDeque<Vec<(String, String)>>>,
    thinks: Duration,
}

impl Played {
    fn mind(turns: Vec<Vec<(String, String)>>, thinks: Duration) -> Mind {
        Mind::Configured {
            model: Arc::new(Self { turns: Mutex::new(turns.into()), thinks }),
            max_tokens: 100,
        }
    }
}

#[async_trait]
impl ChatModel for Played {
    fn name(&self) -> &'static str {
        "played"
    }

    async fn turn(&self, chat: &Chat) -> Result<Turn, LlmError> {
        tokio::time::sleep(self.thinks).await;
        let calls = self.turns.lock().unwrap().pop_front().unwrap_or_default();
        let call = |(at, (name, arguments)): (usize, (String, String))| ToolCall {
            id: format!("call-{at}"),
            name,
            arguments: RawValue::from_string(arguments).unwrap(),
        };
        let tool_calls: Vec<ToolCall> = calls.into_iter().enumerate().map(call).collect();
        let text = match chat.tool_use {
            ToolUse::Free => "free".to_owned(),
            ToolUse::Over => "over".to_owned(),
        };
        Ok(Turn { text, tool_calls, stop: Stop::End, usage: Usage::default() })
    }
}

fn once(tool: &str) -> Vec<Vec<(String, String)>> {
    vec![vec![(tool.to_owned(), "{}".to_owned())]]
}

#[tokio::test(start_paused = true)]
async fn calls_end_early_enough_for_an_answer() {
    let hands = FakeHands::new([("slow", Does::Hangs)]);
    let agents = github(Options { call_time: AMPLE * 2, ..OPTIONS });
    let report = asked_of(&agents, &hands, Played::mind(once("slow"), Duration::ZERO), &ask("wait")).await;
    assert_eq!((&report.failure, report.answer.as_str()), (&None, "over"));
    assert_eq!(report.notes, ["The time for calls was over, so the answer may be incomplete."]);
    let told = json!(report.trace);
    assert_eq!(told[3]["milliseconds"], json!(24_000));
}

#[tokio::test(start_paused = true)]
async fn a_person_who_does_not_answer_is_not_waited_for_beyond_the_query() {
    struct Silent(FakeHands);
    #[async_trait]
    impl crate::Hands for Silent {
        fn tools(&self) -> Vec<Arc<portolan_model::Tool>> {
            self.0.tools()
        }
        async fn call(&self, call: crate::Call<'_>) -> Result<Box<RawValue>, crate::CallFailed> {
            self.0.call(call).await
        }
        async fn confirm(&self, _question: &str) -> Consent {
            std::future::pending().await
        }
    }
    let hands = Silent(FakeHands::saying("delete_all", "gone"));
    let cancel = tokio_util::sync::CancellationToken::new();
    let mind = Played::mind(once("delete_all"), Duration::ZERO);
    let with = crate::With { hands: &hands, mind, cancel: &cancel, watch: &|_: &crate::Traced| {} };
    let report = github(OPTIONS).query(&ask("delete"), with).await;
    assert_eq!(report.answer, "over");
    assert!(json!(report.trace).to_string().contains("has not answered in time"));
    assert_eq!(hands.0.log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_too_long_is_given_up() {
    let hands = FakeHands::saying("find", "x");
    let report =
        asked(&hands, Played::mind(once("find"), AMPLE / 2 + Duration::from_secs(1)), &ask("find")).await;
    assert_eq!(report.failure, Some(Failure::TimedOut { limit: AMPLE }));
    assert_eq!(report.tools_used, ["find"]);
}

proptest! {
    /// Whatever a model asks for, in whatever form: only own tools, never one that destroys, never more than allowed.
    #[test]
    fn t21_no_model_can_make_an_agent_do_what_it_may_not(
        turns in prop::collection::vec(
            prop::collection::vec(("find|find|wreck|other__x|FIND|", "\\{\\}|\\[\\]|null|\"x\""), 0..7),
            0..20,
        ),
        max_tools in 1_u32..8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let marked = json!({ "annotations": { "destructiveHint": true } });
        let hands = FakeHands::described([
            ("find", json!({}), Does::Says("x".to_owned())),
            ("wreck", marked, Does::Says("gone".to_owned())),
        ]);
        let ask = Ask { max_tools: Some(max_tools), ..ask("anything") };
        let report = runtime.block_on(asked(&hands, Played::mind(turns, Duration::ZERO), &ask));
        let calls: Vec<String> = hands.log().into_iter().filter(|line| !line.ends_with("ended")).collect();
        prop_assert!(calls.iter().all(|call| call == "find {}"), "{:?}", calls);
        prop_assert!(calls.len() <= max_tools as usize);
        prop_assert_eq!(report.tools_used.len(), calls.len());
        prop_assert_eq!(report.failure, None);
    }
}
