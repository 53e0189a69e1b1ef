//! JSON as editors allow it in their own files becomes plain JSON of the same length.

/// Comments and commas before a closing bracket become spaces; everything else stays where it is, so that the line and
/// the column of a mistake are still those of the file.
pub(super) fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    // The last two bytes that are neither space nor comment, and where the last one stands.
    let (mut before, mut last, mut last_at) = (b' ', b' ', 0);
    let mut at = 0;
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => end_of_text(&bytes, at),
            (b'/', Some(b'/')) => end_of_line(&bytes, at),
            (b'/', Some(b'*')) => end_of_block(&bytes, at),
            _ => at + 1,
        };
        if bytes[at] == b'/' && end > at + 1 {
            bytes[at..end]
                .iter_mut()
                .filter(|byte| !matches!(byte, b'\n' | b'\r'))
                .for_each(|byte| *byte = b' ');
        } else if !bytes[at].is_ascii_whitespace() {
            let closes = matches!(bytes[at], b'}' | b']');
            // A comma with nothing before it is a mistake in every dialect.
            if closes && last == b',' && !matches!(before, b'{' | b'[' | b',' | b':' | b' ') {
                bytes[last_at] = b' ';
            }
            (before, last, last_at) = (last, bytes[at], at);
        }
        at = end;
    }
    // Whole characters at most were replaced, and only by ASCII.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Behind the quotation mark that ends the text which begins at `start`.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_line(bytes: &[u8], start: usize) -> usize {
    bytes[start..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(bytes.len(), |found| start + found)
}

fn end_of_block(bytes: &[u8], start: usize) -> usize {
    let inside = start + "/*".len();
    let closing = bytes.get(inside..).and_then(|rest| rest.windows(2).position(|pair| pair == b"*/"));
    closing.map_or(bytes.len(), |found| inside + found + "*/".len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Json::parse_lenient(text), Ok(Json::parse(expected).unwrap()), "{text}");
    }

    #[track_caller]
    fn check_broken(text: &str, position: (usize, usize)) {
        let problem = Json::parse_lenient(text).unwrap_err();
        assert_eq!((problem.line, problem.column), (Some(position.0), Some(position.1)), "{problem}");
    }

    #[test]
    fn comments_and_last_commas_are_allowed() {
        check("// head\n{\"a\": 1, /* é\n * b */ \"b\": [1, 2,], // tail\n}", "{\"a\": 1, \"b\": [1, 2]}");
        check("{\"a\": 1, // c\n }", "{\"a\": 1}");
        check("[1,/**/]", "[1]");
        check("[[], {},\r\n]//", "[[], {}]");
        check("{\"a\": \"x\",}", "{\"a\": \"x\"}");
    }

    #[test]
    fn texts_keep_what_looks_like_a_comment() {
        check(r#"["https://x/*y*/", "a,]", "\"//", "\\"]"#, r#"["https://x/*y*/", "a,]", "\"//", "\\"]"#);
    }

    #[test]
    fn other_mistakes_stay_mistakes_at_their_place() {
        check_broken("[,]", (1, 2));
        check_broken("{\n  // one\n  \"a\": 1,,\n}", (3, 10));
        check_broken("{\"a\": /* x */ }", (1, 15));
        check_broken("{} // fine\n/", (2, 1));
        check_broken(&"[".repeat(500), (1, 128));
        assert!(Json::parse_lenient(&"[".repeat(500)).unwrap_err().message.contains("127 deep"));
        assert!(
            Json::parse_lenient("{\"a\": \"https://x\" 1}").unwrap_err().message.contains("mend the file")
        );
    }

    /// Any JSON, as text with spaces and comments wherever they may stand, and the same without.
    fn commented() -> impl Strategy<Value = (String, String)> {
        let gap = "[ \n\t]{0,2}|//[a-z\",\\]é]{0,4}\n|/\\*[a-z\",/é ]{0,4}\\*/";
        let leaf = prop_oneof![
            Just("null".to_owned()),
            "-?[1-9][0-9]{0,3}",
            "[a-z/*,\\]}é]{0,8}".prop_map(|text| format!("\"{text}\"")),
            Just(r#""\"//\\""#.to_owned()),
        ];
        leaf.prop_map(|text| (text.clone(), text)).prop_recursive(4, 32, 4, move |inner| {
            let items = prop::collection::vec((gap, inner, gap), 0..4);
            (items, any::<bool>(), any::<bool>(), gap).prop_map(|(items, is_object, has_comma, end)| {
                let (open, close) = if is_object { ('{', '}') } else { ('[', ']') };
                let written = |with_gaps: bool| {
                    let gap = |gap: &str| if with_gaps { gap.to_owned() } else { String::new() };
                    let item = |(n, (before, (long, short), after)): (
                        usize,
                        &(String, (String, String), String),
                    )| {
                        let key = if is_object { format!("\"k{n}\":") } else { String::new() };
                        format!("{}{key}{}{}", gap(before), if with_gaps { long } else { short }, gap(after))
                    };
                    let all: Vec<String> = items.iter().enumerate().map(item).collect();
                    let comma = if with_gaps && has_comma && !all.is_empty() { "," } else { "" };
                    format!("{open}{}{comma}{}{close}", all.join(","), gap(&end))
                };
                (written(true), written(false))
            })
        })
    }

    proptest! {
        #[test]
        fn comments_change_nothing((text, same) in commented()) {
            prop_assert_eq!(Json::parse_lenient(&text), Ok(Json::parse(&same).unwrap()));
        }

        #[test]
        fn nothing_moves_and_nothing_panics(text in "[{}\\[\\]\",:/*\\\\ \n\ra1\u{e9}-]{0,60}") {
            let plain = plain(&text);
            prop_assert_eq!(plain.len(), text.len());
            prop_assert_eq!(plain.matches('\n').count(), text.matches('\n').count());
            let _ = Json::parse_lenient(&text);
        }

        #[test]
        fn what_is_json_already_is_the_same(text in "[{}\\[\\]\",:a1 ]{0,30}") {
            if let Ok(json) = Json::parse(&text) {
                prop_assert_eq!(Json::parse_lenient(&text), Ok(json));
            }
        }
    }
}
