//! The weights as published: a safetensors file, which is a JSON list of places and then the numbers.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

pub(super) struct Tensors<'a> {
    places: Map<String, Value>,
    numbers: &'a [u8],
}

impl<'a> Tensors<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let (length, rest) = bytes.split_first_chunk().context("the weights are cut")?;
        let length = usize::try_from(u64::from_le_bytes(*length))?;
        let (list, numbers) = rest.split_at_checked(length).context("the weights are cut")?;
        let places = serde_json::from_slice(list).context("the list of the weights is no JSON")?;
        Ok(Self { places, numbers })
    }

    /// The tensor called `name`, which must have this shape.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let place = self.places.get(name).with_context(|| format!("there is no tensor {name}"))?;
        let expected = serde_json::json!({ "dtype": "F32", "shape": shape });
        if [&place["dtype"], &place["shape"]] != [&expected["dtype"], &expected["shape"]] {
            bail!("{name} is {} {}, not F32 {shape:?}", place["dtype"], place["shape"]);
        }
        let offset =
            |at: usize| place["data_offsets"][at].as_u64().and_then(|offset| usize::try_from(offset).ok());
        let range = offset(0).zip(offset(1)).with_context(|| format!("{name} has no place"))?;
        let bytes = self.numbers.get(range.0..range.1).with_context(|| format!("{name} is cut"))?;
        let (numbers, _) = bytes.as_chunks();
        if numbers.len() != shape.iter().product::<usize>() {
            bail!("{name} has {} numbers, which is not {shape:?}", numbers.len());
        }
        Ok(numbers.iter().map(|&number| f32::from_le_bytes(number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(list: &str, numbers: &[f32]) -> Vec<u8> {
        let mut bytes = (list.len() as u64).to_le_bytes().to_vec();
        bytes.extend(list.bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    #[track_caller]
    fn check(list: &str, shape: &[usize], expected: Result<&[f32], &str>) {
        let bytes = file(list, &[1.0, -2.5, 0.25]);
        let found = Tensors::read(&bytes).and_then(|tensors| tensors.get("a", shape));
        assert_eq!(
            found.map_err(|error| error.to_string()),
            expected.map(<[f32]>::to_vec).map_err(str::to_owned)
        );
    }

    #[test]
    fn a_tensor_has_the_shape_that_was_asked_for_or_is_refused() {
        let list = r#"{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}}"#;
        check(list, &[2, 1], Ok(&[-2.5, 0.25]));
        check(list, &[1, 2], Err("a is \"F32\" [2,1], not F32 [1, 2]"));
        check(&list.replace("12", "16"), &[2, 1], Err("a is cut"));
        check(&list.replace("[4,", "[8,"), &[2, 1], Err("a has 1 numbers, which is not [2, 1]"));
        check(&list.replace("\"a\"", "\"b\""), &[2, 1], Err("there is no tensor a"));
    }
}
