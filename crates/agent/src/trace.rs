//! What an agent does, step by step: told while it happens, and kept for the answer.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::shorten::beginning;

/// What a step shows of arguments and of words.
const LONGEST_ARGUMENTS: usize = 2 * 1024;
const LONGEST_WORDS: usize = 1024;

/// Hears of every step at once. It is called in the middle of the work, so it must not wait.
pub type Watch<'a> = &'a (dyn Fn(&Traced) + Send + Sync);

/// One step.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The query is taken up, by this model or by none.
    Began {
        model: Option<String>,
        tools: usize,
    },
    /// Which tools come next, and what the model says to it.
    Planned {
        says: String,
        tools: Vec<String>,
    },
    /// A person is asked whether a destructive tool may be called.
    Asked {
        call: u32,
        tool: String,
    },
    Called {
        call: u32,
        tool: String,
        arguments: Box<RawValue>,
    },
    Answered {
        call: u32,
        tool: String,
        outcome: Ending,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        bytes: usize,
        milliseconds: u64,
    },
    /// A call that was wished for and not made.
    Refused {
        tool: String,
        reason: String,
    },
    Ended {
        outcome: Ending,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Done,
    Failed,
}

/// A step, and when it was: milliseconds since the query came.
#[derive(Debug, Clone, Serialize)]
pub struct Traced {
    pub at: u64,
    #[serde(flatten)]
    pub step: Step,
}

/// A line for people, as a progress notification has it.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { model: Some(model), tools } => write!(f, "Asking {model}, with {tools} tools"),
            Self::Began { model: None, tools } => write!(f, "Going by search alone, with {tools} tools"),
            Self::Planned { tools, .. } => write!(f, "Next: {}", tools.join(", ")),
            Self::Asked { tool, .. } => write!(f, "Asking whether {tool} may be called"),
            Self::Called { tool, .. } => write!(f, "Calling {tool}"),
            Self::Answered { tool, outcome: Ending::Done, .. } => write!(f, "{tool} answered"),
            Self::Answered { tool, outcome: Ending::Failed, .. } => write!(f, "{tool} failed"),
            Self::Refused { tool, .. } => write!(f, "{tool} was not called"),
            Self::Ended { outcome: Ending::Done, .. } => f.write_str("Done"),
            Self::Ended { outcome: Ending::Failed, .. } => f.write_str("Failed"),
        }
    }
}

impl Step {
    pub(crate) fn called(call: u32, tool: &str, arguments: &RawValue) -> Self {
        // A string that says how it begins stands for arguments that are too long.
        let shown = match beginning(arguments.get(), LONGEST_ARGUMENTS) {
            std::borrow::Cow::Borrowed(_) => arguments.to_owned(),
            std::borrow::Cow::Owned(text) => {
                serde_json::value::to_raw_value(&text).unwrap_or_else(|_| RawValue::NULL.to_owned())
            }
        };
        Self::Called { call, tool: tool.to_owned(), arguments: shown }
    }

    pub(crate) fn planned(says: &str, tools: Vec<String>) -> Self {
        Self::Planned { says: beginning(says, LONGEST_WORDS).into_owned(), tools }
    }

    pub(crate) fn refused(tool: &str, reason: &str) -> Self {
        let tool = beginning(tool, LONGEST_WORDS).into_owned();
        Self::Refused { tool, reason: beginning(reason, LONGEST_WORDS).into_owned() }
    }
}

/// The steps of one query so far.
pub(crate) struct Trace<'a> {
    began: Instant,
    watch: Watch<'a>,
    steps: Mutex<Vec<Traced>>,
}

impl<'a> Trace<'a> {
    pub(crate) fn new(began: Instant, watch: Watch<'a>) -> Self {
        Self { began, watch, steps: Mutex::default() }
    }

    pub(crate) fn tell(&self, step: Step) {
        let traced = Traced { at: millis(self.began.elapsed()), step };
        (self.watch)(&traced);
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(traced);
    }

    pub(crate) fn into_steps(self) -> Vec<Traced> {
        self.steps.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn steps_are_told_at_once_and_kept() {
        let told = Mutex::new(Vec::new());
        let watch = |traced: &Traced| told.lock().unwrap().push(traced.step.to_string());
        let trace = Trace::new(Instant::now(), &watch);
        let arguments = RawValue::from_string(r#"{"q":1}"#.to_owned()).unwrap();
        trace.tell(Step::called(1, "find", &arguments));
        trace.tell(Step::refused("drop", "no"));
        assert_eq!(*told.lock().unwrap(), ["Calling find", "drop was not called"]);
        let mut steps = json!(trace.into_steps());
        for step in steps.as_array_mut().unwrap() {
            assert!(step.as_object_mut().unwrap().remove("at").unwrap().is_u64());
        }
        let expected = json!([
            { "step": "called", "call": 1, "tool": "find", "arguments": { "q": 1 } },
            { "step": "refused", "tool": "drop", "reason": "no" },
        ]);
        assert_eq!(steps, expected);
    }

    #[test]
    fn arguments_that_are_too_long_are_shown_by_their_beginning() {
        let long = RawValue::from_string(json!({ "q": "x".repeat(3000) }).to_string()).unwrap();
        let Step::Called { arguments, .. } = Step::called(1, "find", &long) else { panic!("another step") };
        let shown: String = serde_json::from_str(arguments.get()).unwrap();
        assert!(shown.starts_with(r#"{"q":"xxx"#) && shown.len() < 2100);
    }
}
