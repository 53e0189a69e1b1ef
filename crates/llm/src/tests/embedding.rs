//! Texts as vectors: batches, and endpoints that do not do as they should.

use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Reply, fake_embedding};

use super::kit::{client, question};
use crate::{ChatModel as _, Dialect, LlmError};

const SMALL: usize = 8;

#[tokio::test]
async fn every_text_gets_its_vector_in_batches_of_32() {
    let server = ModelServer::answering(|_| Reply::embeddings(SMALL)).await;
    let texts: Vec<String> = (0..70).map(|n| format!("tool number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = client(&server, Dialect::OpenAi).embeddings(&texts, Some(SMALL)).await.unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(vector, &fake_embedding(text, SMALL), "{text}");
    }
    let sizes: Vec<usize> = server.asked().all().iter().map(|asked| asked.inputs().len()).collect();
    assert_eq!((vectors.len(), sizes), (70, vec![32, 32, 6]));
}

#[tokio::test]
async fn chats_and_embeddings_may_go_to_one_provider_at_once() {
    let server = ModelServer::start().await;
    server.then(Reply::text("Hi")).then(Reply::embeddings(SMALL));
    let client = client(&server, Dialect::OpenAi);
    let chat = question("Hi");
    let (vectors, turn) = tokio::join!(client.embeddings(&["a"], Some(SMALL)), client.turn(&chat));
    assert_eq!((vectors.unwrap().len(), turn.unwrap().text.as_str()), (1, "Hi"));
}

#[tokio::test]
async fn nothing_to_embed_asks_nobody_and_an_empty_text_is_not_sent() {
    let server = ModelServer::answering(|_| Reply::embeddings(SMALL)).await;
    let client = client(&server, Dialect::OpenAi);
    assert!(client.embeddings(&[], None).await.unwrap().is_empty());
    assert!(server.asked().is_empty());
    assert_eq!(client.embeddings(&["", "a"], None).await.unwrap().len(), 2);
    assert_eq!(server.asked().all()[0].inputs(), [" ", "a"]);
}

#[tokio::test]
async fn a_server_that_takes_less_at_once_gets_less() {
    let server = ModelServer::answering(|asked| match asked.inputs().len() {
        0..=5 => Reply::embeddings(SMALL),
        many => Reply::refusal(422, format!("batch size {many} > maximum allowed batch size 5")),
    })
    .await;
    let vectors = client(&server, Dialect::OpenAi).embeddings(&["x"; 40], None).await.unwrap();
    assert_eq!(vectors.len(), 40);
    let sizes: Vec<usize> = server.asked().all().iter().map(|asked| asked.inputs().len()).collect();
    assert_eq!(sizes, [32, 16, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
}

#[tokio::test]
async fn a_text_that_is_refused_by_itself_is_an_error() {
    let server = ModelServer::answering(|_| Reply::refusal(400, "input is too long")).await;
    let refused = client(&server, Dialect::OpenAi).embeddings(&["x"; 2], None).await.unwrap_err();
    assert_eq!(refused, LlmError::Rejected { status: 400, reason: "input is too long".to_owned() });
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn f61_vectors_of_another_dimension_are_refused() {
    let server = ModelServer::start().await;
    let client = client(&server, Dialect::OpenAi);
    server.then(Reply::embeddings(SMALL));
    let refused = client.embeddings(&["a"], Some(384)).await.unwrap_err();
    assert_eq!(refused, LlmError::DimensionMismatch { expected: 384, got: SMALL });
    // A model that is changed between two batches of one request.
    server.then(Reply::embeddings(SMALL)).then(Reply::embeddings(SMALL + 1));
    let refused = client.embeddings(&["a"; 33], None).await.unwrap_err();
    assert_eq!(refused, LlmError::DimensionMismatch { expected: SMALL, got: SMALL + 1 });
}

#[tokio::test]
async fn f61_garbage_is_refused_and_not_tried_again() {
    let server = ModelServer::start().await;
    server.then(Reply::raw("<html>"));
    let refused = client(&server, Dialect::OpenAi).embeddings(&["a"], None).await.unwrap_err();
    assert!(matches!(&refused, LlmError::Garbage { excerpt, .. } if excerpt == "<html>"), "{refused}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn f61_what_passes_is_tried_again() {
    let server = ModelServer::start().await;
    let soon = |reply: Reply| reply.header("retry-after-ms", "1");
    server.then(soon(Reply::refusal(429, "slowly"))).then(soon(Reply::refusal(503, "loading the model")));
    assert_eq!(client(&server, Dialect::OpenAi).embeddings(&["a"], None).await.unwrap().len(), 1);
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn anthropic_has_none() {
    let server = ModelServer::start().await;
    let refused = client(&server, Dialect::Anthropic).embeddings(&["a"], None).await.unwrap_err();
    assert!(matches!(refused, LlmError::Misconfigured { .. }), "{refused}");
    assert!(server.asked().is_empty());
}
