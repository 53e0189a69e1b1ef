//! The load generator: callers on their own connections, spread over a few threads with a runtime each.

use crate::http_client::{HttpClient, Session, Target};
use crate::rpc::{self, Expected, Verdict};
use anyhow::{Context, Result, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Barrier;

/// Beyond these the load would take the processors from what it measures.
const MOST_THREADS: usize = 4;

/// A run with this many failures has told what it can tell.
const MOST_ERRORS: u64 = 200;

/// Room for the calls that are in flight when the time is over, and for connecting.
const GRACE: Duration = Duration::from_secs(40);

/// How callers number their requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// No two callers use the same id.
    Apart,
    /// All callers count from the start: the same ids are in flight many times over.
    Same,
}

#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    /// What the server behind it signs with, where it does.
    pub signature: Option<String>,
    /// Whether calls of it say for themselves what a session would have settled.
    pub is_stateless: bool,
}

impl Tool {
    pub fn unsigned(name: &str) -> Self {
        Self { name: name.to_owned(), signature: None, is_stateless: false }
    }

    #[must_use]
    pub fn stateless(self) -> Self {
        Self { is_stateless: true, ..self }
    }
}

/// One run over HTTP.
pub struct Plan {
    pub target: Arc<Target>,
    /// Callers are spread over these round-robin.
    pub sessions: Vec<Session>,
    /// Calls go round these.
    pub tools: Vec<Tool>,
    pub callers: usize,
    pub calls: u64,
    pub limit: Duration,
    pub ids: Ids,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub times_ns: Vec<u64>,
    pub errors: u64,
    pub mismatches: u64,
    pub elapsed: Duration,
    /// Calls made before the clock started, so that no connection is opened while it runs.
    pub warm_ups: u64,
    pub first_problem: Option<String>,
}

impl Outcome {
    pub fn count(&mut self, verdict: Verdict, took: Duration, reply: &[u8]) {
        match verdict {
            Verdict::Good => self.times_ns.push(took.as_nanos() as u64),
            Verdict::Mismatched => {
                self.mismatches += 1;
                self.first_problem.get_or_insert_with(|| format!("mismatched: {}", rpc::excerpt(reply)));
            }
            Verdict::Failed => self.fail(&rpc::excerpt(reply)),
        }
    }

    fn fail(&mut self, problem: &str) {
        self.errors += 1;
        self.first_problem.get_or_insert_with(|| problem.to_owned());
    }

    /// Joins what another caller of the same run did at the same time.
    pub fn join(&mut self, other: Outcome) {
        self.times_ns.extend(other.times_ns);
        self.errors += other.errors;
        self.mismatches += other.mismatches;
        self.warm_ups += other.warm_ups;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.first_problem = self.first_problem.take().or(other.first_problem);
    }

    pub fn calls(&self) -> u64 {
        self.times_ns.len() as u64
    }

    pub fn per_second(&self) -> f64 {
        self.calls() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Unlike that of any other call of this run: it must come back.
pub fn token(caller: usize, call: u64) -> String {
    format!("t{caller:x}-{call:x}-t")
}

/// One caller, one call after the other, on the thread that asks.
pub async fn alone(client: &mut HttpClient, tool: &Tool, ids: std::ops::Range<u64>) -> Outcome {
    let mut outcome = Outcome::default();
    let begun = Instant::now();
    for id in ids {
        call(client, tool, (0, id), &mut outcome).await;
        if outcome.errors >= MOST_ERRORS {
            break;
        }
    }
    outcome.elapsed = begun.elapsed();
    outcome
}

async fn call(client: &mut HttpClient, tool: &Tool, (caller, id): (usize, u64), outcome: &mut Outcome) {
    let token = token(caller, id);
    let request = if tool.is_stateless {
        rpc::stateless_call(id, &tool.name, &token)
    } else {
        rpc::call(id, &tool.name, &token)
    };
    let begun = Instant::now();
    match client.ask(request).await {
        Ok(reply) => {
            let took = begun.elapsed();
            let expected = Expected { id, token: &token, signature: tool.signature.as_deref() };
            outcome.count(rpc::judge(&reply, expected), took, &reply);
        }
        Err(problem) => outcome.fail(&format!("{problem:#}")),
    }
}

struct Shared {
    plan: Plan,
    taken: AtomicU64,
    is_stopped: AtomicBool,
    all_ready: Barrier,
}

/// Runs the plan on threads of its own and returns when the last call is answered.
pub async fn many(plan: Plan) -> Result<Outcome> {
    ensure!(!plan.sessions.is_empty() && !plan.tools.is_empty(), "a load needs a session and a tool");
    tokio::task::spawn_blocking(move || on_threads(plan)).await?
}

fn on_threads(plan: Plan) -> Result<Outcome> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = cores.min(MOST_THREADS).min(plan.callers).max(1);
    let all_ready = Barrier::new(plan.callers);
    let shared =
        Arc::new(Shared { plan, taken: AtomicU64::new(0), is_stopped: AtomicBool::new(false), all_ready });
    let mut whole = Outcome::default();
    std::thread::scope(|scope| {
        let one = |thread| {
            let shared = Arc::clone(&shared);
            scope.spawn(move || on_one_thread(&shared, (thread, threads)))
        };
        let started: Vec<_> = (0..threads).map(one).collect();
        for thread in started {
            let part = thread.join().map_err(|_| anyhow::anyhow!("a load thread panicked"))?;
            whole.join(part?);
        }
        Ok(whole)
    })
}

/// The callers whose number leaves `thread` when divided by `threads`.
fn on_one_thread(shared: &Arc<Shared>, (thread, threads): (usize, usize)) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let limit = shared.plan.limit + GRACE;
    runtime.block_on(async {
        let mut callers = tokio::task::JoinSet::new();
        for caller in (thread..shared.plan.callers).step_by(threads) {
            callers.spawn(one_caller(Arc::clone(shared), caller));
        }
        let joined = tokio::time::timeout(limit, callers.join_all()).await.context("the load hangs")?;
        let mut part = Outcome::default();
        for outcome in joined {
            part.join(outcome);
        }
        Ok(part)
    })
}

async fn one_caller(shared: Arc<Shared>, caller: usize) -> Outcome {
    let plan = &shared.plan;
    let session = Arc::clone(&plan.sessions[caller % plan.sessions.len()]);
    let mut client = HttpClient::join(Arc::clone(&plan.target), session);
    // The handshake took id 0.
    let mut id = match plan.ids {
        Ids::Apart => 1 + caller as u64 * 1_000_000,
        Ids::Same => 1,
    };
    let mut outcome = Outcome::default();
    call(&mut client, &plan.tools[caller % plan.tools.len()], (caller, id), &mut outcome).await;
    outcome.warm_ups = outcome.calls();
    outcome.times_ns.clear();
    shared.all_ready.wait().await;
    let begun = Instant::now();
    while !shared.is_stopped.load(Ordering::Relaxed) && begun.elapsed() < plan.limit {
        let number = shared.taken.fetch_add(1, Ordering::Relaxed);
        if number >= plan.calls {
            break;
        }
        id += 1;
        let tool = &plan.tools[number as usize % plan.tools.len()];
        call(&mut client, tool, (caller, id), &mut outcome).await;
        if outcome.errors >= MOST_ERRORS {
            shared.is_stopped.store(true, Ordering::Relaxed);
        }
    }
    outcome.elapsed = begun.elapsed();
    outcome
}
