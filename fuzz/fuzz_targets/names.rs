//! Tool names: joined and split back, and safe ones that are unique, short and plain, whatever servers call their tools.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_model::ServerName;
use portolan_model::name::{BUILT_IN, join, safe_names, split};
use std::collections::{BTreeSet, HashMap};

fuzz_target!(|text: &str| {
    if let Some((server, tool)) = split(text) {
        let separator = text.as_bytes()[server.as_str().len()] as char;
        assert_eq!(join(&server, tool, separator), text);
    }
    // One tool a line, its server before the first tab.
    let tools: BTreeSet<(ServerName, &str)> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(server, tool)| Some((ServerName::nearest(server)?, tool)))
        .collect();
    for (server, tool) in &tools {
        for separator in ['.', ':'] {
            assert_eq!(split(&join(server, tool, separator)), Some((server.clone(), *tool)));
        }
    }
    let forward = rendered(tools.iter());
    assert_eq!(forward, rendered(tools.iter().rev()), "a name depends on the order of the tools");
    let distinct: BTreeSet<&String> = forward.values().collect();
    assert_eq!(distinct.len(), tools.len(), "two tools of one name");
    for name in distinct {
        assert!((1..=64).contains(&name.len()) && !BUILT_IN.contains(&name.as_str()), "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
    }
});

fn rendered<'a>(
    tools: impl Iterator<Item = &'a (ServerName, &'a str)> + Clone,
) -> HashMap<&'a (ServerName, &'a str), String> {
    let names = safe_names(tools.clone().map(|(server, tool)| (server, *tool)));
    tools.zip(names).collect()
}
