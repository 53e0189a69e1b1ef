//! The way of a tool to its skills as one table: `next(state, event)`.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Classification {
    /// The server lists it, and nobody has looked at it since; also after its definition became another one.
    #[default]
    Discovered,
    Classifying,
    Classified,
    /// It was tried, and did not work or nothing fits. The tool is found and called like any other.
    Unclassified,
}

impl Classification {
    pub const ALL: [Self; 4] = [Self::Discovered, Self::Classifying, Self::Classified, Self::Unclassified];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Discovered => "DISCOVERED",
            Self::Classifying => "CLASSIFYING",
            Self::Classified => "CLASSIFIED",
            Self::Unclassified => "UNCLASSIFIED",
        }
    }

    /// The state of this name.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

impl fmt::Display for Classification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassificationEvent {
    /// Its turn has come: for the first time, for another try, or because somebody wants it done again.
    Begun,
    Succeeded,
    /// The model is away or answers nonsense, or no skill fits.
    Failed,
    /// The process ended in the middle of it.
    Interrupted,
    /// The server has changed the tool's definition.
    Changed,
    /// A person has said what its skills are.
    Assigned,
    /// A person has taken away the last skill that it had.
    Emptied,
}

/// Where an event leads, or `None` where the table has no such turn.
pub const fn next(state: Classification, event: ClassificationEvent) -> Option<Classification> {
    use Classification::{Classified, Classifying, Discovered, Unclassified};
    use ClassificationEvent::{Assigned, Begun, Changed, Emptied, Failed, Interrupted, Succeeded};
    match (state, event) {
        (Discovered | Classified | Unclassified, Begun) => Some(Classifying),
        // Whatever a machine is doing, a person's word holds.
        (Classifying, Succeeded) | (_, Assigned) => Some(Classified),
        (Classifying, Failed) => Some(Unclassified),
        // What is under way is about what the tool was; it is looked at again.
        (Classifying, Interrupted)
        | (Classifying | Classified | Unclassified, Changed)
        | (Classified, Emptied) => Some(Discovered),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Classification::{Classified, Classifying, Discovered, Unclassified};
    use ClassificationEvent::{Assigned, Begun, Changed, Emptied, Failed, Interrupted, Succeeded};

    #[track_caller]
    fn walk(events: &[ClassificationEvent], expected: Classification) {
        let mut state = Classification::default();
        for &event in events {
            let to = next(state, event);
            assert!(to.is_some(), "{event:?} in {state}");
            state = to.unwrap();
        }
        assert_eq!(state, expected);
    }

    #[test]
    fn br_004_a_tool_is_classified_or_stays_unclassified_and_can_be_tried_again() {
        walk(&[Begun], Classifying);
        walk(&[Begun, Succeeded], Classified);
        walk(&[Begun, Failed], Unclassified);
        walk(&[Begun, Failed, Begun, Succeeded], Classified);
        walk(&[Begun, Succeeded, Begun], Classifying);
    }

    #[test]
    fn a_tool_that_changes_and_one_that_was_interrupted_begin_anew() {
        walk(&[Begun, Interrupted], Discovered);
        walk(&[Begun, Changed], Discovered);
        walk(&[Begun, Succeeded, Changed], Discovered);
        walk(&[Begun, Failed, Changed], Discovered);
        walk(&[Begun, Succeeded, Emptied], Discovered);
    }

    #[test]
    fn a_persons_word_holds_in_every_state() {
        for state in Classification::ALL {
            assert_eq!(next(state, Assigned), Some(Classified));
        }
    }

    #[test]
    fn turns_that_the_table_lacks_lead_nowhere() {
        for event in [Succeeded, Failed, Interrupted] {
            for state in [Discovered, Classified, Unclassified] {
                assert_eq!(next(state, event), None, "{event:?} in {state}");
            }
        }
        assert_eq!(next(Classifying, Begun), None);
    }

    #[test]
    fn states_are_read_by_the_names_they_are_written_with() {
        for state in Classification::ALL {
            assert_eq!(Classification::named(state.as_str()), Some(state));
        }
        assert_eq!(Classification::named("classified"), None);
    }
}
