//! The calls of one query. Here it is decided what an agent may do, by code: whatever a model has been talked into, it
//! reaches its own server's tools, as many as it may, and what destroys only with consent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use portolan_llm::{Outcome, ToolCall};
use portolan_model::ServerName;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::contexts::{Context, Kept};
use crate::hands::{Call, CallFailed, Consent, Hands};
use crate::risk::{Risk, Sign};
use crate::shorten::{SHOWN, beginning, shortened};
use crate::text;
use crate::toolbox::{Entry, Toolbox};
use crate::trace::{Ending, Step, Trace, millis};

/// What of its arguments a person is shown who is asked about a call.
const LONGEST_QUESTION: usize = 1000;
/// A plan does not go on with what is larger.
const LARGEST_RESULT: usize = 1024 * 1024;

/// What happens with a tool that destroys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The caller allows it.
    Given,
    /// A person is asked each time.
    Asked,
    /// Only what is read-only as far as anybody says.
    ReadingOnly,
}

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) permission: Permission,
    pub(crate) calls: u32,
    pub(crate) side_by_side: usize,
    pub(crate) call_time: Duration,
    /// No call goes on after this; an answer may still be given.
    pub(crate) until: Instant,
}

pub(crate) struct Errand<'a> {
    pub(crate) hands: &'a dyn Hands,
    pub(crate) server: &'a ServerName,
    pub(crate) toolbox: Toolbox,
    pub(crate) bounds: Bounds,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) trace: &'a Trace<'a>,
    slots: Semaphore,
    /// One question at a time: nobody answers two.
    asking: tokio::sync::Mutex<()>,
    log: Mutex<Log>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Log {
    /// Calls that were let through, those under way included.
    taken: u32,
    /// By the number of the call.
    used: Vec<(u32, String)>,
    kept: Kept,
}

/// A wish, judged.
enum Judged<'e> {
    Refused { tool: String, reason: String },
    Go { number: u32, entry: &'e Entry },
}

/// What came of a wish.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) text: String,
    pub(crate) outcome: Outcome,
    pub(crate) voice: Voice,
    /// As it came, where a plan goes on with it: models have read it in `text`.
    pub(crate) result: Option<Box<RawValue>>,
}

impl Made {
    fn failed(text: String) -> Self {
        Self { text, outcome: Outcome::Failed, voice: Voice::Ours, result: None }
    }
}

/// Who says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// We: the call was not made, or nothing came of it.
    Ours,
    /// The server: data.
    Servers,
}

impl<'a> Errand<'a> {
    pub(crate) fn new(
        hands: &'a dyn Hands,
        server: &'a ServerName,
        bounds: Bounds,
        cancel: &'a CancellationToken,
        trace: &'a Trace<'a>,
    ) -> Self {
        Self {
            hands,
            server,
            toolbox: Toolbox::new(hands.tools()),
            bounds,
            cancel,
            trace,
            slots: Semaphore::new(bounds.side_by_side.max(1)),
            asking: tokio::sync::Mutex::default(),
            log: Mutex::default(),
        }
    }

    /// Whether no further call would be made.
    pub(crate) fn is_over(&self) -> bool {
        self.log().taken >= self.bounds.calls || self.is_late()
    }

    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.bounds.until
    }

    /// Makes the calls of one turn side by side, as far as they may be made; in the order of the wishes.
    pub(crate) async fn carry_out(&self, wishes: &[ToolCall]) -> Vec<Made> {
        // Judged one after the other, so that it does not depend on time which of them are the last that may be made.
        let judged: Vec<Judged<'_>> = wishes.iter().map(|wish| self.judge(wish)).collect();
        let made = judged.into_iter().zip(wishes).map(|(judged, wish)| self.make(judged, &wish.arguments));
        join_all(made).await
    }

    /// The tools that were called, one entry a call, the contexts, and a word on what is missing of them.
    pub(crate) fn into_parts(self) -> (Vec<String>, Vec<Context>, Option<String>) {
        let log = self.log.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Log { mut used, kept, .. } = log;
        used.sort_by_key(|(number, _)| *number);
        let (contexts, note) = kept.into_parts();
        (used.into_iter().map(|(_, tool)| tool).collect(), contexts, note)
    }

    fn judge(&self, wish: &ToolCall) -> Judged<'_> {
        let refused = |reason: String| Judged::Refused { tool: wish.name.clone(), reason };
        let Some(entry) = self.toolbox.find(&wish.name) else {
            let name = beginning(&wish.name, LONGEST_QUESTION);
            return refused(format!(
                "{} has no tool {name} that may be called. Use only those listed.",
                self.server
            ));
        };
        if let Some(complaint) = wish.complaint() {
            return refused(complaint);
        }
        if self.is_late() {
            return refused("There is no time left for calls.".to_owned());
        }
        let mut log = self.log();
        if log.taken >= self.bounds.calls {
            let calls = self.bounds.calls;
            return refused(format!(
                "The {calls} calls that this query may make are made. Answer with what is there."
            ));
        }
        log.taken += 1;
        Judged::Go { number: log.taken, entry }
    }

    async fn make(&self, judged: Judged<'_>, arguments: &RawValue) -> Made {
        let (number, entry) = match judged {
            Judged::Go { number, entry } => (number, entry),
            Judged::Refused { tool, reason } => return self.refuse(&tool, reason),
        };
        if let Err(reason) = self.consent(number, entry, arguments).await {
            return self.refuse(&entry.tool.name, reason);
        }
        // The semaphore is never closed.
        let _slot = self.slots.acquire().await;
        if self.cancel.is_cancelled() || self.is_late() {
            return self.refuse(&entry.tool.name, "There is no time left for calls.".to_owned());
        }
        self.call(number, entry, arguments).await
    }

    fn refuse(&self, tool: &str, reason: String) -> Made {
        self.trace.tell(Step::refused(tool, &reason));
        Made::failed(reason)
    }

    /// Whether the call may be made as far as its danger goes, or why not.
    async fn consent(&self, number: u32, entry: &Entry, arguments: &RawValue) -> Result<(), String> {
        let tool = &*entry.tool.name;
        let sign = match (entry.risk, self.bounds.permission) {
            (Risk::ReadOnly | Risk::Unmarked, _)
            | (Risk::Changing, Permission::Given | Permission::Asked)
            | (Risk::Destructive(_), Permission::Given) => return Ok(()),
            (Risk::Changing | Risk::Destructive(_), Permission::ReadingOnly) => {
                return Err(format!(
                    "{tool} may change something, and without a model only what reads is called."
                ));
            }
            (Risk::Destructive(sign), Permission::Asked) => sign,
        };
        let refusal =
            |why: &str| format!("{tool} may destroy something ({}) and was not called: {why}.", sign.words());
        let _turn = self.asking.lock().await;
        self.trace.tell(Step::Asked { call: number, tool: tool.to_owned() });
        match self.ask(&question(self.server, tool, sign, arguments)).await {
            Some(Consent::Confirmed) => Ok(()),
            Some(Consent::Declined) => Err(refusal("the user was asked and declined")),
            Some(Consent::CannotAsk) => Err(refusal(
                "the caller has not allowed it with allowDestructive, and the user cannot be asked",
            )),
            None => Err(refusal("the user was asked and has not answered in time")),
        }
    }

    async fn ask(&self, question: &str) -> Option<Consent> {
        let answer = timeout_at(self.bounds.until, self.hands.confirm(question));
        self.cancel.run_until_cancelled(answer).await?.ok()
    }

    async fn call(&self, number: u32, entry: &Entry, arguments: &RawValue) -> Made {
        let tool = &*entry.tool.name;
        self.log().used.push((number, tool.to_owned()));
        self.trace.tell(Step::called(number, tool, arguments));
        let began = Instant::now();
        let answer = self.answer(tool, arguments).await;
        let milliseconds = millis(began.elapsed());
        let (made, bytes) = match answer {
            Ok(result) => {
                let bytes = result.get().len();
                (self.keep(number, tool, result), bytes)
            }
            Err(CallFailed { reason }) => {
                let text = format!("Tool {tool} failed: {reason}");
                (Made::failed(text), 0)
            }
        };
        let (outcome, reason) = match made.outcome {
            Outcome::Done => (Ending::Done, None),
            Outcome::Failed => (Ending::Failed, Some(beginning(&made.text, LONGEST_QUESTION).into_owned())),
        };
        self.trace.tell(Step::Answered {
            call: number,
            tool: tool.to_owned(),
            outcome,
            reason,
            bytes,
            milliseconds,
        });
        made
    }

    /// What the server answers, within the time that one call has and that is left for all.
    async fn answer(&self, tool: &str, arguments: &RawValue) -> Result<Box<RawValue>, CallFailed> {
        let left = self.bounds.until.saturating_duration_since(Instant::now());
        let within = left.min(self.bounds.call_time);
        let cancelled = self.cancel.child_token();
        let _guard = cancelled.clone().drop_guard();
        let call = self.hands.call(Call { tool, arguments, within, cancelled });
        match self.cancel.run_until_cancelled(timeout(within, call)).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => Err(CallFailed { reason: format!("it has not answered within {within:?}") }),
            None => Err(CallFailed { reason: "the query was cancelled".to_owned() }),
        }
    }

    /// The whole goes into the contexts, and what fits to the model.
    fn keep(&self, number: u32, tool: &str, result: Box<RawValue>) -> Made {
        let said = text::read(&result);
        if said.outcome == Outcome::Done {
            let kept = &mut self.log().kept;
            kept.add(self.server, tool, number, &said.text);
            kept.add_given(number, said.contexts);
        }
        let text = if said.text.trim().is_empty() { "The result is empty.".into() } else { said.text };
        let shown = shortened(&text, SHOWN).into_owned();
        let goes_on = self.bounds.permission == Permission::ReadingOnly && said.outcome == Outcome::Done;
        let result = Some(result).filter(|result| goes_on && result.get().len() <= LARGEST_RESULT);
        Made { text: shown, outcome: said.outcome, voice: Voice::Servers, result }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(server: &ServerName, tool: &str, sign: Sign, arguments: &RawValue) -> String {
    let shown = beginning(arguments.get(), LONGEST_QUESTION);
    format!(
        "The agent of {server} wants to call {tool}, which may destroy something ({}). Its arguments are: {shown}\n\
         May it be called?",
        sign.words()
    )
}
