//! `x-mcp-header`: arguments that a tool wants to see in HTTP headers too, and whether headers and body agree.

mod find;
#[cfg(test)]
mod tests;

use crate::headers;
use crate::json::{self, Members};
use find::{Found, find};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

const ANNOTATION: &str = "x-mcp-header";

/// One argument that is mirrored into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The header's whole name in lower case, as in `mcp-param-region`.
    pub header: String,
    /// The keys that lead to the argument.
    path: Path,
}

/// Arguments that lie in one object share its key.
type Path = Vec<Arc<str>>;

/// Common servers take a hundred headers at most, and the call has others.
const MAX_MIRRORS: usize = 64;

/// Why a tool's annotations are invalid, as the end of a sentence that begins with the tool. A client of Streamable
/// HTTP has to leave such a tool out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMirror {
    #[error("its inputSchema cannot be read for x-mcp-header: {0}")]
    Unreadable(String),
    #[error("its x-mcp-header {header} on `{property}` is no text: it must be the name after `Mcp-Param-`")]
    NotText { header: String, property: String },
    #[error("its x-mcp-header \"\" on `{property}` is empty: it must be the name after `Mcp-Param-`")]
    Empty { property: String },
    #[error(
        "its x-mcp-header {header} on `{property}` is no HTTP token: only letters, digits and !#$%&'*+-.^_`|~ may \
         stand in it"
    )]
    NotToken { header: String, property: String },
    #[error(
        "its x-mcp-header {header} stands on `{first}` and on `{second}`: names of headers differ by more than case"
    )]
    Twice { header: String, first: String, second: String },
    #[error(
        "its x-mcp-header {header} stands on `{property}`, whose type is {kind}: it must be \"string\", \"integer\" or \
         \"boolean\""
    )]
    NotPrimitive { header: String, property: String, kind: String },
    #[error(
        "its x-mcp-header {header} stands on the inputSchema itself: it must stand on one of its properties"
    )]
    OnRoot { header: String },
    #[error(
        "its x-mcp-header {header} stands below `{below}`: nothing but objects and their `properties` may lead to it"
    )]
    Unreachable { header: String, below: String },
    #[error(
        "its x-mcp-header {header} is one too many: servers take no call with more than {MAX_MIRRORS} such headers"
    )]
    TooMany { header: String },
}

/// The mirrored arguments of a tool, by its definition as raw JSON. Most definitions have none and are not parsed. A key
/// that is spelt with escapes is missed by that; no serialiser writes one.
pub fn mirrors(definition: &str) -> Result<Vec<Mirror>, BadMirror> {
    if memchr::memmem::find(definition.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let members = Members::parse(definition).map_err(|e| BadMirror::Unreadable(e.to_string()))?;
    let Some(schema) = members.get("inputSchema") else { return Ok(Vec::new()) };
    // Where a key stands twice the last one counts, as it does in the languages that most servers are written in.
    let schema: Value = serde_json::from_str(schema).map_err(|e| BadMirror::Unreadable(e.to_string()))?;
    let mut walk = Walk::default();
    walk.visit(&schema, None)?;
    let mut mirrors: Vec<Mirror> =
        walk.found.into_iter().map(|(header, path)| Mirror { header, path }).collect();
    // The search in the arguments halves its way through the paths.
    mirrors.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(mirrors)
}

/// The headers for a call with these raw arguments, which are read once for all mirrors; those stand as [`mirrors`]
/// gave them.
pub fn headers<'m>(mirrors: &'m [Mirror], arguments: Option<&str>) -> Vec<(&'m str, String)> {
    if mirrors.is_empty() {
        return Vec::new();
    }
    let mut found = vec![Found::default(); mirrors.len()];
    find(mirrors, arguments, &mut found);
    let values = mirrors.iter().zip(found);
    values.filter_map(|(mirror, found)| Some((mirror.header.as_str(), header(found)?))).collect()
}

/// The first mirror whose header does not agree with the arguments, which are read once for all of them. `header` looks
/// up a header by its name in lower case; one that is given twice is the caller's to refuse.
pub fn disagreeing<'m, 'h>(
    mirrors: &'m [Mirror],
    arguments: Option<&str>,
    header: impl Fn(&str) -> Option<&'h [u8]>,
) -> Option<&'m Mirror> {
    if mirrors.is_empty() {
        return None;
    }
    let mut found = vec![Found::default(); mirrors.len()];
    find(mirrors, arguments, &mut found);
    let mut pairs = mirrors.iter().zip(found);
    pairs.find(|(mirror, found)| !agree(header(&mirror.header), *found)).map(|(mirror, _)| mirror)
}

impl Mirror {
    /// The header's value for a call with these raw arguments, encoded; `None` where the call goes without it.
    pub fn value(&self, arguments: Option<&str>) -> Option<String> {
        header(self.find(arguments))
    }

    /// Whether what came in the header is what stands in the arguments.
    pub fn agrees(&self, header: Option<&[u8]>, arguments: Option<&str>) -> bool {
        agree(header, self.find(arguments))
    }

    fn find<'a>(&self, arguments: Option<&'a str>) -> Found<'a> {
        let mut found = [Found::default()];
        find(std::slice::from_ref(self), arguments, &mut found);
        let [found] = found;
        found
    }
}

fn header(found: Found<'_>) -> Option<String> {
    match found {
        Found::Value(raw) => match text(raw) {
            Text::Is(text) => Some(headers::encode(&text).into_owned()),
            Text::None | Text::Never => None,
        },
        Found::Passed(_) | Found::Unclear => None,
    }
}

fn agree(header: Option<&[u8]>, found: Found<'_>) -> bool {
    let raw = match found {
        Found::Value(raw) => raw,
        Found::Passed(_) => return header.is_none(),
        Found::Unclear => return false,
    };
    let text = match text(raw) {
        Text::Is(text) => text,
        Text::None => return header.is_none(),
        Text::Never => return false,
    };
    header.and_then(headers::decode).is_some_and(|given| given == text || is_same_integer(&given, raw))
}

/// What a header says of an argument.
enum Text<'a> {
    Is(Cow<'a, str>),
    /// Null is as good as absent. Lists and objects have no header either: a call that has one where the schema wants
    /// a primitive is the tool's to refuse, in its own words.
    None,
    /// A number that no two readers need to take for the same one, or text that is no Unicode.
    Never,
}

/// The kind of the argument decides, not that of the schema: models write `"42"` for 42, and header and body may well
/// agree on that.
fn text(raw: &str) -> Text<'_> {
    match raw.as_bytes().first() {
        Some(b'"') => json::text(raw).map_or(Text::Never, Text::Is),
        Some(b't' | b'f') => Text::Is(Cow::Borrowed(raw)),
        Some(b'-' | b'0'..=b'9') => match number(raw) {
            Number::Integer(_) if raw.bytes().skip(1).all(|b| b.is_ascii_digit()) && raw != "-0" => {
                Text::Is(Cow::Borrowed(raw))
            }
            Number::Integer(integer) => Text::Is(Cow::Owned(integer.to_string())),
            Number::Fraction => Text::Is(Cow::Borrowed(raw)),
            Number::Unsafe => Text::Never,
        },
        _ => Text::None,
    }
}

enum Number {
    Integer(i64),
    Fraction,
    Unsafe,
}

/// The largest integer that JavaScript tells from its neighbours.
const MAX_SAFE: u64 = (1 << 53) - 1;

fn number(raw: &str) -> Number {
    let Ok(number) = serde_json::from_str::<serde_json::Number>(raw) else { return Number::Unsafe };
    let integer = match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => integer,
        (None, Some(float)) if float.fract() != 0.0 => return Number::Fraction,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float beyond 64 bits becomes the last one, unsafe too"
        )]
        (None, Some(float)) => float as i64,
        (None, None) => return Number::Unsafe,
    };
    if integer.unsigned_abs() <= MAX_SAFE { Number::Integer(integer) } else { Number::Unsafe }
}

/// Whether a header says the same integer in other digits, as 42.0 for 42. Powers of ten stay out: whoever routes by
/// the header compares texts, or decimals at most.
fn is_same_integer(given: &str, raw: &str) -> bool {
    let is_decimal = given.bytes().all(|b| matches!(b, b'-' | b'.' | b'0'..=b'9'));
    is_decimal && matches!((number(given), number(raw)), (Number::Integer(a), Number::Integer(b)) if a == b)
}

/// The way through a schema: where it stands, and what it has found.
#[derive(Default)]
struct Walk {
    path: Path,
    found: BTreeMap<String, Path>,
}

impl Walk {
    /// Looks at one schema and at those within it. `below` names what broke the chain of `properties`, if anything did.
    fn visit(&mut self, schema: &Value, below: Option<&str>) -> Result<(), BadMirror> {
        let Value::Object(schema) = schema else { return Ok(()) };
        let mut leaf = None;
        if let Some(annotation) = schema.get(ANNOTATION) {
            let header = self.checked(annotation, schema.get("type"), below)?;
            self.found.insert(header, self.path.clone());
            leaf = self.path.last().cloned();
        }
        // What is mirrored is a primitive, which has no properties.
        let below = leaf.as_deref().or(below);
        for (keyword, inner) in schema {
            match (keyword.as_str(), inner) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        self.path.push(name.as_str().into());
                        self.visit(property, below)?;
                        self.path.pop();
                    }
                }
                (
                    "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties",
                    Value::Object(named),
                ) => {
                    named.values().try_for_each(|schema| self.visit(schema, Some(keyword)))?;
                }
                (keyword, Value::Array(schemas)) if holds_schemas(keyword) => {
                    schemas.iter().try_for_each(|schema| self.visit(schema, Some(keyword)))?;
                }
                (keyword, schema) if holds_schemas(keyword) => self.visit(schema, Some(keyword))?,
                // Anything else is data, such as `default`, or nobody's schema.
                _ => {}
            }
        }
        Ok(())
    }

    /// The whole name of the header that an annotation asks for.
    fn checked(
        &self,
        annotation: &Value,
        kind: Option<&Value>,
        below: Option<&str>,
    ) -> Result<String, BadMirror> {
        let header = beginning(&annotation.to_string());
        if let Some(below) = below {
            return Err(BadMirror::Unreachable { header, below: beginning(below) });
        }
        if self.path.is_empty() {
            return Err(BadMirror::OnRoot { header });
        }
        let property = || beginning(&self.path.join("."));
        let Value::String(name) = annotation else {
            return Err(BadMirror::NotText { header, property: property() });
        };
        if name.is_empty() {
            return Err(BadMirror::Empty { property: property() });
        }
        if !name.bytes().all(is_token) {
            return Err(BadMirror::NotToken { header, property: property() });
        }
        if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            let kind = kind.map_or_else(|| "missing".to_owned(), |kind| beginning(&kind.to_string()));
            return Err(BadMirror::NotPrimitive { header, property: property(), kind });
        }
        let name = format!("mcp-param-{}", name.to_ascii_lowercase());
        if let Some(first) = self.found.get(&name) {
            let first = beginning(&first.join("."));
            return Err(BadMirror::Twice { header, first, second: property() });
        }
        if self.found.len() == MAX_MIRRORS {
            return Err(BadMirror::TooMany { header });
        }
        Ok(name)
    }
}

/// The keywords, besides those that name their schemas, under which a schema or a list of them stands.
fn holds_schemas(keyword: &str) -> bool {
    matches!(
        keyword,
        "additionalItems"
            | "additionalProperties"
            | "allOf"
            | "anyOf"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "oneOf"
            | "prefixItems"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties"
    )
}

/// Whether a byte may stand in the name of a header (`tchar` of RFC 9110).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// A server may write anything there, of any length; a sentence needs the beginning of it.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
