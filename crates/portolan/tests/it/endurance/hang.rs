//! One server of many hangs, and keeps nobody else waiting.

use super::{all_connected, end, names};
use crate::kit::{echoes, pid_of, refused};
use portolan_testkit::{Client, Gateway, GatewayBuilder, HttpClient, Signal, bin, processes};
use serde_json::json;

const SERVERS: usize = 20;
/// Calls to each server that does not hang.
const CALLS_EACH: usize = 40;
/// More than a pipe and all buffers on the way take: whoever waited for the whole of it to be written would hang too.
const LARGE: usize = 1 << 20;
/// Some twenty times what all else takes on a quiet machine.
const LIMIT: &str = "6s";

/// The calls to the server that hangs; each ends with an error of its deadline.
fn calls_in_vain(gateway: &Gateway, client: &HttpClient) -> Vec<tokio::task::JoinHandle<()>> {
    let mut running = Vec::new();
    for bytes in [1, 1, LARGE, 1, 1] {
        let client = client.clone();
        running.push(tokio::spawn(async move {
            let arguments = json!({ "text": "x".repeat(bytes) });
            let error = refused(&client, "hangs.echo", arguments, -32603).await;
            let text = error["message"].as_str().unwrap();
            assert!(text.starts_with(&format!("server hangs did not answer within {LIMIT}")), "{text}");
        }));
    }
    let rest = gateway.rest();
    running.push(tokio::spawn(async move {
        let call = json!({ "name": "hangs.echo", "arguments": {} });
        let problem = rest.post("/tools/call", call).await.problem(504, "CALL_TIMED_OUT");
        assert_eq!(problem["server"], "hangs");
    }));
    running
}

/// Whatever does not need the server that hangs.
async fn all_else(gateway: &Gateway, names: &[String], client: &HttpClient) {
    let one = |name: String| {
        let (client, rest) = (client.clone(), gateway.rest());
        tokio::spawn(async move {
            let name = format!("{name}.echo");
            for _ in 0..CALLS_EACH {
                echoes(&client, &name).await;
            }
            rest.post("/tools/call", json!({ "name": name, "arguments": {} })).await.json(200);
        })
    };
    let running: Vec<_> = names.iter().cloned().map(one).collect();
    for calls in running {
        calls.await.unwrap();
    }
    let another = gateway.connect().await;
    assert_eq!(another.tool_names().await, client.tool_names().await);
    let (rest, total) = (gateway.rest(), SERVERS.to_string());
    assert_eq!(rest.get("/aggregator/servers").await.header("x-total-count"), Some(total.as_str()));
    rest.get("/aggregator/tools").await.json(200);
    rest.get("/aggregator/servers/hangs").await.json(200);
}

#[tokio::test]
async fn f15_a_server_that_hangs_fails_its_own_calls_at_their_deadline_and_keeps_nobody_else_waiting() {
    let names = names(SERVERS - 1);
    let mut builder = Gateway::builder();
    let journal = builder.directory().join("hangs.journal");
    let flags = ["--only", "echo,pid", "--faults"];
    builder = names.iter().fold(builder, |builder: GatewayBuilder, name| builder.fixture(name, &flags));
    let args = [&flags[..], &["--journal", journal.to_str().unwrap()]].concat();
    let entry = json!({ "command": bin("portolan-fixture"), "args": args, "portolan": { "timeout": LIMIT } });
    let gateway = builder.server("hangs", entry).serve().await;
    let all = [&["hangs".to_owned()], &names[..]].concat();
    all_connected(&gateway.rest(), &all).await;
    let client = gateway.connect().await;
    let hanging = pid_of(&client, "hangs").await;
    processes::signal(hanging, Signal::STOP);
    let in_vain = calls_in_vain(&gateway, &client);
    all_else(&gateway, &names, &client).await;
    for call in &in_vain {
        assert!(!call.is_finished(), "all else has waited for the calls that hang");
    }
    for call in in_vain {
        call.await.unwrap();
    }
    processes::signal(hanging, Signal::CONT);
    assert_eq!(pid_of(&client, "hangs").await, hanging, "it was slow, and nothing else is wrong with it");
    echoes(&client, "hangs.echo").await;
    all_connected(&gateway.rest(), &all).await;
    end(gateway).await;
}
