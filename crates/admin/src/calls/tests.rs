//! Calls over REST: what of them reaches the caller, and as which error.

use super::*;
use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use serde_json::Value;

fn metadata() -> Metadata {
    Metadata {
        routed_to: "git".into(),
        server_id: Some("00000000-0000-4000-8000-000000000000".into()),
        routing_time_ms: 0.5,
        execution_time_ms: 2.0,
    }
}

fn text(response: Response) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// The answer without our metadata, which comes last.
#[track_caller]
fn check(result: &str, expected: &str) {
    let answer = text(answer(result.as_bytes(), &metadata()).unwrap());
    let (head, metadata) = answer.rsplit_once(r#","metadata":"#).unwrap();
    assert_eq!(format!("{head}}}"), expected);
    let metadata: Value = serde_json::from_str(metadata.strip_suffix('}').unwrap()).unwrap();
    assert_eq!((&metadata["routed_to"], &metadata["routing_time_ms"]), (&"git".into(), &0.5.into()));
}

#[test]
fn content_and_all_else_stay_the_servers_own_bytes() {
    check(r#"{"content":[ {"n":1.0} ]}"#, r#"{"content":[ {"n":1.0} ],"isError":false}"#);
    check(
        r#"{"structuredContent":{"b":1,"a":"\u0041"},"isError":true,"content":[],"_meta":{"k": 1},"new":[ ]}"#,
        r#"{"content":[],"isError":true,"structuredContent":{"b":1,"a":"\u0041"},"_meta":{"k": 1},"new":[ ]}"#,
    );
    check("{}", r#"{"content":[],"isError":false}"#);
    check(r#"{"resultType":"complete","content":[]}"#, r#"{"content":[],"isError":false}"#);
    check(r#"{"content":[],"metadata":"theirs"}"#, r#"{"content":[],"isError":false}"#);
}

#[test]
fn what_is_no_result_is_the_servers_mistake() {
    for result in ["[]", "null", "7", r#"{"content":"text"}"#, r#"{"content":[],"content":[]}"#] {
        let refusal = answer(result.as_bytes(), &metadata()).unwrap_err();
        assert_eq!((refusal.code(), refusal.server()), (Code::ProtocolError, Some("git")), "{result}");
    }
}

fn wish(arguments: Option<&str>) -> Wish {
    let arguments = arguments.map(|text| RawValue::from_string(text.to_owned()).unwrap());
    Wish { tool: "git.\"x\"\n".into(), arguments, server: None }
}

#[test]
fn arguments_pass_as_bytes_and_are_an_object_or_nothing() {
    let name = r#"{"name":"git.\"x\"\n""#;
    assert_eq!(wish(None).params().unwrap(), format!("{name}}}"));
    let arguments = r#"{ "b": 1.0,"a":"\u0041" }"#;
    assert_eq!(wish(Some(arguments)).params().unwrap(), format!(r#"{name},"arguments":{arguments}}}"#));
    for arguments in ["[]", "7", "\"{}\"", "true"] {
        assert_eq!(wish(Some(arguments)).params().unwrap_err().code(), Code::ValidationError, "{arguments}");
    }
}

#[test]
fn an_error_of_the_server_is_passed_on_as_it_came() {
    let error = r#"{"code":-32001,"message":"no \"such\" page","data":{"z":1.0, "a":2}}"#;
    let answer = text(upstream("git", error.as_bytes()).into_response());
    assert!(answer.contains(&format!(r#""upstream":{error}"#)), "{answer}");
    let problem: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(problem["detail"], "server git answered with an error: no \"such\" page");
    assert_eq!((&problem["status"], &problem["error_code"]), (&502.into(), &"UPSTREAM_ERROR".into()));
    let odd = text(upstream("git", b"\"odd\"").into_response());
    assert!(odd.contains(r#""upstream":"odd""#), "{odd}");
    assert_eq!(upstream("git", b"{").code(), Code::ProtocolError);
}
