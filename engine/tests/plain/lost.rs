//! Streams that are lost, restarted or ended: what is still delivered, and which waits end.

use core::time::Duration;
use std::sync::Arc;

use schwann::Error;
use schwann::inlet::{Inlet, InletOptions, Recover, StreamEvent};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann_proto::stream::ChannelFormat;

use crate::pairs::{LONG, connect, context, info, pair};

#[test]
fn a_lost_stream_is_reported_once_it_is_drained() {
    let context = context("");
    let outlet = Outlet::in_context(
        &info(ChannelFormat::Int32, 1, 0.0),
        &OutletOptions::default(),
        Arc::clone(&context),
    )
    .expect("an outlet");
    let inlet = connect(&context, &InletOptions { recover: Recover::No, ..InletOptions::default() });
    outlet.push_sample(&[7], 1.0, Flush::Now).expect("a push");
    drop(outlet);
    let mut value = [0];
    assert_eq!(inlet.pull_sample(&mut value, LONG), Ok(Some(1.0)));
    assert_eq!(inlet.pull_sample(&mut value, LONG), Err(Error::Lost));
    assert_eq!(inlet.pull_sample(&mut value, LONG), Err(Error::Lost));
}

#[test]
fn what_is_queued_is_delivered_before_the_loss_with_clock_synchronisation_too() {
    let context = context("");
    let info = info(ChannelFormat::Int32, 1, 0.0);
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context));
    let outlet = outlet.expect("an outlet");
    let inlet = connect(&context, &InletOptions { recover: Recover::No, ..InletOptions::default() });
    inlet.set_post_processing(1);
    inlet.clock_offset(LONG).expect("the offset");
    let values: Vec<i32> = (0..500).collect();
    outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
    outlet.flush(Some(Duration::from_secs_f64(LONG))).expect("a consumer that takes it");
    drop(outlet);
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Lost {}
    let mut pulled = vec![0; 500];
    assert_eq!(inlet.pull_chunk(&mut pulled, &mut [], LONG), Ok(500));
    assert_eq!(pulled, values);
    assert_eq!(inlet.pull_sample(&mut [0], LONG), Err(Error::Lost));
}

#[test]
fn a_restarted_stream_is_found_again() {
    let context = context("");
    let info = info(ChannelFormat::Int32, 1, 0.0);
    let start = || Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context));
    let outlet = start().expect("an outlet");
    let inlet = connect(&context, &InletOptions::default());
    drop(outlet);
    let outlet = start().expect("an outlet");
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    outlet.push_sample(&[9], 3.0, Flush::Now).expect("a push");
    let mut value = [0];
    assert_eq!((inlet.pull_sample(&mut value, LONG), value), (Ok(Some(3.0)), [9]));
}

#[test]
fn what_was_not_pulled_before_a_restart_is_pulled_after_it() {
    let context = context("");
    let info = info(ChannelFormat::Int32, 1, 0.0);
    let options = OutletOptions::default();
    let outlet = Outlet::in_context(&info, &options, Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions::default());
    outlet.push_chunk_stamped(&[1, 2, 3], &[1.0, 2.0, 3.0], Flush::Now).expect("a push");
    outlet.flush(Some(Duration::from_secs_f64(LONG))).expect("a consumer that takes it");
    drop(outlet);
    let outlet = Outlet::in_context(&info, &options, Arc::clone(&context)).expect("an outlet again");
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    outlet.push_chunk_stamped(&[4, 5], &[4.0, 5.0], Flush::Now).expect("a push");
    let (mut values, mut stamps) = ([0; 5], [0.0; 5]);
    assert_eq!(inlet.pull_chunk(&mut values, &mut stamps, LONG), Ok(5));
    assert_eq!((values, stamps), ([1, 2, 3, 4, 5], [1.0, 2.0, 3.0, 4.0, 5.0]));
}

#[test]
fn a_description_is_waited_for_no_longer_than_told_even_during_a_recovery() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Connected {}
    drop(outlet);
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Recovering {}
    // The connection's thread looks for the stream now, without end.
    let start = std::time::Instant::now();
    assert_eq!(inlet.full_info(0.3).err(), Some(Error::Timeout));
    assert!(start.elapsed() < Duration::from_secs_f64(LONG / 2.0));
}

#[test]
fn a_short_timeout_does_not_make_a_stream_lost() {
    let context = context("");
    let info = info(ChannelFormat::Int32, 1, 0.0);
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context));
    let outlet = outlet.expect("an outlet");
    let inlet = connect(&context, &InletOptions { recover: Recover::No, ..InletOptions::default() });
    for nanoseconds in [0.0, 1.0, 1e3, 1e4] {
        let outcome = inlet.full_info(nanoseconds / 1e9);
        assert!(matches!(outcome, Ok(_) | Err(Error::Timeout)), "{outcome:?}");
    }
    outlet.push_sample(&[7], 1.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0], LONG), Ok(Some(1.0)));
    inlet.full_info(LONG).expect("the description");
}

#[test]
fn closing_ends_waits_of_other_threads() {
    let context = context("");
    let info = info(ChannelFormat::Int32, 1, 0.0);
    // No outlet serves this stream.
    let inlet = Arc::new(Inlet::in_context(&info, &InletOptions::default(), context).expect("an inlet"));
    let waiting = Arc::clone(&inlet);
    let waiter = std::thread::spawn(move || waiting.open_stream(f64::MAX));
    while !waiter.is_finished() {
        inlet.close_stream();
        std::thread::yield_now();
    }
    assert_eq!(waiter.join().expect("no panic"), Err(Error::Timeout));
}

#[test]
fn who_waits_for_an_event_comes_back_when_the_stream_is_ended() {
    let (_outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Connected {}
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| inlet.next_event(f64::INFINITY));
        inlet.end();
        assert_eq!(waiting.join().expect("a thread that came back"), None);
    });
}

#[test]
fn a_pull_from_an_ended_stream_does_not_wait() {
    let (_outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Connected {}
    inlet.end();
    assert_eq!(inlet.pull_sample(&mut [0_i32], f64::INFINITY), Err(Error::Lost));
}
