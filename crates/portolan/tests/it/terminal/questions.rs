//! `portolan query`, `ask` and `agents`, through a running Portolan and by themselves.

use super::{Person, text};
use portolan_testkit::{Gateway, bin, processes};
use serde_json::{Value, json};

fn example(name: &str) -> Value {
    json!({ "command": bin(&format!("portolan-example-{name}")) })
}

/// Two desks with notes on them and a server that cannot be started.
async fn ready() -> (Gateway, Person) {
    let builder = Gateway::builder().server("desk", example("notes")).server("shelf", example("notes"));
    let gateway = builder.server("gone", json!({ "command": "/nonexistent" })).serve().await;
    let person = Person::at(&gateway);
    for (server, note) in [
        ("desk", "The ferry to Bergen leaves at noon"),
        ("shelf", "Tickets for the ferry are in the drawer"),
        ("desk", "Water the plants on Monday"),
        ("shelf", "Water the plants on Monday"),
    ] {
        person.does(&["connect", server, "--wait"]).await;
        person.does(&["call", &format!("{server}.add_note"), &format!("text={note}")]).await;
    }
    (gateway, person)
}

#[tokio::test]
async fn results_are_shown_by_rank_and_whoever_did_not_answer_is_named() {
    let (_gateway, person) = ready().await;
    let out = person.does(&["query", "when", "does", "the", "ferry", "to", "Bergen", "leave"]).await;
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with(" 1. desk  0."), "{out}");
    assert_eq!(lines[1], "    The ferry to Bergen leaves at noon");
    assert!(lines.iter().any(|line| line.starts_with(" 2. shelf  0.")), "{out}");
    assert!(out.contains("\n2 results; 2 of 3 servers answered; "), "{out}");
    assert!(lines.last().unwrap().starts_with("no answer from gone: "), "{out}");
    let out = person.does(&["query", "plants", "--server", "desk", "--server", "shelf"]).await;
    assert!(out.contains("\n    also from shelf\n") && out.contains("\n1 result; 2 of 2 servers"), "{out}");
    assert_eq!(
        person.does(&["query", "plants", "--servers", "desk,shelf"]).await.lines().next(),
        out.lines().next()
    );
    let out = person.does(&["query", "zeppelin", "--server", "desk"]).await;
    assert!(out.starts_with("nothing was found: ") && out.contains("1 of 1 servers answered"), "{out}");
    let answer = person.reads(&["query", "plants", "--server", "shelf", "--max-results", "10"]).await;
    assert_eq!(
        (&answer["results"][0]["server"], &answer["metadata"]["serversQueried"]),
        (&json!("shelf"), &json!(1))
    );
}

#[tokio::test]
async fn a_query_that_nobody_answers_or_that_is_wrong_says_so() {
    let (_gateway, person) = ready().await;
    let failed = "portolan: Aggregation failed: all servers unavailable\n  servers.gone: ";
    person.fails(&["query", "plants", "--server", "gone"], 1, failed).await;
    person.fails(&["query", "plants", "--server", "nobody"], 1, "No server is called \"nobody\"").await;
    person.fails(&["query"], 2, "QUERY").await;
    person.fails(&["query", "plants", "--max-results", "5"], 2, "10..=100").await;
    person.fails(&["ask", "desk"], 2, "QUERY").await;
    person.fails(&["ask", "desk", "x", "--max-tools", "0"], 2, "1..=100").await;
    person.fails(&["query", "x", "--config", "f", "--url", "http://h"], 2, "cannot be used with").await;
}

#[tokio::test]
async fn an_agent_answers_and_is_listed_with_its_numbers() {
    let (_gateway, person) = ready().await;
    let out = person.does(&["ask", "desk", "plants", "--context", "at home", "--max-tools", "3"]).await;
    assert!(out.starts_with("This was done without a model"), "{out}");
    assert!(out.contains("Water the plants on Monday"), "{out}");
    assert!(out.ends_with("\n\ntools used: search_notes\n"), "{out}");
    let report = person.reads(&["ask", "desk", "plants", "--allow-destructive"]).await;
    assert_eq!((&report["status"], &report["metadata"]["connectorId"]), (&json!("success"), &json!("desk")));
    person.fails(&["ask", "nobody", "x"], 1, "Server not found: nobody").await;
    person.fails(&["ask", "gone", "x"], 1, "server gone is ").await;
    let table = person.does(&["agents"]).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..6], ["AGENT", "STATUS", "TOOLS", "CALLS", "ERRORS", "TOKENS"]);
    assert_eq!(rows[1][..6], ["desk", "CONNECTED", "4", "2", "0", "0/0"]);
    assert_eq!(rows[3], ["shelf", "CONNECTED", "4", "0", "0", "0/0", "0"]);
    let agents = person.reads(&["agents"]).await;
    assert_eq!((&agents[0]["name"], &agents[0]["calls"]), (&json!("desk"), &json!(2)), "{agents}");
}

#[tokio::test]
async fn with_a_file_questions_need_no_running_portolan_and_leave_nothing_behind() {
    let person = Person::new();
    let mut units = example("units");
    units["args"] = json!(["--home", text(person.home.path())]);
    let servers =
        json!({ "mcpServers": { "units": units, "gone": { "command": "portolan-no-such-program" } } });
    let file = person.write("servers.json", &servers.to_string());
    let with = |verb: &[&'static str]| [verb, &["--config", text(&file)]].concat();
    let out = person.run(&with(&["query", "knots"])).await;
    assert_eq!(out.code, Some(0), "{out:?}");
    assert!(out.out.starts_with(" 1. units  0.") && out.out.contains("symbol: kn"), "{out:?}");
    assert!(out.out.contains("no answer from gone: "), "{out:?}");
    let answer = person.reads(&with(&["query", "knots", "--server", "units"])).await;
    assert_eq!(answer["metadata"]["serversSucceeded"], 1, "{answer}");
    let ran = person.run(&with(&["query", "knots", "--server", "gone"])).await;
    assert!(ran.code == Some(1) && ran.err.contains("all servers unavailable\n  gone: "), "{ran:?}");
    person.fails(&with(&["query", "knots", "--server", "nobody"]), 2, "there are gone, units").await;
    person.fails(&with(&["query", " ", "--server", "units"]), 1, "query: Must not be blank").await;
    let out = person.does(&with(&["ask", "units", "list", "all", "units"])).await;
    assert!(out.contains("list_units was called"), "{out}");
    person.fails(&with(&["ask", "nobody", "x"]), 2, "there are gone, units").await;
    person.fails(&["query", "knots"], 1, "no Portolan is running here").await;
    assert!(processes::mentioning(text(person.home.path())).is_empty());
}
