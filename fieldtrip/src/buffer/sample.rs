use crate::store::Refused;
use crate::wire::{DataType, SamplesDefinition};

/// A number that samples can be made of.
pub trait Sample: bytemuck::Pod {
    /// Its type on the wire.
    const DATA_TYPE: DataType;
}

macro_rules! sample {
    ($($number:ty => $data_type:ident),+ $(,)?) => {
        $(impl Sample for $number {
            const DATA_TYPE: DataType = DataType::$data_type;
        })+
    };
}

sample! {
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    f32 => Float32, f64 => Float64,
}

pub(crate) fn definition<T: Sample>(
    channel_count: u32,
    value_count: usize,
) -> Result<SamplesDefinition, Refused> {
    let channels = usize::try_from(channel_count).map_err(|_| Refused::TooLarge)?;
    if channels == 0 || !value_count.is_multiple_of(channels) {
        return Err(Refused::Malformed);
    }
    let sample_count = u32::try_from(value_count / channels).map_err(|_| Refused::TooLarge)?;
    SamplesDefinition::new(channel_count, sample_count, T::DATA_TYPE).ok_or(Refused::TooLarge)
}
