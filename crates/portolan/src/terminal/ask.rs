//! Questions to a person at a terminal: yes or no, and what nobody may see.

use crate::Failure;
use crate::shutdown::Signals;
use anyhow::{Context as _, anyhow};
use portolan_model::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal as _, Read as _, Write as _, stderr, stdin};

/// What somebody has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Yes,
    No,
}

/// Asks, and takes everything but a yes for a no. Where nobody can be asked, the command line has to say it.
pub(crate) fn confirm(question: &str) -> Result<Decision, Failure> {
    if !stdin().is_terminal() || !stderr().is_terminal() {
        return Err(Failure::Wrong(anyhow!("{question} Nobody can be asked here: say it with --yes")));
    }
    show(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    stdin().read_line(&mut answer).context("the answer cannot be read")?;
    Ok(if is_yes(&answer) { Decision::Yes } else { Decision::No })
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// The value of a secret: typed unseen at a terminal, or all that a pipe holds, without one line break at its end.
pub(crate) async fn secret(name: &str) -> Result<Secret, Failure> {
    let text = if stdin().is_terminal() {
        unseen(&format!("Value of {name} (it is not shown): ")).await?
    } else {
        let mut text = String::new();
        stdin().read_to_string(&mut text).context("the value cannot be read as text")?;
        text
    };
    let value = without_line_break(&text);
    if value.is_empty() {
        return Err(Failure::Wrong(anyhow!("the value is empty: nothing was set")));
    }
    Ok(Secret::new(value))
}

fn without_line_break(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

/// Reads a line that the terminal does not show. A signal meanwhile gives the terminal its echo back before we end.
async fn unseen(question: &str) -> Result<String, Failure> {
    let mut signals = Signals::new().context("signals cannot be heard")?;
    let _silence = Silence::new()?;
    show(question)?;
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        stdin().read_line(&mut line).map(|_| line)
    });
    let line = tokio::select! {
        line = read => line.context("the value cannot be read")?.context("the value cannot be read")?,
        () = signals.next() => {
            show("\n")?;
            return Err(Failure::Failed(anyhow!("nothing was set")));
        }
    };
    // The line break that was typed is not shown either.
    show("\n")?;
    Ok(line)
}

fn show(text: &str) -> Result<(), Failure> {
    let mut err = stderr().lock();
    let shown = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    Ok(shown.context("nothing can be asked here")?)
}

/// As long as it lives, the terminal does not show what is typed.
struct Silence(Termios);

impl Silence {
    fn new() -> Result<Self, Failure> {
        let before = tcgetattr(stdin()).context("the terminal does not say how it is set")?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Flush, &silent).context("the terminal cannot be silenced")?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // There is nobody to tell if the terminal has gone away.
        tcsetattr(stdin(), OptionalActions::Flush, &self.0).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_break_at_the_end_is_not_part_of_a_value() {
        for (text, expected) in
            [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a\r", "a\r"), ("\n", "")]
        {
            assert_eq!(without_line_break(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        assert!(["y\n", "Yes\r\n", " YES "].iter().all(|answer| is_yes(answer)));
        assert!(["", "\n", "n", "yep", "yes please"].iter().all(|answer| !is_yes(answer)));
    }
}
