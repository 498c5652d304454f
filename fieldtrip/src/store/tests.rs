use super::*;
use crate::wire::{DataType, Event, EventIter};

fn store(channel_count: u32, data_type: DataType) -> Store {
    let mut store = Store::new(Capacity::default());
    drop(store.put_header(Header::new(channel_count, 100.0, data_type)).unwrap());
    store
}

fn put(store: &mut Store, values: &[u8]) -> Result<(), Refused> {
    let block = SamplesDefinition::new(1, u32::try_from(values.len()).unwrap(), DataType::Uint8).unwrap();
    store.put_samples(block, values, Duration::ZERO)
}

fn get(store: &Store, begin: u32, end: u32) -> Result<Vec<u8>, Refused> {
    let span = store.locate_samples(Some(Selection { begin, end }))?;
    let mut out = vec![0; usize::try_from(span.count).unwrap()];
    store.copy_samples(span, &mut out);
    Ok(out)
}

fn put_event(store: &mut Store, event: &Event, now: Duration) {
    let mut bytes = Vec::new();
    event.encode(ByteOrder::NATIVE, &mut bytes);
    store.put_events(ByteOrder::NATIVE, &bytes, now, |_| ()).unwrap();
}

fn sample_of(store: &Store, number: u64) -> i32 {
    let bytes = store.events(Span { first: number, count: 1 }).next().unwrap();
    EventIter::new(ByteOrder::NATIVE, bytes).next().unwrap().unwrap().sample
}

#[test]
fn selections_are_evaluated_as_the_original_does() {
    let mut store = store(1, DataType::Uint8);
    assert_eq!(get(&store, 0, LAST), Err(Refused::OutOfRange));
    put(&mut store, &[10, 11, 12, 13, 14]).unwrap();
    for (begin, end, want) in [
        (0, 4, Ok(vec![10, 11, 12, 13, 14])),
        (4, 4, Ok(vec![14])),
        (2, LAST, Ok(vec![12, 13, 14])),
        (3, 2, Ok(vec![])),
        (5, LAST, Err(Refused::OutOfRange)),
        (0, 5, Err(Refused::OutOfRange)),
        (LAST, LAST, Err(Refused::OutOfRange)),
        (4, 1, Err(Refused::OutOfRange)),
        (0, LAST - 1, Err(Refused::OutOfRange)),
    ] {
        assert_eq!(get(&store, begin, end), want, "{begin}..={end}");
    }
}

#[test]
fn only_the_ring_is_readable_and_counters_go_on() {
    let mut store = Store::new(Capacity { samples: 4, ..Capacity::default() });
    drop(store.put_header(Header::new(1, 1.0, DataType::Uint8)).unwrap());
    for n in 0..10 {
        put(&mut store, &[n]).unwrap();
    }
    assert_eq!(store.totals().unwrap().samples, 10);
    assert_eq!(get(&store, 6, LAST), Ok(vec![6, 7, 8, 9]));
    assert_eq!(get(&store, 5, 6), Err(Refused::OutOfRange));
    assert_eq!(put(&mut store, &[0; 5]), Err(Refused::TooLarge));
}

#[test]
fn selections_survive_the_wrap_of_the_counters() {
    let total = (1_u64 << 32) + 3;
    let at = |begin, end| locate(total, 10, Some(Selection { begin, end }));
    assert_eq!(at(0xFFFF_FFFE, 1), Ok(Span { first: (1 << 32) - 2, count: 4 }));
    assert_eq!(at(2, 2), Ok(Span { first: total - 1, count: 1 }));
    assert_eq!(at(3, 3), Err(Refused::OutOfRange));
    assert_eq!(at(0xFFFF_FFF0, 1), Err(Refused::OutOfRange));
    assert!(exceeds(total, 0xFFFF_FFF0) && exceeds(total, 2));
    assert!(!exceeds(total, 3) && !exceeds(total, crate::wire::NEVER));
}

#[test]
fn rings_have_the_originals_size() {
    for (channel_count, samples) in [(256, 600_000), (257, 522_247), (0x2000_0000, 0)] {
        let header = Header::new(channel_count, 10.0, DataType::Float32);
        assert_eq!(Capacity::default().samples_for(&header), samples);
    }
    let mut store = Store::default();
    let huge = Header::new(0x4000_0000, 10.0, DataType::Float32);
    assert_eq!(store.put_header(huge).err(), Some(Refused::TooLarge));
    assert_eq!(store.header(), Err(Refused::NoHeader));
}

#[test]
fn refused_blocks_store_nothing() {
    let mut store = store(2, DataType::Int16);
    let good = SamplesDefinition::new(2, 2, DataType::Int16).unwrap();
    for (block, why) in [
        (SamplesDefinition { channel_count: 3, ..good }, Refused::Mismatch),
        (SamplesDefinition { data_type: 7, ..good }, Refused::Mismatch),
        (SamplesDefinition { value_bytes: 7, ..good }, Refused::Malformed),
        (SamplesDefinition { sample_count: 600_001, ..good }, Refused::TooLarge),
        (SamplesDefinition { sample_count: 3, ..good }, Refused::Malformed),
    ] {
        assert_eq!(store.put_samples(block, &[0; 8], Duration::ZERO), Err(why));
    }
    assert_eq!(store.admit(good, 16 + 7), Err(Refused::Malformed));
    assert_eq!(store.admit(good, 16 + 8), Ok(8));
    assert_eq!(store.totals(), Ok(Totals::default()));
    let odd = vec![vec![0; 3], vec![0; 5]];
    assert_eq!(store.adopt_samples(good, odd, Duration::ZERO).err(), Some(Refused::Malformed));
}

#[test]
fn a_new_header_clears_everything_and_a_flush_keeps_the_rest() {
    let mut store = store(1, DataType::Uint8);
    put(&mut store, &[1, 2, 3]).unwrap();
    put_event(&mut store, &Event::text(1, "a", "b"), Duration::ZERO);
    drop(store.flush_samples().unwrap());
    assert_eq!(store.totals(), Ok(Totals { samples: 0, events: 1 }));
    put(&mut store, &[7]).unwrap();
    assert_eq!(get(&store, 0, LAST), Ok(vec![7]));
    store.flush_events().unwrap();
    assert_eq!(store.totals(), Ok(Totals { samples: 1, events: 0 }));
    drop(store.put_header(Header::new(2, 1.0, DataType::Int8)).unwrap());
    assert_eq!(store.totals(), Ok(Totals::default()));
    drop(store.flush_header().unwrap());
    assert_eq!(store.flush_events(), Err(Refused::NoHeader));
}

#[test]
fn events_without_a_sample_get_the_one_of_now() {
    let mut store = store(1, DataType::Uint8);
    let now = Event::text(NOW, "now", "");
    put_event(&mut store, &now, Duration::from_secs(9));
    put(&mut store, &[0; 50]).unwrap();
    put_event(&mut store, &now, Duration::from_millis(519));
    put_event(&mut store, &Event::text(-2, "fixed", ""), Duration::from_secs(1));
    put_event(&mut store, &now, Duration::MAX);
    assert_eq!([0, 1, 2, 3].map(|n| sample_of(&store, n)), [0, 50 + 51, -2, i32::MAX]);
}

#[test]
fn the_sample_of_now_counts_from_the_last_block_also_after_a_flush() {
    let mut store = store(1, DataType::Uint8);
    let block = SamplesDefinition::new(1, 50, DataType::Uint8).unwrap();
    for milliseconds in [0, 1000] {
        store.put_samples(block, &[0; 50], Duration::from_millis(milliseconds)).unwrap();
    }
    let now = Event::text(NOW, "now", "");
    // 100 samples a second.
    put_event(&mut store, &now, Duration::from_millis(1025));
    put_event(&mut store, &now, Duration::from_millis(999));
    drop(store.flush_samples().unwrap());
    put_event(&mut store, &now, Duration::from_millis(1100));
    assert_eq!([0, 1, 2].map(|n| sample_of(&store, n)), [102, 100, 10]);
}

#[test]
fn events_are_found_and_minus_one_is_not_special() {
    let mut store = store(1, DataType::Uint8);
    let at = |store: &Store, begin, end| store.locate_events(Some(Selection { begin, end }));
    assert_eq!(store.locate_events(None), Err(Refused::OutOfRange));
    for n in 0..251 {
        put_event(&mut store, &Event::number(n, "n", n), Duration::ZERO);
    }
    assert_eq!(store.locate_events(None), Ok(Span { first: 151, count: 100 }));
    assert_eq!(at(&store, 151, 152), Ok(Span { first: 151, count: 2 }));
    assert_eq!(at(&store, 152, 151), Ok(Span { first: 152, count: 0 }));
    for (begin, end) in [(150, 150), (151, LAST), (0, LAST), (LAST, LAST), (153, 151), (251, 251)] {
        assert_eq!(at(&store, begin, end), Err(Refused::OutOfRange), "{begin}..={end}");
    }
    assert_eq!(sample_of(&store, 200), 200);
}

#[test]
fn waits_compare_strictly() {
    let mut store = store(1, DataType::Uint8);
    put(&mut store, &[1, 2, 3, 4]).unwrap();
    let past = |samples, events| store.is_past(Totals { samples, events });
    assert_eq!(past(3, u32::MAX), Ok(true));
    assert_eq!(past(4, u32::MAX), Ok(false));
    assert_eq!(past(u32::MAX, 0), Ok(false));
    assert_eq!(Store::default().is_past(Totals::default()), Err(Refused::NoHeader));
}
