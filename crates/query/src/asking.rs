//! One server asked: its ways one after the other, until one of them finds something.

use crate::error::{Reason, Trouble};
use crate::forms::Question;
use crate::item::{Bounds, Haul, Over};
use crate::plan::{Call, Plan};
use crate::ports::{Ports, Ranking, Within};
use crate::reply::Reply;
use crate::resources;
use crate::target::{Standing, Target};
use crate::ways::{Way, find};
use futures_util::future::join_all;
use portolan_model::Moment;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Answers up to this are kept for the next way.
const REMEMBERED: usize = 16 << 10;

/// What came of asking one server.
#[derive(Debug)]
pub(crate) enum Outcome {
    Heard(Heard),
    Failed(Reason),
    /// There is no safe way to ask it.
    NotAsked(Reason),
}

#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) haul: Haul,
    pub(crate) fit: f64,
    pub(crate) at: Moment,
}

/// What asking one server takes.
pub(crate) struct Asking<'a> {
    pub(crate) target: &'a Target,
    pub(crate) question: &'a Arc<Question>,
    pub(crate) ranking: &'a Ranking,
    pub(crate) ports: &'a dyn Ports,
    pub(crate) bounds: Bounds,
    pub(crate) answer_bytes: usize,
    pub(crate) within: Within,
}

/// A call and what came of it.
struct Exchange {
    call: Call,
    reply: Option<Reply>,
    bytes: usize,
}

/// What has been heard of a server so far.
#[derive(Default)]
struct Talk {
    haul: Haul,
    fit: f64,
    /// What it was asked, and what it answered, as far as that is short.
    heard: Vec<Exchange>,
    /// The first thing that went wrong.
    complaint: Option<Reason>,
    /// Whether it could not be reached: then no other way leads to it either.
    is_lost: bool,
    over: Over,
}

impl Asking<'_> {
    pub(crate) async fn outcome(&self) -> Outcome {
        if let Standing::Away(reason) = &self.target.standing {
            return Outcome::Failed(reason.clone());
        }
        let ways = match find(self.target, self.question, self.ranking) {
            Ok(ways) => ways,
            Err(reason) => return Outcome::NotAsked(reason),
        };
        let mut talk = Talk::default();
        // The best way decides whether the server has answered; the others can only add to that.
        let mut has_answered = None;
        for way in ways {
            let is_answered = match way {
                Way::Tool { plan, fit } => {
                    talk.fit = fit;
                    self.follow(*plan, &mut talk).await
                }
                Way::Resources => {
                    talk.fit = 0.0;
                    self.read(&mut talk).await
                }
            };
            has_answered.get_or_insert(is_answered);
            if talk.is_lost || !talk.haul.items.is_empty() {
                break;
            }
        }
        let has_answered = has_answered.unwrap_or_default() && !talk.is_lost;
        match talk.complaint {
            Some(reason) if talk.haul.items.is_empty() && !has_answered => Outcome::Failed(reason),
            Some(_) | None => {
                let mut haul = talk.haul.bounded(self.bounds);
                haul.over.add(talk.over);
                Outcome::Heard(Heard { haul, fit: talk.fit, at: self.ports.now() })
            }
        }
    }

    /// Whether the plan came to its end with an answer, be it an empty one.
    async fn follow(&self, mut plan: Plan, talk: &mut Talk) -> bool {
        let mut is_answered = false;
        loop {
            let calls = plan.calls();
            if calls.is_empty() {
                break;
            }
            // Ways through one server often begin with the same call.
            let is_new = |call: &&Call| talk.heard.iter().all(|known| known.call != **call);
            let asked: Vec<&Call> = calls.iter().filter(is_new).collect();
            let server = &self.target.name;
            let answers = join_all(
                asked.iter().map(|call| self.ports.call(server, &call.tool, &call.arguments, &self.within)),
            )
            .await;
            for (call, answer) in asked.into_iter().zip(answers) {
                let bytes = answer.as_ref().map_or(0, |raw| raw.get().len());
                let reply = self.reply(answer, talk);
                talk.heard.push(Exchange { call: call.clone(), reply, bytes });
            }
            let known = |call: &Call| talk.heard.iter().find(|known| known.call == *call);
            let replies: Vec<Option<&Reply>> =
                calls.iter().map(|call| known(call).and_then(|known| known.reply.as_ref())).collect();
            plan.feed(&replies);
            is_answered = replies.iter().any(Option::is_some);
            talk.heard.retain(|known| known.bytes <= REMEMBERED);
            if talk.is_lost {
                break;
            }
        }
        talk.haul.add(plan.finish());
        is_answered
    }

    /// Whether any resource could be read.
    async fn read(&self, talk: &mut Talk) -> bool {
        let sources = resources::sources(self.target, self.question);
        let reads =
            sources.iter().map(|source| self.ports.read(&self.target.name, &source.uri, &self.within));
        let answers = join_all(reads).await;
        let mut replies = Vec::new();
        for (source, answer) in sources.into_iter().zip(answers) {
            if let Some(reply) = self.reply(answer, talk) {
                replies.push((source, reply));
            }
        }
        let is_answered = !replies.is_empty();
        talk.haul.add(resources::heard(replies, self.question));
        is_answered
    }

    /// Reads an answer, and keeps in mind what went wrong with it.
    fn reply(&self, answer: Result<Box<RawValue>, Trouble>, talk: &mut Talk) -> Option<Reply> {
        let read = match answer {
            Ok(raw) => {
                let read = Reply::read(raw.get(), self.answer_bytes);
                if raw.get().len() > self.answer_bytes {
                    talk.over.bytes += raw.get().len();
                }
                read
            }
            Err(Trouble::Refused(reason)) => Err(reason),
            Err(Trouble::Lost(reason)) => {
                talk.is_lost = true;
                Err(reason)
            }
        };
        match read {
            Ok(reply) => Some(reply),
            Err(reason) => {
                talk.complaint.get_or_insert(reason);
                None
            }
        }
    }
}
