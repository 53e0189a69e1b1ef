//! Lists that depend on what a client declares: each sees what its server shows to clients like it, and nobody else's.

use crate::bridge::{AnyClient, Behind, Form, Front};
use crate::kit::{listed, until};
use portolan_testkit::client::Pending;
use portolan_testkit::{Client, Gateway, HttpClient, Journal, ModernClient, ModernStdio, Profile, Record};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CHANGED: &str = "notifications/tools/list_changed";
const TOOL: &str = "only_with_elicitation";

/// One of many kinds of clients that can be asked; each has lists of its own.
fn asked(kind: &str) -> Profile {
    Profile::named("somebody").capabilities(json!({ "elicitation": {}, "experimental": { kind: {} } }))
}

/// A client, and what it is told outside of its requests.
struct Listening {
    client: AnyClient,
    stream: Option<Pending>,
}

impl Listening {
    async fn to(behind: &Behind, front: Front, profile: Profile) -> Self {
        let client = front.connect(behind, profile).await;
        let stream = match &client {
            AnyClient::Http(client) => Some(client.open_get_stream().await),
            AnyClient::Modern(client) => {
                Some(client.listen("\"ear\"", json!({ "toolsListChanged": true })).await)
            }
            AnyClient::Sse(_) | AnyClient::Stdio(_) | AnyClient::ModernStdio(_) => None,
        };
        Self { client, stream }
    }

    fn heard(&self) -> &Record<Value> {
        match (&self.stream, &self.client) {
            (Some(stream), _) => &stream.messages,
            (None, AnyClient::Sse(client)) => client.messages(),
            (None, _) => panic!("nothing can be heard"),
        }
    }

    /// How often it was told that its tools have changed.
    fn told(&self) -> usize {
        self.heard().all().iter().filter(|message| is_change(message)).count()
    }

    async fn is_told(&self, what: &str) {
        self.heard().wait_for(what, is_change).await;
    }
}

fn is_change(message: &Value) -> bool {
    message["method"] == CHANGED
}

/// How the tool is called in a style.
fn shown(style: &str) -> String {
    let separator = match style {
        "dot" => ".",
        "colon" => ":",
        _ => "__",
    };
    format!("one{separator}{TOOL}")
}

async fn is_shown_to_whom_it_is_meant_for(form: Form) {
    for style in ["dot", "colon", "safe"] {
        let builder = Gateway::builder().arg("--names").arg(style);
        let behind = form
            .serve_as(&["--capability-tools", "--only", TOOL, "--only", "echo"], json!({}), builder)
            .await;
        let name = shown(style);
        for front in Front::ALL {
            let what = format!("{form:?} {style} {front:?}");
            let nobody = Listening::to(&behind, front, Profile::default()).await;
            let somebody = Listening::to(&behind, front, asked(&format!("{front:?}"))).await;
            somebody.client.tool_names().await;
            somebody.is_told(&what).await;
            assert!(somebody.client.tool_names().await.contains(&name), "{what}");
            let text = somebody.client.call_text(&name, json!({ "x": 1 })).await;
            assert!(text.contains(TOOL), "{what}: {text}");
            // The same by the name that it has everywhere.
            somebody.client.call_text(&format!("one.{TOOL}"), json!({})).await;
            assert_eq!(somebody.told(), 1, "{what}");
            // Whoever is like it sees it at once.
            let other = front.connect(&behind, asked(&format!("{front:?}"))).await;
            assert!(other.tool_names().await.contains(&name), "{what}");
            assert_eq!(nobody.client.tool_names().await.len(), 1, "{what}");
            assert_eq!(nobody.told(), 0, "{what}: it is no news to others");
        }
    }
}

#[tokio::test]
async fn a_tool_for_some_of_a_server_over_stdio_legacy_is_shown_to_those() {
    is_shown_to_whom_it_is_meant_for(Form::StdioLegacy).await;
}

#[tokio::test]
async fn a_tool_for_some_of_a_server_over_stdio_modern_is_shown_to_those() {
    is_shown_to_whom_it_is_meant_for(Form::StdioModern).await;
}

#[tokio::test]
async fn a_tool_for_some_of_a_server_over_http_legacy_is_shown_to_those() {
    is_shown_to_whom_it_is_meant_for(Form::HttpLegacy).await;
}

#[tokio::test]
async fn a_tool_for_some_of_a_server_over_http_modern_is_shown_to_those() {
    is_shown_to_whom_it_is_meant_for(Form::HttpModern).await;
}

#[tokio::test]
async fn a_tool_for_some_of_a_server_over_sse_is_shown_to_those() {
    is_shown_to_whom_it_is_meant_for(Form::Sse).await;
}

#[tokio::test]
async fn nobody_waits_long_for_what_is_being_found_out() {
    let builder = Gateway::builder();
    let go = builder.directory().join("go");
    std::fs::write(&go, "").unwrap();
    let flags = ["--capability-tools", "--start-when", go.to_str().unwrap()];
    let behind = Form::StdioLegacy.serve_as(&flags, json!({}), builder).await;
    std::fs::remove_file(&go).unwrap();
    let somebody = Listening::to(&behind, Front::Http, asked("a")).await;
    let before = somebody.client.tool_names().await;
    behind.journal.wait_for("a second program", |journal| journal.starts() == 2).await;
    assert_eq!(somebody.client.tool_names().await, before);
    assert_eq!(behind.gateway.connect().await.tool_names().await, before);
    assert!(!before.contains(&shown("dot")));
    std::fs::write(&go, "").unwrap();
    somebody.is_told("what was found out").await;
    assert!(somebody.client.tool_names().await.contains(&shown("dot")));
}

#[tokio::test]
async fn one_server_by_itself_shows_it_under_its_own_name() {
    for form in Form::LASTING {
        let behind = form.serve(&["--capability-tools"]).await;
        let url = behind.gateway.server_url("one");
        let old = HttpClient::connect_as(&url, asked("old")).await;
        let stream = old.open_get_stream().await;
        old.tool_names().await;
        stream.wait_for_method(CHANGED).await;
        assert!(old.tool_names().await.contains(&TOOL.to_owned()));
        let new = ModernClient::with(&url, asked("old"));
        assert!(new.tool_names().await.contains(&TOOL.to_owned()));
        new.call_text(TOOL, json!({})).await;
        let nobody = HttpClient::connect(&url).await;
        assert!(!nobody.tool_names().await.contains(&TOOL.to_owned()));
    }
}

#[tokio::test]
async fn over_pipes_clients_of_either_era_hear_of_it_and_see_it() {
    for form in [Form::StdioLegacy, Form::HttpModern] {
        let (_behind, pipes) = form.over_stdio(&["--capability-tools"], asked("old")).await;
        pipes.initialize().await;
        pipes.wait_for_tools(|names| names.contains(&shown("colon"))).await;
        pipes.messages().wait_for("a change", is_change).await;
        // The other era on the same pipes, and of another kind.
        let new = ModernStdio::over(pipes, asked("new"));
        let from = new.pipes.messages().len();
        new.listen("\"ear\"", json!({ "toolsListChanged": true })).await;
        new.tool_names().await;
        let is_its_own = |message: &Value| is_change(message) && !message["params"]["_meta"].is_null();
        new.pipes.messages().wait_after(from, "a change", is_its_own).await;
        assert!(new.tool_names().await.contains(&shown("colon")), "{form:?}");
        new.call_text(&shown("colon"), json!({})).await;
    }
}

/// The list as the bytes that it comes in.
async fn bytes(client: &HttpClient) -> String {
    client.request("7", "tools/list", json!({})).await.body
}

/// How often all tools were asked for by somebody who declared this, in a handshake or with the request.
fn looks(journal: &Journal, capability: &str) -> usize {
    let mut sessions: BTreeMap<String, bool> = BTreeMap::new();
    let mut looks = 0;
    for line in journal.messages() {
        let (session, params) = (line["session"].to_string(), &line["params"]);
        if line["method"] == "initialize" {
            sessions.insert(session, params["capabilities"].get(capability).is_some());
        } else if line["method"] == "tools/list" {
            let said = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            let is_so = said.get(capability).is_some() || sessions.get(&session).is_some_and(|so| *so);
            looks += usize::from(is_so);
        }
    }
    looks
}

#[tokio::test]
async fn a_profile_that_is_shown_the_same_gets_the_same_bytes() {
    for form in Form::LASTING {
        let behind = form.serve(&["--capability-tools"]).await;
        let nobody = behind.gateway.connect().await;
        let expected = bytes(&nobody).await;
        let profile = Profile::named("somebody").capabilities(json!({ "sampling": {} }));
        let somebody = HttpClient::connect_as(&behind.gateway.url(), profile).await;
        assert_eq!(bytes(&somebody).await, expected, "{form:?}");
        behind.journal.wait_for("a look", |journal| looks(journal, "sampling") == 1).await;
        // Errands are run one after the other: once this one has come to something, so has the one before.
        let other = HttpClient::connect_as(&behind.gateway.url(), asked("other")).await;
        other.wait_for_tools(|names| names.contains(&shown("dot"))).await;
        assert_eq!(bytes(&somebody).await, expected, "{form:?}");
        assert_eq!(bytes(&nobody).await, expected, "{form:?}");
        assert_eq!(looks(&behind.journal, "sampling"), 1, "{form:?}: once is enough");
    }
}

#[tokio::test]
async fn any_number_of_profiles_takes_no_more_than_a_few() {
    let behind = Form::StdioLegacy.serve(&["--capability-tools"]).await;
    let first = Listening::to(&behind, Front::Http, asked("0")).await;
    for number in 0..20 {
        let client = HttpClient::connect_as(&behind.gateway.url(), asked(&number.to_string())).await;
        client.wait_for_tools(|names| names.contains(&shown("dot"))).await;
        // One that all share, and as many as one server may have beside it.
        until("there are not too many programs", || behind.gateway.fixtures().len() <= 9).await;
    }
    // It was told when there was something to see, and again when nobody remembered what that was.
    until("the first profile is forgotten", || first.told() == 2).await;
    first.client.wait_for_tools(|names| names.contains(&shown("dot"))).await;
}

#[tokio::test]
async fn servers_are_looked_at_once_for_clients_that_are_alike_and_one_after_the_other() {
    let names = ["a", "b", "c"];
    let mut builder = Gateway::builder();
    let go = builder.directory().join("go");
    std::fs::write(&go, "").unwrap();
    for name in names {
        builder = builder.fixture(name, &["--start-when", go.to_str().unwrap()]);
    }
    let gateway = builder.serve().await;
    listed(&gateway.connect().await, &names).await;
    std::fs::remove_file(&go).unwrap();
    let profile = Profile::named("somebody").capabilities(json!({ "roots": {} }));
    let old = HttpClient::connect_as(&gateway.url(), profile.clone()).await;
    let new = ModernClient::with(&gateway.url(), profile);
    let starts = || names.map(|name| gateway.journal(name).starts());
    for _ in 0..3 {
        old.tool_names().await;
        new.tool_names().await;
    }
    until("somebody looks", || starts()[0] == 2).await;
    assert_eq!(starts(), [2, 1, 1], "not more than one program at a time");
    std::fs::write(&go, "").unwrap();
    for name in names {
        gateway.journal(name).wait_for("a look", |journal| looks(journal, "roots") == 1).await;
    }
    assert_eq!(starts(), [2, 2, 2]);
}

#[tokio::test]
async fn a_change_of_the_servers_lists_is_seen_by_all_profiles() {
    for form in [Form::HttpLegacy, Form::HttpModern, Form::Sse] {
        let behind = form.serve(&["--capability-tools", "--faults"]).await;
        let Listening { client: somebody, stream: Some(stream) } =
            Listening::to(&behind, Front::Http, asked("a")).await
        else {
            panic!("no stream");
        };
        somebody.tool_names().await;
        let (at, _) = stream.messages.wait_after(0, "the first change", is_change).await;
        let nobody = behind.gateway.connect().await;
        nobody.call("one.change_tools", json!({ "add": ["brand_new"] })).await;
        stream.messages.wait_after(at + 1, "the second change", is_change).await;
        let names = somebody.tool_names().await;
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        assert!(has(&names, "one.brand_new") && has(&names, &shown("dot")), "{form:?}: {names:?}");
        // What only some see may go for all as well.
        nobody.call("one.change_tools", json!({ "remove": [TOOL] })).await;
        let names = somebody.wait_for_tools(|names| !names.contains(&shown("dot"))).await;
        assert!(has(&names, "one.brand_new"), "{form:?}");
        assert_eq!(names, nobody.tool_names().await, "{form:?}");
    }
}

#[tokio::test]
async fn a_server_that_goes_takes_everything_along_and_is_looked_at_again_when_it_is_back() {
    for form in [Form::StdioLegacy, Form::HttpModern] {
        let behind = form.serve(&["--capability-tools"]).await;
        let somebody = HttpClient::connect_as(&behind.gateway.url(), asked("a")).await;
        somebody.wait_for_tools(|names| names.contains(&shown("dot"))).await;
        let rest = behind.gateway.rest();
        let list = rest.get("/aggregator/servers").await.json(200);
        let id = list[0]["id"].as_str().unwrap_or_else(|| panic!("{list}")).to_owned();
        rest.post_nothing(&format!("/aggregator/servers/{id}/disconnect")).await;
        somebody.wait_for_tools(<[String]>::is_empty).await;
        rest.post_nothing(&format!("/aggregator/servers/{id}/connect")).await;
        somebody.wait_for_tools(|names| names.contains(&shown("dot"))).await;
        assert_eq!(looks(&behind.journal, "elicitation"), 2, "{form:?}");
    }
}

#[tokio::test]
async fn a_portolan_behind_a_portolan_shows_on_what_it_is_shown() {
    for form in [Form::StdioLegacy, Form::HttpModern] {
        let behind = form.serve(&["--capability-tools"]).await;
        for (kind, entry) in [
            ("http", json!({ "type": "http", "url": behind.gateway.url() })),
            ("sse", json!({ "type": "sse", "url": behind.gateway.url_of("/sse") })),
        ] {
            let gateway = Gateway::builder().server("inner", entry).serve().await;
            listed(&gateway.connect().await, &["inner"]).await;
            let somebody = HttpClient::connect_as(&gateway.url(), asked(kind)).await;
            let stream = somebody.open_get_stream().await;
            let name = format!("inner.one.{TOOL}");
            somebody.tool_names().await;
            stream.wait_for_method(CHANGED).await;
            assert!(somebody.tool_names().await.contains(&name), "{form:?} {kind}");
            somebody.call_text(&name, json!({})).await;
            assert!(!gateway.connect().await.tool_names().await.contains(&name), "{form:?} {kind}");
        }
    }
}

#[tokio::test]
async fn an_entry_with_one_session_for_all_is_left_alone() {
    let builder = Gateway::builder();
    let mut alone = builder.fixture_entry("alone", &["--capability-tools"]);
    alone["portolan"] = json!({ "session": "shared" });
    let gateway = builder.server("alone", alone).fixture("one", &["--capability-tools"]).serve().await;
    listed(&gateway.connect().await, &["alone", "one"]).await;
    let somebody = HttpClient::connect_as(&gateway.url(), asked("a")).await;
    let names = somebody.wait_for_tools(|names| names.contains(&shown("dot"))).await;
    assert!(!names.contains(&format!("alone.{TOOL}")));
    assert_eq!(gateway.journal("alone").starts(), 1);
}

#[tokio::test]
async fn rest_shows_what_everybody_is_shown() {
    let behind = Form::StdioLegacy.serve(&["--capability-tools"]).await;
    let somebody = HttpClient::connect_as(&behind.gateway.url(), asked("a")).await;
    somebody.wait_for_tools(|names| names.contains(&shown("dot"))).await;
    let answer = behind.gateway.rest().get("/aggregator/tools").await;
    assert!(answer.body.contains("echo") && !answer.body.contains(TOOL), "{}", answer.body);
}
