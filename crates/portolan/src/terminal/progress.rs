//! A sign of life on stderr, once something takes longer than a second.

use super::screen::{Form, Onto, Screen};
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::time::Duration;

/// What is done sooner needs no sign.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

impl Screen {
    /// Awaits some work, with a sign of life where a person waits for it.
    pub(crate) async fn during<T>(&self, what: impl Into<String>, work: impl Future<Output = T>) -> T {
        if self.form == Form::Json || self.onto == Onto::Elsewhere {
            return work.await;
        }
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
            return done;
        }
        // Where stderr is no terminal, this draws nothing.
        let sign =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(what.into());
        sign.set_style(indicatif::ProgressStyle::default_spinner());
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                done = &mut work => {
                    sign.finish_and_clear();
                    return done;
                }
                _ = tick.tick() => sign.tick(),
            }
        }
    }
}
