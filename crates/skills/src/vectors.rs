//! Texts as vectors, from whoever makes them, and the middle of many.

use async_trait::async_trait;

/// The embedding model, wherever it runs. Vectors have length 1.
#[async_trait]
pub trait Vectors: Send + Sync {
    /// Which model it is: vectors of two models are not compared.
    fn model(&self) -> String;

    /// One vector a text; `None` while the model is away.
    async fn of(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>>;
}

/// The mean of vectors by their weights, of length 1; `None` where there is nothing, or nothing is left of it.
pub fn weighted_mean<'v>(vectors: impl IntoIterator<Item = (&'v [f32], f64)>) -> Option<Vec<f32>> {
    let mut sum: Vec<f64> = Vec::new();
    for (vector, weight) in vectors {
        sum.resize(sum.len().max(vector.len()), 0.0);
        for (total, &value) in sum.iter_mut().zip(vector) {
            *total += f64::from(value) * weight;
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length < 1e-9 || !length.is_finite() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a part of a vector of length 1 fits")]
    let mean = sum.into_iter().map(|value| (value / length) as f32).collect();
    Some(mean)
}

/// 0 where one of the two has no such part.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_goes_by_weight_and_has_length_one() {
        let mean = weighted_mean([(&[1.0, 0.0][..], 0.9), (&[0.0, 1.0][..], 0.3)]).unwrap();
        assert!((dot(&mean, &mean) - 1.0).abs() < 1e-6);
        assert!((mean[0] / mean[1] - 3.0).abs() < 1e-5);
    }

    #[test]
    fn what_has_no_direction_has_no_mean() {
        assert_eq!(weighted_mean([]), None);
        assert_eq!(weighted_mean([(&[1.0][..], 1.0), (&[-1.0][..], 1.0)]), None);
        assert_eq!(weighted_mean([(&[f32::NAN][..], 1.0)]), None);
    }
}
