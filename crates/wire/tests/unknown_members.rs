//! Whatever members a message has that nobody knows, they come out with the same bytes: of everything that changes
//! a message on its way, as a property.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use portolan_model::{Kind, Piece};
use portolan_wire::discovery::{self, Checks};
use portolan_wire::era::{self, Keeping};
use portolan_wire::json::Members;
use portolan_wire::level::Level;
use portolan_wire::params::{Changes, Hop, Params, Stamp};
use portolan_wire::{Message, Revision, answer, envelope, meta, mrtr, progress, project};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

/// Any JSON as a text, in every form that the same value can have: a reader that parses and writes anew changes it.
fn raw() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?";
    let escaped = r#""(\\u00[2-6][0-9a-f]|\\/|\\n|\\"|[a-z é])*""#;
    let leaf = prop_oneof![
        select(&["null", "true", "false", "{}", "[]", "{ }", "[ ]", "\"\"", "1.0", "1e2", "-0"][..])
            .prop_map(str::to_owned),
        number.prop_map(|number: String| number),
        escaped.prop_map(|text: String| text),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let items = (prop::collection::vec(inner.clone(), 0..4), blank())
            .prop_map(|(items, blank)| format!("[{blank}{}]", items.join(&format!("{blank},"))));
        let members = (prop::collection::btree_map(any::<String>(), inner, 0..4), blank())
            .prop_map(|(members, blank)| object(&members, &blank));
        prop_oneof![items, members]
    })
}

fn blank() -> impl Strategy<Value = String> {
    select(&["", " ", "\n", "\t  "][..]).prop_map(str::to_owned)
}

type Unknown = BTreeMap<String, String>;

/// Members that nobody knows: no name of the protocol begins so.
fn unknown() -> impl Strategy<Value = Unknown> {
    let key = any::<String>().prop_map(|rest| format!("x-{rest}"));
    prop::collection::btree_map(key, raw(), 0..5)
}

/// An object with blanks between its tokens.
fn object(members: &Unknown, blank: &str) -> String {
    let members = members.iter().map(|(key, value)| {
        let key = serde_json::to_string(key).unwrap();
        format!("{key}{blank}:{blank}{value}")
    });
    let members: Vec<String> = members.collect();
    format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},{blank}")))
}

/// An object of known members in the midst of unknown ones.
fn mixed(known: &[(&str, &str)], unknown: &Unknown, blank: &str) -> String {
    let mut all = unknown.clone();
    all.extend(known.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    object(&all, blank)
}

fn members(text: &str) -> BTreeMap<String, String> {
    let members = Members::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    members.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn text(bytes: impl Into<Vec<u8>>) -> String {
    String::from_utf8(bytes.into()).unwrap()
}

/// Known members as they are expected, and all unknown ones as they were.
#[track_caller]
fn check(out: &str, known: &[(&str, &str)], unknown: &Unknown) -> Result<(), TestCaseError> {
    let mut expected = unknown.clone();
    expected.extend(known.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    prop_assert_eq!(members(out), expected);
    Ok(())
}

fn revision() -> impl Strategy<Value = Revision> {
    select(&Revision::ALL[..])
}

const INFO: &str = r#"{"name":"portolan"}"#;

proptest! {
    // Each of them makes and reads some kilobytes.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn params_reach_the_server_as_they_came(
        own in unknown(),
        own_meta in unknown(),
        arguments in raw(),
        to in revision(),
        blank in blank(),
        has_token in any::<bool>(),
    ) {
        let token = has_token.then_some(("progressToken", "\"theirs\""));
        let of_one_hop = [(meta::PROTOCOL_VERSION, "\"2026-07-28\""), (meta::LOG_LEVEL, "\"debug\"")];
        let known: Vec<_> = of_one_hop.into_iter().chain(token).collect();
        let given_meta = mixed(&known, &own_meta, &blank);
        let given = mixed(
            &[("name", "\"a.b\""), ("arguments", &arguments), ("_meta", &given_meta), ("requestState", "\"s\"")],
            &own,
            &blank,
        );
        let hop = Hop { revision: to, token: 7, client_info: INFO, via: "[]" };
        let stamp = Stamp { capabilities: "{ }", level: Some(Level::Info), is_own: false };
        let changes = Changes { set: &[("name", "\"b\""), ("requestState", ""), ("task", "{ }")] };
        let mut out = Vec::new();
        Params::from_text(given.clone()).unwrap().write(&hop, &stamp, &changes, &mut out);
        let out = text(out);
        let written = members(&out);
        let token = has_token.then_some(("progressToken", "7"));
        let stamped = [
            (meta::PROTOCOL_VERSION, "\"2026-07-28\""),
            (meta::CLIENT_INFO, INFO),
            (meta::CLIENT_CAPABILITIES, "{ }"),
            (meta::LOG_LEVEL, "\"info\""),
        ];
        let stamped: Vec<_> = stamped.into_iter().filter(|_| !to.has_handshake()).chain(token).collect();
        check(&written["_meta"], &stamped, &own_meta)?;
        let meta = written["_meta"].clone();
        check(&out, &[("name", "\"b\""), ("arguments", &arguments), ("task", "{ }"), ("_meta", &meta)], &own)?;
    }

    #[test]
    fn results_reach_a_client_of_any_revision_as_they_came(
        own in unknown(),
        content in raw(),
        own_meta in unknown(),
        from in revision(),
        to in revision(),
        blank in blank(),
        is_hinted in any::<bool>(),
    ) {
        let own_meta = object(&own_meta, &blank);
        let known = [("content", content.as_str()), ("_meta", own_meta.as_str()), ("structuredContent", "{ \"a\":1.0}")];
        let new = [("resultType", "\"complete\""), ("ttlMs", "5"), ("cacheScope", "\"public\"")];
        let is_new = !from.has_handshake();
        let given: Vec<_> = known.into_iter().chain(new.into_iter().filter(|_| is_new)).collect();
        let keeping = if is_hinted { Keeping::Hinted } else { Keeping::Never };
        let given = mixed(&given, &own, &blank);
        let out = text(era::result(&given, from, to, keeping));
        let hints = [("ttlMs", "0"), ("cacheScope", "\"private\"")];
        let expected: Vec<_> = match (is_new, to.has_handshake()) {
            (_, true) => known.to_vec(),
            (true, false) => known.into_iter().chain(new).collect(),
            (false, false) => {
                let hints = hints.into_iter().filter(|_| is_hinted);
                known.into_iter().chain([("resultType", "\"complete\"")]).chain(hints).collect()
            }
        };
        check(&out, &expected, &own)?;
        if is_new != to.has_handshake() {
            prop_assert_eq!(out, given, "between equals not a byte is another");
        }
    }

    #[test]
    fn a_result_loses_only_a_structure_that_its_client_cannot_take(
        own in unknown(),
        content in raw(),
        structure in raw(),
        to in revision(),
        blank in blank(),
    ) {
        let given = mixed(&[("content", &content), ("structuredContent", &structure)], &own, &blank);
        let out = text(project::call_result(&given, to));
        let is_kept = to.has_free_output() || structure.starts_with('{');
        let structure = is_kept.then_some(("structuredContent", structure.as_str()));
        let known: Vec<_> = [("content", content.as_str())].into_iter().chain(structure).collect();
        check(&out, &known, &own)?;
        if is_kept {
            prop_assert_eq!(out, given);
        }
    }

    #[test]
    fn definitions_are_listed_with_all_that_they_came_with(
        own in unknown(),
        schema in unknown(),
        icons in raw(),
        to in revision(),
        kind in select(&Kind::ALL[..]),
        blank in blank(),
        is_shown_as_it_is in any::<bool>(),
    ) {
        let schema = mixed(&[("type", "\"object\"")], &schema, &blank);
        let known = [("icons", icons.as_str()), ("inputSchema", schema.as_str()), ("outputSchema", schema.as_str())];
        let with = |key: &'static str| -> Vec<(&str, &str)> {
            known.into_iter().chain([(kind.key(), key), ("execution", "{ }")]).collect()
        };
        let definition = mixed(&with("\"k\""), &own, &blank);
        let list = format!("{{\"{}\":[{definition},{blank}{definition}],\"x\":1}}", kind.list());
        let page = discovery::page(kind, &list, Checks::default()).unwrap();
        prop_assert_eq!(page.items.len(), 2);
        prop_assert!(page.left_out.is_empty());
        for item in &page.items {
            prop_assert_eq!(item.definition.get(), &definition);
            let piece = Piece { key: &item.key, definition: item.definition.get() };
            let shown = if is_shown_as_it_is { "k" } else { "s.k" };
            let mut out = Vec::new();
            project::write_piece(kind, piece, shown, to, &mut out);
            let drops_execution = kind == Kind::Tools && !to.has_tool_execution();
            let expected = with(if is_shown_as_it_is { "\"k\"" } else { "\"s.k\"" });
            let expected: Vec<_> =
                expected.into_iter().filter(|(key, _)| !(drops_execution && *key == "execution")).collect();
            check(&text(out), &expected, &own)?;
        }
    }

    #[test]
    fn a_schema_that_is_mended_keeps_all_else(own in unknown(), schema in unknown(), blank in blank()) {
        let given = object(&schema, &blank);
        let definition = mixed(&[("name", "\"t\""), ("inputSchema", &given)], &own, &blank);
        let list = format!("{{\"tools\":[{definition}]}}");
        let page = discovery::page(Kind::Tools, &list, Checks::default()).unwrap();
        let mended = page.items[0].definition.get();
        let written = members(mended)["inputSchema"].clone();
        check(&written, &[("type", "\"object\"")], &schema)?;
        check(mended, &[("name", "\"t\""), ("inputSchema", &written)], &own)?;
    }

    #[test]
    fn progress_is_told_as_it_came_but_for_its_token(
        own in unknown(),
        message in raw(),
        token in raw(),
        blank in blank(),
    ) {
        let given = mixed(&[("progressToken", "7"), ("progress", "1.0"), ("message", &message)], &own, &blank);
        prop_assert_eq!(progress::own_token(Some(&given)), Some(7));
        let told = text(progress::with_token(&given, &token).unwrap());
        let envelope = members(&told);
        prop_assert_eq!(&envelope["method"], "\"notifications/progress\"");
        check(&envelope["params"], &[("progressToken", &token), ("progress", "1.0"), ("message", &message)], &own)?;
    }

    #[test]
    fn questions_pass_from_one_era_to_the_other_as_they_came(params in unknown(), key in any::<String>(), state in any::<String>()) {
        let params = object(&params, " ");
        let written = mrtr::write([(key.as_str(), "elicitation/create", Some(params.as_str()))].into_iter(), Some(&state));
        let written = text(written);
        let read = mrtr::input_required(&written).unwrap().unwrap();
        prop_assert_eq!(&read.requests[0].key, &key);
        prop_assert_eq!(read.requests[0].params, Some(params.as_str()));
        let quoted = serde_json::to_string(&state).unwrap();
        prop_assert_eq!(read.state, Some(quoted.as_str()));
    }

    #[test]
    fn a_page_that_is_wanted_first_is_asked_for_as_it_was_described(own in unknown(), blank in blank()) {
        let page = mixed(&[("mode", "\"url\""), ("elicitationId", "\"e\""), ("url", "\"u:\"")], &own, &blank);
        let error = format!(r#"{{"code":-32042,"message":"m","data":{{"elicitations":[{page}]}}}}"#);
        let asked = text(mrtr::pages_first(&error).unwrap());
        let read = mrtr::input_required(&asked).unwrap().unwrap();
        check(read.requests[0].params.unwrap(), &[("mode", "\"url\""), ("url", "\"u:\"")], &own)?;
    }

    #[test]
    fn contents_under_another_address_are_the_same_contents(
        own in unknown(),
        content in unknown(),
        other in unknown(),
        blank in blank(),
    ) {
        let (first, second) =
            (mixed(&[("uri", "\"x:1\"")], &content, &blank), mixed(&[("uri", "\"x:2\"")], &other, &blank));
        let given = mixed(&[("contents", &format!("[{first},{blank}{second}]"))], &own, &blank);
        let out = text(project::contents_as(&given, "x:1", "y:1").unwrap());
        let written = members(&out)["contents"].clone();
        check(&out, &[("contents", &written)], &own)?;
        let list: Vec<&serde_json::value::RawValue> = serde_json::from_str(&written).unwrap();
        check(list[0].get(), &[("uri", "\"y:1\"")], &content)?;
        prop_assert_eq!(list[1].get(), &second);
        prop_assert!(project::contents_as(&given, "x:3", "y:1").is_none());
    }

    #[test]
    fn an_error_keeps_its_words_and_gains_only_the_name_of_its_server(
        own in unknown(),
        data in unknown(),
        message in raw(),
        blank in blank(),
    ) {
        let given_data = object(&data, &blank);
        let given = mixed(&[("code", "-32042"), ("message", &message), ("data", &given_data)], &own, &blank);
        let out = text(answer::with_server(&given, "git"));
        let written = members(&out)["data"].clone();
        check(&written, &[("server", "\"git\"")], &data)?;
        check(&out, &[("code", "-32042"), ("message", &message), ("data", &written)], &own)?;
    }

    #[test]
    fn what_an_envelope_carries_is_taken_out_as_it_is(
        own in unknown(),
        params in unknown(),
        result in raw(),
        blank in blank(),
    ) {
        let params = object(&params, &blank);
        let head = [("jsonrpc", "\"2.0\""), ("id", "1.0")];
        let request: Vec<_> = head.into_iter().chain([("method", "\"m\""), ("params", &*params)]).collect();
        let message = mixed(&request, &own, &blank);
        let parsed = envelope::parse_one(&message);
        let is_same = matches!(&parsed, Ok(Message::Request { id: "1.0", params: Some(found), .. }) if **found == params);
        prop_assert!(is_same, "{:?}", parsed);
        let reply: Vec<_> = head.into_iter().chain([("result", &*result)]).collect();
        let message = mixed(&reply, &own, &blank);
        let parsed = envelope::parse_one(&message);
        let is_same = matches!(
            &parsed,
            Ok(Message::Reply { id: "1.0", outcome: portolan_wire::Outcome::Result(found) }) if **found == result
        );
        prop_assert!(is_same, "{:?}", parsed);
    }
}
