//! Progress notifications: finding the token, and giving the caller its own token back.

use crate::json::{self, Members};

/// Our token in the params of a progress notification.
pub fn own_token(params: Option<&str>) -> Option<u64> {
    let members = Members::parse(params?).ok()?;
    crate::envelope::own_id(members.get("progressToken")?)
}

/// A whole progress notification with the caller's token in place of ours; everything else unchanged.
pub fn with_token(params: &str, token: &str) -> Option<Vec<u8>> {
    let members = Members::parse(params).ok()?;
    let mut out = Vec::with_capacity(params.len() + token.len() + 64);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"notifications/progress","params":"#);
    let swapped = members.iter().map(|(k, v)| (k, if k == "progressToken" { token } else { v }));
    json::write_object(swapped, &mut out);
    out.push(b'}');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_swapped_and_all_else_kept() {
        let params = r#"{"progressToken":7,"progress":1.0,"extra":{"x":[1]}}"#;
        assert_eq!(own_token(Some(params)), Some(7));
        let line = String::from_utf8(with_token(params, "\"mine\"").unwrap()).unwrap();
        assert_eq!(
            line,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1.0,"extra":{"x":[1]}}}"#
        );
    }
}
