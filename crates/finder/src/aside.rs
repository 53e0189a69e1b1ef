//! Threads that work only where nobody else wants to.
//!
//! The only file with `unsafe` code: there is no safe crate for the one call that it takes.

use tokio::sync::oneshot;

/// Runs work on a thread of its own that gives way to all others: how willing a thread is cannot be taken back, so it is not
/// one of those that others use after it. `None` if there is no such thread.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new().name("embedding".to_owned()).spawn(move || {
        give_way();
        // Whoever asked may have gone.
        done.send(work()).unwrap_or_default();
    });
    thread.ok()?;
    outcome.await.ok()
}

/// From here on this thread runs where a processor would rest, and leaves it to whoever wakes up. To be merely nice is not
/// enough: such a thread is let finish its turn of some milliseconds, in which a call could have been through ten times.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe crate sets how a thread is scheduled")]
fn give_way() {
    let param = libc::sched_param { sched_priority: 0 };
    // Not by the C library's function of that name: musl's always refuses.
    // SAFETY: 0 is this very thread, and the parameter outlives the call, which only reads it.
    let is_idle =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const param) == 0 };
    if !is_idle {
        // A sandbox may refuse the one and let the other.
        rustix::process::nice(19).map(drop).unwrap_or_default();
    }
}

/// Elsewhere what can be set holds for the whole process.
#[cfg(not(target_os = "linux"))]
fn give_way() {}
