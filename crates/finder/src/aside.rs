//! Threads that work only where nobody else wants to.
//!
//! The only file with `unsafe` code: there is no safe crate for the one call that it takes.

use tokio::sync::oneshot;

/// How a thread gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It takes what others leave, and a little of what they want.
    Nice,
    /// It runs where a processor would rest, and leaves it to whoever wakes up. One that is merely nice is let finish its
    /// turn of some milliseconds, in which a call could have been through ten times.
    Idle,
}

/// Runs work on a thread of its own that gives way to all others: how willing a thread is cannot be taken back, so it is not
/// one of those that others use after it. `None` if there is no such thread.
pub(crate) async fn aside<T: Send + 'static>(
    manner: Manner,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new().name("embedding".to_owned()).spawn(move || {
        give_way(manner);
        // Whoever asked may have gone.
        done.send(work()).unwrap_or_default();
    });
    thread.ok()?;
    outcome.await.ok()
}

#[cfg(target_os = "linux")]
fn give_way(manner: Manner) {
    let is_idle = match manner {
        Manner::Nice => false,
        Manner::Idle => idle(),
    };
    if !is_idle {
        // A sandbox may refuse the one and let the other.
        rustix::process::nice(19).map(drop).unwrap_or_default();
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe crate sets how a thread is scheduled")]
fn idle() -> bool {
    let param = libc::sched_param { sched_priority: 0 };
    // Not by the C library's function of that name: musl's always refuses.
    // SAFETY: 0 is this very thread, and the parameter outlives the call, which only reads it.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const param) == 0 }
}

/// Elsewhere what can be set holds for the whole process.
#[cfg(not(target_os = "linux"))]
fn give_way(_: Manner) {}
