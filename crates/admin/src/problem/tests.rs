//! Which error becomes which answer, and what is never said.

use super::*;
use http_body_util::BodyExt as _;
use portolan_model::{Kind, ServerName, SkillId, State, SuggestionState};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The status, the headers and the document of a refusal.
fn answered(refusal: impl Into<Refusal>) -> (u16, http::HeaderMap, Value) {
    let response = refusal.into().into_response();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
    (status, headers, serde_json::from_slice(&body).unwrap())
}

#[track_caller]
fn check(refusal: impl Into<Refusal>, status: u16, code: &str, detail: &str) -> Value {
    let (got, headers, document) = answered(refusal);
    assert_eq!(headers[CONTENT_TYPE], MEDIA_TYPE);
    assert_eq!((got, document["status"].as_u64()), (status, Some(status.into())), "{document}");
    assert_eq!((document["error_code"].as_str(), document["detail"].as_str()), (Some(code), Some(detail)));
    let kind = format!("urn:portolan:problem:{}", code.to_lowercase().replace('_', "-"));
    assert_eq!(document["type"], kind);
    document
}

fn server() -> ServerName {
    ServerName::parse("git").unwrap()
}

#[test]
fn errors_of_the_registry_keep_their_words_and_get_their_codes() {
    check(RegistryError::NoSuchServer("x".into()), 404, "SERVER_NOT_FOUND", "Server not found: x");
    check(RegistryError::NoSuchTool("x".into()), 404, "TOOL_NOT_FOUND", "Tool not found: x");
    check(RegistryError::NoSuchSecret("X".into()), 404, "SECRET_NOT_FOUND", "Secret not found: X");
    check(RegistryError::NameTaken("git".into()), 409, "SERVER_ALREADY_EXISTS", "Server already exists: git");
    let detail = "server git is written in the configuration file: change it there";
    check(RegistryError::InFile("git".into()), 409, "SERVER_IN_FILE", detail);
    let detail = "3 servers are registered, which is the limit (`limits.servers`)";
    check(RegistryError::TooMany { limit: 3 }, 409, "TOO_MANY_SERVERS", detail);
    assert_eq!(answered(RegistryError::StdioOff).2["error_code"], "STDIO_REGISTRATION_DISABLED");
    let away = RegistryError::NotConnected { server: "git".into(), state: State::Error };
    let document = check(away, 409, "SERVER_NOT_CONNECTED", "server git is ERROR: connect it first");
    assert_eq!((&document["server"], &document["server_status"]), (&json!("git"), &json!("ERROR")));
}

#[test]
fn errors_about_skills_keep_their_words_and_get_their_codes() {
    let id = || SkillId::parse("bees").unwrap();
    check(SkillError::NoSuchSkill("x".into()), 404, "SKILL_NOT_FOUND", "Skill not found: x");
    check(SkillError::NoSuchSuggestion("7".into()), 404, "SUGGESTION_NOT_FOUND", "Suggestion not found: 7");
    check(SkillError::NoSuchTool("7".into()), 404, "TOOL_NOT_FOUND", "Tool not found: 7");
    check(SkillError::Exists(id()), 409, "SKILL_EXISTS", "Skill already exists: bees");
    let settled = SkillError::Settled { suggestion: "7".into(), state: SuggestionState::Merged };
    check(settled, 409, "SUGGESTION_SETTLED", "Suggestion already settled: 7 is MERGED");
    let detail = "body.skill_ids: bees is named twice";
    let document = check(SkillError::Twice(id()), 422, "VALIDATION_ERROR", detail);
    assert_eq!(document["errors"][0]["loc"], json!(["body", "skill_ids"]));
    let detail = "body.skill_ids: a tool has at most 3 skills";
    check(SkillError::TooMany { most: 3 }, 422, "VALIDATION_ERROR", detail);
    assert_eq!(answered(SkillError::Store(StoreError::Busy)).2["error_code"], "STORE_BUSY");
}

#[test]
fn ec_004_a_name_that_somebody_else_took_meanwhile_is_a_conflict_too() {
    check(StoreError::NameTaken(server()), 409, "SERVER_ALREADY_EXISTS", "Server already exists: git");
}

#[test]
fn br_001_everything_that_cannot_be_taken_is_named_with_the_way_to_it() {
    let fields = vec![
        FieldProblem::new(&["connection_config", "url"], "the address must name a host"),
        FieldProblem::new(&["name"], "not usable"),
    ];
    let detail = "body.connection_config.url: the address must name a host (and 1 more)";
    let document = check(RegistryError::Invalid(fields), 422, "VALIDATION_ERROR", detail);
    let expected = json!([
        {"loc": ["body", "connection_config", "url"], "msg": "the address must name a host"},
        {"loc": ["body", "name"], "msg": "not usable"},
    ]);
    assert_eq!(document["errors"], expected);
}

#[test]
fn f53_a_busy_store_asks_to_come_back() {
    let (status, headers, document) = answered(StoreError::Busy);
    assert_eq!((status, &document["error_code"]), (503, &json!("STORE_BUSY")));
    assert_eq!(headers[RETRY_AFTER], "1");
}

#[test]
fn f55_a_full_disk_is_507() {
    let detail = "there is no room left on the disk of the data folder: free some, and try again";
    check(StoreError::Full, 507, "STORE_FULL", detail);
}

#[test]
fn f53_what_the_store_says_for_the_log_is_never_told() {
    let path = || PathBuf::from("/path/to/data");
    for error in [
        StoreError::Unavailable("no such table: SELECT canary".into()),
        StoreError::InUse { folder: path(), holder: Some("pid 7".into()) },
        StoreError::Newer { path: path() },
        StoreError::Damaged { path: path(), reason: "canary".into() },
        StoreError::Folder { path: path(), reason: "canary".into() },
    ] {
        let detail = "the store does not answer: the log says why";
        check(RegistryError::Store(error), 503, "STORE_UNAVAILABLE", detail);
    }
    let (status, _, document) = answered(RegistryError::Sealed("canary".into()));
    assert_eq!((status, &document["error_code"]), (503, &json!("STORE_SEALED")));
    assert!(!document.to_string().contains("canary"));
}

#[test]
fn br_005_names_that_lead_nowhere_or_to_several_places() {
    let unknown = Unresolved::unknown(Kind::Tools, "x");
    check(RouteError::from(unknown), 404, "TOOL_NOT_FOUND", "Tool not found: x");
    let candidates = vec!["a.x".to_owned(), "b.x".to_owned()];
    let ambiguous = Unresolved::Ambiguous { kind: Kind::Tools, name: "x".into(), candidates };
    let detail = "Tool name x is ambiguous: say which of a.x, b.x";
    let document = check(RouteError::from(ambiguous), 400, "TOOL_AMBIGUOUS", detail);
    assert_eq!(document["candidates"], json!(["a.x", "b.x"]));
}

#[test]
fn br_005_a_server_that_is_not_connected_is_503_with_its_state() {
    let refusal = Refusal::new(Code::ServerUnavailable, "server git is ERROR: no route");
    let refusal = refusal.of_server("git").in_state("ERROR", Some("no route".into()));
    let document = check(refusal, 503, "SERVER_UNAVAILABLE", "server git is ERROR: no route");
    assert_eq!(document["server"], "git");
    assert_eq!(
        (&document["server_status"], &document["error_message"]),
        (&json!("ERROR"), &json!("no route"))
    );
}

#[test]
fn ec_003_a_server_that_is_lost_during_a_call_says_what_was_in_progress() {
    let lost = CallError::Lost { server: server(), reason: "it ended".into() };
    let refusal = Refusal::from(RouteError::from(lost)).during("git.push");
    let detail = "server git was lost while the call was running, which may have taken effect: it ended";
    let document = check(refusal, 503, "SERVER_LOST", detail);
    assert_eq!((&document["server"], &document["tool"]), (&json!("git"), &json!("git.push")));
}

#[test]
fn every_other_end_of_a_call_has_its_code() {
    let server = server();
    let limit = Duration::from_mins(1);
    for (error, status, code) in [
        (CallError::NotSent { server: server.clone(), reason: "x".into() }, 503, "SERVER_UNAVAILABLE"),
        (CallError::TimedOut { server: server.clone(), limit }, 504, "CALL_TIMED_OUT"),
        (CallError::TooLarge { server: server.clone(), limit: 1 }, 502, "ANSWER_TOO_LARGE"),
        (CallError::Protocol { server: server.clone(), reason: "x".into() }, 502, "PROTOCOL_ERROR"),
        (CallError::Cancelled, 503, "CALL_CANCELLED"),
    ] {
        let (got, _, document) = answered(RouteError::from(error));
        assert_eq!((got, document["error_code"].as_str()), (status, Some(code)));
    }
    let (status, headers, document) = answered(CallError::Busy { server, limit: 2 });
    assert_eq!((status, document["error_code"].as_str()), (503, Some("SERVER_BUSY")));
    assert_eq!(headers[RETRY_AFTER], "1");
}

#[test]
fn codes_are_upper_snake_case_and_no_two_are_the_same() {
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes.len(), Code::ALL.len());
    for code in Code::ALL {
        assert!(code.as_str().bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{code:?}");
        assert!(code.status().is_client_error() || code.status().is_server_error(), "{code:?}");
    }
    assert_eq!(Code::InvalidJson.title(), "Invalid JSON");
    assert_eq!(Code::ServerAlreadyExists.title(), "Server already exists");
}
