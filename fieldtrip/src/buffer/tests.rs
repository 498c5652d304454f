use std::thread;

use super::*;
use crate::tap::{TapEnd, Values};
use crate::wire::{DataType, Event, LAST, NEVER, Selection, Totals};

fn buffer(channel_count: u32) -> Buffer {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(channel_count, 1000.0, DataType::Float32)).unwrap();
    buffer
}

#[test]
fn blocks_of_every_size_read_back() {
    let buffer = buffer(3);
    let mut first = 0;
    for count in [1_u32, 10, 4000, 300_000, 7] {
        let values: Vec<f32> = (0..count * 3).map(|n| n as f32).collect();
        buffer.put_samples(3, &values).unwrap();
        let mut back = vec![0.0_f32; values.len()];
        buffer.read_samples(first, &mut back).unwrap();
        assert_eq!(back, values);
        let (block, bytes) = buffer.samples(Some(Selection { begin: first, end: LAST })).unwrap();
        assert_eq!((block.sample_count, &bytes[..]), (count, bytemuck::cast_slice(&values)));
        first += count;
    }
    assert_eq!(buffer.put_samples(3, &[0_f64; 3]), Err(Refused::Mismatch));
    assert_eq!(buffer.put_samples(3, &[0_f32; 4]), Err(Refused::Malformed));
    assert_eq!(buffer.read_samples(first, &mut [0_f32; 3]), Err(Refused::OutOfRange));
}

#[test]
fn a_wait_ends_with_samples_with_events_and_with_the_time() {
    for manner in [Buffer::wait, Buffer::wait_awake] {
        let buffer = &buffer(1);
        thread::scope(|scope| {
            let threshold = Totals { samples: 2, events: NEVER };
            let waiting = scope.spawn(move || manner(buffer, threshold, Duration::from_secs(60)));
            buffer.put_samples(1, &[1.0_f32, 2.0]).unwrap();
            buffer.put_samples(1, &[3.0_f32]).unwrap();
            assert_eq!(waiting.join().unwrap(), Ok(Totals { samples: 3, events: 0 }));
            let threshold = Totals { samples: NEVER, events: 0 };
            let waiting = scope.spawn(move || manner(buffer, threshold, Duration::MAX));
            buffer.put_events(&[Event::text(0, "a", "b")]).unwrap();
            assert_eq!(waiting.join().unwrap(), Ok(Totals { samples: 3, events: 1 }));
        });
        let never = Totals { samples: NEVER, events: NEVER };
        let end = manner(buffer, never, Duration::from_millis(1));
        assert_eq!(end, Ok(Totals { samples: 3, events: 1 }));
        assert!(buffer.lock().waits.is_empty());
    }
}

#[test]
fn a_wait_ends_when_the_header_goes() {
    let buffer = &buffer(1);
    thread::scope(|scope| {
        let never = Totals { samples: NEVER, events: NEVER };
        let waiting = scope.spawn(move || buffer.wait(never, Duration::from_secs(60)));
        while buffer.lock().waits.is_empty() {
            thread::yield_now();
        }
        buffer.flush_header().unwrap();
        assert_eq!(waiting.join().unwrap(), Err(Refused::NoHeader));
    });
}

/// No deadline here: a lost wake-up shows as a wait that ends without data.
#[test]
fn no_wake_up_is_lost_among_readers_asleep_and_awake() {
    const BLOCKS: u32 = 1000;
    let buffer = buffer(1);
    thread::scope(|scope| {
        for reader in 0..6 {
            let buffer = &buffer;
            scope.spawn(move || {
                let wait = if reader == 0 { Buffer::wait_awake } else { Buffer::wait };
                let mut seen = 0;
                while seen < BLOCKS {
                    let threshold = Totals { samples: seen, events: NEVER };
                    let totals = wait(buffer, threshold, Duration::from_secs(100)).unwrap();
                    assert!(totals.samples > seen, "woken too late");
                    seen = totals.samples;
                    // In turn with the writer: it puts when a reader waits.
                    buffer.put_events(&[Event::number(0, "seen", 1)]).unwrap();
                }
            });
        }
        let mut events = 0;
        for _ in 0..BLOCKS {
            buffer.put_samples(1, &[1.0_f32]).unwrap();
            let threshold = Totals { samples: NEVER, events };
            events = buffer.wait(threshold, Duration::from_secs(100)).unwrap().events;
        }
    });
}

#[test]
fn a_tap_sees_everything_in_order() {
    let buffer = buffer(1);
    let tap = buffer.tap(1 << 20);
    buffer.put_samples(1, &[1.0_f32]).unwrap();
    buffer.put_samples(1, &[2.0_f32; 20_000]).unwrap();
    buffer.put_events(&[Event::text(0, "a", "b")]).unwrap();
    buffer.flush_samples().unwrap();
    buffer.flush_events().unwrap();
    buffer.flush_header().unwrap();
    drop(buffer);
    let mut seen = Vec::new();
    let end = loop {
        match tap.next_change(Duration::ZERO) {
            Ok(Some(change)) => seen.push(change),
            Ok(None) => panic!("the buffer is gone, so this must end"),
            Err(end) => break end,
        }
    };
    assert_eq!(end, TapEnd::BufferGone);
    let bytes = |values: &[Values]| values.iter().map(|values| values.as_ref().len()).sum::<usize>();
    assert!(matches!(
        &seen[..],
        [
            Change::Header { .. },
            Change::Samples { count: 1, values: small, .. },
            Change::Samples { count: 20_000, values: big, .. },
            Change::Events { .. },
            Change::SamplesFlushed,
            Change::EventsFlushed,
            Change::HeaderFlushed,
        ] if bytes(small) == 4 && bytes(big) == 80_000
    ));
}

#[test]
fn a_tap_that_is_not_read_overflows_and_says_so() {
    let buffer = buffer(1);
    let tap = buffer.tap(10_000);
    for _ in 0..100 {
        buffer.put_samples(1, &[0.0_f32; 100]).unwrap();
    }
    let mut taken = 0;
    let end = loop {
        match tap.next_change(Duration::ZERO) {
            Ok(change) => taken += usize::from(change.is_some()),
            Err(end) => break end,
        }
    };
    assert_eq!(end, TapEnd::Overflow);
    assert!(taken < 100);
}
