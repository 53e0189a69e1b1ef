//! What a conversation with tools comes to: each request carries all that was said before it.

/// The sizes of a conversation, in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// What every request opens with: the tools.
    pub(crate) shown: usize,
    pub(crate) turns: Vec<Turn>,
}

/// A call that the model makes, and what comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) call: usize,
    pub(crate) answer: usize,
}

impl Turn {
    fn size(self) -> usize {
        self.call + self.answer
    }
}

impl Conversation {
    /// Everything once.
    pub(crate) fn distinct(&self) -> usize {
        self.shown + self.turns.iter().map(|turn| turn.size()).sum::<usize>()
    }

    /// What all requests carry: one for each call, and one for the last word after the last answer.
    pub(crate) fn paid(&self) -> usize {
        let mut request = self.shown;
        let mut paid = request;
        for turn in &self.turns {
            request += turn.size();
            paid += request;
        }
        paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shown: usize, turns: &[(usize, usize)], distinct: usize, paid: usize) {
        let turns = turns.iter().map(|&(call, answer)| Turn { call, answer }).collect();
        let conversation = Conversation { shown, turns };
        assert_eq!((conversation.distinct(), conversation.paid()), (distinct, paid), "{conversation:?}");
    }

    #[test]
    fn every_request_carries_what_came_before_it() {
        check(100, &[], 100, 100);
        check(100, &[(3, 7)], 110, 100 + 110);
        check(100, &[(3, 7), (20, 30)], 160, 100 + 110 + 160);
    }
}
