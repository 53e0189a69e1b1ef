//! The RFC's own examples, what no expansion gives, and an expander that runs the other way.

use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

#[track_caller]
fn check(template: &str, uris: &[&str]) {
    let parsed = Template::parse(template).unwrap_or_else(|| panic!("{template} is refused"));
    for uri in uris {
        assert!(parsed.matches(uri), "{template} could have given {uri}");
        assert!(parsed.matches_loosely(uri), "{template} could have given {uri}");
    }
}

#[track_caller]
fn check_not(template: &str, uris: &[&str]) {
    let parsed = Template::parse(template).unwrap_or_else(|| panic!("{template} is refused"));
    for uri in uris {
        assert!(!parsed.matches(uri), "{template} could not have given {uri}");
    }
}

#[test]
fn rfc_6570_simple_and_reserved_expansion() {
    check("'{count}'", &["'one,two,three'"]);
    check("{var}", &["value"]);
    check("{hello}", &["Hello%20World%21"]);
    check("{half}", &["50%25"]);
    check("O{empty}X", &["OX"]);
    check("O{undef}X", &["OX"]);
    check("{x,y}", &["1024,768"]);
    check("{x,hello,y}", &["1024,Hello%20World%21,768"]);
    check("?{x,empty}", &["?1024,"]);
    check("?{x,undef}", &["?1024"]);
    check("?{undef,y}", &["?768"]);
    check("{var:3}", &["val"]);
    check("{var:30}", &["value"]);
    check("{list}", &["red,green,blue"]);
    check("{list*}", &["red,green,blue"]);
    check("{keys}", &["semi,%3B,dot,.,comma,%2C", "comma,%2C,dot,.,semi,%3B"]);
    check("{keys*}", &["semi=%3B,dot=.,comma=%2C"]);
    check("{+hello}", &["Hello%20World!"]);
    check("{+half}", &["50%25"]);
    check("{base}index", &["http%3A%2F%2Fexample.com%2Fhome%2Findex"]);
    check("{+base}index", &["http://example.com/home/index"]);
    check("O{+empty}X", &["OX"]);
    check("{+path}/here", &["/foo/bar/here"]);
    check("here?ref={+path}", &["here?ref=/foo/bar"]);
    check("up{+path}{var}/here", &["up/foo/barvalue/here"]);
    check("{+x,hello,y}", &["1024,Hello%20World!,768"]);
    check("{+path,x}/here", &["/foo/bar,1024/here"]);
    check("{+path:6}/here", &["/foo/b/here"]);
    check("{+list}", &["red,green,blue"]);
    check("{+list*}", &["red,green,blue"]);
    check("{+keys}", &["semi,;,dot,.,comma,,"]);
    check("{+keys*}", &["semi=;,dot=.,comma=,"]);
}

#[test]
fn rfc_6570_fragments_labels_and_paths() {
    check("{#var}", &["#value"]);
    check("{#hello}", &["#Hello%20World!"]);
    check("{#half}", &["#50%25"]);
    check("foo{#empty}", &["foo#"]);
    check("foo{#undef}", &["foo"]);
    check("{#x,hello,y}", &["#1024,Hello%20World!,768"]);
    check("{#path,x}/here", &["#/foo/bar,1024/here"]);
    check("{#path:6}/here", &["#/foo/b/here"]);
    check("{#list*}", &["#red,green,blue"]);
    check("{#keys*}", &["#semi=;,dot=.,comma=,"]);
    check("{.who}", &[".fred"]);
    check("{.who,who}", &[".fred.fred"]);
    check("{.half,who}", &[".50%25.fred"]);
    check("www{.dom*}", &["www.example.com"]);
    check("X{.var}", &["X.value"]);
    check("X{.empty}", &["X."]);
    check("X{.undef}", &["X"]);
    check("X{.var:3}", &["X.val"]);
    check("X{.list}", &["X.red,green,blue"]);
    check("X{.list*}", &["X.red.green.blue"]);
    check("X{.keys}", &["X.semi,%3B,dot,.,comma,%2C"]);
    check("X{.keys*}", &["X.semi=%3B.dot=..comma=%2C"]);
    check("X{.empty_keys*}", &["X"]);
    check("{/who}", &["/fred"]);
    check("{/who,who}", &["/fred/fred"]);
    check("{/half,who}", &["/50%25/fred"]);
    check("{/who,dub}", &["/fred/me%2Ftoo"]);
    check("{/var,empty}", &["/value/"]);
    check("{/var,undef}", &["/value"]);
    check("{/var,x}/here", &["/value/1024/here"]);
    check("{/var:1,var}", &["/v/value"]);
    check("{/list}", &["/red,green,blue"]);
    check("{/list*}", &["/red/green/blue"]);
    check("{/list*,path:4}", &["/red/green/blue/%2Ffoo"]);
    check("{/keys}", &["/semi,%3B,dot,.,comma,%2C"]);
    check("{/keys*}", &["/semi=%3B/dot=./comma=%2C"]);
}

#[test]
fn rfc_6570_parameters_and_queries() {
    check("{;who}", &[";who=fred"]);
    check("{;half}", &[";half=50%25"]);
    check("{;empty}", &[";empty"]);
    check("{;v,empty,who}", &[";v=6;empty;who=fred"]);
    check("{;v,bar,who}", &[";v=6;who=fred"]);
    check("{;x,y,undef}", &[";x=1024;y=768"]);
    check("{;hello:5}", &[";hello=Hello"]);
    check("{;list}", &[";list=red,green,blue"]);
    check("{;list*}", &[";list=red;list=green;list=blue"]);
    check("{;keys}", &[";keys=semi,%3B,dot,.,comma,%2C"]);
    check("{;keys*}", &[";semi=%3B;dot=.;comma=%2C"]);
    check("{?who}", &["?who=fred"]);
    check("{?x,y}", &["?x=1024&y=768"]);
    check("{?x,y,empty}", &["?x=1024&y=768&empty="]);
    check("{?x,y,undef}", &["?x=1024&y=768"]);
    check("{?var:3}", &["?var=val"]);
    check("{?list}", &["?list=red,green,blue"]);
    check("{?list*}", &["?list=red&list=green&list=blue"]);
    check("{?keys}", &["?keys=semi,%3B,dot,.,comma,%2C"]);
    check("{?keys*}", &["?semi=%3B&dot=.&comma=%2C"]);
    check("?fixed=yes{&x}", &["?fixed=yes&x=1024"]);
    check("{&x,y,empty}", &["&x=1024&y=768&empty="]);
    check("{&var:3}", &["&var=val"]);
    check("{&list*}", &["&list=red&list=green&list=blue"]);
    check("{&keys*}", &["&semi=%3B&dot=.&comma=%2C"]);
    check("find{?year*}", &["find?year=1965&year=2000&year=2012"]);
}

#[test]
fn what_no_expansion_gives_does_not_match() {
    check_not(
        "users/{id}",
        &["users/1/2", "users/a:b", "user/1", "xusers/1", "users", "users/a b/c", "users/a?b"],
    );
    check_not("{id}.json", &["a.jsonx", "a/b.json", "json"]);
    check_not("a", &["", "aa", "A", "%61"]);
    check_not("", &["a"]);
    check_not("{var:3}", &["valu", "a,b", "%C3%A9%C3%A9%C3%A9%C3%A9"]);
    check_not("x{#frag}", &["xfrag", "x?frag"]);
    check_not("x{.ext}", &["xext", "x/ext", "x.a/b"]);
    check_not("{/a,b}", &["a/b", "/a/b/c", "/a?b"]);
    check_not("{/list}", &["/red/green"]);
    check_not("{/keys*}", &["/semi=;/dot", "/a=b/c", "/a/b=c", "/a=b=c"]);
    check_not("{;x}", &["x=1", ";y=1", ";x=1;x=2", ";x1"]);
    check_not("{?q,lang}", &["q=a", "?", "?q", "?lang=en&q=a", "?q=a&q=b", "?other=1", "?q=a&", "&q=a"]);
    check_not("{?keys*}", &["?a", "?a&b", "?a&b=1", "?=a", "?a=b&"]);
    check_not("x?a=1{&more}", &["x?a=1?more=2", "x?a=1&less=2", "x?a=1more=2"]);
}

#[test]
fn characters_count_as_their_encoding_in_either_case() {
    check("wiki/caf\u{e9}/{id}", &["wiki/caf%C3%A9/1", "wiki/caf%c3%a9/1", "wiki/caf\u{e9}/1"]);
    check("wiki/caf%C3%A9/{id}", &["wiki/caf\u{e9}/\u{4e16}\u{754c}", "wiki/caf%c3%A9/a b"]);
    check("{var:2}", &["\u{e9}\u{4e16}", "%C3%A9%E4%B8%96"]);
    check("100%{x}", &["100%25a", "100%"]);
    check_not("{var:2}", &["\u{e9}\u{4e16}a"]);
    check_not("caf\u{e9}", &["caf%C3%A8", "cafe"]);
}

#[test]
fn a_simple_variable_stands_for_a_path_only_where_it_is_read_loosely() {
    let file = Template::parse("file:///{path}").unwrap();
    assert!(file.matches("file:///README.md"));
    assert!(!file.matches("file:///src/main.rs") && file.matches_loosely("file:///src/main.rs"));
    assert!(!file.matches_loosely("http:///src/main.rs"));
    let users = Template::parse("users/{id}{?q}").unwrap();
    assert!(users.matches_loosely("users/a:b?q=1"), "the query may be part of the path as well");
    let path = Template::parse("x{/a}").unwrap();
    assert!(!path.matches_loosely("x/a/b"), "other operators say what they mean");
}

#[test]
fn what_is_no_template_is_refused() {
    for text in [
        "{",
        "}",
        "/{id",
        "/id}",
        "{}",
        "{{id}}",
        "{id}}",
        "{+}",
        "{a,}",
        "{,a}",
        "{ a }",
        "{a b}",
        "{!a}",
        "{=a}",
        "{@a}",
        "{|a}",
        "{$a}",
        "{**}",
        "{a*b}",
        "{a:}",
        "{a:0}",
        "{a:03}",
        "{a:10000}",
        "{a:x}",
        "{a:3*}",
        "{a*:3}",
        "{a:+3}",
        "{??a}",
        "{a?}",
        "{\u{e9}}",
        "{?a=b}",
    ] {
        assert_eq!(Template::parse(text), None, "{text}");
    }
    for text in
        ["", "plain", "{a}{b}", "{a.b_c}", "{%41}", "{a:9999}", "{?default-graph-uri}", "a b", "{?a*,b:3,c}"]
    {
        assert!(Template::parse(text).is_some(), "{text}");
    }
}

#[test]
fn the_template_with_the_most_literal_text_is_the_most_specific() {
    let specificity = |text| Template::parse(text).unwrap().specificity();
    assert_eq!(specificity("git://{+rest}"), 6);
    assert_eq!(specificity("git://repo/{id}/log{?long-name}"), 15);
    assert_eq!(specificity("{a}"), 0);
}

#[test]
fn a_template_and_a_uri_made_for_backtracking_are_answered_and_longer_ones_refused() {
    let many = |expression: &str| expression.repeat(MAX_VARIABLES);
    let plain = "a".repeat(MAX_URI);
    let marked = format!("{}!", "a".repeat(MAX_URI - 1));
    for (template, fits_plain, fits_marked) in [
        (many("{+a}"), true, true),
        (many("{a}"), true, false),
        (many("{a*}"), true, false),
        (many("{a:9999}"), true, false),
        (many("{+a}a"), true, false),
        (format!("{{+a}}{}{{+b}}b", "a".repeat(MAX_TEMPLATE - 11)), false, false),
        (format!("{{+{}}}", vec!["a*"; MAX_VARIABLES].join(",")), true, true),
    ] {
        let parsed = Template::parse(&template).unwrap();
        assert_eq!(parsed.matches(&plain), fits_plain, "{template}");
        assert_eq!(parsed.matches(&marked), fits_marked, "{template}");
        assert!(!parsed.matches(&"a".repeat(MAX_URI + 1)), "too long to be looked at");
    }
    assert_eq!(Template::parse(&"a".repeat(MAX_TEMPLATE + 1)), None);
    assert_eq!(Template::parse(&many("{a}{b}")), None);
}

/// A value of a variable, as the RFC knows them.
#[derive(Debug, Clone)]
enum Value {
    Undefined,
    Text(String),
    List(Vec<String>),
    Pairs(Vec<(String, String)>),
}

/// Section 3.2 of the RFC, put down once more in the other direction: first, separator, whether named, what an empty
/// value leaves behind the name, and whether reserved characters stay.
fn expand(operator: &str, variables: &[(String, Modifier, Value)]) -> String {
    let (first, separator, is_named, if_empty, keeps) = match operator {
        "+" => ("", ",", false, "", true),
        "#" => ("#", ",", false, "", true),
        "." => (".", ".", false, "", false),
        "/" => ("/", "/", false, "", false),
        ";" => (";", ";", true, "", false),
        "?" => ("?", "&", true, "=", false),
        "&" => ("&", "&", true, "=", false),
        _ => ("", ",", false, "", false),
    };
    let encode = |text: &str| {
        text.bytes().fold(String::new(), |mut out, b| {
            if b.is_ascii_alphanumeric()
                || b"-._~".contains(&b)
                || (keeps && b":/?#[]@!$&'()*+,;=".contains(&b))
            {
                out.push(char::from(b));
            } else {
                write!(out, "%{b:02X}").unwrap();
            }
            out
        })
    };
    let named = |name: &str, value: &str| {
        if value.is_empty() { format!("{name}{if_empty}") } else { format!("{name}={value}") }
    };
    let mut values = Vec::new();
    for (name, modifier, value) in variables {
        let joined = |members: Vec<String>| {
            let members = members.join(",");
            if is_named { named(name, &members) } else { members }
        };
        match (value, modifier) {
            (Value::Undefined, _) => {}
            (Value::Text(text), Modifier::Prefix(max)) => {
                values.push(joined(vec![encode(&text.chars().take(*max).collect::<String>())]));
            }
            (Value::Text(text), Modifier::None | Modifier::Explode) => {
                values.push(joined(vec![encode(text)]));
            }
            (Value::List(list), _) if list.is_empty() => {}
            (Value::Pairs(pairs), _) if pairs.is_empty() => {}
            (Value::List(list), Modifier::Explode) => {
                let member = |text: &String| if is_named { named(name, &encode(text)) } else { encode(text) };
                values.extend(list.iter().map(member));
            }
            (Value::Pairs(pairs), Modifier::Explode) => {
                let pair = |(key, value): &(String, String)| {
                    let (key, value) = (encode(key), encode(value));
                    if is_named { named(&key, &value) } else { format!("{key}={value}") }
                };
                values.extend(pairs.iter().map(pair));
            }
            (Value::List(list), _) => values.push(joined(list.iter().map(|text| encode(text)).collect())),
            (Value::Pairs(pairs), _) => {
                values.push(joined(pairs.iter().flat_map(|(k, v)| [encode(k), encode(v)]).collect()));
            }
        }
    }
    if values.is_empty() { String::new() } else { format!("{first}{}", values.join(separator)) }
}

/// A piece of a template with what it expands to.
fn piece() -> impl Strategy<Value = (String, String)> {
    let text = || "[a-c/,.;=&?% \u{e9}\u{4e16}]{0,4}";
    let value = prop_oneof![
        Just(Value::Undefined),
        text().prop_map(Value::Text),
        prop::collection::vec(text(), 0..4).prop_map(Value::List),
        prop::collection::vec(("[a-c=/\u{e9}]{1,3}", text()), 0..3).prop_map(Value::Pairs),
    ];
    let modifier =
        prop_oneof![Just(Modifier::None), Just(Modifier::Explode), (1usize..5).prop_map(Modifier::Prefix),];
    let variable = ("[a-c]{1,2}", modifier, value).prop_map(|(name, modifier, value)| {
        // A prefix of a list is undefined in the RFC.
        let is_text = matches!(value, Value::Undefined | Value::Text(_));
        let modifier =
            if is_text || !matches!(modifier, Modifier::Prefix(_)) { modifier } else { Modifier::None };
        (name, modifier, value)
    });
    let operators = vec!["", "+", "#", ".", "/", ";", "?", "&"];
    let expression = (prop::sample::select(operators), prop::collection::vec(variable, 1..4)).prop_map(
        |(operator, variables)| {
            let written = |(name, modifier, _): &(String, Modifier, Value)| match modifier {
                Modifier::None => name.clone(),
                Modifier::Prefix(max) => format!("{name}:{max}"),
                Modifier::Explode => format!("{name}*"),
            };
            let list = variables.iter().map(written).collect::<Vec<_>>().join(",");
            (format!("{{{operator}{list}}}"), expand(operator, &variables))
        },
    );
    let literal = "[a-c/:?]{1,3}".prop_map(|text| (text.clone(), text));
    prop_oneof![expression, literal]
}

proptest! {
    #[test]
    fn whatever_a_template_expands_to_it_matches(pieces in prop::collection::vec(piece(), 0..6)) {
        let (template, uri): (String, String) = pieces.into_iter().unzip();
        let parsed = Template::parse(&template).unwrap();
        prop_assert!(parsed.matches(&uri), "{} gave {}", template, uri);
        prop_assert!(parsed.matches_loosely(&uri), "{} gave {}", template, uri);
    }

    #[test]
    fn a_template_without_variables_matches_itself_only(text in "[a-c/:?]{0,6}", other in "[a-c/:?]{0,6}") {
        let template = Template::parse(&text).unwrap();
        prop_assert!(template.matches(&text));
        prop_assert_eq!(template.matches(&other), text == other);
    }

    #[test]
    fn one_variable_between_two_texts_takes_what_its_operator_may_write(uri in "x[g-i/,.;=&?#:%]{0,6}y") {
        let inner = &uri[1..uri.len() - 1];
        let only = |allowed: &str, text: &str| text.chars().all(|c| allowed.contains(c));
        let matches = |template: &str| Template::parse(template).unwrap().matches(&uri);
        let after = |first| inner.strip_prefix(first);
        prop_assert_eq!(matches("x{v}y"), only("ghi.,%", inner));
        prop_assert_eq!(matches("x{v:2}y"), only("ghi.%", inner) && inner.len() <= 2);
        let reserved = matches("x{+v}y");
        prop_assert!(reserved, "everything in {} may come from it", uri);
        prop_assert_eq!(matches("x{#v}y"), inner.is_empty() || after('#').is_some());
        prop_assert_eq!(matches("x{/v}y"), inner.is_empty() || after('/').is_some_and(|v| only("ghi.,%", v)));
        let list = |v: &str| only("ghi./%", v);
        let pairs = |v: &str| v.split('/').all(|pair| {
            pair.split_once('=').is_some_and(|(k, v)| !k.is_empty() && only("ghi.%", k) && only("ghi.%", v))
        });
        prop_assert_eq!(matches("x{/v*}y"), inner.is_empty() || after('/').is_some_and(|v| list(v) || pairs(v)));
        let query = |v: &str| v.strip_prefix("g=").is_some_and(|v| only("ghi.,%", v));
        prop_assert_eq!(matches("x{?g}y"), inner.is_empty() || after('?').is_some_and(query));
    }

    #[test]
    fn no_text_brings_the_parser_or_the_match_down(template in "\\PC*|[{}+#./;?&a,:*3%]*", uri in "\\PC*") {
        if let Some(template) = Template::parse(&template) {
            prop_assert!(!template.matches(&uri) || template.matches_loosely(&uri));
        }
    }
}
