//! A tool's definition as far as asking it goes: its words, its hints, and what its arguments accept.

use portolan_model::Tool;
use portolan_search::spaced;
use serde_json::Value;

/// A definition beyond this is not looked at: no tool needs as much to say what it takes.
pub(super) const MOST_BYTES: usize = 64 << 10;
/// And one with more arguments than this is nothing that a question could fill.
const MOST_ARGUMENTS: usize = 64;
/// What descriptions say beyond this is not about what their tool or argument is.
const TOOL_TEXT: usize = 2000;
const ARGUMENT_TEXT: usize = 500;

/// What kind of value an argument takes, as far as a query can give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    Text,
    /// A list of texts.
    Texts,
    Number,
    Other,
}

#[derive(Debug, Clone)]
pub(super) struct Argument {
    pub(super) name: String,
    /// Of its name, in lower case.
    pub(super) words: Vec<String>,
    /// In lower case.
    pub(super) description: String,
    pub(super) accepts: Accepts,
    pub(super) is_required: bool,
    /// An enum's values.
    pub(super) choices: Vec<Value>,
    pub(super) constant: Option<Value>,
    pub(super) default: Option<Value>,
    pub(super) format: Option<String>,
    /// Whether a regular expression says what it has to look like.
    pub(super) is_patterned: bool,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
    pub(super) most_characters: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: String,
    /// Of its name, in lower case.
    pub(super) words: Vec<String>,
    /// Its title and description in lower case.
    pub(super) description: String,
    pub(super) read_only: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) arguments: Vec<Argument>,
}

impl Definition {
    /// Nothing where the definition cannot be understood; such a tool is not asked.
    pub(super) fn read(tool: &Tool) -> Option<Self> {
        let text = tool.definition.get();
        if text.len() > MOST_BYTES {
            return None;
        }
        let definition: Value = serde_json::from_str(text).ok()?;
        let hint = |name: &str| definition.get("annotations")?.get(name)?.as_bool();
        let text = |name: &str| definition.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            words: words(&tool.name),
            name: tool.name.to_string(),
            description: begin(&format!("{}. {}", text("title"), text("description")), TOOL_TEXT),
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            arguments: arguments(definition.get("inputSchema")?)?,
        })
    }

    pub(super) fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether its name has one of these words.
    pub(super) fn has_word(&self, wanted: &str) -> bool {
        self.words.iter().any(|word| among(wanted, word))
    }
}

/// The words of a name in lower case: `createIssue` and `create-issue` have the same.
pub(super) fn words(name: &str) -> Vec<String> {
    spaced(name).split_whitespace().map(str::to_lowercase).collect()
}

/// Whether `text`, which is in lower case, says one of these as a word of its own.
pub(super) fn says(text: &str, wanted: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| !word.is_empty() && among(wanted, word))
}

/// Whether a word is one of these, which stand with spaces between them.
pub(super) fn among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|one| one == word)
}

/// The beginning of a text, in lower case.
fn begin(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_lowercase()
}

fn arguments(schema: &Value) -> Option<Vec<Argument>> {
    let schema = schema.as_object()?;
    // What has to be there then depends on what else is.
    if ["anyOf", "oneOf", "allOf", "if", "$ref", "not"].iter().any(|key| schema.contains_key(*key)) {
        return None;
    }
    let required: Vec<&str> = match schema.get("required") {
        None => Vec::new(),
        Some(names) => names.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    if required.len().max(properties.map_or(0, serde_json::Map::len)) > MOST_ARGUMENTS {
        return None;
    }
    let known = properties.into_iter().flatten();
    let mut arguments: Vec<Argument> =
        known.map(|(name, about)| argument(name, about, required.contains(&name.as_str()))).collect();
    for name in required {
        if !arguments.iter().any(|argument| argument.name == name) {
            arguments.push(argument(name, &Value::Null, true));
        }
    }
    Some(arguments)
}

fn argument(name: &str, about: &Value, is_required: bool) -> Argument {
    let inner = without_null(about);
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| inner.get(key).and_then(Value::as_f64);
    let choices = inner.get("enum").and_then(Value::as_array).cloned();
    let length = inner.get("maxLength").and_then(Value::as_u64);
    Argument {
        words: words(name),
        name: name.to_owned(),
        description: begin(&text(about, "description").unwrap_or_default(), ARGUMENT_TEXT),
        accepts: accepts(inner),
        is_required,
        choices: choices.unwrap_or_default(),
        constant: inner.get("const").cloned(),
        default: about.get("default").or_else(|| inner.get("default")).cloned(),
        format: text(inner, "format"),
        is_patterned: inner.get("pattern").is_some(),
        least: number("minimum").or_else(|| number("exclusiveMinimum").map(|least| least + 1.0)),
        most: number("maximum").or_else(|| number("exclusiveMaximum").map(|most| most - 1.0)),
        most_characters: length.and_then(|length| usize::try_from(length).ok()),
    }
}

/// `anyOf` a string and null is how generators say that a string may be left out.
fn without_null(about: &Value) -> &Value {
    let either = about.get("anyOf").or_else(|| about.get("oneOf")).and_then(Value::as_array);
    let is_null = |value: &&Value| value.get("type").and_then(Value::as_str) == Some("null");
    match either.map(|either| either.iter().filter(|value| !is_null(value)).collect::<Vec<_>>()).as_deref() {
        Some([only]) => only,
        Some(_) | None => about,
    }
}

fn accepts(about: &Value) -> Accepts {
    match kind(about) {
        Some("string") => Accepts::Text,
        Some("integer" | "number") => Accepts::Number,
        Some("array") => match about.get("items") {
            Some(items) if kind(items) == Some("string") && items.get("enum").is_none() => Accepts::Texts,
            Some(_) | None => Accepts::Other,
        },
        Some(_) | None => Accepts::Other,
    }
}

/// The one type beside null.
fn kind(about: &Value) -> Option<&str> {
    match about.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let kinds: Vec<&str> =
                kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
            match kinds.as_slice() {
                [only] => Some(only),
                _ => None,
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
