//! A vector in the form that is kept: one byte a number, and what they are to be multiplied with.

/// What is kept of a vector. Those that were just made go through this form too: what is found must not depend on whether
/// a vector came from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed(Box<[u8]>);

impl Packed {
    /// `None` for what is no vector: without length, or with numbers that are none.
    pub(crate) fn of(vector: &[f32]) -> Option<Self> {
        let largest = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if vector.is_empty() || vector.iter().any(|value| !value.is_finite()) || largest <= 0.0 {
            return None;
        }
        let scale = largest / 127.0;
        let mut bytes = Vec::with_capacity(vector.len() + 4);
        bytes.extend_from_slice(&scale.to_le_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "within ±127 by the scale")]
        bytes.extend(vector.iter().map(|value| ((value / scale).round() as i8).to_le_bytes()[0]));
        Some(Self(bytes.into()))
    }

    /// What was kept, if it can be such a vector.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let scale: [u8; 4] = bytes.first_chunk().copied()?;
        let is_fine = f32::from_le_bytes(scale).is_finite() && bytes.len() > 4;
        is_fine.then(|| Self(bytes.into()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn dimension(&self) -> usize {
        self.0.len() - 4
    }

    /// The vector at length 1.
    pub(crate) fn unpack(&self) -> Vec<f32> {
        let Some((scale, values)) = self.0.split_first_chunk::<4>() else { return Vec::new() };
        let scale = f32::from_le_bytes(*scale);
        let mut vector: Vec<f32> =
            values.iter().map(|byte| f32::from(i8::from_le_bytes([*byte])) * scale).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            for value in &mut vector {
                *value /= length;
            }
        }
        vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_vector_comes_back_pointing_the_same_way(vector in prop::collection::vec(-1.0_f32..1.0, 384)) {
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            prop_assume!(length > 0.1);
            let back = Packed::of(&vector).unwrap().unpack();
            let cosine: f32 = vector.iter().zip(&back).map(|(a, b)| a * b).sum::<f32>() / length;
            prop_assert!(cosine > 0.999, "{}", cosine);
        }
    }

    #[test]
    fn what_is_no_vector_is_not_kept() {
        for wrong in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY]] {
            assert_eq!(Packed::of(wrong), None, "{wrong:?}");
        }
        for wrong in [vec![], vec![1, 2, 3, 4], [f32::NAN.to_le_bytes().to_vec(), vec![1]].concat()] {
            assert_eq!(Packed::from_bytes(wrong.clone()), None, "{wrong:?}");
        }
        let kept = Packed::of(&[3.0, -4.0]).unwrap();
        assert_eq!(Packed::from_bytes(kept.as_bytes().to_vec()), Some(kept));
    }
}
