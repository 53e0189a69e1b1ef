//! Tasks that are known here: on which session each is, whose it is, and what it has asked that nobody has answered yet.
//!
//! To which server a task belongs is said by its id. But a server of 2025-11-25 may know a task only in the session that made
//! it, and asks in it when it likes: so that session is kept, and what is asked there is kept for whoever asks about the task.

use super::errand;
use crate::target::Target;
use portolan_model::{ServerName, Sharing};
use portolan_upstream::{Aside, CallError, Desk, Lease, Member, Note, Party, Question, Reply, Session};
use portolan_wire::tasks::related;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How many tasks are known at most; the one that was asked about longest ago is forgotten first.
const MOST: usize = 4096;
/// How long a task is known about which nobody asks: as long as its server keeps it, within these bounds.
const PATIENCE: [Duration; 2] = [Duration::from_mins(15), Duration::from_hours(1)];
/// How long a question waits for its task to be known, and how many may.
const EARLY: Duration = Duration::from_secs(10);
const MOST_EARLY: usize = 64;
/// How many tasks may wait to be ended.
const MOST_LEFT: usize = 1024;
/// How often tasks are looked over for those that nobody asks about.
const LOOK: Duration = Duration::from_secs(15);

/// A task by its server and the server's own id for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TaskKey {
    pub(crate) server: ServerName,
    pub(crate) id: String,
}

/// The session that a task is on, and the claim to it while the task is not over.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) session: Session,
    lease: Option<Arc<Lease>>,
}

impl Place {
    pub(crate) fn new(lease: Lease) -> Self {
        Self { session: lease.session.clone(), lease: Some(Arc::new(lease)) }
    }
}

/// `tasks/result` of a task that asks its client something: on its way for as long as the client takes to answer.
pub(crate) struct Waiting {
    pub(crate) reply: Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send>>,
    pub(crate) aside: Arc<Aside>,
}

#[derive(Default)]
enum Wait {
    #[default]
    None,
    Kept(Waiting),
    /// Somebody listens to it right now.
    Lent,
}

/// Whose a task is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'o> {
    pub(crate) client: u64,
    /// What it calls the progress of the task, as raw JSON, if it wants to hear of that.
    pub(crate) token: Option<&'o str>,
}

struct Ward {
    client: u64,
    token: Option<Box<str>>,
    place: Place,
    /// Each under a key that is never used again for this task.
    asked: Vec<(String, Arc<Question>)>,
    keys: u64,
    waiting: Wait,
    patience: Duration,
    used: Instant,
}

impl Ward {
    fn ask(&mut self, question: Arc<Question>) {
        self.keys += 1;
        self.asked.push((self.keys.to_string(), question));
    }
}

/// A question of a task that is not known yet.
struct Early {
    task: TaskKey,
    question: Arc<Question>,
    until: Instant,
}

/// A task that nobody waits for any more.
pub(crate) struct Left {
    pub(crate) task: TaskKey,
    pub(crate) place: Place,
    /// What its client can be asked, as raw JSON: requests of 2026-07-28 say so each time.
    pub(crate) capabilities: String,
}

#[derive(Default)]
struct Table {
    known: HashMap<TaskKey, Ward>,
    early: VecDeque<Early>,
    left: Vec<Left>,
}

impl Table {
    fn take_early(&mut self, task: &TaskKey) -> Vec<Arc<Question>> {
        let (own, others) = std::mem::take(&mut self.early)
            .into_iter()
            .partition::<VecDeque<_>, _>(|early| early.task == *task);
        self.early = others;
        own.into_iter().map(|early| early.question).collect()
    }

    fn forget_oldest(&mut self) {
        let oldest = self.known.iter().min_by_key(|(_, ward)| ward.used).map(|(task, _)| task.clone());
        if let Some(task) = oldest {
            self.known.remove(&task);
        }
    }
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    leaving: Notify,
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Critical sections here insert and remove; a panic in one leaves nothing half-done.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, task: TaskKey, question: Arc<Question>) {
        let mut table = self.table();
        if let Some(ward) = table.known.get_mut(&task) {
            return ward.ask(question);
        }
        // Its task may have been made this very moment.
        if table.early.len() >= MOST_EARLY {
            table.early.pop_front();
        }
        table.early.push_back(Early { task, question, until: Instant::now() + EARLY });
    }
}

#[derive(Default)]
pub(crate) struct Wards(Arc<Shared>);

impl Wards {
    /// Does something with a task that is known, which counts as asking about it.
    fn with<T>(&self, task: &TaskKey, then: impl FnOnce(&mut Ward) -> T) -> Option<T> {
        let mut table = self.0.table();
        let ward = table.known.get_mut(task)?;
        ward.used = Instant::now();
        Some(then(ward))
    }

    /// Takes note of a task on a session, with whatever it has asked by now; one that is known stays as it is.
    pub(crate) fn know(&self, task: &TaskKey, owner: Owner<'_>, place: &Place, keeping: Option<Duration>) {
        let [least, most] = PATIENCE;
        let mut table = self.0.table();
        if table.known.contains_key(task) {
            return;
        }
        if table.known.len() >= MOST {
            table.forget_oldest();
        }
        let mut ward = Ward {
            client: owner.client,
            token: owner.token.map(Into::into),
            place: place.clone(),
            asked: Vec::new(),
            keys: 0,
            waiting: Wait::None,
            patience: keeping.unwrap_or(most).clamp(least, most),
            used: Instant::now(),
        };
        for question in table.take_early(task) {
            ward.ask(question);
        }
        table.known.insert(task.clone(), ward);
    }

    pub(crate) fn client(&self, task: &TaskKey) -> Option<u64> {
        self.0.table().known.get(task).map(|ward| ward.client)
    }

    /// Who wants to hear of the progress of a task that is not over, and by which token.
    pub(crate) fn progress(&self, task: &TaskKey) -> Option<(u64, Box<str>)> {
        let table = self.0.table();
        let ward = table.known.get(task).filter(|ward| ward.place.lease.is_some())?;
        Some((ward.client, ward.token.clone()?))
    }

    /// The session that a task is on, while it lives.
    pub(crate) fn place(&self, task: &TaskKey) -> Option<Place> {
        self.with(task, |ward| ward.place.clone()).filter(|place| !place.session.is_closed())
    }

    /// The tasks of a client with their sessions.
    pub(crate) fn of_client(&self, client: u64) -> Vec<(TaskKey, Session)> {
        let table = self.0.table();
        let own = table.known.iter().filter(|(_, ward)| ward.client == client);
        own.map(|(task, ward)| (task.clone(), ward.place.session.clone())).collect()
    }

    /// A task is over: others may have its session.
    pub(crate) fn release(&self, task: &TaskKey) {
        self.with(task, |ward| {
            ward.place.lease = None;
            ward.waiting = Wait::None;
        });
    }

    pub(crate) fn release_all_of(&self, client: u64) {
        for ward in self.0.table().known.values_mut().filter(|ward| ward.client == client) {
            ward.place.lease = None;
        }
    }

    /// Keeps a question for whoever asks about its task.
    pub(crate) fn hold(&self, task: TaskKey, question: Arc<Question>) {
        self.0.hold(task, question);
    }

    /// What a task has asked and nobody has answered yet.
    pub(crate) fn asked(&self, task: &TaskKey) -> Vec<(String, Arc<Question>)> {
        let open = self.with(task, |ward| {
            ward.asked.retain(|(_, question)| question.is_open());
            ward.asked.clone()
        });
        open.unwrap_or_default()
    }

    /// The same, for somebody who sees to their answers.
    pub(crate) fn take_asked(&self, task: &TaskKey) -> Vec<Arc<Question>> {
        let taken = self.with(task, |ward| std::mem::take(&mut ward.asked)).unwrap_or_default();
        let early = self.0.table().take_early(task);
        taken.into_iter().map(|(_, question)| question).chain(early).filter(|q| q.is_open()).collect()
    }

    /// What waits for the end of a task, if anything does and nobody has it.
    pub(crate) fn take_waiting(&self, task: &TaskKey) -> Option<Waiting> {
        let waiting = self.with(task, |ward| std::mem::take(&mut ward.waiting))?;
        match waiting {
            Wait::Kept(waiting) => Some(waiting),
            Wait::None | Wait::Lent => None,
        }
    }

    /// Lends what waits for the end of a task, which is begun for that where nothing does; to one at a time.
    pub(crate) fn lend_waiting(&self, task: &TaskKey, begin: impl FnOnce() -> Waiting) -> Option<Waiting> {
        let waiting = self.with(task, |ward| std::mem::replace(&mut ward.waiting, Wait::Lent))?;
        match waiting {
            Wait::Kept(waiting) => Some(waiting),
            Wait::None => Some(begin()),
            Wait::Lent => None,
        }
    }

    /// Takes back what was lent, unless it is over, and keeps what it has brought meanwhile.
    pub(crate) fn keep_waiting(&self, task: &TaskKey, waiting: Option<Waiting>) {
        self.with(task, |ward| {
            while let Some(note) = waiting.as_ref().and_then(|waiting| waiting.aside.take()) {
                match note {
                    Note::Question(question) => ward.ask(question),
                    // One that was taken back is not open any more.
                    Note::Withdrawn(_) | Note::Progress(_) | Note::Other(_) => {}
                }
            }
            ward.waiting = waiting.map_or(Wait::None, Wait::Kept);
        });
    }

    /// Has a task ended, soon.
    pub(crate) fn leave(&self, left: Left) {
        let mut table = self.0.table();
        if table.left.len() < MOST_LEFT {
            table.left.push(left);
        }
        drop(table);
        self.0.leaving.notify_one();
    }

    /// On whose behalf a call goes to a server. What is asked outside of any call is for the client only where it has the
    /// session alone. A server that may ask in a task asks at a desk that knows tasks; whoever has none of its own gets that
    /// one, unless it would not share its session any more then.
    pub(crate) fn party<'p>(&self, party: &'p Party, member: &Member, target: &Target) -> Cow<'p, Party> {
        if party.abilities.is_none() {
            return Cow::Borrowed(party);
        }
        let is_alone = member.spec.sharing == Sharing::PerClient || party.abilities.has_roots();
        let has_tasks = target.tasks.is_some_and(|tasks| tasks.declared.experimental);
        if is_alone && (party.desk.is_none() || !has_tasks) {
            return Cow::Borrowed(party);
        }
        let other = party.desk.clone().filter(|_| is_alone);
        let desk: Option<Arc<dyn Desk>> =
            if has_tasks { Some(Arc::new(TaskDesk { shared: self.0.clone(), other })) } else { other };
        Cow::Owned(Party { desk, ..party.clone() })
    }

    /// Ends what is left, and forgets what nobody asks about.
    pub(crate) async fn look_after(&self) {
        loop {
            tokio::time::timeout(LOOK, self.0.leaving.notified()).await.unwrap_or_default();
            let left = std::mem::take(&mut self.0.table().left);
            futures_util::future::join_all(left.iter().map(errand::end)).await;
            let (now, mut table) = (Instant::now(), self.0.table());
            table.early.retain(|early| early.until > now);
            table.known.retain(|_, ward| ward.used + ward.patience > now && !ward.place.session.is_closed());
        }
    }
}

/// Where a session's questions go that came during no call: a task's to the task, any other to the client itself.
struct TaskDesk {
    shared: Arc<Shared>,
    other: Option<Arc<dyn Desk>>,
}

impl Desk for TaskDesk {
    fn ask(&self, question: Arc<Question>) {
        let Some(id) = question.params().and_then(related) else {
            return match &self.other {
                Some(other) => other.ask(question),
                None => question.decline(),
            };
        };
        self.shared.hold(TaskKey { server: question.server.clone(), id }, question);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_wire::meta::RELATED_TASK;

    fn key(id: &str) -> TaskKey {
        TaskKey { server: ServerName::parse("s").unwrap(), id: id.to_owned() }
    }

    fn question(params: &str) -> Arc<Question> {
        let params = Some(params.to_owned().into());
        Question::new(key("").server, "elicitation/create", params, None).0
    }

    fn of_task(id: &str) -> Arc<Question> {
        question(&format!(r#"{{"_meta":{{"{RELATED_TASK}":{{"taskId":"{id}"}}}}}}"#))
    }

    #[tokio::test]
    async fn a_question_of_a_task_waits_for_the_task_and_others_go_on() {
        struct Counting(Mutex<usize>);
        impl Desk for Counting {
            fn ask(&self, _: Arc<Question>) {
                *self.0.lock().unwrap() += 1;
            }
        }
        let (wards, other) = (Wards::default(), Arc::new(Counting(Mutex::new(0))));
        let desk = TaskDesk { shared: wards.0.clone(), other: Some(other.clone()) };
        desk.ask(question("{}"));
        assert_eq!(*other.0.lock().unwrap(), 1);
        for id in ["1", "2", "1"] {
            desk.ask(of_task(id));
        }
        assert_eq!(
            *other.0.lock().unwrap(),
            1,
            "a task's questions are not the client's to have outside of it"
        );
        let early = wards.0.table().take_early(&key("1"));
        assert_eq!((early.len(), wards.0.table().early.len()), (2, 1));
    }

    #[tokio::test]
    async fn questions_of_tasks_that_nobody_knows_fill_nothing() {
        let wards = Wards::default();
        let desk = TaskDesk { shared: wards.0.clone(), other: None };
        for id in 0..MOST_EARLY + 5 {
            desk.ask(of_task(&id.to_string()));
        }
        assert_eq!(wards.0.table().early.len(), MOST_EARLY);
        assert!(wards.0.table().take_early(&key("0")).is_empty());
    }
}
