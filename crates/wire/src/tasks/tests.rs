//! Both forms, and the ways between them.

use super::*;

const EXPERIMENTAL: &str = r#"{"taskId":"t\"1","status":"working","createdAt":"c","lastUpdatedAt":"u","ttl":60000,"pollInterval":250,"x":[ 1 ]}"#;
const EXTENSION: &str = r#"{"resultType":"complete","taskId":"t\"1","status":"completed","createdAt":"c","lastUpdatedAt":"u","ttlMs":null,"pollIntervalMs":250,"result":{"content":[]}}"#;

#[test]
fn an_id_is_shown_with_its_server_and_found_again_whatever_is_in_it() {
    for id in ["1", "a~b", "", "ü"] {
        assert_eq!(split(&shown("fx", id)), Some(("fx", id)));
    }
    assert_eq!(split("bare"), None);
}

#[track_caller]
fn check(raw: &str, form: Form, with: &[(&str, &str)], expected: &str) {
    assert_eq!(Task::parse(raw).unwrap().write(form, "fx~t", with), expected);
}

#[test]
fn a_task_is_written_in_either_form_under_its_shown_id() {
    check(
        EXPERIMENTAL,
        Form::Extension,
        &[("resultType", r#""task""#)],
        r#"{"taskId":"fx~t","resultType":"task","status":"working","createdAt":"c","lastUpdatedAt":"u","ttlMs":60000,"pollIntervalMs":250,"x":[ 1 ]}"#,
    );
    check(
        EXTENSION,
        Form::Experimental,
        &[("status", r#""failed""#)],
        r#"{"taskId":"fx~t","status":"failed","createdAt":"c","lastUpdatedAt":"u","ttl":null,"pollInterval":250}"#,
    );
}

#[test]
fn between_equals_only_the_id_is_another() {
    check(EXPERIMENTAL, Form::Experimental, &[], &EXPERIMENTAL.replace(r#"t\"1"#, "fx~t"));
    let task = Task::parse(EXTENSION).unwrap();
    let written = task.write(Form::Extension, "fx~t", &[]);
    let (written, given) = (Task::parse(&written).unwrap(), Task::parse(EXTENSION).unwrap());
    for key in ["resultType", "status", "ttlMs", "pollIntervalMs", "result"] {
        assert_eq!(written.get(key), given.get(key), "{key}");
    }
    assert_eq!(given.id, "t\"1");
}

#[test]
fn only_a_result_that_is_a_task_is_read_as_one() {
    let wrapped = format!(r#"{{"task":{EXPERIMENTAL},"_meta":{{"k":1}}}}"#);
    assert_eq!(Task::created(&wrapped, Form::Experimental).unwrap().id, "t\"1");
    let flat = EXTENSION.replace("complete\"", "task\"");
    assert_eq!(Task::created(&flat, Form::Extension).unwrap().status, Status::Completed);
    assert!(Task::created(EXTENSION, Form::Extension).is_none());
    for (result, form) in [
        (r#"{"content":[{"type":"text","text":"\"task\""}]}"#, Form::Extension),
        (
            r#"{"resultType":"complete","structuredContent":{"resultType":"task"},"x":"task"}"#,
            Form::Extension,
        ),
        (r#"{"resultType":"task"}"#, Form::Extension),
        (r#"{"task":"laundry","content":[]}"#, Form::Experimental),
    ] {
        assert!(Task::created(result, form).is_none(), "{result}");
    }
}

#[test]
fn what_is_said_beside_a_new_task_stays_beside_it() {
    let task = r#"{"taskId":"1","status":"working","_meta":{"k":1}}"#;
    assert_eq!(write_created(task), r#"{"task":{"taskId":"1","status":"working"},"_meta":{"k":1}}"#);
    assert_eq!(write_created(r#"{"taskId":"1"}"#), r#"{"task":{"taskId":"1"}}"#);
}

#[test]
fn a_pause_is_the_servers_own_within_reason() {
    let pause = |raw: &str| {
        Task::parse(&format!(r#"{{"taskId":"1","status":"working","pollIntervalMs":{raw}}}"#))
            .unwrap()
            .pause()
    };
    assert_eq!(pause("250"), Duration::from_millis(250));
    assert_eq!(pause("250.5"), Duration::from_micros(250_500));
    assert_eq!(pause("0"), PAUSES[0]);
    assert_eq!(pause("1e300"), PAUSES[1]);
    for odd in ["-1", "null", "\"soon\""] {
        assert_eq!(pause(odd), PAUSE, "{odd}");
    }
}

#[test]
fn a_message_can_belong_to_another_task_or_to_none() {
    let plain = r#"{"content":[ ]}"#;
    assert!(matches!(relate(plain, None), Cow::Borrowed(_)));
    let one = relate(plain, Some("a~1"));
    assert_eq!(one, format!(r#"{{"content":[ ],"_meta":{{"{RELATED_TASK}":{{"taskId":"a~1"}}}}}}"#));
    assert_eq!(related(&one).as_deref(), Some("a~1"));
    assert_eq!(relate(&one, None), plain);
    let both = format!(r#"{{"_meta":{{"k":1,"{RELATED_TASK}":{{"taskId":"1"}}}}}}"#);
    assert_eq!(relate(&both, None), r#"{"_meta":{"k":1}}"#);
    assert_eq!(related(&relate(&both, Some("2"))).as_deref(), Some("2"));
    assert_eq!(related(plain), None);
}

#[test]
fn a_form_is_declared_in_its_own_place_and_means_nothing_in_another_revision() {
    let read = |raw: &str| {
        let declared = Declared::read(raw);
        (declared.experimental, declared.lists, declared.extension)
    };
    assert_eq!(read(r#"{"tools":{}}"#), (false, false, false));
    assert_eq!(read(r#"{"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}"#), (true, true, false));
    assert_eq!(read(r#"{"tasks":{"cancel":{}}}"#), (false, false, false));
    assert_eq!(read(&format!(r#"{{"extensions":{{"{TASKS}":{{}}}}}}"#)), (false, false, true));
    let extension = Declared { extension: true, ..Declared::default() };
    assert!(extension.has(Revision::V2026_07_28) && !extension.has(Revision::V2025_11_25));
    assert!(!Declared { experimental: true, ..extension }.has(Revision::V2025_06_18));
}

#[test]
fn a_tool_says_whether_it_is_a_task() {
    let support = |raw: &str| Support::read(&format!(r#"{{"name":"t","execution":{raw}}}"#));
    assert_eq!(support(r#"{"taskSupport":"required"}"#), Support::Required);
    assert_eq!(support(r#"{"taskSupport":"optional"}"#), Support::Optional);
    for forbidden in [r#"{"taskSupport":"forbidden"}"#, "{}", "3"] {
        assert_eq!(support(forbidden), Support::Forbidden);
    }
    assert_eq!(Support::read(r#"{"description":"taskSupport"}"#), Support::Forbidden);
}

#[test]
fn what_a_task_wants_to_know_is_read_like_any_other_question() {
    let raw = r#"{"taskId":"1","status":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"x":1}}}}"#;
    let requests = Task::parse(raw).unwrap().requests().unwrap();
    assert_eq!((requests[1].key.as_str(), requests[1].params), ("b", Some(r#"{"x":1}"#)));
    assert!(
        Task::parse(r#"{"taskId":"1","status":"working","inputRequests":{"a":{}}}"#)
            .unwrap()
            .requests()
            .is_err()
    );
}
