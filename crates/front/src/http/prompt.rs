//! A future that is woken from within its own poll is polled again on the spot.
//!
//! hyper runs a connection and the service on it in one task, and the service wakes that task itself when it takes the
//! request's body. To the scheduler that is a task that yields: it goes to the end of the queue, and an idle thread is
//! woken to look for work that is not there. That cost every call two system calls and a thread's wake-up.

use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const RESTING: u8 = 0;
const POLLING: u8 = 1;
const POLLING_AND_WOKEN: u8 = 2;

/// How often a future is polled again before others get their turn.
const MOST_TURNS: usize = 4;

/// Passes wake-ups on to the task, but keeps those that come while it is being polled.
struct Relay {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let while_polling =
            self.state.compare_exchange(POLLING, POLLING_AND_WOKEN, Ordering::AcqRel, Ordering::Acquire);
        // Resting, the task has to be woken. Woken while polling already, there is nothing left to do.
        if while_polling == Err(RESTING) {
            self.task.wake();
        }
    }
}

/// Runs a future to its end.
pub(super) async fn promptly<T>(work: impl Future<Output = T>) -> T {
    let relay = Arc::new(Relay { state: AtomicU8::new(RESTING), task: AtomicWaker::new() });
    let waker = Waker::from(relay.clone());
    let mut work = pin!(work);
    poll_fn(move |context| {
        // Before the state says "resting", whoever wakes must find the right task.
        relay.task.register(context.waker());
        for _ in 0..MOST_TURNS {
            relay.state.store(POLLING, Ordering::Release);
            if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(done);
            }
            let quiet = relay.state.compare_exchange(POLLING, RESTING, Ordering::AcqRel, Ordering::Acquire);
            if quiet.is_ok() {
                return Poll::Pending;
            }
        }
        relay.state.store(RESTING, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Counts wake-ups that reach the task.
    struct Counting(AtomicUsize);

    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn waking_oneself_is_no_matter_for_the_scheduler_unless_it_goes_on_and_on() {
        for (turns, expected) in [(1, 0), (3, 0), (MOST_TURNS + 1, 1)] {
            let counting = Arc::new(Counting(AtomicUsize::new(0)));
            let waker = Waker::from(counting.clone());
            let mut left = turns;
            let mut work = pin!(promptly(poll_fn(move |context: &mut Context<'_>| {
                if left == 0 {
                    return Poll::Ready(());
                }
                left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            })));
            let mut polls = 0;
            while work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                polls += 1;
                assert_eq!(
                    counting.0.load(Ordering::Relaxed),
                    polls,
                    "a pending future that wants a turn has asked for it"
                );
            }
            assert_eq!(counting.0.load(Ordering::Relaxed), expected);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_up_from_another_thread_is_ever_lost() {
        for _ in 0..2_000 {
            let (send, receive) = tokio::sync::oneshot::channel();
            let other = tokio::task::spawn_blocking(move || send.send(()));
            promptly(receive).await.unwrap();
            other.await.unwrap().unwrap();
        }
    }
}
