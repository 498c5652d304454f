//! Headers, events and samples of a FieldTrip buffer: what was understood can be written and understood again, in
//! both byte orders.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_fieldtrip::wire::{ByteOrder, EventIter, Header, SamplesDefinition, Totals, swap_chunks};

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let other = if choice & 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    if let Ok((header, _)) = Header::parse(order, bytes) {
        let mut chunks = header.chunk_bytes.to_vec();
        swap_chunks(header.channel_count, ByteOrder::NATIVE, other, &mut chunks);
        let mut again = header.encode(other, Totals::default()).to_vec();
        again.extend_from_slice(&chunks);
        let (back, _) = Header::parse(other, &again).expect("it was written by us");
        assert_eq!(back.chunk_bytes, header.chunk_bytes);
        let _names = (header.channel_names(), header.resolutions());
    }
    if let Ok(block) = SamplesDefinition::parse(order, bytes) {
        assert_eq!(block.encode(order), bytes[..16]);
    }
    for event in EventIter::new(order, bytes).map_while(Result::ok) {
        let mut again = Vec::new();
        event.encode(other, &mut again);
        let back = EventIter::new(other, &again).next().expect("there is one").expect("it was written by us");
        assert_eq!((back.to_event(), back.surplus), (event.to_event(), event.surplus));
    }
});
