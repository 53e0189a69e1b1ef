//! Messages from anyone: no panic, the same reading as a second parser's, and splices that stay JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_wire::call::CallParams;
use portolan_wire::envelope::{Incoming, Message, Outcome, id_in_head, id_in_tail, own_id, parse, parse_one};
use portolan_wire::{Revision, answer, discovery, progress, project};
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
            Revision::ALL.into_iter().for_each(|revision| is_json(&project::call_result(result, revision)));
            check_page(result);
        }
        Message::Reply { outcome: Outcome::Error(error), .. } => {
            same("error", error);
            is_json(&answer::with_server(error, "some-server"));
        }
    }
}

fn check_params(params: Option<&str>) {
    let Ok(call) = CallParams::parse(params) else { return };
    let mut spliced = Vec::new();
    call.write("other \"name\"", u64::MAX, &mut spliced);
    is_json(&spliced);
    let spliced = String::from_utf8(spliced).expect("JSON is UTF-8");
    let again = CallParams::parse(Some(&spliced)).expect("what was written can be read");
    assert_eq!((&*again.name, again.arguments()), ("other \"name\"", call.arguments()));
    assert_eq!(again.progress_token().is_some(), call.progress_token().is_some());
}

fn check_page(result: &str) {
    let Ok(page) = discovery::page(result) else { return };
    for tool in page.tools {
        for revision in Revision::ALL {
            let mut shown = Vec::new();
            project::write_tool(tool.definition.get(), "s.t", revision, &mut shown);
            is_json(&shown);
        }
    }
}

#[track_caller]
fn is_json(bytes: &[u8]) {
    serde_json::from_slice::<&RawValue>(bytes).expect("what we write is JSON");
}
