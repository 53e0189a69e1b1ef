//! What Python prints of lists and dictionaries, as JSON: servers answer `str(rows)` more often than one would think.

use serde_json::Value;

/// Reads a printed list or dictionary of plain values; anything else, such as a call, is none.
pub(super) fn read(text: &str) -> Option<Value> {
    let begins = ["[{", "{'", "['", "[(", "[\""];
    if !begins.iter().any(|begin| text.starts_with(begin)) {
        return None;
    }
    let mut json = String::with_capacity(text.len() + text.len() / 8);
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '\'' | '"' => json.push_str(&string(c, &mut characters)?),
            '(' => json.push('['),
            ')' | ']' | '}' => close(&mut json, c),
            _ if c.is_ascii_alphabetic() => {
                let rest = &text[at..];
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                json.push_str(word(&rest[..length])?);
                for _ in 1..length {
                    characters.next();
                }
            }
            _ => json.push(c),
        }
    }
    serde_json::from_str(&json).ok()
}

/// A bracket closes after a comma in Python, and never in JSON.
fn close(json: &mut String, bracket: char) {
    let kept = json.trim_end().trim_end_matches(',').len();
    json.truncate(kept);
    json.push(if bracket == ')' { ']' } else { bracket });
}

fn word(word: &str) -> Option<&'static str> {
    match word {
        "None" => Some("null"),
        "True" => Some("true"),
        "False" => Some("false"),
        _ => None,
    }
}

/// The rest of a string that `quote` opened, as a JSON string.
fn string(quote: char, rest: &mut impl Iterator<Item = (usize, char)>) -> Option<String> {
    let mut plain = String::new();
    while let Some((_, c)) = rest.next() {
        match c {
            '\\' => plain.push(escape(rest)?),
            _ if c == quote => return serde_json::to_string(&plain).ok(),
            _ => plain.push(c),
        }
    }
    None
}

fn escape(rest: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let (_, c) = rest.next()?;
    let digits = match c {
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Some(c),
    };
    let hex: String = rest.take(digits).map(|(_, digit)| digit).collect();
    char::from_u32(u32::from_str_radix(&hex, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expected: Option<&Value>) {
        assert_eq!(read(text).as_ref(), expected, "{text}");
    }

    #[test]
    fn rows_are_read_as_python_prints_them() {
        check("[{'name': 'users'}, {'name': \"it's\"}]", Some(&json!([{"name": "users"}, {"name": "it's"}])));
        check("[{'a': None, 'b': True, 'c': 1.5}]", Some(&json!([{"a": null, "b": true, "c": 1.5}])));
        check("[('a', 1), ('b',)]", Some(&json!([["a", 1], ["b"]])));
        check("['a\\n\\'b\\x41\\u00e9']", Some(&json!(["a\n'bAé"])));
    }

    #[test]
    fn what_is_not_plain_is_left_as_text() {
        for text in ["[{'a': Decimal('1')}]", "['open", "[link](x)", "{x}", "['\\x4", "['\\ud800']"] {
            check(text, None);
        }
    }
}
