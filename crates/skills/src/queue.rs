//! The tools whose turn is to come: each once, only so many, the servers in turn.
//!
//! Nothing here has to survive: the store knows which tools wait, and is read again at the next start, and when there is
//! room for those that had none.

use portolan_model::ServerId;
use portolan_store::Overwrite;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// How many wait here at most of those that the store tells of again.
pub(crate) const ROOM: usize = 1000;
/// How many wait here at all: somebody may want every tool classified anew, and only the queue knows of that wish.
pub(crate) const ASKED: usize = 100_000;
/// How many batches of one server are under way at a time.
const LANES: usize = 5;

/// A batch of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) server: ServerId,
    pub(crate) tools: Vec<String>,
    pub(crate) overwrite: Overwrite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    Added,
    /// It waits already; it is overwritten if either wish was so.
    Known,
    Full,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The servers that have something waiting, in the order of their turns.
    turns: VecDeque<ServerId>,
    waiting: HashMap<ServerId, BTreeMap<String, Overwrite>>,
    /// The tools under way and the number of their batches.
    running: HashMap<ServerId, (HashSet<String>, usize)>,
    len: usize,
}

impl Queue {
    /// Puts a tool where fewer than `room` wait.
    pub(crate) fn put(&mut self, server: ServerId, tool: String, overwrite: Overwrite, room: usize) -> Put {
        let waiting = self.waiting.entry(server).or_default();
        if let Some(wish) = waiting.get_mut(&tool) {
            *wish = (*wish).max(overwrite);
            return Put::Known;
        }
        if self.len >= room {
            if waiting.is_empty() {
                self.waiting.remove(&server);
            }
            return Put::Full;
        }
        if waiting.is_empty() {
            self.turns.push_back(server);
        }
        waiting.insert(tool, overwrite);
        self.len += 1;
        Put::Added
    }

    /// The next batch of at most so many, if a server has one and a lane for it.
    pub(crate) fn take(&mut self, most: usize) -> Option<Job> {
        for _ in 0..self.turns.len() {
            let server = self.turns.pop_front()?;
            let job = self.batch(server, most);
            if self.waiting.get(&server).is_some_and(|waiting| !waiting.is_empty()) {
                self.turns.push_back(server);
            } else {
                self.waiting.remove(&server);
            }
            if job.is_some() {
                return job;
            }
        }
        None
    }

    fn batch(&mut self, server: ServerId, most: usize) -> Option<Job> {
        let waiting = self.waiting.get_mut(&server)?;
        let (busy, lanes) = self.running.entry(server).or_default();
        // A tool that changed while it is under way waits until that is over: two outcomes would race.
        let mut free = waiting.iter().filter(|(tool, _)| !busy.contains(*tool)).peekable();
        let overwrite = free.peek().filter(|_| *lanes < LANES).map(|(_, overwrite)| **overwrite);
        let tools: Vec<String> = free
            .filter(|(_, wish)| Some(**wish) == overwrite)
            .take(most)
            .map(|(tool, _)| tool.clone())
            .collect();
        let Some(overwrite) = overwrite else {
            if *lanes == 0 {
                self.running.remove(&server);
            }
            return None;
        };
        for tool in &tools {
            waiting.remove(tool);
        }
        self.len -= tools.len();
        busy.extend(tools.iter().cloned());
        *lanes += 1;
        Some(Job { server, tools, overwrite })
    }

    /// The batch is no longer under way.
    pub(crate) fn done(&mut self, job: &Job) {
        if let Some((busy, lanes)) = self.running.get_mut(&job.server) {
            for tool in &job.tools {
                busy.remove(tool);
            }
            *lanes = lanes.saturating_sub(1);
            if *lanes == 0 {
                self.running.remove(&job.server);
            }
        }
    }

    pub(crate) fn is_under_way(&self, server: ServerId, tool: &str) -> bool {
        self.running.get(&server).is_some_and(|(busy, _)| busy.contains(tool))
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::BATCH;
    use Overwrite::{Everything, KeepPersons};

    fn put_many(queue: &mut Queue, server: ServerId, count: usize) {
        for n in 0..count {
            assert_eq!(queue.put(server, format!("tool {n:04}"), KeepPersons, ROOM), Put::Added);
        }
    }

    #[test]
    fn a_tool_waits_once_and_the_stronger_wish_holds() {
        let (mut queue, server) = (Queue::default(), ServerId::random());
        assert_eq!(queue.put(server, "a".to_owned(), KeepPersons, ROOM), Put::Added);
        assert_eq!(queue.put(server, "a".to_owned(), Everything, ROOM), Put::Known);
        assert_eq!(queue.put(server, "a".to_owned(), KeepPersons, ROOM), Put::Known);
        let job = queue.take(BATCH).unwrap();
        assert_eq!((job.tools, job.overwrite), (vec!["a".to_owned()], Everything));
        assert_eq!((queue.take(BATCH), queue.len()), (None, 0));
    }

    #[test]
    fn ec_006_batches_have_ten_tools_and_five_of_a_server_are_under_way() {
        let (mut queue, server) = (Queue::default(), ServerId::random());
        put_many(&mut queue, server, 500);
        let jobs: Vec<Job> = std::iter::from_fn(|| queue.take(BATCH)).collect();
        assert_eq!(jobs.len(), 5);
        assert!(jobs.iter().all(|job| job.tools.len() == 10));
        assert_eq!(queue.len(), 450);
        queue.done(&jobs[2]);
        assert_eq!(queue.take(BATCH).unwrap().tools[0], "tool 0050");
        assert_eq!(queue.take(BATCH), None);
    }

    #[test]
    fn a_large_server_does_not_keep_others_waiting() {
        let (mut queue, large, small) = (Queue::default(), ServerId::random(), ServerId::random());
        put_many(&mut queue, large, 100);
        put_many(&mut queue, small, 1);
        let order: Vec<ServerId> =
            std::iter::from_fn(|| queue.take(BATCH)).map(|job| job.server).take(3).collect();
        assert_eq!(order, [large, small, large]);
    }

    #[test]
    fn there_is_room_for_only_so_many() {
        let (mut queue, server) = (Queue::default(), ServerId::random());
        put_many(&mut queue, server, ROOM);
        assert_eq!(queue.put(ServerId::random(), "late".to_owned(), KeepPersons, ROOM), Put::Full);
        assert_eq!(queue.put(server, "tool 0000".to_owned(), KeepPersons, ROOM), Put::Known);
        // What somebody wants has room beside those that nobody has asked for.
        assert_eq!(queue.put(server, "wanted".to_owned(), Everything, ASKED), Put::Added);
        queue.take(BATCH).unwrap();
        queue.take(BATCH).unwrap();
        assert_eq!(queue.put(server, "late".to_owned(), KeepPersons, ROOM), Put::Added);
    }

    #[test]
    fn a_tool_that_is_under_way_and_changes_comes_again_afterwards() {
        let (mut queue, server) = (Queue::default(), ServerId::random());
        put_many(&mut queue, server, 1);
        let first = queue.take(BATCH).unwrap();
        put_many(&mut queue, server, 1);
        assert_eq!(queue.take(BATCH), None);
        queue.done(&first);
        assert_eq!(queue.take(BATCH).unwrap().tools, first.tools);
    }

    #[test]
    fn wishes_to_overwrite_have_batches_of_their_own() {
        let (mut queue, server) = (Queue::default(), ServerId::random());
        for (tool, wish) in [("a", KeepPersons), ("b", Everything), ("c", KeepPersons)] {
            queue.put(server, tool.to_owned(), wish, ROOM);
        }
        assert_eq!(queue.take(BATCH).unwrap().tools, ["a", "c"]);
        assert_eq!(queue.take(BATCH).unwrap().tools, ["b"]);
    }
}
