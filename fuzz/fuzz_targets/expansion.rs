//! Expansion of variables: no panic, no second pass over a value, and every text can be written so that it stays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_config::{Missing, expand};
use std::collections::HashSet;

fuzz_target!(|text: &str| {
    match expand(text, &|_| None) {
        Ok(expanded) => assert!(text.contains('$') || expanded == text),
        Err(Missing(names)) => {
            assert!(!names.is_empty() && names.iter().all(|name| !name.is_empty()));
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "a name is told twice");
        }
    }
    let doubled = text.replace('$', "$$");
    assert_eq!(expand(&doubled, &|name| panic!("{name} was looked up")).as_deref(), Ok(text));

    // A value that looks like a reference is put in as it is: as often as it was looked up, and looked up by no one.
    let tricky = expand(text, &|name| (name != "INNER").then(|| "\u{1}${INNER}\u{1}".to_owned()));
    if let (Ok(tricky), false) = (tricky, text.contains("INNER") || text.contains('\u{1}')) {
        let plain = expand(text, &|_| Some("\u{1}".to_owned())).expect("everything is set");
        assert_eq!(tricky.replace("\u{1}${INNER}\u{1}", "\u{1}"), plain);
    }
});
