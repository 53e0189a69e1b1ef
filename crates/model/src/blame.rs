//! Whose fault an error was: that decides its code, its status and whether a retry can help.

/// The party that has to act for the next try to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The request was wrong; sending it again changes nothing.
    Caller,
    /// The server behind failed, is away or answered nonsense.
    Upstream,
    /// Portolan itself refused: a limit, or it is shutting down.
    Gateway,
}
