//! Of which servers it is known what they show to clients that declare something, and where somebody has yet to look.

use portolan_model::ServerName;
use portolan_wire::Abilities;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Clients can declare whatever they like. There are a handful of kinds of clients in one place, and not more than this.
const MOST: usize = 16;
/// Where a look came to nothing, the next one is not taken before this.
const RETRY: Duration = Duration::from_mins(1);

#[derive(Default)]
pub(crate) struct Profiles {
    table: Mutex<Table>,
    wanted: Notify,
    /// Somebody has come back from a look, or need not go any more.
    settled: Notify,
}

#[derive(Default)]
struct Table {
    /// The one that was asked for last stands last.
    all: Vec<Profile>,
    errands: VecDeque<Errand>,
    next: u64,
    /// Counts whatever makes it worth while to look through the servers again.
    turns: u64,
}

struct Profile {
    abilities: Abilities,
    /// When it was first asked for.
    since: Instant,
    pairs: HashMap<ServerName, Pair>,
    /// The count at which there was nothing to be found out of any server.
    complete_at: Option<u64>,
    /// Whether anything has been told of it, and so has to be taken back when it is forgotten.
    is_told: bool,
}

/// How much is known of one server and one profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pair {
    /// The server was on its way when somebody asked.
    Expected,
    /// The errand of this number is to find out.
    Wanted(u64),
    Known,
    Failed(Instant),
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Errand {
    Look(Look),
    /// Nobody remembers this profile any more.
    Forget(Abilities),
}

/// One server to be looked at with the eyes of one profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) server: ServerName,
    pub(crate) abilities: Abilities,
    number: u64,
}

/// How near a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    Coming,
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Found,
    Failed,
    /// The server was not there any more.
    Missed,
}

impl Profiles {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Critical sections here push and remove; a panic in one leaves nothing half-done.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A count that moves on when servers come or go.
    pub(crate) fn turns(&self) -> u64 {
        self.table().turns
    }

    /// Somebody of this profile asks for everything: whether nothing is left to be found out for it.
    pub(crate) fn is_complete(&self, abilities: &Abilities) -> bool {
        let mut table = self.table();
        let turns = table.turns;
        table.touch(abilities).is_some_and(|profile| profile.complete_at == Some(turns))
    }

    /// Somebody of this profile asks for what these servers have. They are to have been looked through at that count: where
    /// it has moved on, nothing is done and `false` returned.
    pub(crate) fn want(
        &self,
        abilities: &Abilities,
        servers: &[(&ServerName, Presence)],
        turns: u64,
    ) -> bool {
        let mut table = self.table();
        if table.turns != turns {
            return false;
        }
        if table.touch(abilities).is_none() {
            // A profile of which there is nothing to find out pushes none aside.
            if servers.is_empty() {
                return true;
            }
            table.add(abilities);
        }
        let last = table.all.len() - 1;
        for (server, presence) in servers {
            table.ask(last, server, *presence);
        }
        drop(table);
        self.wanted.notify_one();
        // Another profile may have been forgotten for this one.
        self.settled.notify_waiters();
        true
    }

    /// When somebody of this profile first asked.
    pub(crate) fn since(&self, abilities: &Abilities) -> Option<Instant> {
        let table = self.table();
        table.at(abilities).map(|at| table.all[at].since)
    }

    /// Everything has been looked through at that count.
    pub(crate) fn complete(&self, abilities: &Abilities, turns: u64) {
        let mut table = self.table();
        if let Some(at) = table.at(abilities) {
            let profile = &mut table.all[at];
            let has_failed = profile.pairs.values().any(|pair| matches!(pair, Pair::Failed(_)));
            profile.complete_at = (!has_failed).then_some(turns);
        }
    }

    /// A server is there from now on: whoever asked before that is not kept waiting for the next time.
    pub(crate) fn arrived(&self, server: &ServerName) {
        let mut table = self.table();
        table.turns += 1;
        for at in 0..table.all.len() {
            if table.all[at].pairs.get(server) == Some(&Pair::Expected) {
                table.send(at, server);
            }
        }
        drop(table);
        self.wanted.notify_one();
    }

    /// A server has gone, or shows something else: nothing is known of it any more.
    pub(crate) fn forget(&self, server: &ServerName) {
        let mut table = self.table();
        table.turns += 1;
        for profile in &mut table.all {
            profile.pairs.remove(server);
        }
        table.errands.retain(|errand| !matches!(errand, Errand::Look(look) if look.server == *server));
        drop(table);
        self.settled.notify_waiters();
    }

    /// The server says that lists have changed on a session of this profile; what was known of them is to be found out again.
    pub(crate) fn again(&self, server: &ServerName, abilities: &Abilities) {
        let mut table = self.table();
        let Some(at) = table.at(abilities) else { return };
        match table.all[at].pairs.get(server) {
            // Whoever is on the way tells what it finds; after that somebody goes again.
            Some(Pair::Wanted(number)) => {
                let number = *number;
                table.push(Look { server: server.clone(), abilities: abilities.clone(), number });
            }
            Some(Pair::Known | Pair::Failed(_)) => table.send(at, server),
            Some(Pair::Expected) | None => return,
        }
        drop(table);
        self.wanted.notify_one();
    }

    /// The next errand, in the order in which they were given.
    pub(crate) fn next(&self) -> Option<Errand> {
        self.table().errands.pop_front()
    }

    /// Waits until there may be an errand.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Whether somebody still waits for what a look has brought. Then it is told, before it counts as known.
    pub(crate) fn is_wanted(&self, look: &Look) -> bool {
        let mut table = self.table();
        let Some(at) = table.at(&look.abilities) else { return false };
        let profile = &mut table.all[at];
        let is_wanted = profile.pairs.get(&look.server) == Some(&Pair::Wanted(look.number));
        profile.is_told |= is_wanted;
        is_wanted
    }

    /// Notes what a look came to, unless another has been sent meanwhile.
    pub(crate) fn done(&self, look: &Look, outcome: Outcome) {
        let mut table = self.table();
        let is_wanted_again = table.errands.iter().any(|errand| errand.is(look));
        let Some(at) = table.at(&look.abilities) else { return };
        let profile = &mut table.all[at];
        if profile.pairs.get(&look.server) != Some(&Pair::Wanted(look.number)) {
            return;
        }
        match outcome {
            Outcome::Found if is_wanted_again => {}
            Outcome::Found => {
                profile.pairs.insert(look.server.clone(), Pair::Known);
            }
            Outcome::Failed => {
                profile.complete_at = None;
                profile.pairs.insert(look.server.clone(), Pair::Failed(Instant::now()));
            }
            Outcome::Missed => {
                profile.complete_at = None;
                profile.pairs.remove(&look.server);
            }
        }
        drop(table);
        self.settled.notify_waiters();
    }

    /// Waits until nobody has to look any more for this profile at one server, or at any.
    pub(crate) async fn settled(&self, abilities: &Abilities, server: Option<&ServerName>) {
        loop {
            let settled = self.settled.notified();
            if !self.table().is_looking(abilities, server) {
                return;
            }
            settled.await;
        }
    }
}

impl Table {
    fn at(&self, abilities: &Abilities) -> Option<usize> {
        self.all.iter().position(|profile| profile.abilities == *abilities)
    }

    fn is_looking(&self, abilities: &Abilities, server: Option<&ServerName>) -> bool {
        let Some(profile) = self.at(abilities).map(|at| &self.all[at]) else { return false };
        let mut near = profile.pairs.iter().filter(|(name, _)| server.is_none_or(|one| one == *name));
        near.any(|(_, pair)| matches!(pair, Pair::Wanted(_)))
    }

    /// Finds a profile and makes it the last that was asked for.
    fn touch(&mut self, abilities: &Abilities) -> Option<&Profile> {
        let at = self.at(abilities)?;
        self.all[at..].rotate_left(1);
        self.all.last()
    }

    /// Remembers a profile; the one that nobody has asked for the longest is forgotten.
    fn add(&mut self, abilities: &Abilities) {
        if self.all.len() >= MOST {
            let Profile { abilities, is_told, .. } = self.all.remove(0);
            self.errands
                .retain(|errand| !matches!(errand, Errand::Look(look) if look.abilities == abilities));
            if is_told {
                self.errands.push_front(Errand::Forget(abilities));
            }
        }
        let (abilities, pairs) = (abilities.clone(), HashMap::new());
        self.all.push(Profile { abilities, since: Instant::now(), pairs, complete_at: None, is_told: false });
    }

    /// Somebody of the profile at this place asks for what a server has.
    fn ask(&mut self, at: usize, server: &ServerName, presence: Presence) {
        let is_due = match self.all[at].pairs.get(server) {
            None | Some(Pair::Expected) => true,
            Some(Pair::Failed(since)) => since.elapsed() >= RETRY,
            Some(Pair::Known | Pair::Wanted(_)) => false,
        };
        match presence {
            Presence::Here if is_due => self.send(at, server),
            Presence::Coming if is_due => {
                self.all[at].pairs.insert(server.clone(), Pair::Expected);
            }
            Presence::Here | Presence::Coming => {}
        }
    }

    fn send(&mut self, at: usize, server: &ServerName) {
        self.next += 1;
        let profile = &mut self.all[at];
        profile.pairs.insert(server.clone(), Pair::Wanted(self.next));
        let abilities = profile.abilities.clone();
        self.push(Look { server: server.clone(), abilities, number: self.next });
    }

    /// Of several errands to the same place the last is enough.
    fn push(&mut self, look: Look) {
        self.errands.retain(|errand| !errand.is(&look));
        self.errands.push_back(Errand::Look(look));
    }
}

impl Errand {
    /// Whether it leads to the same place.
    fn is(&self, look: &Look) -> bool {
        match self {
            Self::Look(own) => own.server == look.server && own.abilities == look.abilities,
            Self::Forget(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
