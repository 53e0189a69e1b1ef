//! The two eras of MCP, told apart before the first request.

/// How a server is spoken to. Which one it is takes a question to find out, so the verdict is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, requests in both directions.
    Legacy,
    /// From 2026-07-28 on: every request stands for itself.
    Modern,
}

impl Era {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Legacy, Self::Modern].into_iter().find(|era| era.as_str() == text)
    }
}
