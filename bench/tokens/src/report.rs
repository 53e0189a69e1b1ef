//! The report: tables in Markdown, and how they came about.

use crate::conversation::{Conversation, Turn};
use crate::measure::{Measured, Searched, Tried};

/// The table of tasks is about sets from this size on: in smaller ones there is little that a tool could be lost among.
const LARGE: usize = 500;

const HEAD: &str = "\
# What a model is shown of many tools, in tokens

What `portolan-tokens` printed; `cargo xtask tokens > bench/RESULTS-tokens.md` writes it anew.
";

const METHOD: &str = "
## How it was measured

- **Tools** are those of real servers (a crawl, `toucan_mcp_corpus`), taken whole, in the order of the SHA-256 of their ids; a
  server that is too large for what is left of a set waits for the next one. Each set contains the smaller ones. Servers of
  which the crawl has no schemas are left out: their lists would look cheaper than they are.
- **The gateway** is the release build of `portolan serve` with a server for each of the crawl's, over stdio, and two profiles
  that differ in `exposure` alone. It is asked over MCP once every tool is embedded. Names are `safe` (`server__tool`), as
  functions must be named. The servers have no descriptions and no instructions.
- **Tokens** are those of `o200k_base` (tiktoken). A tool counts as the JSON `{name, description, parameters}`, a call as
  `{name, arguments}`, an answer as its text; JSON is compact, with the keys of schemas sorted. What a provider makes of that
  before its model sees it is its own and differs. The task's own words, a system prompt and the model's last word are the
  same in both exposures and left out.
- **A task**: in `all` two requests (the model calls; it reads the answer), in `search` three (it searches, it calls, it
  reads). *Once* counts each text once; *requests* adds up what the requests carry, each with all that came before, at full
  price: a provider that keeps what it has read already takes less for the repeated part, in both exposures. Figures are
  means over the tasks whose tool was found, in both columns, so the price of searching again is in none of them. Every tool
  answers with its own name and arguments, so answers are shorter than real ones, by the same amount in both.
- **The tasks** are in `bench/tokens/tasks.json`. Their tools were drawn by the SHA-256 of their ids, each of another server: two
  of the set of 10, three of those that the set of 100 adds, five of those that the set of 500 adds. Each was written from
  the tool's description before anything was searched for, and not changed after; most name the product that is meant, as
  people do. It is the query word for word; a model may put it better or worse. Only the very tool counts, even where another
  server has one that would do. Ten tasks are an example and no statistic: `cargo xtask quality` has thousands.
";

pub(crate) fn markdown(sets: &[Measured]) -> String {
    let parts = [
        HEAD.to_owned(),
        first_request(sets),
        whole_task(sets),
        steps(sets),
        places(sets),
        METHOD.to_owned(),
    ];
    parts.concat()
}

fn first_request(sets: &[Measured]) -> String {
    let mut table = Table::new(&["tools", "servers", "`all`", "a tool", "`search`", "`search` / `all`"]);
    for set in sets {
        let each = set.all.checked_div(set.tools).unwrap_or_default();
        let row = [set.tools, set.servers, set.all, each, set.search].map(grouped);
        table.push([&row[..], &[share(set.search, set.all)]].concat());
    }
    format!("\n## The first request\n\n{}", table.text)
}

fn whole_task(sets: &[Measured]) -> String {
    let mut table = Table::new(&[
        "tools",
        "found",
        "`all`, once",
        "`search`, once",
        "`all`, requests",
        "`search`, requests",
        "`search` / `all`",
    ]);
    for set in sets {
        let done = found(set);
        let all = |size: fn(&Conversation) -> usize| mean(done.iter().map(|done| size(&done.tried.all)));
        let search = |size: fn(&Conversation) -> usize| mean(done.iter().map(|done| size(done.conversation)));
        let paid = (all(Conversation::paid), search(Conversation::paid));
        let sizes =
            [all(Conversation::distinct), search(Conversation::distinct), paid.0, paid.1].map(grouped);
        let counts = [grouped(set.tools), format!("{} of {}", done.len(), set.tried.len())];
        table.push([&counts[..], &sizes[..], &[share(paid.1, paid.0)]].concat());
    }
    format!("\n## A whole task: find the tool, call it\n\n{}", table.text)
}

fn steps(sets: &[Measured]) -> String {
    let mut table = Table::new(&[
        "tools",
        "`search_tools`",
        "its answer",
        "the same as `structuredContent`",
        "`call_tool`",
        "its answer",
        "the call in `all`",
    ]);
    for set in sets {
        let done = found(set);
        let turn = |at: usize, size: fn(&Turn) -> usize| {
            mean(done.iter().filter_map(|done| done.conversation.turns.get(at)).map(size))
        };
        let direct = mean(done.iter().filter_map(|done| done.tried.all.turns.first()).map(|turn| turn.call));
        let row = [
            set.tools,
            turn(0, |turn| turn.call),
            turn(0, |turn| turn.answer),
            mean(done.iter().map(|done| done.structured)),
            turn(1, |turn| turn.call),
            turn(1, |turn| turn.answer),
            direct,
        ];
        table.push(row.map(grouped).to_vec());
    }
    format!(
        "\nThe steps of it. The answer of `search_tools` is counted above as text; a client that hands its model the structured \
         content instead pays what stands beside it.\n\n{}",
        table.text
    )
}

fn places(sets: &[Measured]) -> String {
    let large: Vec<&Measured> = sets.iter().filter(|set| set.tools >= LARGE).collect();
    let headings: Vec<String> = large.iter().map(|set| format!("among {}", grouped(set.tools))).collect();
    let headings: Vec<&str> =
        ["task", "tool"].into_iter().chain(headings.iter().map(String::as_str)).collect();
    let mut table = Table::new(&headings);
    for (at, tried) in large.first().into_iter().flat_map(|set| set.tried.iter().enumerate()) {
        let place = |set: &&Measured| match set.tried.get(at).map(|tried| &tried.search) {
            Some(Searched::Found { place, .. }) => place.to_string(),
            Some(Searched::Missed { .. }) | None => "–".to_owned(),
        };
        let named = [tried.task.wish.clone(), format!("`{}` of `{}`", tried.task.tool, tried.task.server)];
        table.push(named.into_iter().chain(large.iter().map(place)).collect());
    }
    let missed: String =
        large.iter().flat_map(|set| set.tried.iter().filter_map(|tried| missed(set, tried))).collect();
    format!(
        "\n## Was the right tool among the five?\n\nIts place among those that `search_tools` showed; – where it was not.\n\n{}\n{missed}",
        table.text
    )
}

/// What was shown in place of the right tool, so that everybody can see whether it would have done.
fn missed(set: &Measured, tried: &Tried) -> Option<String> {
    match &tried.search {
        Searched::Found { .. } => None,
        Searched::Missed { shown } => Some(format!(
            "- Shown for `{}` among {}: `{}`.\n",
            tried.task.tool,
            grouped(set.tools),
            shown.join("`, `")
        )),
    }
}

/// A task whose tool was found.
struct Done<'m> {
    tried: &'m Tried,
    conversation: &'m Conversation,
    structured: usize,
}

fn found(set: &Measured) -> Vec<Done<'_>> {
    let mut all = Vec::new();
    for tried in &set.tried {
        match &tried.search {
            Searched::Found { conversation, structured, .. } => {
                all.push(Done { tried, conversation, structured: *structured });
            }
            Searched::Missed { .. } => {}
        }
    }
    all
}

struct Table {
    text: String,
}

impl Table {
    fn new(headings: &[&str]) -> Self {
        let rule = "|---".repeat(headings.len());
        Self { text: format!("| {} |\n{rule}|\n", headings.join(" | ")) }
    }

    fn push(&mut self, cells: Vec<String>) {
        // A bar would end the cell.
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
        self.text.extend(["| ", &cells.join(" | "), " |\n"]);
    }
}

/// To the nearest whole number.
fn mean(sizes: impl Iterator<Item = usize>) -> usize {
    let (sum, count) = sizes.fold((0, 0), |(sum, count), size| (sum + size, count + 1));
    (sum + count / 2).checked_div(count).unwrap_or_default()
}

/// 1234567 as 1,234,567.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let is_group_end = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    let with_comma = |(at, digit)| if is_group_end(at) { format!(",{digit}") } else { String::from(digit) };
    digits.chars().enumerate().map(with_comma).collect()
}

/// In percent, to a tenth.
fn share(part: usize, whole: usize) -> String {
    let tenths = (part * 1000 + whole / 2).checked_div(whole).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Task;
    use serde_json::json;

    #[test]
    fn numbers_are_grouped_and_shares_rounded() {
        let grouped: Vec<String> = [0, 999, 1000, 1_234_567].into_iter().map(grouped).collect();
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [share(1, 3), share(2, 3), share(300, 200), share(1, 0)],
            ["33.3 %", "66.7 %", "150.0 %", "0.0 %"]
        );
        assert_eq!([mean([1, 2].into_iter()), mean([1, 1, 2].into_iter()), mean([].into_iter())], [2, 1, 0]);
    }

    fn tried(tool: &str, search: Searched) -> Tried {
        let task = Task {
            server: "1.a_s".into(),
            tool: tool.into(),
            wish: format!("a|{tool}"),
            arguments: json!({}),
        };
        let all = Conversation { shown: 1000, turns: vec![Turn { call: 10, answer: 5 }] };
        Tried { task, all, search }
    }

    #[test]
    fn a_task_that_missed_its_tool_is_named_and_counts_in_no_mean() {
        let turns = vec![Turn { call: 8, answer: 100 }, Turn { call: 14, answer: 5 }];
        let conversation = Conversation { shown: 200, turns };
        let hit = tried("hit", Searched::Found { place: 2, conversation, structured: 150 });
        let missed = tried("miss", Searched::Missed { shown: vec!["s.one".into(), "s.other".into()] });
        let set = Measured { tools: 500, servers: 3, all: 1000, search: 200, tried: vec![hit, missed] };
        let text = markdown(&[set]);
        for line in [
            "| 500 | 3 | 1,000 | 2 | 200 | 20.0 % |",
            "| 500 | 1 of 2 | 1,015 | 327 | 2,015 | 835 | 41.4 % |",
            "| 500 | 8 | 100 | 150 | 14 | 5 | 10 |",
            "| a\\|hit | `hit` of `1.a_s` | 2 |",
            "| a\\|miss | `miss` of `1.a_s` | – |",
            "- Shown for `miss` among 500: `s.one`, `s.other`.",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
        }
    }
}
