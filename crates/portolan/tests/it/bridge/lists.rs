//! Prompts, resources and templates of many servers as one list, and the way from a name back to its server.

use crate::kit::{listed, ready};
use portolan_testkit::{Client, Gateway, GatewayBuilder, HttpClient, ModernClient, Profile};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The four lists: their method, the member that holds them, and the member by which each entry is asked for.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
];

fn two_servers() -> GatewayBuilder {
    Gateway::builder().fixture("one", &[]).fixture("two", &[])
}

/// Every page of a list, each with its keys.
async fn pages(client: &impl Client, (method, list, key): (&str, &str, &str)) -> Vec<Vec<String>> {
    let (mut pages, mut params) = (Vec::new(), json!({}));
    loop {
        let reply = client.ask(method, params).await;
        let page = reply["result"][list].as_array().unwrap_or_else(|| panic!("{method}: {reply}"));
        pages.push(page.iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect());
        match &reply["result"]["nextCursor"] {
            Value::Null => return pages,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
}

async fn keys(client: &impl Client, list: (&str, &str, &str)) -> Vec<String> {
    pages(client, list).await.concat()
}

#[tokio::test]
async fn prompts_are_shown_in_the_style_of_the_gateway_and_taken_in_every_style() {
    for (style, separator) in [("dot", "."), ("colon", ":"), ("safe", "__")] {
        let (gateway, old) = ready(two_servers().arg("--names").arg(style), &["one", "two"]).await;
        let new = ModernClient::new(&gateway.url());
        for shown in [keys(&old, LISTS[1]).await, keys(&new, LISTS[1]).await] {
            for server in ["one", "two"] {
                let name = format!("{server}{separator}test_prompt_with_arguments");
                assert!(shown.contains(&name), "{style}: {shown:?}");
            }
            assert!(shown.iter().all(|name| name.starts_with("one") || name.starts_with("two")), "{shown:?}");
        }
        let journal = gateway.journal("two");
        for name in ["two.test_simple_prompt", "two:test_simple_prompt", "two__test_simple_prompt"] {
            let before = journal.of("prompts/get").len();
            for reply in [
                old.ask("prompts/get", json!({ "name": name })).await,
                new.ask("prompts/get", json!({ "name": name })).await,
            ] {
                let text = &reply["result"]["messages"][0]["content"]["text"];
                assert_eq!(text, "This is a simple prompt for testing.", "{style}, {name}: {reply}");
            }
            let seen = journal.of("prompts/get").split_off(before);
            assert_eq!(seen.len(), 2, "{style}, {name}");
            assert!(
                seen.iter().all(|line| line["params"]["name"] == "test_simple_prompt"),
                "{style}, {name}"
            );
        }
        assert!(!gateway.journal("one").saw("prompts/get"));
        let unknown = old.ask("prompts/get", json!({ "name": "two.nothing" })).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        let either = old.ask("prompts/get", json!({ "name": "test_simple_prompt" })).await;
        let candidates = &either["error"]["data"]["candidates"];
        assert_eq!(candidates, &json!(["one.test_simple_prompt", "two.test_simple_prompt"]), "{either}");
    }
}

#[tokio::test]
async fn one_server_by_itself_shows_its_own_names_and_addresses() {
    let (gateway, _) = ready(two_servers(), &["one", "two"]).await;
    let own = gateway.connect_to("two").await;
    let prompts = keys(&own, LISTS[1]).await;
    assert!(prompts.contains(&"test_simple_prompt".to_owned()), "{prompts:?}");
    let resources = keys(&own, LISTS[2]).await;
    assert!(resources.contains(&"test://static-text".to_owned()), "{resources:?}");
    assert_eq!(keys(&own, LISTS[3]).await, ["test://template/{id}/data"]);
    own.ask("prompts/get", json!({ "name": "test_simple_prompt" })).await;
    own.ask("resources/read", json!({ "uri": "test://static-text" })).await;
    own.ask("resources/read", json!({ "uri": "test://template/7/data" })).await;
    let journal = gateway.journal("two");
    assert_eq!((journal.of("prompts/get").len(), journal.of("resources/read").len()), (1, 2));
    assert!(!gateway.journal("one").saw("resources/read"));
}

#[tokio::test]
async fn an_address_that_two_servers_have_is_the_firsts_and_both_forms_of_either_are_read() {
    let (gateway, old) = ready(two_servers(), &["one", "two"]).await;
    let new = ModernClient::new(&gateway.url());
    let (plain, theirs) = ("test://static-text", "portolan://two/test%3A%2F%2Fstatic-text");
    let template = "portolan://two/test%3A%2F%2Ftemplate%2F%7Bid%7D%2Fdata";
    for (resources, templates) in [
        (keys(&old, LISTS[2]).await, keys(&old, LISTS[3]).await),
        (keys(&new, LISTS[2]).await, keys(&new, LISTS[3]).await),
    ] {
        for uri in [plain, theirs] {
            assert_eq!(resources.iter().filter(|shown| *shown == uri).count(), 1, "{resources:?}");
        }
        let distinct: BTreeSet<&String> = resources.iter().collect();
        assert_eq!(distinct.len(), resources.len(), "{resources:?}");
        assert_eq!(templates, ["test://template/{id}/data", template]);
    }
    let reads = |server: &str| {
        let seen = gateway.journal(server).of("resources/read");
        seen.iter().map(|line| line["params"]["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (uri, server, own) in [
        (plain, "one", plain),
        (theirs, "two", plain),
        ("portolan://one/test%3A%2F%2Fstatic-text", "one", plain),
        ("test://template/7/data", "one", "test://template/7/data"),
        ("portolan://two/test%3A%2F%2Ftemplate%2F7%2Fdata", "two", "test://template/7/data"),
    ] {
        let before = reads(server).len();
        for reply in [
            old.ask("resources/read", json!({ "uri": uri })).await,
            new.ask("resources/read", json!({ "uri": uri })).await,
        ] {
            assert!(reply["result"]["contents"][0].get("text").is_some(), "{uri}: {reply}");
        }
        let seen = reads(server);
        assert_eq!(seen[before..], [own, own], "{uri}");
    }
}

#[tokio::test]
async fn what_is_read_under_our_own_form_is_answered_under_it() {
    let (gateway, old) = ready(two_servers(), &["one", "two"]).await;
    let new = ModernClient::new(&gateway.url());
    let theirs = "portolan://two/test%3A%2F%2Fstatic-text";
    for reply in [
        old.ask("resources/read", json!({ "uri": theirs })).await,
        new.ask("resources/read", json!({ "uri": theirs })).await,
    ] {
        assert_eq!(reply["result"]["contents"][0]["uri"], theirs, "{reply}");
    }
}

#[tokio::test]
async fn pages_cover_everything_exactly_once() {
    // The servers have pages of their own as well.
    let builder = || Gateway::builder().fixture("one", &["--pages", "3"]).fixture("two", &["--pages", "5"]);
    let (whole, client) = ready(builder(), &["one", "two"]).await;
    let mut expected = Vec::new();
    for list in LISTS {
        let pages = pages(&client, list).await;
        assert_eq!(pages.len(), 1, "{}: one page, unless asked otherwise", list.0);
        expected.push(sorted(pages.concat()));
    }
    drop(whole);
    for size in ["1", "2", "7", "1000"] {
        let (gateway, old) = ready(builder().env("PORTOLAN_LIST_PAGE", size), &["one", "two"]).await;
        let new = ModernClient::new(&gateway.url());
        let most: usize = size.parse().unwrap();
        for (list, expected) in LISTS.into_iter().zip(&expected) {
            for pages in [pages(&old, list).await, pages(&new, list).await] {
                assert_eq!(&sorted(pages.concat()), expected, "{} in pages of {size}", list.0);
                assert!(pages.iter().all(|page| page.len() <= most), "{} in pages of {size}", list.0);
                assert_eq!(pages.len(), expected.len().div_ceil(most), "{} in pages of {size}", list.0);
            }
        }
        let own = gateway.connect_to("one").await;
        let names = keys(&own, LISTS[1]).await;
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        assert!(names.contains(&"test_simple_prompt".to_owned()), "{names:?}");
    }
}

/// Pages have an order of their own, in which they can go on whatever has changed.
fn sorted(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys
}

#[tokio::test]
async fn a_cursor_that_was_not_given_out_for_this_list_is_refused() {
    let (gateway, old) = ready(two_servers().env("PORTOLAN_LIST_PAGE", "1"), &["one", "two"]).await;
    let new = ModernClient::new(&gateway.url());
    let first = old.ask("tools/list", json!({})).await;
    let good = first["result"]["nextCursor"].as_str().unwrap().to_owned();
    let cut = &good[..good.len() - 1];
    for (method, cursor) in [
        ("tools/list", "nonsense"),
        ("tools/list", "1"),
        ("tools/list", cut),
        ("tools/list", &format!("{good}A")),
        ("prompts/list", &good),
        ("resources/list", &good),
        ("resources/templates/list", &good),
    ] {
        let params = json!({ "cursor": cursor });
        for reply in [old.ask(method, params.clone()).await, new.ask(method, params.clone()).await] {
            assert_eq!(reply["error"]["code"], -32602, "{method} after {cursor}: {reply}");
        }
    }
    for client in [gateway.connect().await, gateway.connect_to("one").await] {
        let reply = client.ask("tools/list", json!({ "cursor": good })).await;
        assert!(reply.get("result").is_some(), "a cursor belongs to no session: {reply}");
    }
}

#[tokio::test]
async fn a_page_goes_on_where_it_was_when_the_list_has_changed_meanwhile() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIST_PAGE", "10");
    let (_gateway, client) = ready(builder, &["one"]).await;
    let first = client.ask("tools/list", json!({})).await;
    let shown: Vec<String> = names(&first);
    // What the page ended with goes, and what would stand at its end comes.
    let last = shown.last().unwrap().strip_prefix("one.").unwrap();
    client.call("one.change_tools", json!({ "remove": [last], "add": ["zz_brand_new"] })).await;
    client.wait_for_tools(|names| names.iter().any(|name| name == "one.zz_brand_new")).await;
    let mut rest = Vec::new();
    let mut params = json!({ "cursor": first["result"]["nextCursor"] });
    loop {
        let reply = client.ask("tools/list", params).await;
        rest.extend(names(&reply));
        match &reply["result"]["nextCursor"] {
            Value::Null => break,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
    assert!(rest.iter().all(|name| !shown.contains(name)), "nothing twice: {rest:?}");
    assert!(rest.contains(&"one.zz_brand_new".to_owned()), "{rest:?}");
    let all = client.tool_names().await;
    assert_eq!(rest.len(), all.len() - (shown.len() - 1), "nothing left out: {rest:?}");
}

fn names(reply: &Value) -> Vec<String> {
    let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn instructions_are_joined_under_the_names_of_their_servers_and_can_be_switched_off() {
    let builder = || {
        let first = Gateway::builder().fixture("one", &["--instructions", "Be brief."]);
        first.fixture("two", &["--instructions", "Be kind."]).fixture("none", &[])
    };
    let joined = "## one\nBe brief.\n\n## two\nBe kind.";
    for (switch, expected) in [(None, json!(joined)), (Some("false"), Value::Null)] {
        let builder =
            switch.into_iter().fold(builder(), |builder, off| builder.env("PORTOLAN_INSTRUCTIONS", off));
        let (gateway, _) = ready(builder, &["one", "two", "none"]).await;
        let welcome = HttpClient::new(&gateway.url()).initialize().await;
        assert_eq!(welcome.result()["instructions"], expected);
        let found = ModernClient::new(&gateway.url()).exchange("server/discover", json!({})).await;
        assert_eq!(found.result()["instructions"], expected);
        // One server by itself is a plain bridge.
        let own = HttpClient::new(&gateway.server_url("two")).initialize().await;
        assert_eq!(own.result()["instructions"], "Be kind.");
        let own = HttpClient::new(&gateway.server_url("none")).initialize().await;
        assert_eq!(own.result().get("instructions"), None);
    }
}

#[tokio::test]
async fn instructions_without_end_are_cut_and_every_server_has_its_say() {
    let long = "x".repeat(100_000);
    let builder = Gateway::builder().fixture("big", &["--instructions", &long]);
    let builder = builder.fixture("small", &["--instructions", "Be kind."]);
    let (gateway, _) = ready(builder, &["big", "small"]).await;
    let welcome = HttpClient::new(&gateway.url()).initialize().await;
    let text = welcome.result()["instructions"].as_str().unwrap();
    assert!(text.len() <= 8 * 1024, "{}", text.len());
    assert!(text.starts_with("## big\nxxx") && text.ends_with("## small\nBe kind."), "{text}");
}

fn of_prompt(name: &str) -> Value {
    let reference = json!({ "type": "ref/prompt", "name": name });
    json!({ "ref": reference, "argument": { "name": "arg1", "value": "par" } })
}

fn of_template(uri: &str) -> Value {
    let reference = json!({ "type": "ref/resource", "uri": uri });
    json!({ "ref": reference, "argument": { "name": "id", "value": "te" }, "context": { "arguments": { "a": "b" } } })
}

#[tokio::test]
async fn completions_follow_their_prompt_or_template() {
    let (gateway, old) = ready(two_servers(), &["one", "two"]).await;
    let new = ModernClient::new(&gateway.url());
    let theirs = "portolan://two/test%3A%2F%2Ftemplate%2F%7Bid%7D%2Fdata";
    let own = "test://template/{id}/data";
    for (params, server, key, expected, values) in [
        (of_prompt("one.test_prompt_with_arguments"), "one", "name", "test_prompt_with_arguments", 3),
        (of_prompt("two__test_prompt_with_arguments"), "two", "name", "test_prompt_with_arguments", 3),
        (of_template(own), "one", "uri", own, 1),
        (of_template(theirs), "two", "uri", own, 1),
    ] {
        for reply in [
            old.ask("completion/complete", params.clone()).await,
            new.ask("completion/complete", params.clone()).await,
        ] {
            let found = reply["result"]["completion"]["values"].as_array();
            assert_eq!(found.map(Vec::len), Some(values), "{params}: {reply}");
            let seen = gateway.journal(server).of("completion/complete");
            let last = &seen.last().unwrap()["params"];
            assert_eq!(last["ref"][key], expected);
            assert_eq!((&last["argument"], &last["context"]), (&params["argument"], &params["context"]));
        }
    }
    let unknown = old.ask("completion/complete", of_prompt("two.nothing")).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn a_server_without_completions_completes_to_nothing_and_is_not_asked() {
    let builder = Gateway::builder().fixture("one", &["--without", "completions"]);
    let (gateway, old) = ready(builder, &["one"]).await;
    let new = ModernClient::new(&gateway.url());
    for params in [of_prompt("one.test_prompt_with_arguments"), of_template("test://template/{id}/data")] {
        for reply in [
            old.ask("completion/complete", params.clone()).await,
            new.ask("completion/complete", params.clone()).await,
        ] {
            assert_eq!(reply["result"]["completion"]["values"], json!([]), "{params}: {reply}");
        }
    }
    assert!(!gateway.journal("one").saw("completion/complete"));
}

#[tokio::test]
async fn a_server_that_has_tools_only_is_asked_for_nothing_else_and_the_others_are_listed() {
    let builder = Gateway::builder().fixture("bare", &["--without", "prompts,resources,completions,logging"]);
    let (gateway, client) = ready(builder.fixture("full", &[]), &["bare", "full"]).await;
    for list in &LISTS[1..3] {
        let shown = keys(&client, *list).await;
        assert!(!shown.is_empty() && !shown.iter().any(|key| key.starts_with("bare.")), "{shown:?}");
    }
    let journal = gateway.journal("bare");
    for method in ["prompts/list", "resources/list", "resources/templates/list", "logging/setLevel"] {
        assert!(!journal.saw(method), "{method}");
    }
    let own = HttpClient::new(&gateway.server_url("bare"));
    let welcome = own.initialize().await;
    for capability in ["prompts", "resources", "completions"] {
        assert_eq!(welcome.result()["capabilities"].get(capability), None, "{}", welcome.body);
    }
    let refused = own.ask("prompts/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

#[tokio::test]
async fn lists_over_stdio_are_those_over_http() {
    let profile = Profile::default();
    let (_gateway, pipes) = two_servers().stdio(profile);
    pipes.initialize().await;
    listed(&pipes, &["one", "two"]).await;
    let (gateway, http) = ready(two_servers().arg("--names").arg("colon"), &["one", "two"]).await;
    for list in LISTS {
        assert_eq!(keys(&pipes, list).await, keys(&http, list).await, "{}", list.0);
    }
    drop(gateway);
}
