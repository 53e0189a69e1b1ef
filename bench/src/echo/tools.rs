//! Tool definitions of the size and shape that real servers have.

/// What a tool does, as part of its name and as the start of its description.
const ACTIONS: [(&str, &str); 8] = [
    ("find", "Finds"),
    ("read", "Reads"),
    ("add", "Adds to"),
    ("change", "Changes"),
    ("remove", "Removes from"),
    ("count", "Counts"),
    ("watch", "Watches"),
    ("share", "Shares"),
];

/// What it does it to.
const THINGS: [(&str, &str); 9] = [
    ("orders", "the orders of a shop"),
    ("branches", "the branches of a repository"),
    ("pages", "the pages of a wiki"),
    ("alerts", "the alerts of a monitoring system"),
    ("contacts", "the contacts of an address book"),
    ("tables", "the tables of a database"),
    ("meetings", "the meetings of a calendar"),
    ("shipments", "the shipments of a warehouse"),
    ("builds", "the builds of a pipeline"),
];

/// The first `count` definitions, joined as they stand inside the array of a list.
pub fn definitions(count: usize) -> String {
    let all: Vec<String> = (0..count.max(1)).map(definition).collect();
    all.join(",")
}

/// Number 0 is the plain `echo`; the others are deterministic, and no two have the same name.
fn definition(number: usize) -> String {
    if number == 0 {
        return concat!(
            r#"{"name":"echo","description":"Answers with its own arguments.","inputSchema":{"type":"object","#,
            r#""properties":{"token":{"type":"string","description":"Comes back as it is."}},"required":["token"]}}"#
        )
        .to_owned();
    }
    let (verb, does) = ACTIONS[number % ACTIONS.len()];
    let (noun, what) = THINGS[number / ACTIONS.len() % THINGS.len()];
    let round = number / (ACTIONS.len() * THINGS.len());
    let name = if round == 0 { format!("{verb}_{noun}") } else { format!("{verb}_{noun}_{round}") };
    let description = format!(
        "{does} {what}. Take this tool when a person names {noun} or something that only {what} can tell. \
         It answers with one entry a line, the newest first, and says when there are more than it shows. \
         It needs a filter; without one it refuses rather than going through everything."
    );
    let properties = [
        format!(r#""filter":{{"type":"string","description":"Words that the {noun} must hold, such as `state:open`."}}"#),
        r#""most":{"type":"integer","description":"How many entries at most.","minimum":1,"maximum":200,"default":25}"#.into(),
        r#""order":{"type":"string","description":"Which entries come first.","enum":["newest","oldest","best"]}"#.into(),
        r#""after":{"type":"string","description":"Where an earlier answer ended, to go on from there."}"#.into(),
        format!(r#""with_hidden":{{"type":"boolean","description":"Whether hidden {noun} count as well.","default":false}}"#),
    ]
    .join(",");
    format!(
        r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object","properties":{{{properties}}},"required":["filter"]}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_thousand_definitions_are_json_distinct_and_of_real_size() {
        let text = format!("[{}]", definitions(1000));
        let all: Vec<serde_json::Value> = serde_json::from_str(&text).expect("definitions are JSON");
        let names: HashSet<&str> = all.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names.len(), 1000);
        let mean = text.len() / 1000;
        assert!((800..1000).contains(&mean), "{mean} bytes a definition");
    }
}
