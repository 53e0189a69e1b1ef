//! How many queries run at once, and how many may wait for their turn.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Everybody who is inside, running or waiting, has a place.
#[derive(Debug)]
pub(crate) struct Turnstile {
    places: Semaphore,
    turns: Semaphore,
    pub(crate) at_once: usize,
    pub(crate) waiting: usize,
}

/// One that may run; its place is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    _turn: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

/// How many queries run and wait right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnderWay {
    pub running: usize,
    pub waiting: usize,
}

impl Turnstile {
    pub(crate) fn new(at_once: usize, waiting: usize) -> Self {
        let at_once = at_once.clamp(1, Semaphore::MAX_PERMITS / 2);
        let waiting = waiting.min(Semaphore::MAX_PERMITS / 2);
        Self { places: Semaphore::new(at_once + waiting), turns: Semaphore::new(at_once), at_once, waiting }
    }

    /// In the order that they came; `None` at once where there is no place to wait.
    pub(crate) async fn enter(&self) -> Option<Turn<'_>> {
        let place = self.places.try_acquire().ok()?;
        let turn = self.turns.acquire().await.ok()?;
        Some(Turn { _turn: turn, _place: place })
    }

    pub(crate) fn under_way(&self) -> UnderWay {
        let inside = self.at_once + self.waiting - self.places.available_permits();
        let running = self.at_once - self.turns.available_permits();
        UnderWay { running, waiting: inside.saturating_sub(running) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn whoever_finds_no_place_to_wait_is_turned_away() {
        let turnstile = Turnstile::new(1, 1);
        let first = turnstile.enter().await.unwrap();
        let mut second = Box::pin(turnstile.enter());
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(turnstile.under_way(), UnderWay { running: 1, waiting: 1 });
        assert!(turnstile.enter().await.is_none());
        drop(first);
        let second = second.await.unwrap();
        assert_eq!(turnstile.under_way(), UnderWay { running: 1, waiting: 0 });
        drop(second);
        assert_eq!(turnstile.under_way(), UnderWay::default());
    }

    #[tokio::test]
    async fn whoever_stops_waiting_leaves_its_place() {
        let turnstile = Turnstile::new(1, 1);
        let _first = turnstile.enter().await.unwrap();
        let mut second = Box::pin(turnstile.enter());
        assert!(second.as_mut().now_or_never().is_none());
        drop(second);
        assert_eq!(turnstile.under_way(), UnderWay { running: 1, waiting: 0 });
    }
}
