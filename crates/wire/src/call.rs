//! `tools/call`: the name and the progress token are spliced, the arguments pass as bytes.

use crate::envelope::Malformed;
use crate::json::{self, Members};
use std::borrow::Cow;
use std::io::Write as _;

/// The params of a call. What is authorised and what is forwarded are this one reading of it.
#[derive(Debug)]
pub struct CallParams<'a> {
    pub name: Cow<'a, str>,
    members: Members<'a>,
    meta: Option<Members<'a>>,
    len: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCall {
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("tools/call needs params with a `name`")]
    NoName,
}

impl<'a> CallParams<'a> {
    pub fn parse(params: Option<&'a str>) -> Result<Self, BadCall> {
        let params = params.ok_or(BadCall::NoName)?;
        let members = Members::parse(params)?;
        let name = members.get("name").and_then(json::text).ok_or(BadCall::NoName)?;
        let meta = members.get("_meta").filter(|raw| raw.starts_with('{')).map(Members::parse).transpose()?;
        Ok(Self { name, members, meta, len: params.len() })
    }

    /// The caller's progress token, as it wrote it.
    pub fn progress_token(&self) -> Option<&'a str> {
        self.meta.as_ref()?.get("progressToken")
    }

    /// How long the params were as they came.
    pub fn byte_len(&self) -> usize {
        self.len
    }

    pub fn arguments(&self) -> Option<&'a str> {
        self.members.get("arguments")
    }

    /// Writes the params for the server behind: its own name for the tool, our own token, all else as it came.
    pub fn write(&self, name: &str, token: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"name":"#);
        json::write_text(name, out);
        for (key, value) in self.members.iter() {
            if key == "name" {
                continue;
            }
            out.push(b',');
            json::write_text(key, out);
            out.push(b':');
            match &self.meta {
                Some(meta) if key == "_meta" => write_meta(meta, token, out),
                _ => out.extend_from_slice(value.as_bytes()),
            }
        }
        out.push(b'}');
    }
}

fn write_meta(meta: &Members<'_>, token: u64, out: &mut Vec<u8>) {
    let mut number = [0u8; 20];
    let mut rest = &mut number[..];
    // Twenty digits hold every u64.
    write!(rest, "{token}").unwrap_or_default();
    let free = rest.len();
    let digits = std::str::from_utf8(&number[..20 - free]).unwrap_or("0");
    json::write_object(meta.iter().map(|(k, v)| (k, if k == "progressToken" { digits } else { v })), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spliced(params: &str) -> String {
        let mut out = Vec::new();
        CallParams::parse(Some(params)).unwrap().write("tool", 42, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn name_and_token_are_spliced_and_arguments_keep_their_bytes() {
        assert_eq!(
            spliced(
                r#"{"name":"s.tool","arguments":{"a": 1.0,"b":"\u0041"},"_meta":{"progressToken":"x","k":[ ]},"new":1}"#
            ),
            r#"{"name":"tool","arguments":{"a": 1.0,"b":"\u0041"},"_meta":{"progressToken":42,"k":[ ]},"new":1}"#
        );
        assert_eq!(spliced(r#"{"name":"s.tool"}"#), r#"{"name":"tool"}"#);
    }

    #[test]
    fn t10_what_two_readers_could_read_differently_is_refused() {
        for params in [
            r#"{"name":"ok.echo","name":"bad.rm"}"#,
            r#"{"name":"ok.echo","\u006eame":"bad.rm"}"#,
            r#"{"name":"a.b","_meta":{"progressToken":1,"progressToken":2}}"#,
            r#"{"Name":"a.b"}"#,
            r#"{"name":7}"#,
            "{}",
        ] {
            assert!(CallParams::parse(Some(params)).is_err(), "{params}");
        }
        assert!(CallParams::parse(None).is_err());
    }

    proptest! {
        #[test]
        fn any_arguments_pass_unchanged(text in "\\PC*", number in any::<f64>(), name in "\\PC{1,20}") {
            let arguments = serde_json::json!({"text": text, "number": number, "list": [null, true]}).to_string();
            let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, serde_json::json!(name));
            let call = CallParams::parse(Some(&params)).unwrap();
            prop_assert_eq!(&call.name, &name);
            let mut out = Vec::new();
            call.write("x", 1, &mut out);
            let again = String::from_utf8(out).unwrap();
            prop_assert_eq!(CallParams::parse(Some(&again)).unwrap().arguments(), Some(arguments.as_str()));
        }
    }
}
