//! The life of a server as one table: `next(state, event)`.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Disconnected,
    Connecting,
    Connected,
    Degraded,
    Error,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnected => "DISCONNECTED",
            Self::Connecting => "CONNECTING",
            Self::Connected => "CONNECTED",
            Self::Degraded => "DEGRADED",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Somebody, or the retry timer, wants the server connected.
    Connect,
    Connected,
    /// The tries are used up.
    ConnectFailed,
    /// A broken pipe, an ended child, a lost stream, or the third missed health check.
    Lost,
    /// The second missed health check in a row.
    MissedTwice,
    Answered,
    Disconnect,
}

/// Where an event leads, or `None` where the table has no such turn.
pub const fn next(state: State, event: Event) -> Option<State> {
    use State::{Connected, Connecting, Degraded, Disconnected, Error};
    match (state, event) {
        (Disconnected | Error, Event::Connect) => Some(Connecting),
        (Connecting, Event::Connected) | (Degraded, Event::Answered) => Some(Connected),
        (Connecting, Event::ConnectFailed) | (Connected | Degraded, Event::Lost) => Some(Error),
        (Connected, Event::MissedTwice) => Some(Degraded),
        // Whatever a server is doing, a person can end it.
        (Connecting | Connected | Degraded | Error, Event::Disconnect) => Some(Disconnected),
        _ => None,
    }
}

/// A state that only the table can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifecycle(State);

impl Default for Lifecycle {
    fn default() -> Self {
        Self(State::Disconnected)
    }
}

impl Lifecycle {
    pub const fn state(self) -> State {
        self.0
    }

    /// Takes the turn and says where it led; `None` leaves everything as it was.
    pub fn apply(&mut self, event: Event) -> Option<State> {
        let to = next(self.0, event)?;
        self.0 = to;
        Some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Connected, Connecting, Degraded, Disconnected, Error};

    #[track_caller]
    fn walk(events: &[Event], expected: State) {
        let mut life = Lifecycle::default();
        for &event in events {
            assert!(life.apply(event).is_some(), "{event:?} in {}", life.state());
        }
        assert_eq!(life.state(), expected);
    }

    #[test]
    fn br_002_a_server_goes_from_disconnected_over_connecting_to_connected_or_error() {
        walk(&[Event::Connect], Connecting);
        walk(&[Event::Connect, Event::Connected], Connected);
        walk(&[Event::Connect, Event::ConnectFailed], Error);
        walk(&[Event::Connect, Event::ConnectFailed, Event::Connect], Connecting);
    }

    #[test]
    fn br_006_two_misses_degrade_three_fail_one_answer_heals() {
        let up = [Event::Connect, Event::Connected];
        walk(&[&up[..], &[Event::MissedTwice]].concat(), Degraded);
        walk(&[&up[..], &[Event::MissedTwice, Event::Answered]].concat(), Connected);
        walk(&[&up[..], &[Event::MissedTwice, Event::Lost]].concat(), Error);
    }

    #[test]
    fn turns_that_the_table_lacks_change_nothing() {
        let mut life = Lifecycle::default();
        for event in [Event::Connected, Event::Lost, Event::MissedTwice, Event::Answered, Event::Disconnect] {
            assert_eq!(life.apply(event), None);
            assert_eq!(life.state(), Disconnected);
        }
    }
}
