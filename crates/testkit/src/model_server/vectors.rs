//! Embeddings that are made up, but always the same: words decide, so that similar texts have similar vectors.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The vector of a text, of length 1. Each word pushes one place up or down.
#[allow(clippy::cast_possible_truncation, reason = "a remainder below the dimension fits")]
pub fn fake_embedding(text: &str, dimension: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimension];
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = Sha256::digest(word.as_bytes());
        let number = u64::from_le_bytes(hash[..8].try_into().unwrap());
        let place = (number % dimension as u64) as usize;
        vector[place] += if hash[8] < 128 { 1.0 } else { -1.0 };
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length == 0.0 {
        // Nothing has a direction, too.
        vector[0] = 1.0;
    } else {
        for value in &mut vector {
            *value /= length;
        }
    }
    vector
}

/// The answer of an `embeddings` endpoint.
pub(super) fn answer(texts: &[String], dimension: usize) -> Value {
    let entry = |(index, text): (usize, &String)| {
        let embedding = fake_embedding(text, dimension);
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    };
    let data: Vec<Value> = texts.iter().enumerate().map(entry).collect();
    let tokens: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    json!({
        "object": "list",
        "model": "scripted",
        "data": data,
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(a: &str, b: &str) -> f32 {
        let (a, b) = (fake_embedding(a, 64), fake_embedding(b, 64));
        a.iter().zip(&b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn texts_that_share_words_are_similar_and_equal_ones_equal() {
        assert_eq!(fake_embedding("Read a file", 64), fake_embedding("read, a FILE!", 64));
        let near = similarity("read a file", "read the file");
        let far = similarity("read a file", "weather in Oslo");
        assert!(near > far, "{near} {far}");
        assert!(fake_embedding("", 8).iter().any(|value| *value != 0.0));
    }
}
