use super::{ByteOrder, DataType, Fields, Malformed};

/// The definition in front of sample values (spec: fieldtrip §7).
///
/// - Shape: the values follow sample by sample: all channels of the first sample, then of the second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SamplesDefinition {
    /// Number of channels.
    pub channel_count: u32,
    /// Number of samples.
    pub sample_count: u32,
    /// Code of the type of the values; see [`DataType::parse`].
    pub data_type: u32,
    /// Number of bytes that follow; a server takes more than needed, and drops the surplus.
    pub value_bytes: u32,
}

impl SamplesDefinition {
    /// The definition of so many samples, or `None` if their size does not fit in 32 bits.
    #[inline]
    pub fn new(channel_count: u32, sample_count: u32, data_type: DataType) -> Option<Self> {
        let definition = Self { channel_count, sample_count, data_type: data_type.code(), value_bytes: 0 };
        let value_bytes = u32::try_from(definition.needed(data_type)?).ok()?;
        Some(Self { value_bytes, ..definition })
    }

    /// Parses the first 16 bytes of `payload`.
    ///
    /// - Errors: [`Malformed`] if there are fewer.
    pub fn parse(order: ByteOrder, payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(order, payload);
        Ok(Self {
            channel_count: fields.u32()?,
            sample_count: fields.u32()?,
            data_type: fields.u32()?,
            value_bytes: fields.u32()?,
        })
    }

    /// The 16 bytes of this definition.
    pub fn encode(self, order: ByteOrder) -> [u8; SAMPLES_BYTES] {
        let mut out = [0; SAMPLES_BYTES];
        let fields = [self.channel_count, self.sample_count, self.data_type, self.value_bytes];
        for (place, field) in out.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
            *place = order.put_u32(field);
        }
        out
    }

    /// Bytes that the values take if they are of this type; `None` if more than 64 bits can say.
    #[inline]
    pub fn needed(self, data_type: DataType) -> Option<u64> {
        let values = u64::from(self.channel_count) * u64::from(self.sample_count);
        values.checked_mul(data_type.size() as u64)
    }
}

/// Which samples or events a request wants; numbers count from zero, both ends are included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Selection {
    /// The first.
    pub begin: u32,
    /// The last; for samples, [`LAST`] means the last there is.
    pub end: u32,
}

impl Selection {
    /// Parses a request's payload: none (everything), or at least eight bytes.
    ///
    /// - Errors: [`Malformed`] for one to seven bytes.
    pub fn parse(order: ByteOrder, payload: &[u8]) -> Result<Option<Self>, Malformed> {
        if payload.is_empty() {
            return Ok(None);
        }
        let mut fields = Fields::new(order, payload);
        Ok(Some(Self { begin: fields.u32()?, end: fields.u32()? }))
    }

    /// The eight bytes of this selection.
    pub fn encode(self, order: ByteOrder) -> [u8; 8] {
        pair(order, self.begin, self.end)
    }
}

/// How many samples and events were written since the header, or since they were last flushed.
///
/// A count, not what the ring still holds. Lower totals than before mean a new acquisition or a flush.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Samples.
    pub samples: u32,
    /// Events.
    pub events: u32,
}

impl Totals {
    /// Parses the reply to a wait.
    ///
    /// - Errors: [`Malformed`] if there are fewer than eight bytes.
    pub fn parse(order: ByteOrder, payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(order, payload);
        Ok(Self { samples: fields.u32()?, events: fields.u32()? })
    }

    /// The eight bytes of these totals.
    pub fn encode(self, order: ByteOrder) -> [u8; 8] {
        pair(order, self.samples, self.events)
    }
}

/// A wait for more samples or events than a threshold (spec: fieldtrip §9).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WaitRequest {
    /// The wait ends when there are more samples or more events than here; [`NEVER`] leaves one out.
    pub threshold: Totals,
    /// Longest time to wait, in milliseconds; 0 asks for the totals without waiting.
    pub timeout_ms: u32,
}

impl WaitRequest {
    /// Parses a payload of exactly twelve bytes.
    ///
    /// - Errors: [`Malformed`] for any other length.
    pub fn parse(order: ByteOrder, payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(order, payload);
        let threshold = Totals { samples: fields.u32()?, events: fields.u32()? };
        let timeout_ms = fields.u32()?;
        if !fields.rest().is_empty() {
            return Err(Malformed);
        }
        Ok(Self { threshold, timeout_ms })
    }

    /// The twelve bytes of this request.
    pub fn encode(self, order: ByteOrder) -> [u8; 12] {
        let mut out = [0; 12];
        let fields = [self.threshold.samples, self.threshold.events, self.timeout_ms];
        for (place, field) in out.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
            *place = order.put_u32(field);
        }
        out
    }
}

fn pair(order: ByteOrder, first: u32, second: u32) -> [u8; 8] {
    let [a, b, c, d] = order.put_u32(first);
    let [e, f, g, h] = order.put_u32(second);
    [a, b, c, d, e, f, g, h]
}

/// Length of the definition in front of sample values.
pub const SAMPLES_BYTES: usize = 16;

/// As the end of a [`Selection`] of samples: up to the last one there is.
pub const LAST: u32 = u32::MAX;

/// As a threshold of a [`WaitRequest`]: do not wait for this.
pub const NEVER: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [ByteOrder; 2] = [ByteOrder::Big, ByteOrder::Little];

    #[test]
    fn small_structures_survive_both_orders() {
        for order in ORDERS {
            let samples = SamplesDefinition::new(3, 5, DataType::Int32).unwrap();
            assert_eq!(samples.value_bytes, 60);
            assert_eq!(SamplesDefinition::parse(order, &samples.encode(order)), Ok(samples));
            let selection = Selection { begin: 4, end: LAST };
            assert_eq!(Selection::parse(order, &selection.encode(order)), Ok(Some(selection)));
            let totals = Totals { samples: 1, events: 2 };
            assert_eq!(Totals::parse(order, &totals.encode(order)), Ok(totals));
            let wait = WaitRequest { threshold: totals, timeout_ms: u32::MAX };
            assert_eq!(WaitRequest::parse(order, &wait.encode(order)), Ok(wait));
        }
    }

    #[test]
    fn lengths_are_checked() {
        let order = ByteOrder::Little;
        assert_eq!(Selection::parse(order, &[]), Ok(None));
        for length in 1..8 {
            assert_eq!(Selection::parse(order, &[0; 12][..length]), Err(Malformed));
        }
        assert!(Selection::parse(order, &[0; 12]).is_ok());
        for length in [0, 8, 11, 13, 16] {
            assert_eq!(WaitRequest::parse(order, &[0; 16][..length]), Err(Malformed));
        }
        assert_eq!(SamplesDefinition::parse(order, &[0; 15]), Err(Malformed));
        assert_eq!(SamplesDefinition::new(u32::MAX, 2, DataType::Uint8), None);
    }
}
