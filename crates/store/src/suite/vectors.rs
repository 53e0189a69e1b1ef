//! What texts mean, kept by model and text.

use crate::{Store, VectorRecord};
use std::sync::Arc;

fn record(text_hash: &str, vector: &[u8]) -> VectorRecord {
    VectorRecord { text_hash: text_hash.to_owned(), vector: vector.to_vec() }
}

async fn found(store: &Arc<dyn Store>, model: &str, hashes: &[&str]) -> Vec<VectorRecord> {
    let hashes: Vec<String> = hashes.iter().map(|hash| (*hash).to_owned()).collect();
    let mut found = store.vectors(model, &hashes).await.unwrap();
    found.sort_by(|a, b| a.text_hash.cmp(&b.text_hash));
    found
}

pub(crate) async fn a_vector_is_found_by_its_model_and_text_alone(store: Arc<dyn Store>) {
    assert_eq!(found(&store, "m", &["a"]).await, []);
    let (a, b) = (record("a", &[0, 255]), record("b", &[]));
    store.put_vectors("m", &[a.clone(), b.clone()]).await.unwrap();
    store.put_vectors("n", &[record("a", b"other")]).await.unwrap();
    assert_eq!(found(&store, "m", &["b", "c", "a"]).await, [a.clone(), b]);
    assert_eq!(found(&store, "m", &[]).await, []);
    store.put_vectors("m", &[record("a", b"new")]).await.unwrap();
    assert_eq!(found(&store, "m", &["a"]).await, [record("a", b"new")]);
    assert_eq!(found(&store, "n", &["a"]).await, [record("a", b"other")]);
}

pub(crate) async fn more_vectors_than_a_statement_takes_go_in_and_come_back(store: Arc<dyn Store>) {
    let many: Vec<VectorRecord> = (0..1203).map(|n| record(&format!("{n:05}"), &[7; 384])).collect();
    store.put_vectors("m", &many).await.unwrap();
    let hashes: Vec<&str> = many.iter().map(|record| record.text_hash.as_str()).collect();
    assert_eq!(found(&store, "m", &hashes).await, many);
}
