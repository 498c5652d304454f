//! Samples from an outlet to an inlet over real sockets on loopback.

use core::time::Duration;
use std::sync::Arc;

use schwann::Error;
use schwann::inlet::InletOptions;
use schwann::outlet::{Delivery, Flush, Outlet, OutletOptions};
use schwann_proto::stream::ChannelFormat;

use crate::pairs::{LONG, connect, context, info, pair};

#[test]
fn the_first_sample_after_open_stream_arrives() {
    for _ in 0..5 {
        let (outlet, inlet) = pair(&info(ChannelFormat::Float32, 2, 100.0), &OutletOptions::default());
        outlet.push_sample(&[1.5_f32, -2.5], 12.25, Flush::Now).expect("a push");
        let mut sample = [0.0_f32; 2];
        assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(12.25)));
        assert_eq!(sample, [1.5, -2.5]);
    }
}

#[test]
fn samples_arrive_in_order_however_fast_they_are_pushed() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    let count = 20_000;
    let pusher = std::thread::spawn(move || {
        for value in 0..count {
            outlet.push_sample(&[value], 1.0 + f64::from(value), Flush::Now).expect("a push");
        }
        outlet
    });
    for value in 0..count {
        let mut sample = [0];
        let stamp = inlet.pull_sample(&mut sample, LONG).expect("a stream");
        assert_eq!((stamp, sample), (Some(1.0 + f64::from(value)), [value]));
    }
    drop(pusher.join().expect("no panic"));
}

#[test]
fn what_is_older_than_the_greatest_lag_is_passed_over() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 100.0), &OutletOptions::default());
    inlet.set_max_lag(5.0);
    inlet.clock_offset(LONG).expect("an offset");
    let now = schwann::local_clock();
    // One computer: its clock is the sender's. The last two are as new as a stamp can be.
    let stamps = [now - 20.0, now - 10.0, now - 6.0, now + 60.0, now + 61.0];
    outlet.push_chunk_stamped(&[1, 2, 3, 4, 5], &stamps, Flush::Now).expect("a push");
    let (mut values, mut pulled) = ([0; 2], [0.0; 2]);
    assert_eq!(inlet.pull_chunk(&mut values, &mut pulled, LONG), Ok(2));
    assert_eq!((values, inlet.dropped_samples()), ([4, 5], 3));

    // Without a limit, all of them come.
    inlet.set_max_lag(f64::INFINITY);
    outlet.push_sample(&[6], now - 20.0, Flush::Now).expect("a push");
    assert_eq!(inlet.wait_for_sample(LONG), Ok(true));
    assert_eq!(inlet.pull_sample(&mut values[..1], 0.0), Ok(Some(now - 20.0)));
    assert_eq!((values[0], inlet.wait_for_sample(0.0)), (6, Ok(false)));
}

#[test]
fn chunks_keep_their_values_and_get_their_stamps() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Double64, 3, 100.0), &OutletOptions::default());
    let values: Vec<f64> = (0..30_000).map(f64::from).collect();
    outlet.push_chunk(&values, 500.0, Flush::Now).expect("a push");
    let (mut pulled, mut stamps) = (vec![0.0; 30_000], vec![0.0; 10_000]);
    assert_eq!(inlet.pull_chunk(&mut pulled, &mut stamps, LONG), Ok(10_000));
    assert_eq!(pulled, values);
    assert!((stamps[0] - (500.0 - 99.99)).abs() < 1e-9 && (stamps[9_999] - 500.0).abs() < 1e-6);
}

#[test]
fn what_came_with_the_sample_that_was_pulled_is_at_hand() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    assert_eq!(inlet.samples_at_hand(), 0);
    outlet.push_chunk(&[1, 2, 3], 1.0, Flush::Now).expect("a push");
    for left in [2, 1, 0] {
        assert!(inlet.pull_sample(&mut [0], LONG).expect("a stream").is_some());
        assert_eq!(inlet.samples_at_hand(), left);
    }
}

#[test]
fn a_pull_without_samples_returns_in_time() {
    let (_outlet, inlet) = pair(&info(ChannelFormat::Int8, 1, 0.0), &OutletOptions::default());
    let start = std::time::Instant::now();
    assert_eq!(inlet.pull_sample(&mut [0_i8], 0.05), Ok(None));
    assert_eq!(inlet.pull_sample(&mut [0_i8], 0.0), Ok(None));
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_wrong_buffer_costs_no_sample() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int16, 2, 0.0), &OutletOptions::default());
    outlet.push_sample(&[1_i16, 2], 1.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0_i16; 3], LONG), Err(Error::ChunkShape));
    let mut sample = [0_i16; 2];
    assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(1.0)));
    assert_eq!(sample, [1, 2]);
}

#[test]
fn strings_of_any_length_arrive() {
    let (outlet, inlet) = pair(&info(ChannelFormat::String, 3, 0.0), &OutletOptions::default());
    let long = vec![b'x'; 3 << 20];
    outlet.push_strings(&[b"a\0b", b"", &long], 1.0, Flush::Now).expect("a push");
    let mut pulled = Vec::new();
    assert_eq!(inlet.pull_strings(LONG, |text| pulled.push(text.to_vec())), Ok(Some(1.0)));
    assert_eq!(pulled, [b"a\0b".to_vec(), Vec::new(), long]);
}

#[test]
fn what_is_pushed_for_later_comes_with_the_next_flush() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 10.0), &OutletOptions::default());
    outlet.push_sample(&[1], 1.0, Flush::Later).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0], 0.02), Ok(None));
    outlet.push_sample(&[2], 2.0, Flush::Now).expect("a push");
    let mut values = [0, 0];
    assert_eq!(inlet.pull_chunk(&mut values, &mut [], LONG), Ok(2));
    assert_eq!(values, [1, 2]);
}

#[test]
fn synchronous_outlets_convert_and_deliver() {
    let options = OutletOptions { delivery: Delivery::Synchronous, ..OutletOptions::default() };
    let (outlet, inlet) = pair(&info(ChannelFormat::Float32, 2, 0.0), &options);
    for value in 0..100_i32 {
        outlet.push_sample(&[value, -value], 1.0 + f64::from(value), Flush::Now).expect("a push");
    }
    for value in 0..100_i16 {
        let mut sample = [0.0_f64; 2];
        assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(1.0 + f64::from(value))));
        assert_eq!(sample, [f64::from(value), -f64::from(value)]);
    }
}

#[test]
fn protocol_1_00_carries_the_same_samples() {
    let context = context("[tuning]\nUseProtocolVersion=100\n");
    let info = info(ChannelFormat::Int64, 2, 10.0);
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions::default());
    let values: Vec<i64> = (0..2000).map(|value| value * value * -12_345).collect();
    outlet.push_chunk(&values, 1000.0, Flush::Now).expect("a push");
    let (mut pulled, mut stamps) = (vec![0_i64; 2000], vec![0.0; 1000]);
    assert_eq!(inlet.pull_chunk(&mut pulled, &mut stamps, LONG), Ok(1000));
    assert_eq!(pulled, values);
    assert!((stamps[999] - 1000.0).abs() < 1e-6, "{}", stamps[999]);
}

#[test]
fn the_whole_description_is_fetched_from_the_outlet() {
    let context = context("");
    let mut info = info(ChannelFormat::Int32, 1, 0.0);
    let desc = info.desc().expect("every description has one");
    info.document_mut().append_child(desc, b"note");
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions::default());
    let full = inlet.full_info(LONG).expect("a description");
    assert_eq!(full.uid(), outlet.info().uid());
    let note = full.desc().and_then(|desc| full.document().child(desc, b"note"));
    assert!(note.is_some(), "{}", String::from_utf8_lossy(&full.fullinfo()));
}

#[test]
fn clock_synchronisation_keeps_to_the_timeout_and_costs_no_sample() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    inlet.set_post_processing(1);
    let now = schwann::local_clock();
    outlet.push_sample(&[7], now, Flush::Now).expect("a push");
    let start = std::time::Instant::now();
    // The offset takes two thirds of a second.
    assert_eq!(inlet.pull_sample(&mut [0], 0.0), Ok(None));
    assert!(start.elapsed() < Duration::from_millis(500));
    let mut value = [0];
    let stamp = inlet.pull_sample(&mut value, LONG).expect("a stream").expect("the sample");
    assert!(value == [7] && (stamp - now).abs() < 0.1, "{stamp} {now}");
}

#[test]
fn iterators_yield_every_sample_and_end_with_the_stream() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 2, 0.0), &OutletOptions::default());
    let stamps: Vec<f64> = (1..=10).map(f64::from).collect();
    outlet.push_chunk_stamped(&(0..20).collect::<Vec<i32>>(), &stamps, Flush::Now).expect("a push");
    let first = inlet.samples::<i32>().next().expect("a sample").expect("a stream");
    assert_eq!((first.stamp, first.values), (1.0, vec![0, 1]));
    let (mut values, mut pulled) = (Vec::new(), Vec::new());
    for chunk in inlet.chunks::<i32>(4) {
        let chunk = chunk.expect("a stream");
        assert!(!chunk.stamps.is_empty() && chunk.values.len() == 2 * chunk.stamps.len());
        values.extend(chunk.values);
        pulled.extend(chunk.stamps);
        if pulled.len() == 9 {
            break;
        }
    }
    assert!(values.into_iter().eq(2..20) && pulled == stamps[1..]);
    let mut samples = inlet.samples::<i32>();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| samples.next());
        while !waiting.is_finished() {
            inlet.close_stream();
            std::thread::yield_now();
        }
        assert_eq!(waiting.join().expect("no panic"), None);
    });
}
