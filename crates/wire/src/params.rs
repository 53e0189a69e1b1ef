//! The params of a request on its way to a server: a name or a URI is swapped, `_meta` is stamped for the hop, and all else
//! passes as the bytes it is.

use crate::envelope::Malformed;
use crate::json;
use crate::level::Level;
use crate::meta;
use crate::revision::Revision;
use bytes::Bytes;
use std::borrow::Cow;
use std::io::Write as _;
use std::ops::Range;

/// The params as they came, read once. What is authorised and what is forwarded are this one reading of them.
#[derive(Debug, Default)]
pub struct Params {
    text: Bytes,
    members: Vec<Member>,
    meta: Option<Vec<Member>>,
}

/// Where a member stands in the text.
#[derive(Debug)]
struct Member {
    key: Range<usize>,
    /// The key in plain, where the text has it with escapes.
    plain: Option<Box<str>>,
    value: Range<usize>,
}

/// What the next hop wants in every request.
#[derive(Debug, Clone, Copy)]
pub struct Hop<'h> {
    pub revision: Revision,
    /// Our own id for the request, which is also its progress token.
    pub token: u64,
    /// Who we are, as raw JSON.
    pub client_info: &'h str,
    /// The Portolan that is asking, as raw JSON: in requests of our own, so that one which leads back to us can tell.
    pub via: &'h str,
}

/// What one request says for itself where there was no handshake to say it.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'s> {
    /// The client's capabilities as raw JSON.
    pub capabilities: &'s str,
    pub level: Option<Level>,
    /// Whether it is a request of our own, and not a client's.
    pub is_own: bool,
}

impl Stamp<'static> {
    /// Of a request of our own: nobody can be asked anything for it.
    pub const OWN: Self = Self { capabilities: "{}", level: None, is_own: true };
}

/// What is to be different from how it came.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changes<'c> {
    /// Members with another value, as raw JSON; one that was not there is added. An empty value takes the member away.
    pub set: &'c [(&'c str, &'c str)],
}

impl Params {
    /// Reads the params of a message, a part of whose bytes they are.
    pub fn parse(message: &Bytes, params: Option<&str>) -> Result<Self, Malformed> {
        let Some(read) = params else { return Ok(Self::default()) };
        let members = members_of(read, read)?;
        let meta = find(&members, read.as_bytes(), "_meta").map(|value| &read[value]);
        let meta = meta.filter(|raw| raw.starts_with('{')).map(|raw| members_of(raw, read)).transpose()?;
        Ok(Self { members, meta, text: message.slice_ref(read.as_bytes()) })
    }

    /// Reads params that are no part of anything.
    pub fn from_text(params: String) -> Result<Self, Malformed> {
        let message = Bytes::from(params);
        let text = std::str::from_utf8(&message).map_err(|e| Malformed::NotJson(e.to_string()))?;
        Self::parse(&message, Some(text))
    }

    /// A member as raw JSON.
    pub fn get(&self, key: &str) -> Option<&str> {
        find(&self.members, &self.text, key).map(|value| self.str(value))
    }

    pub fn has(&self, key: &str) -> bool {
        find(&self.members, &self.text, key).is_some()
    }

    /// A member that is a text.
    pub fn text(&self, key: &str) -> Option<Cow<'_, str>> {
        self.get(key).and_then(json::text)
    }

    /// An entry of `_meta` as raw JSON.
    pub fn meta(&self, key: &str) -> Option<&str> {
        find(self.meta.as_ref()?, &self.text, key).map(|value| self.str(value))
    }

    /// The caller's progress token, as it wrote it.
    pub fn progress_token(&self) -> Option<&str> {
        self.meta("progressToken")
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|member| (self.key(member), self.str(member.value.clone())))
    }

    /// All of them as they came, if there were any.
    pub fn raw(&self) -> Option<&str> {
        (!self.text.is_empty()).then(|| self.str(0..self.text.len()))
    }

    /// How long the params were as they came.
    pub fn byte_len(&self) -> usize {
        self.text.len()
    }

    fn key<'p>(&'p self, member: &'p Member) -> &'p str {
        member.plain.as_deref().unwrap_or_else(|| self.str(member.key.clone()))
    }

    /// It was read as text, and is cut where the text's own marks are.
    fn str(&self, span: Range<usize>) -> &str {
        std::str::from_utf8(&self.text[span]).unwrap_or_default()
    }

    /// Writes the params for the server behind.
    pub fn write(&self, hop: &Hop<'_>, stamp: &Stamp<'_>, changes: &Changes<'_>, out: &mut Vec<u8>) {
        let changed = |key: &str| changes.set.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let mut object = Object::begin(out);
        for member in &self.members {
            let (key, value) = (self.key(member), &self.text[member.value.clone()]);
            match changed(key) {
                Some("") => {}
                Some(other) => object.member(key, other.as_bytes()),
                None if key == "_meta" && self.meta.is_some() => {
                    self.write_meta(hop, stamp, object.key(key));
                }
                None => object.member(key, value),
            }
        }
        for (key, value) in changes.set.iter().filter(|(k, v)| !v.is_empty() && !self.has(k)) {
            object.member(key, value.as_bytes());
        }
        if !hop.revision.has_handshake() && !self.has("_meta") {
            self.write_meta(hop, stamp, object.key("_meta"));
        }
        object.end();
    }

    fn write_meta(&self, hop: &Hop<'_>, stamp: &Stamp<'_>, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        for member in self.meta.iter().flatten() {
            let key = self.key(member);
            if key == "progressToken" {
                // Writing into a vector cannot fail.
                write!(object.key(key), "{}", hop.token).unwrap_or_default();
            } else if !meta::is_of_one_hop(key) {
                object.member(key, &self.text[member.value.clone()]);
            }
        }
        if !hop.revision.has_handshake() {
            json::write_text(hop.revision.as_str(), object.known(meta::PROTOCOL_VERSION));
            object.known(meta::CLIENT_INFO).extend_from_slice(hop.client_info.as_bytes());
            object.known(meta::CLIENT_CAPABILITIES).extend_from_slice(stamp.capabilities.as_bytes());
            if stamp.is_own {
                object.known(meta::VIA).extend_from_slice(hop.via.as_bytes());
            }
            if let Some(level) = stamp.level {
                json::write_text(level.as_str(), object.known(meta::LOG_LEVEL));
            }
        }
        object.end();
    }
}

/// Reads the object `object`, which is a part of `whole`.
fn members_of(object: &str, whole: &str) -> Result<Vec<Member>, Malformed> {
    let span = |part: &str| {
        let from = part.as_ptr().addr() - whole.as_ptr().addr();
        from..from + part.len()
    };
    let mut members: Vec<Member> = Vec::with_capacity(6);
    json::each_member(object, |key, value| {
        let is_new = find(&members, whole.as_bytes(), &key).is_none();
        if is_new {
            let (key, plain) = match key {
                Cow::Borrowed(key) => (span(key), None),
                Cow::Owned(key) => (0..0, Some(key.into())),
            };
            members.push(Member { key, plain, value: span(value) });
        }
        is_new
    })?;
    Ok(members)
}

fn find(members: &[Member], text: &[u8], key: &str) -> Option<Range<usize>> {
    let is_it = |member: &&Member| match &member.plain {
        Some(plain) => **plain == *key,
        None => text[member.key.clone()] == *key.as_bytes(),
    };
    members.iter().find(is_it).map(|member| member.value.clone())
}

/// Writes the params of a request of our own.
pub fn write_own(hop: &Hop<'_>, members: &[(&str, &str)], out: &mut Vec<u8>) {
    Params::default().write(hop, &Stamp::OWN, &Changes { set: members }, out);
}

/// An object that is being written member by member.
struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> Object<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_first: true }
    }

    /// Writes a key and gives the place for its value.
    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.is_first {
            self.out.push(b',');
        }
        self.is_first = false;
        json::write_text(key, self.out);
        self.out.push(b':');
        self.out
    }

    /// The same for a key of our own, which has nothing to escape.
    fn known(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.out.extend_from_slice(if self.is_first { b"\"" } else { b",\"" });
        self.is_first = false;
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn member(&mut self, key: &str, value: &[u8]) {
        self.key(key).extend_from_slice(value);
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = r#"{"name":"portolan"}"#;

    fn read(params: &str) -> Result<Params, Malformed> {
        Params::from_text(params.to_owned())
    }

    #[track_caller]
    fn check(revision: Revision, params: &str, changes: &[(&str, &str)], expected: &str) {
        let hop = Hop { revision, token: 7, client_info: INFO, via: "[]" };
        let stamp = Stamp { capabilities: r#"{"sampling":{}}"#, level: Some(Level::Info), is_own: false };
        let mut out = Vec::new();
        read(params).unwrap().write(&hop, &stamp, &Changes { set: changes }, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn arguments_pass_as_bytes_and_the_token_is_ours() {
        check(
            Revision::V2025_11_25,
            r#"{"name":"a.b","arguments":{"x": 1.0e2 ,"é":"\u00e9"},"_meta":{"progressToken":"t","k":[ 1 ]}}"#,
            &[("name", r#""b""#)],
            r#"{"name":"b","arguments":{"x": 1.0e2 ,"é":"\u00e9"},"_meta":{"progressToken":7,"k":[ 1 ]}}"#,
        );
    }

    #[test]
    fn keys_are_known_however_they_are_spelt() {
        let params = read(r#"{"\u006eame":"b","_met\u0061":{"progress\u0054oken":1}}"#).unwrap();
        assert_eq!((params.get("name"), params.progress_token()), (Some(r#""b""#), Some("1")));
        assert_eq!(params.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["name", "_meta"]);
    }

    #[test]
    fn a_request_without_token_gets_none() {
        check(Revision::V2025_11_25, r#"{"name":"b"}"#, &[], r#"{"name":"b"}"#);
    }

    #[test]
    fn what_belongs_to_one_hop_is_not_passed_on() {
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-1"}"#;
        check(
            Revision::V2025_06_18,
            &format!(r#"{{"name":"b","_meta":{meta}}}"#),
            &[],
            r#"{"name":"b","_meta":{"traceparent":"00-1"}}"#,
        );
    }

    #[test]
    fn a_server_of_2026_07_28_is_told_everything_in_every_request() {
        let stamped = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"portolan"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"info"}"#;
        check(Revision::V2026_07_28, r#"{"name":"b"}"#, &[], &format!(r#"{{"name":"b",{stamped}}}"#));
    }

    #[test]
    fn members_can_be_added_and_taken_away() {
        check(
            Revision::V2025_11_25,
            r#"{"name":"b","requestState":"s"}"#,
            &[("requestState", ""), ("task", "{}")],
            r#"{"name":"b","task":{}}"#,
        );
    }

    #[test]
    fn a_key_given_twice_is_refused_in_params_and_in_meta() {
        assert!(read(r#"{"name":"a","name":"b"}"#).is_err());
        assert!(read(r#"{"_meta":{"a":1,"a":2}}"#).is_err());
    }
}
