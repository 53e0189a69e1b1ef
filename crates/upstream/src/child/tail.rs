//! The last words of a child: the end of its standard error, kept for error messages.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;

/// Enough for a stack trace; a child that floods costs no more than this.
const KEPT: usize = 64 * 1024;
/// What of it is shown in an error.
const SHOWN_LINES: usize = 8;
const SHOWN_CHARS: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    /// Drains a child's standard error until it ends, so that the child never blocks on it.
    pub(crate) async fn drain(&self, mut stderr: ChildStderr, server: &str) {
        let mut chunk = vec![0; 8 * 1024];
        while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
            self.add(&chunk[..count]);
            if tracing::enabled!(tracing::Level::DEBUG) {
                for line in String::from_utf8_lossy(&chunk[..count]).lines() {
                    tracing::debug!(server, "stderr: {line}");
                }
            }
        }
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let over = (kept.len() + bytes.len()).saturating_sub(KEPT);
        kept.drain(..over);
        kept.extend(bytes);
    }

    /// The last lines, for an error message; empty if the child said nothing.
    pub(crate) fn last_words(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
        let skip = shown.chars().count().saturating_sub(SHOWN_CHARS);
        shown.chars().skip(skip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f12_only_the_end_is_kept_and_only_the_last_lines_are_shown() {
        let tail = Tail::default();
        for n in 0..100_000 {
            tail.add(format!("line {n}\n").as_bytes());
        }
        assert!(tail.0.lock().unwrap().len() <= KEPT);
        let words = tail.last_words();
        assert!(words.ends_with("line 99999"), "{words}");
        assert_eq!(words.lines().count(), SHOWN_LINES);
    }
}
