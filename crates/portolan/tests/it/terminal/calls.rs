//! `portolan call`, through a running Portolan and by itself.

use super::{Person, fixture, text};
use portolan_testkit::{Gateway, processes};
use serde_json::{Value, json};

async fn ready() -> (Gateway, Person) {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &["--only", "echo"]);
    let gateway = builder.serve().await;
    let person = Person::at(&gateway);
    for server in ["one", "two"] {
        person.does(&["connect", server, "--wait"]).await;
    }
    (gateway, person)
}

#[tokio::test]
async fn arguments_are_of_the_types_that_the_tool_wants() {
    let (_gateway, person) = ready().await;
    let file = person.write("notes.json", "[1,\n 2]");
    let typed = ["call", "one.echo", "n=5", "t=five", "j:={\"a\": 1.0}", &format!("f=@{}", text(&file))];
    let said: Value = serde_json::from_str(&person.does(&typed).await).unwrap();
    assert_eq!(said, json!({ "n": 5, "t": "five", "j": { "a": 1.0 }, "f": [1, 2] }));
    // This one's schema wants a number, and its answer says which it got.
    assert_eq!(person.does(&["call", "one.slow", "ms=1"]).await, "slept 1 ms\n");
    let whole = person.does(&["call", "one:echo", "--args", "{\"a\": 12345678901234567890}"]).await;
    assert_eq!(whole, "{\"a\": 12345678901234567890}\n");
    let ran = person.run_with(&["call", "one.echo", "--args", "-"], "{\"from\": \"stdin\"}").await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "{\"from\": \"stdin\"}\n"));
}

#[tokio::test]
async fn a_wrong_command_line_is_code_2_and_reaches_nobody() {
    let (gateway, person) = ready().await;
    for arguments in [
        &["call"][..],
        &["call", "one.echo", "odd"],
        &["call", "one.echo", "a:=odd"],
        &["call", "one.echo", "a=1", "a=2"],
        &["call", "one.echo", "--args", "[]"],
        &["call", "one.echo", "--args", "{"],
        &["call", "one.echo", "a=@/no/such/file"],
        &["call", "one.echo", "a=1", "--args", "{}"],
        &["call", "one.echo", "--url", "localhost:7777"],
    ] {
        person.fails(arguments, 2, "").await;
    }
    assert!(gateway.journal("one").calls("echo").is_empty());
}

#[tokio::test]
async fn a_tool_that_fails_or_is_not_there_is_code_1() {
    let (_gateway, person) = ready().await;
    person.fails(&["call", "one.tool_error"], 1, "portolan: one.tool_error reports an error: ").await;
    let ran = person.run(&["call", "one.tool_error", "--json"]).await;
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &result["isError"], ran.err.as_str()), (Some(1), &json!(true), ""));
    person.fails(&["call", "one.nothing"], 1, "Tool not found: one.nothing").await;
    person.fails(&["call", "echo"], 1, "one.echo, two.echo").await;
    assert_eq!(person.does(&["call", "echo", "a=1", "--server", "two"]).await, "{\"a\":1}\n");
    person.fails(&["call", "echo", "--server", "nobody"], 1, "Server not found: nobody").await;
}

#[tokio::test]
async fn what_is_no_text_is_named_and_json_prints_all_of_it() {
    let (_gateway, person) = ready().await;
    let image = person.does(&["call", "one.test_image_content"]).await;
    assert!(image.starts_with("[image: image/png, ") && image.lines().count() == 1, "{image}");
    let result = person.reads(&["call", "one.test_image_content"]).await;
    assert!(result["content"][0]["data"].as_str().unwrap().len() > 20, "{result}");
    assert_eq!(result["metadata"]["routed_to"], "one");
}

#[tokio::test]
async fn with_a_file_a_call_needs_no_running_portolan_and_leaves_nothing_behind() {
    let person = Person::new();
    let file = person.write(
        "servers.json",
        &json!({ "mcpServers": {
            "one": { "command": fixture(), "args": ["--faults", "--name", text(person.home.path())] },
            "broken": { "command": "portolan-no-such-program" },
            "needy": { "command": "true", "env": { "T": "${NOT_SET_ANYWHERE}" } },
        } })
        .to_string(),
    );
    let several_lines = person.write("several.json", "{\n  \"a\": 1\n}\n");
    let argument = format!("file=@{}", text(&several_lines));
    let call = ["call", "--config", text(&file), "one.echo", "n=5", &argument];
    let said: Value = serde_json::from_str(&person.does(&call).await).unwrap();
    assert_eq!(said, json!({ "n": 5, "file": { "a": 1 } }));
    assert_eq!(person.does(&["call", "--config", text(&file), "one:slow", "ms=1"]).await, "slept 1 ms\n");
    let with = |more: &[&'static str]| [&["call", "--config", text(&file)], more].concat();
    let result = person.reads(&with(&["--server", "one", "echo", "a=1"])).await;
    assert_eq!(result["content"][0]["text"], "{\"a\":1}");
    person.fails(&with(&["one.tool_error"]), 1, "one.tool_error reports an error").await;
    person.fails(&with(&["one.nothing"]), 1, "Unknown tool: one.nothing").await;
    let ran = person.run(&with(&["broken.echo"])).await;
    assert!(ran.code == Some(1) && ran.err.contains("was not found"), "{ran:?}");
    person.fails(&with(&["--server", "nobody", "echo"]), 2, "broken, needy, one").await;
    person.fails(&with(&["needy.echo"]), 2, "NOT_SET_ANYWHERE").await;
    person.fails(&["call", "--config", "/no/such/file", "one.echo"], 2, "file_not_found").await;
    assert!(processes::mentioning(text(person.home.path())).is_empty());
}
