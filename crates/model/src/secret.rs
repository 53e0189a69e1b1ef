//! Text that must never be printed: header values, environment values, arguments.

use std::fmt;

/// A value that may hold a credential. It has no `Display` and no `Serialize`, and its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that puts it on the wire or into a child's environment.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_nothing_of_itself() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
