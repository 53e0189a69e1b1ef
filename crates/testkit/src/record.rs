//! Things seen so far, in order, that a test can wait on with a deadline.

use std::fmt::Debug;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;

/// No wait of a test is longer: whatever takes this long on a loaded machine is broken.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A failure shows this many of the last things seen.
const SHOWN: usize = 40;

/// An append-only record with one writer and any number of waiting readers.
pub struct Record<T> {
    seen: Mutex<Vec<T>>,
    /// Changes with every push; holds the reason once nothing more will come.
    state: watch::Sender<Option<String>>,
}

impl<T> Default for Record<T> {
    fn default() -> Self {
        Self { seen: Mutex::default(), state: watch::Sender::new(None) }
    }
}

impl<T: Clone + Debug> Record<T> {
    pub fn push(&self, item: T) {
        self.seen.lock().unwrap().push(item);
        self.state.send_modify(|_| ());
    }

    /// Nothing more will come, for this reason.
    pub fn close(&self, reason: impl Into<String>) {
        self.state.send_modify(|closed| {
            closed.get_or_insert(reason.into());
        });
    }

    /// Why nothing more will come, if so.
    pub fn closed(&self) -> Option<String> {
        self.state.borrow().clone()
    }

    pub fn all(&self) -> Vec<T> {
        self.seen.lock().unwrap().clone()
    }

    pub fn len(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first item, old or new, that fits. Panics at the deadline or at the end, with what was seen.
    pub async fn wait_for(&self, what: &str, fits: impl Fn(&T) -> bool) -> T {
        self.wait_after(0, what, fits).await.1
    }

    /// The same among the items from `start` on, with its position.
    pub async fn wait_after(&self, start: usize, what: &str, fits: impl Fn(&T) -> bool) -> (usize, T) {
        let mut state = self.state.subscribe();
        let search = async {
            loop {
                let closed = state.borrow_and_update().clone();
                if let Some(found) = self.find(start, &fits) {
                    return Ok(found);
                }
                if let Some(reason) = closed {
                    return Err(reason);
                }
                state.changed().await.unwrap();
            }
        };
        let Ok(found) = tokio::time::timeout(DEADLINE, search).await else {
            panic!("waited {DEADLINE:?} for {what}; {}", self.shown());
        };
        match found {
            Ok(found) => found,
            Err(reason) => panic!("waited for {what}, but: {reason}; {}", self.shown()),
        }
    }

    /// The same without a deadline, for whoever serves in the background: `None` once nothing more will come.
    pub(crate) async fn next_after(&self, start: usize, fits: impl Fn(&T) -> bool) -> Option<(usize, T)> {
        let mut state = self.state.subscribe();
        loop {
            let is_closed = state.borrow_and_update().is_some();
            let found = self.find(start, &fits);
            if found.is_some() || is_closed {
                return found;
            }
            state.changed().await.ok()?;
        }
    }

    /// Waits until nothing more will come, and says why.
    pub async fn wait_closed(&self, what: &str) -> String {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(Option::is_some);
        let Ok(reason) = tokio::time::timeout(DEADLINE, ended).await else {
            panic!("waited {DEADLINE:?} for the end of {what}; {}", self.shown());
        };
        reason.unwrap().clone().unwrap()
    }

    fn find(&self, start: usize, fits: &impl Fn(&T) -> bool) -> Option<(usize, T)> {
        let seen = self.seen.lock().unwrap();
        seen.iter().enumerate().skip(start).find(|(_, item)| fits(item)).map(|(at, item)| (at, item.clone()))
    }

    fn shown(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let last = &seen[seen.len().saturating_sub(SHOWN)..];
        let mut shown = format!("seen so far, {} in all:", seen.len());
        for item in last {
            let text = format!("{item:?}");
            shown.push_str("\n  ");
            shown.extend(text.chars().take(500));
        }
        shown
    }
}
