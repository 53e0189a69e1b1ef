//! Without a model: the plan that search gives, and of it the calls that are safe to make.

use std::future::Future;

use async_trait::async_trait;
use portolan_llm::{Outcome, ToolCall};
use serde_json::value::RawValue;
use tokio::time::timeout_at;

use crate::ask::Ask;
use crate::errand::{Errand, Made};
use crate::report::Failure;
use crate::talk::End;
use crate::trace::Step;

/// Said with every such answer.
const NOTE: &str = "This was done without a model: no model is configured, and the client offers none. The tools were \
                    chosen by search, and nothing was summarised.";
/// How often a plan goes on with what it was told.
const MOST_ROUNDS: usize = 6;

/// What can be done for one query without understanding it.
#[async_trait]
pub trait Unaided: Send + Sync {
    /// The tools of the server that fit the query, the best first.
    async fn plan(&self, query: &str) -> Vec<PlannedCall>;

    /// What comes next, now that these were called; nothing when all is done.
    async fn go_on(&self, _answers: &[Answered<'_>]) -> Vec<PlannedCall> {
        Vec::new()
    }
}

/// One tool of a plan.
#[derive(Debug, Clone)]
pub struct PlannedCall {
    /// The tool's own name.
    pub tool: String,
    pub way: Way,
}

/// Whether a planned call can be made by itself.
#[derive(Debug, Clone)]
pub enum Way {
    /// It only reads, and the query fills its arguments: a JSON object.
    Call(Box<RawValue>),
    /// Why it is left to whoever asked.
    NotByItself(String),
}

/// What came of a planned call.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    pub tool: &'a str,
    pub arguments: &'a RawValue,
    /// As the server wrote it; nothing if it failed or is too large to go on with.
    pub result: Option<&'a RawValue>,
}

/// Plans, calls what may be called, and answers with what came.
pub(crate) async fn run(ask: &Ask, plan: &dyn Unaided, errand: &Errand<'_>) -> End {
    let mut told: Vec<String> = Vec::new();
    let (mut has_called, mut has_found) = (false, false);
    let mut planned = in_time(errand, plan.plan(&ask.query)).await;
    for _ in 0..MOST_ROUNDS {
        planned.retain(|call| errand.toolbox.find(&call.tool).is_some());
        if planned.is_empty() || errand.cancel.is_cancelled() {
            break;
        }
        errand.trace.tell(Step::planned("", planned.iter().map(|call| call.tool.clone()).collect()));
        let wishes = wishes(&planned);
        let made = errand.carry_out(&wishes).await;
        has_called |= !made.is_empty();
        has_found |= made.iter().any(|made| made.outcome == Outcome::Done);
        let next = if errand.is_over() {
            Vec::new()
        } else {
            in_time(errand, plan.go_on(&answered(&wishes, &made))).await
        };
        let mut made = made.into_iter();
        for call in &planned {
            told.push(tell(told.len() + 1, call, &mut made));
        }
        planned = next;
    }
    if errand.cancel.is_cancelled() {
        return End { failure: Some(Failure::Cancelled), ..End::default() };
    }
    let unanswered = |reason: &str| Some(Failure::Unanswered { reason: reason.to_owned() });
    let failure = match (told.is_empty(), has_called && !has_found) {
        (true, _) => unanswered(
            "no model is at hand, and search finds no tool here that fits: ask in other words, or configure a model",
        ),
        (false, true) => {
            unanswered("no model is at hand, and none of the calls that search suggests went well")
        }
        (false, false) => None,
    };
    let answer = if told.is_empty() { String::new() } else { format!("{NOTE}\n\n{}", told.join("\n\n")) };
    End { answer, notes: vec![NOTE.to_owned()], failure }
}

/// A search that takes too long, or is called off, finds nothing.
async fn in_time(errand: &Errand<'_>, search: impl Future<Output = Vec<PlannedCall>>) -> Vec<PlannedCall> {
    let found = errand.cancel.run_until_cancelled(timeout_at(errand.bounds.until, search)).await;
    found.and_then(Result::ok).unwrap_or_default()
}

fn wishes(planned: &[PlannedCall]) -> Vec<ToolCall> {
    let wish = |call: &PlannedCall| match &call.way {
        Way::Call(arguments) => {
            Some(ToolCall { id: String::new(), name: call.tool.clone(), arguments: arguments.clone() })
        }
        Way::NotByItself(_) => None,
    };
    planned.iter().filter_map(wish).collect()
}

fn answered<'a>(wishes: &'a [ToolCall], made: &'a [Made]) -> Vec<Answered<'a>> {
    let answered = |(wish, made): (&'a ToolCall, &'a Made)| Answered {
        tool: &wish.name,
        arguments: &wish.arguments,
        result: made.result.as_deref(),
    };
    wishes.iter().zip(made).map(answered).collect()
}

/// One entry of the answer. `made` gives what came of the calls, in their order.
fn tell(at: usize, call: &PlannedCall, made: &mut impl Iterator<Item = Made>) -> String {
    let tool = &call.tool;
    match &call.way {
        Way::NotByItself(reason) => format!("{at}. {tool} fits, but was not called: {reason}"),
        Way::Call(arguments) => match made.next() {
            Some(Made { text, outcome: Outcome::Done, .. }) => {
                format!("{at}. {tool} was called with {arguments} and answered:\n{text}")
            }
            Some(Made { text, outcome: Outcome::Failed, .. }) => {
                format!("{at}. {tool} was to be called with {arguments}: {text}")
            }
            None => format!("{at}. {tool} was not called."),
        },
    }
}
