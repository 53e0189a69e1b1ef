//! The revisions of MCP as a table: what each one has.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

impl Revision {
    pub const ALL: [Self; 5] = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];
    /// The newest revision that opens with `initialize`.
    pub const NEWEST_WITH_HANDSHAKE: Self = V2025_11_25;

    pub const fn as_str(self) -> &'static str {
        match self {
            V2024_11_05 => "2024-11-05",
            V2025_03_26 => "2025-03-26",
            V2025_06_18 => "2025-06-18",
            V2025_11_25 => "2025-11-25",
            V2026_07_28 => "2026-07-28",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == text)
    }

    /// What an `initialize` that asks for `text` is answered with: the same where it has a handshake, else the newest
    /// that has.
    pub fn negotiate(text: &str) -> Self {
        Self::parse(text).filter(|r| r.has_handshake()).unwrap_or(Self::NEWEST_WITH_HANDSHAKE)
    }

    /// The place in a table with one column per revision.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// `initialize`, sessions and requests from server to client; without it everything travels in `_meta`.
    pub const fn has_handshake(self) -> bool {
        !matches!(self, V2026_07_28)
    }

    pub const fn has_batches(self) -> bool {
        matches!(self, V2025_03_26)
    }

    /// `outputSchema` and `structuredContent` may be any JSON, not objects only.
    pub const fn has_free_output(self) -> bool {
        matches!(self, V2026_07_28)
    }

    /// `Tool.execution` of the experimental tasks.
    pub const fn has_tool_execution(self) -> bool {
        matches!(self, V2025_11_25)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f25_an_unknown_or_sessionless_revision_is_negotiated_down_to_the_newest_with_a_handshake() {
        assert_eq!(Revision::negotiate("2024-11-05"), V2024_11_05);
        assert_eq!(Revision::negotiate("2026-07-28"), V2025_11_25);
        assert_eq!(Revision::negotiate("1999-01-01"), V2025_11_25);
    }

    #[test]
    fn revisions_are_their_own_inverse_and_ordered_by_age() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
            assert_eq!(Revision::ALL[revision.index()], revision);
        }
        assert!(Revision::ALL.is_sorted());
    }
}
