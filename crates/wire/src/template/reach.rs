//! The walk over a URI: from the places that one part of a template may have led to, to those after the next.
//!
//! Every step goes over the URI once, from left to right, for all places at the same time. So nothing is ever tried
//! again, and no template can make it slow.

use super::{Modifier, Operator, Unit, Variable};

pub(super) struct Uri(Vec<Unit>);

/// For each place between two units, and for both ends: whether it can be reached.
pub(super) type Reached = Vec<bool>;

impl Uri {
    pub(super) fn new(units: Vec<Unit>) -> Self {
        Self(units)
    }

    pub(super) fn start(&self) -> Reached {
        let mut reached = self.nowhere();
        reached[0] = true;
        reached
    }

    pub(super) fn is_at_end(&self, reached: &Reached) -> bool {
        reached[self.0.len()]
    }

    fn nowhere(&self) -> Reached {
        vec![false; self.0.len() + 1]
    }

    /// Past a text that has to stand there.
    pub(super) fn text(&self, from: &Reached, text: &[Unit]) -> Reached {
        let mut to = self.nowhere();
        for (at, _) in from.iter().enumerate().filter(|(_, is_reached)| **is_reached) {
            if self.0[at..].starts_with(text) {
                to[at + text.len()] = true;
            }
        }
        to
    }

    fn byte(&self, from: &Reached, byte: Option<u8>) -> Reached {
        match byte {
            Some(byte) => self.text(from, &[Unit::Plain(byte)]),
            None => from.clone(),
        }
    }

    /// Past an expression: any of its variables may be undefined, and then stands for nothing at all.
    pub(super) fn expression(&self, from: &Reached, operator: Operator, variables: &[Variable]) -> Reached {
        let first = self.byte(from, operator.first());
        let mut reached = self.nowhere();
        for variable in variables {
            let mut before = self.byte(&reached, Some(operator.separator()));
            join(&mut before, &first);
            join(&mut reached, &self.variable(&before, operator, variable));
        }
        join(&mut reached, from);
        reached
    }

    /// Past a variable that is defined.
    fn variable(&self, from: &Reached, operator: Operator, variable: &Variable) -> Reached {
        let modifier = variable.modifier;
        match (operator.is_named(), modifier) {
            (true, Modifier::Explode) => self.pairs(from, operator),
            (true, Modifier::None | Modifier::Prefix(_)) => {
                let named = self.text(from, &variable.name);
                let mut to = self.value(&self.byte(&named, Some(b'=')), operator, modifier);
                // `{;x}` is `;x` for an empty text.
                if operator == Operator::Parameter {
                    join(&mut to, &named);
                }
                to
            }
            (false, Modifier::Explode) => {
                let mut to = self.value(from, operator, modifier);
                join(&mut to, &self.pairs(from, operator));
                to
            }
            (false, Modifier::None | Modifier::Prefix(_)) => self.value(from, operator, modifier),
        }
    }

    /// Past a value: a text, or a list with what joins it.
    fn value(&self, from: &Reached, operator: Operator, modifier: Modifier) -> Reached {
        let (joint, max) = match modifier {
            Modifier::None => (Some(b','), usize::MAX),
            Modifier::Prefix(max) => (None, max),
            Modifier::Explode => (Some(operator.separator()), usize::MAX),
        };
        let mut to = self.nowhere();
        // The characters since the last place where the value may begin; an earlier one leaves no more room.
        let mut since: Option<usize> = None;
        for (at, is_reached) in from.iter().enumerate() {
            if *is_reached {
                since = Some(0);
            }
            to[at] = since.is_some_and(|characters| characters <= max);
            let Some(unit) = self.0.get(at) else { break };
            let is_taken = operator.keeps_reserved()
                || unit.is_unreserved()
                || joint.is_some_and(|joint| *unit == Unit::Plain(joint));
            since = since.filter(|_| is_taken).map(|n| n + usize::from(unit.is_first_of_character()));
        }
        to
    }

    /// Past `key=value` once or more often.
    fn pairs(&self, from: &Reached, operator: Operator) -> Reached {
        let may_end_in_key = operator == Operator::Parameter;
        let mut to = self.nowhere();
        let (mut before, mut in_key, mut in_value) = (false, false, false);
        for (at, is_reached) in from.iter().enumerate() {
            before |= *is_reached;
            let is_whole = in_value || (in_key && may_end_in_key);
            to[at] = is_whole;
            let Some(unit) = self.0.get(at) else { break };
            let is_taken = operator.keeps_reserved() || unit.is_unreserved();
            let is_separator = *unit == Unit::Plain(operator.separator());
            let is_equals = *unit == Unit::Plain(b'=');
            (before, in_key, in_value) = (
                is_whole && is_separator,
                (before || in_key) && is_taken,
                (in_value && is_taken) || (in_key && is_equals),
            );
        }
        to
    }
}

fn join(to: &mut Reached, more: &Reached) {
    for (to, more) in to.iter_mut().zip(more) {
        *to |= more;
    }
}
