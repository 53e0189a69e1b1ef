//! Texts as vectors, from any endpoint that has `embeddings` as OpenAI has it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::LlmError;
use crate::client::{Client, written};
use crate::excerpt::excerpt;
use crate::post::Deadline;

/// As many as the smallest default among the servers takes (TEI's). One that takes fewer is found out by its refusal.
const MAX_BATCH: usize = 32;

/// So that a batch of long texts is answered before its deadline on a small machine.
const MAX_BATCH_BYTES: usize = 256 * 1024;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Client {
    /// One vector for each text, in their order, all of one dimension: `dimension` if that is known already, else that of
    /// the first. The provider's time limit holds for each batch. They are as they come, not normalised.
    pub async fn embeddings(
        &self,
        texts: &[&str],
        dimension: Option<usize>,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        let mut most = MAX_BATCH;
        while vectors.len() < texts.len() {
            let range = batch(texts, vectors.len(), most);
            let size = range.len();
            match self.embed(&texts[range]).await {
                Ok(batch) => {
                    let expected = dimension.or_else(|| vectors.first().or(batch.first()).map(Vec::len));
                    check(&batch, expected)?;
                    vectors.extend(batch);
                }
                // Too many for this server, or too large together: what is refused alone is really refused.
                Err(LlmError::Rejected { status: 400 | 413 | 422, reason }) if size > 1 => {
                    tracing::debug!(size, reason, "a batch of embeddings was refused, trying half of it");
                    most = size / 2;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(vectors)
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let Some(address) = &self.addresses.embeddings else {
            let reason = "Anthropic has no embeddings: set a provider of the OpenAI dialect for them";
            return Err(LlmError::Misconfigured { reason: reason.to_owned() });
        };
        // OpenAI refuses a batch for one empty text in it.
        let input = texts.iter().map(|text| if text.is_empty() { " " } else { text }).collect();
        let request = written(&Request { model: &self.provider.model, input })?;
        let deadline = Deadline::within(self.provider.timeout);
        let answer = self.post.send(address, request, deadline).await?;
        in_order(&answer, texts.len()).map_err(|error| self.post.masked(error, &answer))
    }
}

/// The texts of the next batch: at least one, however large.
fn batch(texts: &[&str], start: usize, most: usize) -> Range<usize> {
    let mut bytes = 0;
    let fits = |text: &&&str| {
        bytes += text.len();
        bytes <= MAX_BATCH_BYTES
    };
    let count = texts[start..].iter().take(most).take_while(fits).count();
    start..start + count.max(1)
}

/// The vectors by their index, each text having one.
fn in_order(answer: &[u8], count: usize) -> Result<Vec<Vec<f32>>, LlmError> {
    let garbage =
        |reason: String| LlmError::Garbage { reason, excerpt: excerpt(&String::from_utf8_lossy(answer)) };
    let Answer { data } = serde_json::from_slice(answer).map_err(|error| garbage(error.to_string()))?;
    if data.len() != count {
        return Err(garbage(format!("it holds {} vectors for {count} texts", data.len())));
    }
    let mut vectors = vec![Vec::new(); count];
    for (at, Entry { index, embedding }) in data.into_iter().enumerate() {
        let index = index.unwrap_or(at);
        if embedding.is_empty() || !embedding.iter().all(|value| value.is_finite()) {
            return Err(garbage(format!("vector {index} is empty or holds something that is no number")));
        }
        match vectors.get_mut(index) {
            Some(place) if place.is_empty() => *place = embedding,
            Some(_) | None => return Err(garbage(format!("index {index} is there twice, or too high"))),
        }
    }
    Ok(vectors)
}

fn check(batch: &[Vec<f32>], expected: Option<usize>) -> Result<(), LlmError> {
    let Some(expected) = expected else { return Ok(()) };
    match batch.iter().map(Vec::len).find(|&got| got != expected) {
        Some(got) => Err(LlmError::DimensionMismatch { expected, got }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_batch(texts: &[&str], start: usize, most: usize, expected: Range<usize>) {
        assert_eq!(batch(texts, start, most), expected);
    }

    #[test]
    fn batches_are_cut_by_count_and_by_size() {
        let (half, whole) = ("x".repeat(MAX_BATCH_BYTES / 2), "x".repeat(MAX_BATCH_BYTES + 1));
        check_batch(&["a"; 100], 0, MAX_BATCH, 0..32);
        check_batch(&["a"; 100], 96, MAX_BATCH, 96..100);
        check_batch(&["a"; 100], 96, 1, 96..97);
        check_batch(&[&half, &half, "a"], 0, MAX_BATCH, 0..2);
        check_batch(&["a", &whole, "a"], 0, MAX_BATCH, 0..1);
        check_batch(&["a", &whole, "a"], 1, MAX_BATCH, 1..2);
    }

    #[track_caller]
    fn check_garbage(answer: &str, reason: &str) {
        match in_order(answer.as_bytes(), 2) {
            Err(LlmError::Garbage { reason: found, .. }) => assert!(found.contains(reason), "{found}"),
            other => panic!("{other:?} for {answer}"),
        }
    }

    #[test]
    fn f61_what_is_no_pair_of_vectors_is_refused() {
        check_garbage("", "EOF");
        check_garbage(r#"{"data":[{"index":0,"embedding":[1]}]}"#, "1 vectors for 2 texts");
        let pair = |second: &str| format!(r#"{{"data":[{{"index":0,"embedding":[1]}},{second}]}}"#);
        check_garbage(&pair(r#"{"index":0,"embedding":[1]}"#), "index 0 is there twice");
        check_garbage(&pair(r#"{"index":7,"embedding":[1]}"#), "too high");
        check_garbage(&pair(r#"{"index":1,"embedding":[]}"#), "vector 1 is empty");
        check_garbage(&pair(r#"{"index":1,"embedding":[1e39]}"#), "no number");
        check_garbage(&pair(r#"{"index":1,"embedding":[NaN]}"#), "expected value");
        check_garbage(&pair(r#"{"index":1,"embedding":[null]}"#), "invalid type: null");
    }

    #[test]
    fn vectors_are_put_into_the_order_of_their_texts() {
        let swapped = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        assert_eq!(in_order(swapped, 2).unwrap(), [[1.0], [2.0]]);
        let bare = br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(in_order(bare, 2).unwrap(), [[1.0], [2.0]]);
    }
}
