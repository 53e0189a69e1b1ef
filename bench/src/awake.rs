//! Threads that keep the processors awake while short times are measured.
//!
//! A halted processor of a virtual machine takes tens of microseconds to wake up. Each hop of a lone call
//! finds one asleep, so without this the wake-ups are measured and not the gateway. The threads spin at
//! `SCHED_IDLE`, the class that gives way to any ordinary thread at once: what is measured loses nothing to them.

use crate::processors::{Place, place_this_thread, take_idle_class, usable};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Spinning stops when this is dropped, or at its time limit, whichever comes first.
pub struct Awake {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// One spinning thread per processor. A thread that may not take the idle class does not spin at all.
    pub fn start(limit: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let end = Instant::now() + limit;
        let spin = |cpu: usize| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                if !(place_this_thread(Place::Only(cpu)) && take_idle_class()) {
                    return;
                }
                while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                    for _ in 0..4096 {
                        std::hint::spin_loop();
                    }
                }
            })
        };
        let threads = usable().into_iter().map(spin).collect();
        Self { stop, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A spinning thread has no way to fail that would matter here.
            let _ = thread.join();
        }
    }
}
