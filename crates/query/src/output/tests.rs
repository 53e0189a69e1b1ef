//! What an answer looks like.

use super::*;
use serde_json::json;

fn output() -> QueryOutput {
    let result = |rank: usize, content: &str| QueryResult {
        content: content.to_owned(),
        server: "context7".to_owned(),
        relevance_score: 0.92,
        rank,
        timestamp: Moment::from_millis(1_760_324_400_000),
        also_from: Vec::new(),
        title: None,
        url: None,
        date: None,
    };
    QueryOutput {
        results: vec![result(1, "React hooks")],
        metadata: Metadata {
            servers_queried: 2,
            servers_succeeded: 1,
            total_results_raw: 15,
            total_results_dedup: 12,
            results_returned: 1,
            processing_time_ms: 1234,
            server_diversity: 0.5,
            errors: Vec::new(),
            not_asked: Vec::new(),
            left_out: LeftOut::default(),
        },
    }
}

#[test]
fn seed_004_an_answer_has_the_members_of_the_schema() {
    let expected = json!({
        "results": [{
            "content": "React hooks", "server": "context7", "relevanceScore": 0.92, "rank": 1,
            "timestamp": "2025-10-13T03:00:00.000Z"
        }],
        "metadata": {
            "serversQueried": 2, "serversSucceeded": 1, "totalResultsRaw": 15, "totalResultsDedup": 12,
            "resultsReturned": 1, "processingTimeMs": 1234, "serverDiversity": 0.5
        }
    });
    assert_eq!(output().structured(), expected);
    let schema: Value = serde_json::from_str(crate::OUTPUT_SCHEMA).unwrap();
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let result = &schema["properties"]["results"]["items"]["properties"];
    assert_eq!(members(result), members(&expected["results"][0]));
    assert_eq!(members(&schema["properties"]["metadata"]["properties"]), members(&expected["metadata"]));
}

#[test]
fn what_there_is_beside_the_schema_is_told_where_there_is_any() {
    let mut output = output();
    output.results[0].also_from = vec!["serena".to_owned()];
    output.results[0].title = Some("Hooks".to_owned());
    output.results[0].url = Some("https://x.example/".to_owned());
    output.metadata.errors = vec!["slow: timeout after 3s".to_owned()];
    output.metadata.not_asked = vec!["mail: no safe way to ask it".to_owned()];
    output.metadata.left_out = LeftOut { items: 4, bytes: 100, untold: 1 };
    let json = output.structured();
    assert_eq!(json["results"][0]["alsoFrom"], json!(["serena"]));
    assert_eq!(json["metadata"]["leftOut"], json!({"items": 4, "bytes": 100, "untold": 1}));
    assert_eq!(json["metadata"]["errors"], json!(["slow: timeout after 3s"]));
    assert_eq!(
        output.readable(),
        "1. context7 (0.92), also serena\nHooks\nReact hooks\nhttps://x.example/\n\n1 results; 1 of 2 servers \
         answered.\nNo answer from slow: timeout after 3s\nNot asked: mail: no safe way to ask it\nLeft out: 4 items, \
         100 bytes, 1 that are no text"
    );
}
