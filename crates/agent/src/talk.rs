//! The loop of model and tools: it asks, the calls are made, their results go back, until it answers.

use std::time::Duration;

use portolan_llm::{Chat, ChatModel, LlmError, Message, Stop, ToolCall, ToolResult, ToolUse, Turn};
use tokio::time::{Instant, timeout_at};

use crate::account::Account;
use crate::errand::{Errand, Made, Voice};
use crate::prompt::{self, Mark};
use crate::query::Query;
use crate::report::Failure;
use crate::shorten::beginning;
use crate::trace::Step;

/// Turns beyond one a call: a model that only asks for what it cannot have is not listened to for ever.
const SPARE_TURNS: u32 = 4;
/// Calls of one turn that are looked at; nobody means more.
const MOST_WISHES: usize = 64;

/// What a trace shows of a name that is no tool's.
const LONGEST_NAME: usize = 128;

/// How a conversation ended.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// What the model said last, or nothing.
    pub(crate) answer: String,
    pub(crate) notes: Vec<String>,
    pub(crate) failure: Option<Failure>,
}

pub(crate) struct Talk<'a> {
    model: &'a dyn ChatModel,
    errand: &'a Errand<'a>,
    account: &'a mut Account,
    /// The end of all, and how long that was from the beginning.
    until: Instant,
    limit: Duration,
    mark: Mark,
    chat: Chat,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(
        query: &Query<'_>,
        model: &'a dyn ChatModel,
        errand: &'a Errand<'a>,
        account: &'a mut Account,
    ) -> Self {
        let mark = Mark::random();
        let shown = errand.toolbox.shown(&query.ask.query);
        let chat = Chat {
            system: prompt::system(query.card, &shown, &mark),
            messages: vec![Message::User(prompt::user(query.ask))],
            tools: shown.tools,
            ..Chat::default()
        };
        let limit = query.options.query_time;
        Self { model, errand, account, until: query.began + limit, limit, mark, chat }
    }

    pub(crate) async fn run(mut self) -> End {
        let mut end = End::default();
        let most_turns = self.errand.bounds.calls.saturating_add(SPARE_TURNS);
        let mut turns = 0;
        loop {
            let is_over = turns >= most_turns || self.errand.is_over();
            self.chat.tool_use = if is_over { ToolUse::Over } else { ToolUse::Free };
            let turn = match self.ask().await {
                Ok(turn) => turn,
                Err(failure) => {
                    end.failure = Some(failure);
                    return end;
                }
            };
            if is_over {
                end.notes.push(self.why_over());
            }
            if turn.tool_calls.is_empty() || is_over {
                close(&turn, &mut end);
                return end;
            }
            // A failure later on leaves at least these words.
            turn.text.trim().clone_into(&mut end.answer);
            self.carry_out(turn).await;
            turns += 1;
        }
    }

    async fn ask(&mut self) -> Result<Turn, Failure> {
        self.chat.within = Some(self.until.saturating_duration_since(Instant::now()));
        let turn = timeout_at(self.until, self.model.turn(&self.chat));
        let turn = match self.errand.cancel.run_until_cancelled(turn).await {
            None => return Err(Failure::Cancelled),
            Some(Err(_)) => return Err(self.timed_out()),
            Some(Ok(Err(LlmError::TimedOut { .. }))) if Instant::now() >= self.until => {
                return Err(self.timed_out());
            }
            Some(Ok(Err(error))) => return Err(Failure::Model(error)),
            Some(Ok(Ok(turn))) => turn,
        };
        self.account.add(self.model.name(), turn.usage);
        Ok(turn)
    }

    fn timed_out(&self) -> Failure {
        Failure::TimedOut { limit: self.limit }
    }

    async fn carry_out(&mut self, turn: Turn) {
        let Turn { text, mut tool_calls, .. } = turn;
        tool_calls.truncate(MOST_WISHES);
        let tools = tool_calls.iter().map(|call| self.own_name(call)).collect();
        self.errand.trace.tell(Step::planned(&text, tools));
        let made = self.errand.carry_out(&tool_calls).await;
        let results = tool_calls.iter().zip(made).map(|(call, made)| self.result(call, made)).collect();
        self.chat.messages.push(Message::Assistant { text, calls: tool_calls });
        self.chat.messages.push(Message::Results(results));
    }

    fn own_name(&self, call: &ToolCall) -> String {
        match self.errand.toolbox.find(&call.name) {
            Some(entry) => entry.tool.name.to_string(),
            None => beginning(&call.name, LONGEST_NAME).into_owned(),
        }
    }

    /// What a server says is marked as data, failures too.
    fn result(&self, call: &ToolCall, made: Made) -> ToolResult {
        let text = match made.voice {
            Voice::Ours => made.text,
            Voice::Servers => self.mark.wrap(&made.text),
        };
        ToolResult { call: call.id.clone(), text, outcome: made.outcome }
    }

    fn why_over(&self) -> String {
        if self.errand.is_late() {
            return "The time for calls was over, so the answer may be incomplete.".to_owned();
        }
        let calls = self.errand.bounds.calls;
        format!(
            "All {calls} calls that the query may make were made or tried, so the answer may be incomplete."
        )
    }
}

/// The last turn: an answer, or none.
fn close(turn: &Turn, end: &mut End) {
    let answer = turn.text.trim();
    match turn.stop {
        Stop::Refused => {
            let reason = format!("the model does not want to answer: {answer}");
            end.failure = Some(Failure::Unanswered { reason });
        }
        Stop::Length => {
            end.notes.push("The model reached its limit: the answer ends in the middle.".to_owned());
        }
        Stop::End | Stop::Tools | Stop::Other(_) => {}
    }
    if answer.is_empty() && end.failure.is_none() {
        let reason = if turn.tool_calls.is_empty() {
            "the model ended without an answer: ask again, or take another model"
        } else {
            "the model asked for more calls than the query may make, and gave no answer: allow more with maxTools"
        };
        end.failure = Some(Failure::Unanswered { reason: reason.to_owned() });
    }
    answer.clone_into(&mut end.answer);
}
