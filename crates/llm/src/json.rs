//! Reading JSON that a model wrote: strict about what it says, lenient about what stands around it.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::LlmError;
use crate::excerpt::excerpt;

/// What is longer is no answer to anything that is asked here.
const MAX_TEXT: usize = 1024 * 1024;

/// Each `{` is tried as a beginning; a text with more of them than this before the first object is a wall of braces.
const MAX_BEGINNINGS: usize = 64;

/// How models that think aloud mark it; what they think may hold objects, too.
const THOUGHTS: (&str, &str) = ("<think>", "</think>");

/// The one JSON object in an answer, read as `T`. Code fences and words around it do no harm; a second object does, since
/// nobody can say which is meant. A type with `#[serde(deny_unknown_fields)]` refuses what it does not know.
pub fn read<T: DeserializeOwned>(answer: &str) -> Result<T, LlmError> {
    let object = object(answer)?;
    let mut reader = serde_json::Deserializer::from_str(object);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| garbage(error.to_string(), answer))
}

/// The text of the one JSON object in an answer.
pub fn object(answer: &str) -> Result<&str, LlmError> {
    if answer.len() > MAX_TEXT {
        return Err(LlmError::TooLarge { limit: MAX_TEXT });
    }
    let mut rest = thoughtless(answer);
    let mut found: Option<&str> = None;
    let mut beginnings = 0;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        match first_value(rest) {
            Some(object) => {
                if found.replace(object).is_some() {
                    return Err(garbage("it holds more than one JSON object", answer));
                }
                rest = &rest[object.len()..];
            }
            None => {
                beginnings += 1;
                if beginnings > MAX_BEGINNINGS {
                    break;
                }
                rest = &rest[1..];
            }
        }
    }
    found.ok_or_else(|| garbage("it holds no JSON object", answer))
}

/// The JSON that a text begins with.
fn first_value(text: &str) -> Option<&str> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    values.next()?.ok().map(RawValue::get)
}

/// What follows the thoughts, if there are any.
fn thoughtless(answer: &str) -> &str {
    let (open, close) = THOUGHTS;
    match answer.trim_start().strip_prefix(open).and_then(|thoughts| thoughts.split_once(close)) {
        Some((_, said)) => said,
        None => answer,
    }
}

fn garbage(reason: impl Into<String>, answer: &str) -> LlmError {
    LlmError::Garbage { reason: reason.into(), excerpt: excerpt(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Lenient {
        id: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        items: Vec<Lenient>,
    }

    #[track_caller]
    fn check(answer: &str) {
        assert_eq!(read::<Lenient>(answer).unwrap(), Lenient { id: 7 }, "{answer}");
    }

    #[track_caller]
    fn check_garbage<T: DeserializeOwned + std::fmt::Debug>(answer: &str, expected: &str) {
        match read::<T>(answer) {
            Err(LlmError::Garbage { reason, excerpt }) => {
                assert!(reason.contains(expected), "{reason}");
                assert!(!excerpt.is_empty() || answer.is_empty());
            }
            other => panic!("{other:?} for {answer}"),
        }
    }

    #[test]
    fn what_stands_around_the_object_does_no_harm() {
        check(r#"{"id":7}"#);
        check("```json\n{\"id\": 7}\n```");
        check("```\n{\"id\": 7}\n```\nI hope this helps {smile}!");
        check(r#"Sure! For {you} it is: {"id": 7, "why": "a } in { a string, and a \" too"}"#);
        check(r#"<think>maybe {"id": 8}?</think>{"id": 7}"#);
        check("\u{feff}\n{\"id\":7}");
    }

    #[test]
    fn f60_what_is_no_single_object_is_garbage_with_an_excerpt() {
        check_garbage::<Lenient>("", "no JSON object");
        check_garbage::<Lenient>("I cannot do that.", "no JSON object");
        check_garbage::<Lenient>(r#"{"id": 7"#, "no JSON object");
        check_garbage::<Lenient>("[7]", "no JSON object");
        check_garbage::<Lenient>(r#"{"id":7} or {"id":8}"#, "more than one");
        check_garbage::<Lenient>(&"{".repeat(100_000), "no JSON object");
        check_garbage::<Lenient>(&r#"{"a":"#.repeat(100_000), "no JSON object");
    }

    #[test]
    fn f60_an_object_of_another_shape_is_garbage_with_its_place() {
        check_garbage::<Lenient>(r#"{"id":"seven"}"#, "id: invalid type: string");
        check_garbage::<Lenient>(r#"{"id":7,"id":8}"#, "duplicate field");
        check_garbage::<Strict>(r#"{"items":[{"id":1},{"id":-1}]}"#, "items[1].id");
        check_garbage::<Strict>(r#"{"items":[],"more":1}"#, "unknown field `more`");
    }

    #[test]
    fn a_text_beyond_all_measure_is_not_looked_at() {
        let limit = MAX_TEXT;
        assert_eq!(read::<Lenient>(&" ".repeat(limit + 1)), Err(LlmError::TooLarge { limit }));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(answer in "[{}\\[\\]\":,a1 \\\\<>]{0,60}") {
            if let Ok(object) = object(&answer) {
                prop_assert!(serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(object).is_ok());
            }
        }
    }
}
