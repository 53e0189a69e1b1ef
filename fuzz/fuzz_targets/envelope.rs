//! Messages from anyone: no panic, the same reading as a second parser's, and splices that stay JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_model::{Kind, Piece};
use portolan_wire::discovery::Checks;
use portolan_wire::envelope::{Incoming, Message, Outcome, id_in_head, id_in_tail, own_id, parse, parse_one};
use portolan_wire::era::Keeping;
use portolan_wire::params::{Changes, Hop, Params, Stamp};
use portolan_wire::{Revision, answer, discovery, era, mrtr, progress, project};
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    // Guesses at a message that was too long to read; that they end is all that holds for any bytes.
    let guesses = [id_in_head(bytes), id_in_tail(bytes)];
    match parse(bytes, 128) {
        Ok(Incoming::One(message)) => {
            check_guesses(&message, guesses);
            check(bytes, &message);
        }
        Ok(Incoming::Batch(entries)) => entries.into_iter().for_each(|entry| drop(parse_one(entry))),
        Err(malformed) => assert!(matches!(malformed.code(), -32700 | -32600)),
    }
});

fn check_guesses(message: &Message<'_>, guesses: [Option<u64>; 2]) {
    let id = match message {
        Message::Request { id, .. } | Message::Reply { id, .. } => own_id(id),
        Message::Notification { .. } => None,
    };
    for guess in guesses.into_iter().flatten() {
        assert_eq!(Some(guess), id, "the id was guessed from within the payload");
    }
}

fn check(bytes: &[u8], message: &Message<'_>) {
    let text = std::str::from_utf8(bytes).expect("it was read as text").trim_start_matches('\u{feff}');
    // The second parser takes no numbers beyond f64 and no nesting over 128: there it has nothing to say.
    let other: Option<Value> = serde_json::from_str(text).ok();
    let same = |key: &str, raw: &str| {
        let Some(other) = &other else { return };
        assert_eq!(serde_json::from_str::<Value>(raw).ok().as_ref(), Some(&other[key]), "{key}");
    };
    match message {
        Message::Request { id, method, params } => {
            same("id", id);
            assert!(other.as_ref().is_none_or(|other| other["method"] == **method));
            params.iter().for_each(|params| same("params", params));
            check_params(*params);
        }
        Message::Notification { params, .. } => {
            check_params(*params);
            progress::own_token(*params);
            if let Some(told) = params.and_then(|params| progress::with_token(params, "1")) {
                is_json(&told);
            }
        }
        Message::Reply { outcome: Outcome::Result(result), .. } => {
            same("result", result);
            for (from, to) in Revision::ALL.into_iter().flat_map(|from| Revision::ALL.map(|to| (from, to))) {
                is_json(&era::result(result, from, to, Keeping::Hinted));
            }
            drop(mrtr::input_required(result));
            if let Some(shown) = project::contents_as(result, "a://1", "b://\"2\"") {
                is_json(&shown);
            }
            check_page(result);
        }
        Message::Reply { outcome: Outcome::Error(error), .. } => {
            same("error", error);
            is_json(&answer::with_server(error, "some-server"));
            if let Some(asked) = mrtr::pages_first(error) {
                is_json(&asked);
            }
        }
    }
}

fn check_params(params: Option<&str>) {
    let Ok(given) = params.map(|params| Params::from_text(params.to_owned())).transpose() else { return };
    let given = given.unwrap_or_default();
    for revision in Revision::ALL {
        let hop = Hop { revision, token: u64::MAX, client_info: "{}", via: "[]" };
        let changes = Changes { set: &[("name", r#""other \"name\"""#)] };
        let mut spliced = Vec::new();
        given.write(&hop, &Stamp::OWN, &changes, &mut spliced);
        is_json(&spliced);
        let again = Params::from_text(String::from_utf8(spliced).expect("JSON is UTF-8")).expect("what was written can be read");
        assert_eq!(again.text("name").as_deref(), Some("other \"name\""));
        assert_eq!(again.get("arguments"), given.get("arguments"));
        assert_eq!(again.progress_token().is_some(), given.progress_token().is_some());
    }
}

fn check_page(result: &str) {
    for kind in Kind::ALL {
        let Ok(page) = discovery::page(kind, result, Checks { mirrors: true }) else { continue };
        for item in page.items {
            for revision in Revision::ALL {
                let mut shown = Vec::new();
                let piece = Piece { key: &item.key, definition: item.definition.get() };
                project::write_piece(kind, piece, "s.t", revision, &mut shown);
                is_json(&shown);
            }
        }
    }
}

#[track_caller]
fn is_json(bytes: &[u8]) {
    serde_json::from_slice::<&RawValue>(bytes).expect("what we write is JSON");
}
