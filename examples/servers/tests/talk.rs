//! Starts each example server and talks to it as a client would.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops here")]
#![expect(clippy::disallowed_methods, reason = "the real program is what is tested")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const NOTES: &str = env!("CARGO_BIN_EXE_portolan-example-notes");
const UNITS: &str = env!("CARGO_BIN_EXE_portolan-example-units");

struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talk {
    /// Starts `program` and shakes hands in `revision`.
    fn with(program: &str, args: &[&str], revision: &str) -> (Self, Value) {
        let mut child =
            Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut talk = Self { child, input, output };
        let hello = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let answer = talk.ask("initialize", &hello);
        talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        (talk, answer["result"].clone())
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params }).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], "q");
        answer
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))["result"].clone()
    }

    /// Closes stdin and waits: the server ends by itself, and well.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[track_caller]
fn check_refused(result: &Value, hint: &str) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(result).contains(hint), "{result}");
}

#[test]
fn both_servers_settle_on_every_revision_with_a_handshake_and_offer_the_latest_for_others() {
    for program in [NOTES, UNITS] {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let (talk, hello) = Talk::with(program, &[], revision);
            assert_eq!(hello["protocolVersion"], revision);
            assert!(hello["serverInfo"]["name"].as_str().unwrap().starts_with("portolan-example-"));
            talk.end();
        }
        let (talk, hello) = Talk::with(program, &[], "1999-01-01");
        assert_eq!(hello["protocolVersion"], "2025-11-25");
        talk.end();
    }
}

#[test]
fn tools_carry_what_the_revision_knows_and_nothing_newer() {
    for (revision, has_hints, has_schemas) in
        [("2024-11-05", false, false), ("2025-03-26", true, false), ("2025-11-25", true, true)]
    {
        let (mut talk, _) = Talk::with(UNITS, &[], revision);
        let tools = talk.ask("tools/list", &json!({}))["result"]["tools"].clone();
        assert_eq!(tools.as_array().unwrap().len(), 2);
        assert_eq!(tools[0]["inputSchema"]["type"], "object");
        assert_eq!(tools[0].get("annotations").is_some(), has_hints, "{revision}");
        assert_eq!(tools[0].get("outputSchema").is_some(), has_schemas, "{revision}");
        let result = talk.call("convert", &json!({ "value": 1, "from": "km", "to": "m" }));
        assert_eq!(result.get("structuredContent").is_some(), has_schemas, "{revision}");
        talk.end();
    }
}

#[test]
fn protocol_errors_have_their_codes_and_the_server_goes_on() {
    let (mut talk, _) = Talk::with(UNITS, &[], "2025-11-25");
    for (line, code, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"resources/list"}"#, -32601, json!(7)),
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"fly"}}"#, -32602, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call"}"#, -32602, json!(9)),
        (r#"{"jsonrpc":"2.0","id":10}"#, -32600, json!(10)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, json!(null)),
        ("{", -32700, json!(null)),
    ] {
        talk.say(line);
        let answer = talk.hear();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}");
    }
    talk.say("");
    talk.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(talk.ask("ping", &json!({}))["result"], json!({}));
    talk.end();
}

#[test]
fn a_batch_is_answered_as_a_batch_where_the_revision_has_them() {
    let (mut talk, _) = Talk::with(UNITS, &[], "2025-03-26");
    talk.say(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#);
    let answer = talk.hear();
    assert_eq!(
        (answer[0]["id"].as_u64(), answer[1]["id"].as_u64(), answer.as_array().unwrap().len()),
        (Some(1), Some(2), 2)
    );
    talk.end();
}

#[test]
fn units_are_converted_by_symbol_and_by_name() {
    let (mut talk, _) = Talk::with(UNITS, &[], "2025-11-25");
    for (value, from, to, expected) in [
        (26.2, "mi", "km", 42.164_812_8),
        (100.0, "C", "F", 212.0),
        (-40.0, "F", "degree celsius", -40.0),
        (0.3, "metres", "Centimetres", 30.0),
        (1.0, "GiB", "MB", 1_073.741_824),
        (3.0, "feet", "m", f64::NAN),
    ] {
        let result = talk.call("convert", &json!({ "value": value, "from": from, "to": to }));
        if expected.is_nan() {
            check_refused(&result, "list_units");
        } else {
            assert_eq!(result["structuredContent"]["result"], json!(expected), "{value} {from}");
        }
    }
    talk.end();
}

#[test]
fn wrong_arguments_are_answered_with_what_would_be_right() {
    let (mut talk, _) = Talk::with(UNITS, &[], "2025-11-25");
    check_refused(&talk.call("convert", &json!({ "value": 1, "from": "km", "to": "kg" })), "measures mass");
    check_refused(
        &talk.call("convert", &json!({ "value": "1", "from": "km", "to": "m" })),
        "`value` must be a number",
    );
    check_refused(&talk.call("convert", &json!({ "from": "km" })), "`value` is missing");
    check_refused(&talk.call("convert", &json!([1])), "must be an object");
    check_refused(&talk.call("list_units", &json!({ "kind": "mass" })), "unknown argument `kind`");
    check_refused(&talk.call("list_units", &json!({ "quantity": "joy" })), "length, mass");
    talk.end();
}

#[test]
fn notes_are_added_found_and_deleted() {
    let (mut talk, _) = Talk::with(NOTES, &[], "2025-11-25");
    let added = talk.call("add_note", &json!({ "text": "Buy a chart of the Aegean", "tags": ["shopping"] }));
    assert_eq!(added["structuredContent"]["id"], 1);
    talk.call("add_note", &json!({ "text": "Oil the compass" }));
    assert_eq!(
        text(&talk.call("list_notes", &json!({}))),
        "2. Oil the compass\n1. Buy a chart of the Aegean #shopping"
    );
    assert_eq!(talk.call("list_notes", &json!({ "limit": 1 }))["structuredContent"]["total"], 2);
    let found = talk.call("search_notes", &json!({ "query": "CHART shop" }));
    assert_eq!(found["structuredContent"]["notes"][0]["id"], 1);
    assert_eq!(talk.call("delete_note", &json!({ "id": 1 }))["isError"], false);
    check_refused(&talk.call("delete_note", &json!({ "id": 1 })), "there is no note 1");
    check_refused(&talk.call("add_note", &json!({ "text": " " })), "`text` must be a text");
    assert_eq!(text(&talk.call("list_notes", &json!({ "tag": "shopping" }))), "No notes.");
    talk.end();
}

#[test]
fn notes_in_a_file_outlive_the_server_and_ids_are_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.json");
    let args = ["--file", file.to_str().unwrap()];
    let (mut talk, _) = Talk::with(NOTES, &args, "2025-11-25");
    talk.call("add_note", &json!({ "text": "first", "tags": ["a"] }));
    talk.call("add_note", &json!({ "text": "second" }));
    talk.call("delete_note", &json!({ "id": 2 }));
    talk.end();

    let (mut talk, _) = Talk::with(NOTES, &args, "2025-11-25");
    assert_eq!(talk.call("add_note", &json!({ "text": "third" }))["structuredContent"]["id"], 3);
    assert_eq!(text(&talk.call("list_notes", &json!({}))), "3. third\n1. first #a");
    talk.end();
}

#[test]
fn a_file_that_holds_no_notes_is_left_alone_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    std::fs::write(&file, "{}").unwrap();
    let ended =
        Command::new(NOTES).arg("--file").arg(Path::new(&file)).stdin(Stdio::null()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("not a file of notes"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
}
