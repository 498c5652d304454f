use std::borrow::Cow;

use crate::buffer::Sample;
use crate::wire::{DataType, SamplesDefinition};

/// Samples that were read, with where they belong.
///
/// - Shape: samples × channels, one row per sample.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block {
    /// Number of the first sample.
    pub first: u32,
    /// How many samples and channels, and their type.
    pub definition: SamplesDefinition,
    /// The values, in the machine's byte order.
    pub values: Vec<u8>,
}

impl Block {
    /// The values as numbers, if they are of this type.
    pub fn numbers<T: Sample>(&self) -> Option<Cow<'_, [T]>> {
        (self.definition.data_type == T::DATA_TYPE.code()).then(|| numbers(&self.values))
    }

    /// The values of any type, as `f64`; 64-bit integers beyond 2⁵³ are rounded.
    pub fn to_f64(&self) -> Vec<f64> {
        match DataType::parse(self.definition.data_type) {
            Some(data_type) => to_f64(data_type, &self.values),
            None => Vec::new(),
        }
    }
}

/// Values in the machine's byte order as `f64`; 64-bit integers beyond 2⁵³ are rounded.
pub fn to_f64(data_type: DataType, values: &[u8]) -> Vec<f64> {
    match data_type {
        DataType::Char | DataType::Uint8 => values.iter().map(|value| f64::from(*value)).collect(),
        DataType::Uint16 => widen::<u16>(values, f64::from),
        DataType::Uint32 => widen::<u32>(values, f64::from),
        DataType::Uint64 => widen::<u64>(values, |value| value as f64),
        DataType::Int8 => widen::<i8>(values, f64::from),
        DataType::Int16 => widen::<i16>(values, f64::from),
        DataType::Int32 => widen::<i32>(values, f64::from),
        DataType::Int64 => widen::<i64>(values, |value| value as f64),
        DataType::Float32 => widen::<f32>(values, f64::from),
        DataType::Float64 => widen::<f64>(values, |value| value),
    }
}

fn widen<T: Sample>(values: &[u8], convert: impl Fn(T) -> f64) -> Vec<f64> {
    numbers::<T>(values).iter().map(|value| convert(*value)).collect()
}

/// Views bytes as numbers; copies them if they do not lie where numbers may lie. A rest is left out.
fn numbers<T: Sample>(values: &[u8]) -> Cow<'_, [T]> {
    let whole = values.len() - values.len() % size_of::<T>();
    let values = values.get(..whole).unwrap_or_default();
    match bytemuck::try_cast_slice(values) {
        Ok(numbers) => Cow::Borrowed(numbers),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(values)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_wherever_they_lie() {
        let mut bytes = vec![0];
        bytes.extend([1.5_f64, -2.0].iter().flat_map(|number| number.to_ne_bytes()));
        assert_eq!(to_f64(DataType::Float64, &bytes[1..]), [1.5, -2.0]);
        let definition = SamplesDefinition::new(2, 1, DataType::Int16).unwrap();
        let values = [-3_i16, 7].iter().flat_map(|number| number.to_ne_bytes()).collect();
        let block = Block { first: 0, definition, values };
        assert_eq!(block.numbers::<i16>().as_deref(), Some(&[-3_i16, 7][..]));
        assert_eq!(block.numbers::<u16>(), None);
        assert_eq!(block.to_f64(), [-3.0, 7.0]);
    }
}
