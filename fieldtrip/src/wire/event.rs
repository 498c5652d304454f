use super::{ByteOrder, DataType, Fields, Malformed};

/// Something that happened at a sample, as a program writes it (spec: fieldtrip §8).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Sample number, counting from zero; [`NOW`] lets the server fill it in.
    pub sample: i32,
    /// Offset, in samples.
    pub offset: i32,
    /// Duration, in samples.
    pub duration: i32,
    /// Type of the elements of [`kind`](Self::kind), usually [`DataType::Char`].
    pub kind_type: DataType,
    /// What kind of event it is, usually text; numbers are in the machine's byte order.
    pub kind: Vec<u8>,
    /// Type of the elements of [`value`](Self::value).
    pub value_type: DataType,
    /// Its value: text or numbers, in the machine's byte order.
    pub value: Vec<u8>,
}

impl Event {
    /// An event whose kind and value are text.
    pub fn text(sample: i32, kind: &str, value: &str) -> Self {
        Self {
            sample,
            offset: 0,
            duration: 0,
            kind_type: DataType::Char,
            kind: kind.into(),
            value_type: DataType::Char,
            value: value.into(),
        }
    }

    /// An event with one number, as drivers write triggers.
    pub fn number(sample: i32, kind: &str, value: i32) -> Self {
        Self {
            value_type: DataType::Int32,
            value: value.to_ne_bytes().into(),
            ..Self::text(sample, kind, "")
        }
    }

    /// Appends this event, as it travels, to `out`.
    pub fn encode(&self, order: ByteOrder, out: &mut Vec<u8>) {
        let elements = |bytes: &[u8], data_type: DataType| {
            u32::try_from(bytes.len() / data_type.size()).unwrap_or(u32::MAX)
        };
        for field in [
            self.kind_type.code(),
            elements(&self.kind, self.kind_type),
            self.value_type.code(),
            elements(&self.value, self.value_type),
            self.sample.cast_unsigned(),
            self.offset.cast_unsigned(),
            self.duration.cast_unsigned(),
            u32::try_from(self.kind.len() + self.value.len()).unwrap_or(u32::MAX),
        ] {
            out.extend_from_slice(&order.put_u32(field));
        }
        for (data_type, bytes) in [(self.kind_type, &self.kind), (self.value_type, &self.value)] {
            let start = out.len();
            out.extend_from_slice(bytes);
            order.convert(data_type.size(), out.get_mut(start..).unwrap_or_default());
        }
    }
}

/// One event inside a message, checked against its own lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawEvent<'a> {
    /// Sample number, or [`NOW`] in a request.
    pub sample: i32,
    /// Offset, in samples.
    pub offset: i32,
    /// Duration, in samples.
    pub duration: i32,
    /// Type of the kind's elements.
    pub kind_type: DataType,
    /// The kind's bytes, in the message's order.
    pub kind: &'a [u8],
    /// Type of the value's elements.
    pub value_type: DataType,
    /// The value's bytes, in the message's order.
    pub value: &'a [u8],
    /// What the writer sent behind the value; kept and returned.
    pub surplus: &'a [u8],
    order: ByteOrder,
}

impl<'a> RawEvent<'a> {
    /// Parses the first event in `bytes` and returns it with what is behind it.
    ///
    /// - Errors: [`Malformed`] if a type does not exist or the lengths contradict each other or `bytes`.
    pub fn parse(order: ByteOrder, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let mut fields = Fields::new(order, bytes);
        let kind_type = DataType::parse(fields.u32()?).ok_or(Malformed)?;
        let kind_elements = fields.u32()?;
        let value_type = DataType::parse(fields.u32()?).ok_or(Malformed)?;
        let value_elements = fields.u32()?;
        let (sample, offset, duration) = (fields.i32()?, fields.i32()?, fields.i32()?);
        let length = usize::try_from(fields.u32()?).map_err(|_| Malformed)?;
        let (body, rest) = fields.rest().split_at_checked(length).ok_or(Malformed)?;
        let (kind, body) = take(body, kind_elements, kind_type)?;
        let (value, surplus) = take(body, value_elements, value_type)?;
        let event = Self { sample, offset, duration, kind_type, kind, value_type, value, surplus, order };
        Ok((event, rest))
    }

    /// The event with its numbers in the machine's order; the surplus is dropped.
    pub fn to_event(self) -> Event {
        let native = |data_type: DataType, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            self.order.convert(data_type.size(), &mut bytes);
            bytes
        };
        Event {
            sample: self.sample,
            offset: self.offset,
            duration: self.duration,
            kind_type: self.kind_type,
            kind: native(self.kind_type, self.kind),
            value_type: self.value_type,
            value: native(self.value_type, self.value),
        }
    }

    /// Appends the event to `out`, with everything it carries, in another byte order.
    pub fn encode(self, order: ByteOrder, out: &mut Vec<u8>) {
        // `to_event` drops nothing but the surplus, and the lengths that `encode` derives are those parsed.
        let start = out.len();
        self.to_event().encode(order, out);
        out.extend_from_slice(self.surplus);
        let length = self.kind.len() + self.value.len() + self.surplus.len();
        let field = order.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        if let Some(place) = out.get_mut(start + EVENT_BYTES - 4..start + EVENT_BYTES) {
            place.copy_from_slice(&field);
        }
    }
}

/// Goes through the events of a message. The last item is an error if the bytes do not come out even.
#[derive(Clone, Debug)]
pub struct EventIter<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> EventIter<'a> {
    /// Events in the payload of a request or a reply.
    pub fn new(order: ByteOrder, payload: &'a [u8]) -> Self {
        Self { order, rest: payload }
    }
}

impl<'a> Iterator for EventIter<'a> {
    type Item = Result<RawEvent<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match RawEvent::parse(self.order, self.rest) {
            Ok((event, rest)) => {
                self.rest = rest;
                Some(Ok(event))
            }
            Err(malformed) => {
                self.rest = &[];
                Some(Err(malformed))
            }
        }
    }
}

/// Checks a request's events and gives each, in the machine's byte order, to `each`.
///
/// - Errors: [`Malformed`] if any is wrong; then `each` was not called at all.
pub fn normalise_events(
    order: ByteOrder,
    payload: &[u8],
    mut each: impl FnMut(RawEvent<'_>, Vec<u8>),
) -> Result<(), Malformed> {
    EventIter::new(order, payload).try_for_each(|event| event.map(drop))?;
    for event in EventIter::new(order, payload) {
        let event = event?;
        let mut bytes = Vec::with_capacity(EVENT_BYTES + event.kind.len() + event.value.len());
        event.encode(ByteOrder::NATIVE, &mut bytes);
        each(event, bytes);
    }
    Ok(())
}

fn take(body: &[u8], elements: u32, data_type: DataType) -> Result<(&[u8], &[u8]), Malformed> {
    // In 64 bits: 4 × 0x4000_0000 must not come out as 0.
    let length = u64::from(elements) * data_type.size() as u64;
    body.split_at_checked(usize::try_from(length).map_err(|_| Malformed)?).ok_or(Malformed)
}

/// Length of the fixed part of an event.
pub const EVENT_BYTES: usize = 32;

/// As the sample of an event that is sent: the server fills in the sample number of now.
pub const NOW: i32 = -1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_both_orders() {
        let events = [
            Event::text(100, "stimulus", "left"),
            Event::number(200, "trigger", 7),
            Event { offset: -5, duration: 20, ..Event::text(-7, "", "") },
        ];
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let mut bytes = Vec::new();
            events.iter().for_each(|event| event.encode(order, &mut bytes));
            let parsed: Vec<Event> = EventIter::new(order, &bytes).map(|e| e.unwrap().to_event()).collect();
            assert_eq!(parsed, events);
        }
    }

    #[test]
    fn surplus_bytes_are_kept() {
        let mut bytes = Vec::new();
        Event::text(1, "t", "v").encode(ByteOrder::NATIVE, &mut bytes);
        bytes[28..32].copy_from_slice(&5_u32.to_ne_bytes());
        bytes.extend_from_slice(b"PAD");
        let mut kept = Vec::new();
        normalise_events(ByteOrder::NATIVE, &bytes, |_, event| kept.push(event)).unwrap();
        assert_eq!(kept, [bytes]);
    }

    #[test]
    fn one_bad_event_refuses_them_all() {
        let mut bytes = Vec::new();
        Event::text(1, "t", "v").encode(ByteOrder::NATIVE, &mut bytes);
        bytes.extend_from_slice(&[0; 4]);
        let mut calls = 0;
        assert_eq!(normalise_events(ByteOrder::NATIVE, &bytes, |_, _| calls += 1), Err(Malformed));
        assert_eq!(calls, 0);
    }

    #[test]
    fn element_counts_do_not_overflow() {
        let mut bytes = Vec::new();
        Event::text(1, "abcd", "v").encode(ByteOrder::NATIVE, &mut bytes);
        bytes[0..4].copy_from_slice(&DataType::Int32.code().to_ne_bytes());
        bytes[4..8].copy_from_slice(&0x4000_0000_u32.to_ne_bytes());
        assert_eq!(RawEvent::parse(ByteOrder::NATIVE, &bytes), Err(Malformed));
    }
}
