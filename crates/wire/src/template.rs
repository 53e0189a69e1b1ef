//! URI templates (RFC 6570) read backwards: whether a URI could have come from one.

mod reach;
#[cfg(test)]
mod tests;

use reach::Uri;

/// A server names the template and a client the URI. One match takes at most the length of the one times the length of
/// the other, whatever they look like, so both are bounded: real ones have a tenth of it.
const MAX_TEMPLATE: usize = 1024;
const MAX_VARIABLES: usize = 32;
const MAX_URI: usize = 4096;

/// A template of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    /// What every URI of the template begins with, as far as that shows byte by byte.
    head: String,
    specificity: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Vec<Unit>),
    Expression(Operator, Vec<Variable>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: Vec<Unit>,
    modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    /// `{var:3}`: so many characters at most, and never a list.
    Prefix(usize),
    /// `{list*}`: each member by itself.
    Explode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

/// How much a simple `{var}` may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Strict,
    Loose,
}

impl Template {
    /// Reads a template; `None` for one that breaks the grammar or our limits. Names of variables are taken more freely
    /// than the grammar has them: servers write hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TEMPLATE {
            return None;
        }
        let mut template = Self { parts: Vec::new(), head: String::new(), specificity: 0 };
        let (mut rest, mut variables) = (text, 0);
        while !rest.is_empty() {
            let (literal, expression) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
            template.push_literal(literal);
            if expression.is_empty() {
                break;
            }
            let (expression, after) = expression.strip_prefix('{')?.split_once('}')?;
            let (operator, list) = Operator::parse(expression);
            let list = list.split(',').map(Variable::parse).collect::<Option<Vec<_>>>()?;
            variables += list.len();
            template.parts.push(Part::Expression(operator, list));
            rest = after;
        }
        (variables <= MAX_VARIABLES).then_some(template)
    }

    fn push_literal(&mut self, literal: &str) {
        if literal.is_empty() {
            return;
        }
        if self.parts.is_empty() {
            let plain = literal.bytes().take_while(|b| matches!(Unit::of(*b), Unit::Plain(_))).count();
            self.head.push_str(&literal[..plain]);
        }
        self.specificity += literal.len();
        self.parts.push(Part::Literal(units(literal)));
    }

    /// Whether the URI is what the template expands to for some values.
    ///
    /// Where an expansion would have encoded a character, the character itself is taken as well: people write `é` for
    /// `%C3%A9`. The order of variables is the template's, as it is in every expansion.
    pub fn matches(&self, uri: &str) -> bool {
        self.fits(uri, Reading::Strict)
    }

    /// Whether the URI is one that the template's author may have had in mind: as [`Self::matches`], but `{path}`
    /// stands for slashes and the like too, as `{+path}` does. MCP's own example for files is `file:///{path}`. This is
    /// for a URI that no template matches.
    pub fn matches_loosely(&self, uri: &str) -> bool {
        self.fits(uri, Reading::Loose)
    }

    /// How many bytes of the template stand for themselves. Of several templates that match, the one with the most says
    /// the most about the URI.
    pub fn specificity(&self) -> usize {
        self.specificity
    }

    fn fits(&self, uri: &str, reading: Reading) -> bool {
        // Most templates are told apart here, before anything is copied.
        if uri.len() > MAX_URI || !uri.starts_with(&self.head) {
            return false;
        }
        let uri = Uri::new(units(uri));
        let mut reached = uri.start();
        for part in &self.parts {
            reached = match part {
                Part::Literal(literal) => uri.text(&reached, literal),
                Part::Expression(operator, variables) => {
                    uri.expression(&reached, operator.read(reading), variables)
                }
            };
            if !reached.contains(&true) {
                return false;
            }
        }
        uri.is_at_end(&reached)
    }
}

impl Operator {
    /// Cuts the operator off an expression.
    fn parse(expression: &str) -> (Self, &str) {
        let operator = match expression.bytes().next() {
            Some(b'+') => Self::Reserved,
            Some(b'#') => Self::Fragment,
            Some(b'.') => Self::Label,
            Some(b'/') => Self::Path,
            Some(b';') => Self::Parameter,
            Some(b'?') => Self::Query,
            Some(b'&') => Self::Continuation,
            _ => return (Self::Simple, expression),
        };
        (operator, &expression[1..])
    }

    fn read(self, reading: Reading) -> Self {
        match reading {
            Reading::Loose if self == Self::Simple => Self::Reserved,
            Reading::Loose | Reading::Strict => self,
        }
    }

    /// What stands before the first value.
    const fn first(self) -> Option<u8> {
        match self {
            Self::Simple | Self::Reserved => None,
            Self::Fragment => Some(b'#'),
            Self::Label => Some(b'.'),
            Self::Path => Some(b'/'),
            Self::Parameter => Some(b';'),
            Self::Query => Some(b'?'),
            Self::Continuation => Some(b'&'),
        }
    }

    /// What stands between two values.
    const fn separator(self) -> u8 {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => b',',
            Self::Label => b'.',
            Self::Path => b'/',
            Self::Parameter => b';',
            Self::Query | Self::Continuation => b'&',
        }
    }

    /// Whether a value comes with the name of its variable.
    const fn is_named(self) -> bool {
        match self {
            Self::Parameter | Self::Query | Self::Continuation => true,
            Self::Simple | Self::Reserved | Self::Fragment | Self::Label | Self::Path => false,
        }
    }

    /// Whether a value keeps what has a meaning in URIs, as the slash has.
    const fn keeps_reserved(self) -> bool {
        match self {
            Self::Reserved | Self::Fragment => true,
            Self::Simple | Self::Label | Self::Path | Self::Parameter | Self::Query | Self::Continuation => {
                false
            }
        }
    }
}

impl Variable {
    fn parse(text: &str) -> Option<Self> {
        let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
            (name, Modifier::Explode)
        } else if let Some((name, max)) = text.split_once(':') {
            let is_count = (1..=4).contains(&max.len()) && max.bytes().all(|b| b.is_ascii_digit());
            let max = if is_count && !max.starts_with('0') { max.parse().ok()? } else { return None };
            (name, Modifier::Prefix(max))
        } else {
            (text, Modifier::None)
        };
        let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'%');
        (!name.is_empty() && name.bytes().all(is_name)).then(|| Self { name: units(name), modifier })
    }
}

/// A byte of a URI: one that stands for itself, or one that is written, or ought to be, as `%` and two digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Plain(u8),
    Encoded(u8),
}

impl Unit {
    /// The unit that an expansion makes of a byte.
    const fn of(byte: u8) -> Self {
        match byte {
            b'!' | b'#' | b'$' | b'&'..=b';' | b'=' | b'?'..=b'[' | b']' | b'_' | b'a'..=b'z' | b'~' => {
                Self::Plain(byte)
            }
            _ => Self::Encoded(byte),
        }
    }

    const fn is_unreserved(self) -> bool {
        match self {
            Self::Plain(byte) => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'),
            Self::Encoded(_) => true,
        }
    }

    /// Whether a character begins here: in UTF-8 all bytes but the first have one form.
    const fn is_first_of_character(self) -> bool {
        !matches!(self, Self::Encoded(0x80..=0xbf))
    }
}

fn units(text: &str) -> Vec<Unit> {
    let digit =
        |byte: Option<&u8>| byte.and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let bytes = text.as_bytes();
    let mut units = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                units.push(Unit::Encoded(high << 4 | low));
                at += 3;
            }
            _ => {
                units.push(Unit::of(byte));
                at += 1;
            }
        }
    }
    units
}
