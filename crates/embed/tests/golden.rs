//! Our forward pass held to the published model: its tokens exactly, its vectors as closely as int8 allows.
#![cfg(feature = "minilm")]

use portolan_embed::{DIMENSION, Model};
use serde::Deserialize;

/// What the published model itself made of each text, in f32; `golden.py` wrote it.
#[derive(Deserialize)]
struct Golden {
    text: String,
    tokens: Vec<u16>,
    vector: Vec<f64>,
}

fn golden() -> serde_json::Result<Vec<Golden>> {
    serde_json::from_str(include_str!("golden.json"))
}

fn cosine(ours: &[f32], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let ours: Vec<f64> = ours.iter().map(|&number| f64::from(number)).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(&ours, theirs) / (dot(&ours, &ours) * dot(theirs, theirs)).sqrt()
}

#[test]
fn every_text_has_the_tokens_of_the_published_model() {
    let model = Model::built_in().unwrap();
    for Golden { text, tokens, .. } in golden().unwrap() {
        assert_eq!(model.tokens(&text), tokens, "{text:?}");
    }
}

#[test]
fn every_vector_is_within_a_cosine_of_0_999_of_the_published_model() {
    let model = Model::built_in().unwrap();
    let golden = golden().unwrap();
    let texts: Vec<&str> = golden.iter().map(|golden| golden.text.as_str()).collect();
    let vectors = model.embed(&texts);
    assert_eq!(vectors.len(), golden.len());
    for (ours, Golden { text, vector, .. }) in vectors.iter().zip(&golden) {
        let cosine = cosine(ours, vector);
        assert!(cosine >= 0.999, "{cosine:.5} for {text:?}");
    }
}

#[test]
fn vectors_have_length_one_and_the_promised_dimension() {
    let model = Model::built_in().unwrap();
    for vector in model.embed(&["", "weather", "创建"]) {
        assert_eq!(vector.len(), DIMENSION);
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[test]
fn a_batch_gives_the_same_bits_as_one_text_at_a_time() {
    let model = Model::built_in().unwrap();
    let golden = golden().unwrap();
    let texts: Vec<&str> = golden.iter().map(|golden| golden.text.as_str()).collect();
    let together = model.embed(&texts);
    for (text, vector) in texts.iter().zip(together) {
        assert_eq!(model.embed(&[text]), [vector], "{text:?}");
    }
    assert!(model.embed(&[]).is_empty());
}
