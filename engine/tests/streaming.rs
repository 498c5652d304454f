//! Samples from an outlet to an inlet over real sockets on loopback.

use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover, StreamEvent};
use schwann::outlet::{Delivery, Flush, Outlet, OutletOptions};
use schwann::{Config, Context, Error, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;

mod ports;

use ports::ports;

/// Long enough for a busy machine; a test that passes never waits for it.
const LONG: f64 = 20.0;

/// A configuration that no other test shares ports or a session with.
fn context(extra: &str) -> Arc<Context> {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=streaming{base}\n{extra}",
        base + 38
    );
    Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")))
}

fn info(format: ChannelFormat, channels: i32, rate: f64) -> StreamInfo {
    StreamInfo::new("Test", "EEG", channels, rate, format, "streaming-test").expect("a valid description")
}

/// An outlet, and an inlet that is connected to it.
fn pair(info: &StreamInfo, options: &OutletOptions) -> (Outlet, Inlet) {
    let context = context("");
    let outlet = Outlet::in_context(info, options, Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions::default());
    (outlet, inlet)
}

fn connect(context: &Arc<Context>, options: &InletOptions) -> Inlet {
    let timeout = Duration::from_secs_f64(LONG);
    let found = resolver::resolve_byprop(context, "name", "Test", 1, timeout).expect("a search");
    let inlet = Inlet::in_context(&found[0], options, Arc::clone(context)).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    inlet
}

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
fn a_stalled_consumer_loses_the_oldest_samples_and_holds_nobody_up() {
    let options = OutletOptions { buffer_length: 1, ..OutletOptions::default() };
    let context = context("");
    let info = info(ChannelFormat::Int32, 250, 100.0);
    let outlet = Outlet::in_context(&info, &options, Arc::clone(&context)).expect("an outlet");
    let quick = connect(&context, &InletOptions::default());
    // An inlet that keeps one second as well, and does not pull.
    let stalled = raw_consumer(&outlet);
    let mut sample = vec![0; 250];
    for value in 0..30_000 {
        sample.fill(value);
        outlet.push_sample(&sample, 1.0 + f64::from(value), Flush::Now).expect("a push");
        if value % 50 == 0 {
            let _ = outlet.flush(Some(Duration::from_millis(1)));
        }
        let mut pulled = vec![0; 250];
        assert!(quick.pull_sample(&mut pulled, LONG).expect("a stream").is_some());
        assert_eq!(pulled[0], value);
    }
    assert!(outlet.dropped_samples() > 0);
    assert!(outlet.buffered_bytes() < 1_000_000, "{}", outlet.buffered_bytes());
    drop(stalled);
}

/// A consumer that asks for samples and never reads.
fn raw_consumer(outlet: &Outlet) -> std::net::TcpStream {
    use std::io::Write;
    let port = outlet.info().endpoint(schwann_proto::stream_info::IpVersion::V4).data_port;
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let before = outlet.consumer_count();
    socket.write_all(b"LSL:streamfeed/110 \r\nMax-Buffer-Length: 100\r\n\r\n").expect("a request");
    assert!(outlet.wait_for_consumers(before + 1, Some(Duration::from_secs_f64(LONG))));
    socket
}

#[test]
fn consumers_are_counted_as_they_come_and_go() {
    let (outlet, inlet) = pair(&info(ChannelFormat::Int32, 1, 0.0), &OutletOptions::default());
    for _ in 0..3 {
        assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
        inlet.close_stream();
        while outlet.have_consumers() {
            std::thread::yield_now();
        }
        inlet.open_stream(LONG).expect("a second connection");
    }
}

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
fn a_stalled_consumer_of_a_synchronous_outlet_is_given_up() {
    let context = context("[tuning]\nSyncSendTimeout=0.2\n");
    let options = OutletOptions { delivery: Delivery::Synchronous, ..OutletOptions::default() };
    let outlet =
        Outlet::in_context(&info(ChannelFormat::Double64, 1000, 0.0), &options, context).expect("an outlet");
    let stalled = raw_consumer(&outlet);
    let sample = vec![0.0_f64; 1000];
    while outlet.have_consumers() {
        outlet.push_sample(&sample, 1.0, Flush::Now).expect("a push");
    }
    drop(stalled);
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
