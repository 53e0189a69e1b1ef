//! Multi-round-trip results: what a server of 2026-07-28 wants to know before it goes on.

use crate::envelope::Malformed;
use crate::json::{self, Members};
use std::borrow::Cow;

/// A result that is a question.
#[derive(Debug)]
pub struct InputRequired<'a> {
    pub requests: Vec<InputRequest<'a>>,
    /// The server's own note to itself, as raw JSON.
    pub state: Option<&'a str>,
}

#[derive(Debug)]
pub struct InputRequest<'a> {
    /// By this the server will know the answer.
    pub key: String,
    pub method: Cow<'a, str>,
    pub params: Option<&'a str>,
}

/// Reads a result that asks for input; `None` for any other.
pub fn input_required(result: &str) -> Option<Result<InputRequired<'_>, Malformed>> {
    // Nearly all results are answers: those are told by a look at their bytes.
    memchr::memmem::find(result.as_bytes(), br#""input_required""#)?;
    let members = Members::parse(result).ok()?;
    (members.get("resultType") == Some(r#""input_required""#)).then(|| read(&members))
}

fn read<'a>(members: &Members<'a>) -> Result<InputRequired<'a>, Malformed> {
    let mut requests = Vec::new();
    if let Some(raw) = members.get("inputRequests") {
        for (key, value) in Members::parse(raw)?.iter() {
            let request = Members::parse(value)?;
            let method = request.get("method").and_then(json::text);
            let method = method.ok_or(Malformed::NotJsonRpc("an input request needs a `method`"))?;
            requests.push(InputRequest { key: key.to_owned(), method, params: request.get("params") });
        }
    }
    Ok(InputRequired { requests, state: members.get("requestState") })
}

/// Writes such a result: requests as `(key, method, raw params)`, the state as a text where there is one.
pub fn write<'r>(
    requests: impl Iterator<Item = (&'r str, &'r str, Option<&'r str>)>,
    state: Option<&str>,
) -> Vec<u8> {
    let mut out = br#"{"resultType":"input_required","inputRequests":{"#.to_vec();
    for (key, method, params) in requests {
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        json::write_text(key, &mut out);
        out.extend_from_slice(br#":{"method":"#);
        json::write_text(method, &mut out);
        if let Some(params) = params {
            out.extend_from_slice(br#","params":"#);
            out.extend_from_slice(params.as_bytes());
        }
        out.push(b'}');
    }
    out.push(b'}');
    if let Some(state) = state {
        out.extend_from_slice(br#","requestState":"#);
        json::write_text(state, &mut out);
    }
    out.push(b'}');
    out
}

/// Before 2026-07-28 a server that wants a page opened first says so by this error.
const PAGE_FIRST: i64 = -32042;

/// That error as a result that asks for input: a client that comes back with the answer sends the request anew, which is
/// what the error asks for. `None` for any other error.
pub fn pages_first(error: &str) -> Option<Vec<u8>> {
    if crate::answer::error_code(error) != Some(PAGE_FIRST) {
        return None;
    }
    let data = Members::parse(Members::parse(error).ok()?.get("data")?).ok()?;
    let pages: Vec<&serde_json::value::RawValue> = serde_json::from_str(data.get("elicitations")?).ok()?;
    let mut requests = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        let members = Members::parse(page.get()).ok()?;
        let key = members.get("elicitationId").and_then(json::text);
        let mut params = Vec::new();
        json::write_object(members.iter().filter(|(key, _)| *key != "elicitationId"), &mut params);
        let key = key.map_or_else(|| format!("page-{at}"), Cow::into_owned);
        requests.push((key, String::from_utf8(params).ok()?));
    }
    let requests = requests.iter().map(|(key, params)| (&**key, "elicitation/create", Some(&**params)));
    Some(write(requests, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let bytes = write(
            [("a", "roots/list", None), ("b", "elicitation/create", Some(r#"{"x":1}"#))].into_iter(),
            Some("s\"t"),
        );
        let text = String::from_utf8(bytes).unwrap();
        let read = input_required(&text).unwrap().unwrap();
        assert_eq!(read.requests.len(), 2);
        assert_eq!((read.requests[1].key.as_str(), read.requests[1].params), ("b", Some(r#"{"x":1}"#)));
        assert_eq!(read.state, Some(r#""s\"t""#));
    }

    #[test]
    fn a_text_that_only_mentions_it_is_an_answer() {
        assert!(input_required(r#"{"content":[{"type":"text","text":"\"input_required\""}]}"#).is_none());
        assert!(input_required(r#"{"content":[{"resultType":"input_required"}]}"#).is_none());
    }

    #[test]
    fn an_error_that_wants_a_page_opened_first_becomes_a_question() {
        let error = r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x.example","message":"open"}]}}"#;
        let asked = String::from_utf8(pages_first(error).unwrap()).unwrap();
        assert_eq!(
            asked,
            r#"{"resultType":"input_required","inputRequests":{"e1":{"method":"elicitation/create","params":{"mode":"url","url":"https://x.example","message":"open"}}}}"#
        );
        assert!(pages_first(r#"{"code":-32602,"message":"m"}"#).is_none());
    }
}
