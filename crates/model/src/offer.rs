//! What one server offers, as its discovery found it.

use serde_json::value::RawValue;
use std::sync::Arc;

/// The four lists that a server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The method that lists it.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that holds the list.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of a definition by which it is asked for.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// The capability under which a server declares it.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// One of it, in words for people.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }

    /// Whether it is asked for by a name that tells its server, and not by an address that the server made.
    pub const fn is_named(self) -> bool {
        matches!(self, Self::Tools | Self::Prompts)
    }

    /// The place in a table with one column per kind.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Some of the four kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u8);

impl Kinds {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(0b1111);

    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind.index())
    }

    #[must_use]
    pub const fn without(self, kind: Kind) -> Self {
        Self(self.0 & !(1 << kind.index()))
    }

    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind.index()) != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that it holds, in the order of `Kind::ALL`.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    pub const fn bits(self) -> u8 {
        self.0
    }

    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }
}

/// A tool as its server defined it. `definition` keeps the server's own bytes.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: Box<str>,
    pub definition: Box<RawValue>,
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.definition.get() == other.definition.get()
    }
}

/// A prompt, resource or template as its server defined it, under the key by which it is asked for.
#[derive(Debug, Clone)]
pub struct Item {
    pub key: Box<str>,
    pub definition: Box<RawValue>,
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.definition.get() == other.definition.get()
    }
}

/// Something that is not offered, and why, so that people can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub kind: Kind,
    /// The name, or whatever else it is asked for by.
    pub tool: String,
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// In the server's own order.
    pub tools: Vec<Arc<Tool>>,
    pub prompts: Vec<Arc<Item>>,
    pub resources: Vec<Arc<Item>>,
    pub templates: Vec<Arc<Item>>,
    pub left_out: Vec<LeftOut>,
    /// The kinds whose listing was cut short (an endless or repeated cursor, or the cap).
    pub partial: Kinds,
    /// The Portolan instances that this server leads to, itself included; empty for any other program.
    pub instances: Vec<String>,
    pub manner: Manner,
}

/// One thing that is offered, of whichever kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    pub key: &'a str,
    /// The server's own bytes.
    pub definition: &'a str,
}

impl Offer {
    /// Everything of a kind, in the server's own order.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = Piece<'_>> + Clone {
        (0..self.len(kind)).filter_map(move |at| self.piece(kind, at))
    }

    /// What stands at a place of the server's own list.
    pub fn piece(&self, kind: Kind, at: usize) -> Option<Piece<'_>> {
        match kind {
            Kind::Tools => {
                let tool = self.tools.get(at)?;
                Some(Piece { key: &tool.name, definition: tool.definition.get() })
            }
            Kind::Prompts | Kind::Resources | Kind::Templates => {
                let item = self.items(kind).get(at)?;
                Some(Piece { key: &item.key, definition: item.definition.get() })
            }
        }
    }

    /// The prompts, resources or templates; tools have a list of their own.
    pub fn items(&self, kind: Kind) -> &[Arc<Item>] {
        match kind {
            Kind::Tools => &[],
            Kind::Prompts => &self.prompts,
            Kind::Resources => &self.resources,
            Kind::Templates => &self.templates,
        }
    }

    pub fn len(&self, kind: Kind) -> usize {
        if kind == Kind::Tools { self.tools.len() } else { self.items(kind).len() }
    }

    /// The kinds of which there is anything.
    pub fn kinds(&self) -> Kinds {
        Kind::ALL.into_iter().filter(|kind| self.len(*kind) > 0).fold(Kinds::NONE, Kinds::with)
    }

    /// Has the lists of some kinds from another offer, and whatever is known of them.
    pub fn take_over(&mut self, kinds: Kinds, other: &Self) {
        for kind in kinds.iter() {
            match kind {
                Kind::Tools => self.tools.clone_from(&other.tools),
                Kind::Prompts => self.prompts.clone_from(&other.prompts),
                Kind::Resources => self.resources.clone_from(&other.resources),
                Kind::Templates => self.templates.clone_from(&other.templates),
            }
            self.left_out.retain(|left_out| left_out.kind != kind);
            self.left_out.extend(other.left_out.iter().filter(|left_out| left_out.kind == kind).cloned());
            self.partial =
                if other.partial.has(kind) { self.partial.with(kind) } else { self.partial.without(kind) };
        }
        if kinds.is_empty() {
            return;
        }
        for instance in &other.instances {
            if !self.instances.contains(instance) {
                self.instances.push(instance.clone());
            }
        }
    }

    /// The kinds whose lists differ from those of another offer.
    pub fn differing(&self, other: &Self) -> Kinds {
        let differs = |kind: &Kind| !self.of(*kind).eq(other.of(*kind));
        Kind::ALL.into_iter().filter(differs).fold(Kinds::NONE, Kinds::with)
    }
}

/// What a server said of itself when it was met.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Its capabilities as it wrote them, an object.
    pub capabilities: Option<Arc<RawValue>>,
    pub instructions: Option<Arc<str>>,
}

impl PartialEq for Manner {
    fn eq(&self, other: &Self) -> bool {
        let text = |manner: &Self| manner.capabilities.as_ref().map(|raw| raw.get().to_owned());
        self.instructions == other.instructions && text(self) == text(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn item(key: &str, definition: &str) -> Arc<Item> {
        Arc::new(Item { key: key.into(), definition: raw(definition) })
    }

    #[test]
    fn offers_differ_in_the_kinds_whose_bytes_or_order_do() {
        let tool = Arc::new(Tool { name: "t".into(), definition: raw(r#"{"name":"t"}"#) });
        let prompts = vec![item("a", r#"{"name":"a"}"#), item("b", r#"{"name":"b"}"#)];
        let one = Offer { tools: vec![tool], prompts: prompts.clone(), ..Offer::default() };
        assert!(one.differing(&one.clone()).is_empty());
        let turned = Offer { prompts: prompts.into_iter().rev().collect(), ..one.clone() };
        assert_eq!(one.differing(&turned), Kinds::NONE.with(Kind::Prompts));
        let reworded = Arc::new(Tool { name: "t".into(), definition: raw(r#"{"name": "t"}"#) });
        let other = Offer { tools: vec![reworded], templates: vec![item("x", "{}")], ..one.clone() };
        assert_eq!(one.differing(&other), Kinds::NONE.with(Kind::Tools).with(Kind::Templates));
        assert_eq!(other.kinds().iter().collect::<Vec<_>>(), [Kind::Tools, Kind::Prompts, Kind::Templates]);
    }

    #[test]
    fn the_pieces_of_a_kind_are_that_kinds_alone_and_in_order() {
        let offer = Offer { resources: vec![item("b", "1"), item("a", "2")], ..Offer::default() };
        let keys: Vec<&str> = offer.of(Kind::Resources).map(|piece| piece.key).collect();
        assert_eq!(keys, ["b", "a"]);
        assert_eq!(offer.of(Kind::Tools).count() + offer.of(Kind::Templates).count(), 0);
        assert_eq!(offer.len(Kind::Resources), 2);
    }

    #[test]
    fn kinds_are_taken_over_with_what_is_known_of_them_and_the_others_stay() {
        let left_out = |kind, tool: &str| LeftOut { kind, tool: tool.to_owned(), reason: "r".to_owned() };
        let old = Offer {
            prompts: vec![item("old", "1")],
            resources: vec![item("old", "1")],
            left_out: vec![left_out(Kind::Prompts, "old"), left_out(Kind::Resources, "old")],
            partial: Kinds::NONE.with(Kind::Prompts).with(Kind::Resources),
            instances: vec!["i".to_owned()],
            ..Offer::default()
        };
        let new = Offer {
            prompts: vec![item("new", "2")],
            left_out: vec![left_out(Kind::Prompts, "new")],
            ..Offer::default()
        };
        let mut both = new.clone();
        both.take_over(Kinds::ALL.without(Kind::Prompts), &old);
        assert_eq!((&both.prompts, &both.resources), (&new.prompts, &old.resources));
        assert_eq!(both.left_out, [left_out(Kind::Prompts, "new"), left_out(Kind::Resources, "old")]);
        assert_eq!(both.partial, Kinds::NONE.with(Kind::Resources));
        assert_eq!(both.instances, ["i"], "a list that was not had again may still lead there");
        let mut none = new.clone();
        none.take_over(Kinds::NONE, &old);
        assert_eq!(none, new);
    }
}
