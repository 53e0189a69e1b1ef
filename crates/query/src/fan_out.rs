//! The query itself: all servers side by side under two deadlines, and one answer of what came in time.

use crate::asking::{Asking, Heard, Outcome};
use crate::error::{QueryError, Reason};
use crate::forms::Question;
use crate::input::QueryInput;
use crate::item::{Bounds, Over};
use crate::output::{LeftOut, Metadata, QueryOutput, QueryResult, named};
use crate::ports::{Ports, Ranking, Within};
use crate::rank::{Answer, Ranked, Vectors, rank};
use crate::settings::{Limits, Rules};
use crate::target::Target;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// The ranking of tools may take this part of the whole time: servers are asked without it rather than late.
const PART_FOR_RANKING: u32 = 5;

/// What is the same for all servers of one query.
struct Query<'q> {
    question: Arc<Question>,
    ranking: Ranking,
    ports: &'q dyn Ports,
    limits: &'q Limits,
    bounds: Bounds,
    started: Instant,
    cancel: CancellationToken,
}

/// Asks the servers that the query goes to, and ranks what they say. Servers that are late are cancelled and named;
/// dropping the future cancels all of them.
pub async fn fan_out(
    input: &QueryInput,
    targets: &[Target],
    ports: &dyn Ports,
    rules: &Rules,
    limits: &Limits,
) -> Result<QueryOutput, QueryError> {
    let started = Instant::now();
    let chosen = rules.choose(input, targets)?;
    let names: Vec<&str> = chosen.iter().map(|target| target.name.as_str()).collect();
    let ranking = timeout(limits.in_all / PART_FOR_RANKING, ports.rank(&input.query, &names)).await;
    let cancel = CancellationToken::new();
    let _cancelled_when_dropped = cancel.clone().drop_guard();
    let query = Query {
        question: Arc::new(Question::read(&input.query)),
        ranking: ranking.unwrap_or_default(),
        ports,
        limits,
        bounds: Bounds {
            items: limits.items_per_server,
            item_bytes: limits.item_bytes,
            // The same share for each, so that it does not depend on who answers first.
            bytes: limits.bytes / chosen.len().max(1),
        },
        started,
        cancel,
    };
    let outcomes = query.ask_all(&chosen).await;
    let gathered = Gathered::of(&chosen, outcomes, rules);
    if gathered.answers.is_empty() {
        return Err(gathered.all_failed());
    }
    let by_words = rank(&input.query, &gathered.answers, ports.now(), None);
    let vectors = query.meaning(&by_words).await;
    let ranked = match &vectors {
        Some(vectors) => rank(&input.query, &gathered.answers, ports.now(), Some(vectors)),
        None => by_words,
    };
    Ok(gathered.output(&ranked, input.max_results, started))
}

impl Query<'_> {
    /// The outcome of each target, in their order, whoever answers first.
    async fn ask_all(&self, targets: &[&Target]) -> Vec<Outcome> {
        let mut asked: Vec<BoxFuture<'_, (usize, Outcome)>> = Vec::with_capacity(targets.len());
        for (at, target) in targets.iter().copied().enumerate() {
            asked.push(Box::pin(async move { (at, self.ask(target).await) }));
        }
        let mut outcomes: Vec<(usize, Outcome)> =
            stream::iter(asked).buffer_unordered(self.limits.at_once.max(1)).collect().await;
        outcomes.sort_by_key(|(at, _)| *at);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    async fn ask(&self, target: &Target) -> Outcome {
        let now = Instant::now();
        let end = self.started + self.limits.in_all;
        let deadline = end.min(now + self.limits.per_server);
        let within = Within { deadline, cancel: self.cancel.child_token() };
        let asking = Asking {
            target,
            question: &self.question,
            ranking: &self.ranking,
            ports: self.ports,
            bounds: self.bounds,
            answer_bytes: self.limits.answer_bytes,
            within: within.clone(),
        };
        if now >= end {
            return Outcome::Failed(Reason::new(format!("not reached within {}", shown(self.limits.in_all))));
        }
        match timeout_at(deadline, asking.outcome()).await {
            Ok(outcome) => outcome,
            Err(_) => {
                within.cancel.cancel();
                Outcome::Failed(Reason::new(format!("timeout after {}", shown(deadline - now))))
            }
        }
    }

    /// What the best items mean, where that can be known in time.
    async fn meaning(&self, ranked: &Ranked<'_>) -> Option<Vectors> {
        let best = ranked.results.iter().take(self.limits.embedded);
        let texts: Vec<&str> =
            std::iter::once(self.question.text()).chain(best.map(|one| one.item.text.as_str())).collect();
        if texts.len() < 2 {
            return None;
        }
        let end = self.started + self.limits.in_all;
        let vectors = timeout_at(end, self.ports.embed(&texts)).await.ok()??;
        let (query, items) = vectors.split_first()?;
        (items.len() + 1 == texts.len()).then(|| Vectors::of(query, ranked, items))
    }
}

/// `3s`, `2.5s`, `500ms`.
fn shown(duration: Duration) -> String {
    format!("{duration:?}")
}

/// What came of all servers.
struct Gathered {
    answers: Vec<Answer>,
    failed: Vec<(String, Reason)>,
    not_asked: Vec<(String, Reason)>,
    over: Over,
}

impl Gathered {
    fn of(targets: &[&Target], outcomes: Vec<Outcome>, rules: &Rules) -> Self {
        let mut gathered =
            Self { answers: Vec::new(), failed: Vec::new(), not_asked: Vec::new(), over: Over::default() };
        for (target, outcome) in targets.iter().zip(outcomes) {
            let server = target.name.clone();
            match outcome {
                Outcome::Heard(Heard { haul, fit, at }) => {
                    gathered.over.add(haul.over);
                    let weight = rules.weight(&server);
                    gathered.answers.push(Answer { server, items: haul.items, fit, weight, at });
                }
                Outcome::Failed(reason) => gathered.failed.push((server, reason)),
                Outcome::NotAsked(reason) => gathered.not_asked.push((server, reason)),
            }
        }
        gathered
    }

    fn all_failed(mut self) -> QueryError {
        self.failed.append(&mut self.not_asked);
        self.failed.sort_by(|one, other| one.0.cmp(&other.0));
        QueryError::AllFailed { failures: self.failed }
    }

    fn output(&self, ranked: &Ranked<'_>, most: usize, started: Instant) -> QueryOutput {
        let best = ranked.best(most);
        let results: Vec<QueryResult> =
            best.into_iter().zip(1..).map(|(one, rank)| QueryResult::of(one, rank)).collect();
        let contributing: BTreeSet<&str> = results.iter().map(|result| result.server.as_str()).collect();
        let queried = self.answers.len() + self.failed.len();
        let metadata = Metadata {
            servers_queried: queried,
            servers_succeeded: self.answers.len(),
            total_results_raw: ranked.raw,
            total_results_dedup: ranked.results.len(),
            results_returned: results.len(),
            processing_time_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            server_diversity: share(contributing.len(), queried),
            errors: named(&self.failed),
            not_asked: named(&self.not_asked),
            left_out: LeftOut::of(self.over),
        };
        QueryOutput { results, metadata }
    }
}

/// To four places, as scores are.
fn share(part: usize, whole: usize) -> f64 {
    let number = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    (number(part) / number(whole.max(1)) * 10_000.0).round() / 10_000.0
}
