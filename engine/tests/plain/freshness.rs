//! What keeps a program from getting old samples unawares, and what wakes a loop that waits for many streams.

use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use schwann::inlet::{Alarm, AlarmKind, Bell, Inlet, InletOptions, Recover, StreamEvent, Watch};
use schwann::outlet::{Flush, Outlet, OutletOptions, Pace, Report};
use schwann::{BufferUnit, ChannelFormat, Error, StreamInfo, local_clock};

use crate::pairs::{LONG, connect, context};

/// Ports for few streams.
const FEW_PORTS: &str = "[ports]\nPortRange=8\n";

/// An outlet at this rate, and an inlet that is connected to it.
fn pair(rate: f64, options: &OutletOptions, recover: Recover) -> (Outlet, Inlet) {
    pair_with(rate, options, recover, "")
}

fn pair_with(rate: f64, options: &OutletOptions, recover: Recover, tuning: &str) -> (Outlet, Inlet) {
    let context = context(&format!("{FEW_PORTS}[tuning]\n{tuning}\n"));
    let info = StreamInfo::new("Test", "EEG", 1, rate, ChannelFormat::Int32, "fresh").expect("a description");
    let outlet = Outlet::in_context(&info, options, Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions { recover, ..InletOptions::default() });
    (outlet, inlet)
}

fn alarms(inlet: &Inlet, max_lag: f64) -> mpsc::Receiver<Alarm> {
    let (sender, told) = mpsc::channel();
    let sender = Mutex::new(sender);
    // The test may be over when the last one comes.
    inlet.set_alarm(max_lag, move |alarm| {
        let _ = sender.lock().expect("no panic").send(alarm);
    });
    told
}

fn next(told: &mpsc::Receiver<Alarm>) -> Alarm {
    told.recv_timeout(Duration::from_secs_f64(LONG)).expect("an alarm")
}

#[test]
fn a_program_that_does_not_pull_is_told_that_it_is_behind_and_that_it_has_caught_up() {
    let (outlet, inlet) = pair(0.0, &OutletOptions::default(), Recover::No);
    let told = alarms(&inlet, 0.3);
    outlet.push_sample(&[1], 0.0, Flush::Now).expect("a push");
    let alarm = next(&told);
    assert!(alarm.kind == AlarmKind::Behind && alarm.lag > 0.3 && alarm.skipped == 0, "{alarm:?}");
    assert!(inlet.pull_sample(&mut [0], LONG).expect("no error").is_some());
    assert_eq!(next(&told).kind, AlarmKind::CaughtUp);
    inlet.clear_alarm();
    let events: Vec<_> = core::iter::from_fn(|| inlet.next_event(0.0)).collect();
    assert_eq!(events, [StreamEvent::Connected, StreamEvent::Behind, StreamEvent::CaughtUp]);
}

#[test]
fn skipped_samples_are_counted_exactly_and_told() {
    let (outlet, inlet) = pair(100.0, &OutletOptions::default(), Recover::No);
    let told = alarms(&inlet, 0.0);
    inlet.clock_offset(LONG).expect("an offset");
    inlet.set_max_lag(0.5);
    let now = local_clock();
    let values: Vec<i32> = (0..500).collect();
    // All but the last ten are of long ago.
    let stamps: Vec<f64> =
        values.iter().map(|value| if *value < 490 { now - 9.0 } else { now + LONG }).collect();
    outlet.push_chunk_stamped(&values, &stamps, Flush::Now).expect("a push");
    let mut got = [0; 10];
    assert_eq!(inlet.pull_chunk(&mut got, &mut [], LONG), Ok(10));
    assert!(got.iter().copied().eq(490..500), "{got:?}");
    assert_eq!(inlet.dropped_samples(), 490);
    let alarm = next(&told);
    assert_eq!((alarm.kind, alarm.skipped), (AlarmKind::Behind, 490));
    assert_eq!(next(&told).kind, AlarmKind::CaughtUp);
}

#[test]
fn silence_of_a_stream_with_a_rate_and_the_loss_of_any_are_told() {
    let (outlet, inlet) = pair(100.0, &OutletOptions::default(), Recover::No);
    let told = alarms(&inlet, 0.3);
    let alarm = next(&told);
    assert!(alarm.kind == AlarmKind::Silent && alarm.lag > 0.3, "{alarm:?}");
    drop((outlet, inlet));
    let (outlet, inlet) = pair(0.0, &OutletOptions::default(), Recover::No);
    let told = alarms(&inlet, LONG);
    drop(outlet);
    assert_eq!(next(&told).kind, AlarmKind::Silent);
}

#[test]
fn an_outlet_names_the_inlet_that_is_too_slow_and_counts_what_it_lost() {
    let options =
        OutletOptions { buffer_length: 4, buffer_unit: BufferUnit::Samples, ..OutletOptions::default() };
    let context = context(&format!("{FEW_PORTS}[tuning]\nLocalSocket=off\n"));
    let info =
        StreamInfo::new("Test", "EEG", 50_000, 100.0, ChannelFormat::Int32, "slow").expect("a description");
    let outlet = Outlet::in_context(&info, &options, Arc::clone(&context)).expect("an outlet");
    // A peer that asks for the stream as an inlet does, and reads nothing.
    let port = outlet.info().endpoint(schwann_proto::stream_info::IpVersion::V4).data_port;
    let mut peer = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let request = format!(
        "LSL:streamfeed/110 {}\r\nNative-Byte-Order: 1234\r\nData-Protocol-Version: 110\r\nMax-Buffer-Length: 4\r\n\
         Max-Chunk-Length: 0\r\nValue-Size: 4\r\nHas-IEEE754-Denormals: 1\r\nSupports-Subnormals: 1\r\nEndian-Performance: 1\r\n\r\n",
        outlet.info().uid()
    );
    std::io::Write::write_all(&mut peer, request.as_bytes()).expect("a request");
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    let values = vec![7; 50_000];
    let began = Instant::now();
    // Samples are lost as well before the system's buffer is full, where the outlet's thread gets no processor.
    let slow = loop {
        outlet.push_sample(&values, 0.0, Flush::Now).expect("a push");
        let slow = outlet.consumers().pop().expect("a consumer");
        if (slow.dropped_samples > 0 && slow.waiting_bytes > 0) || began.elapsed().as_secs_f64() > LONG {
            break slow;
        }
    };
    assert_eq!(slow.name, peer.local_addr().expect("an address").to_string());
    assert!(slow.dropped_samples > 0 && slow.waiting_bytes > 0, "{slow:?}");
}

#[test]
fn an_outlet_hears_of_an_inlet_whose_program_is_too_slow() {
    for local in ["", "LocalSocket=off"] {
        let (outlet, inlet) = pair_with(100.0, &OutletOptions::default(), Recover::No, local);
        inlet.clock_offset(LONG).expect("an offset");
        let now = local_clock();
        // No pull returns a sample that is six seconds old.
        outlet.push_sample(&[1], now - 6.0, Flush::Now).expect("a push");
        let report = wait_for_report(&outlet, |report| report.pace == Pace::Behind);
        assert!(report.lag > 5.0 && report.skipped == 0, "{report:?}");
        assert!(inlet.pull_sample(&mut [0], LONG).expect("no error").is_some());
        wait_for_report(&outlet, |report| report.pace == Pace::CaughtUp);
        inlet.set_max_lag(1.0);
        outlet
            .push_chunk_stamped(&[1, 2, 3], &[now - 9.0, now - 9.0, now + LONG], Flush::Now)
            .expect("a push");
        assert!(inlet.pull_sample(&mut [0], LONG).expect("no error").is_some());
        // It has caught up by then, maybe before this thread looks.
        wait_for_report(&outlet, |report| report.skipped == 2);
        assert!(!outlet.consumers()[0].name.is_empty());
    }
}

fn wait_for_report(outlet: &Outlet, is_wanted: fn(&Report) -> bool) -> Report {
    let began = Instant::now();
    loop {
        let report = outlet.consumers().first().and_then(|consumer| consumer.report);
        match report.filter(is_wanted) {
            Some(report) => return report,
            None => assert!(began.elapsed().as_secs_f64() < LONG, "{report:?}"),
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_loop_is_woken_by_bytes_by_the_end_and_by_what_the_inlet_took_in_itself() {
    let (outlet, inlet) = pair(0.0, &OutletOptions::default(), Recover::No);
    let bell = Arc::new(Bell::new().expect("a bell"));
    // Nothing is there: the loop waits for bytes.
    let Watch::Readable(readable) = inlet.watch(&bell).expect("a watch") else {
        panic!("there is a connection")
    };
    assert!(readable.descriptor() > 0 && bell.descriptor() != readable.descriptor());
    drop(readable);
    outlet.push_sample(&[5], 0.0, Flush::Now).expect("a push");
    // No program reads, so the inlet's own thread takes the sample in, and says so.
    let began = Instant::now();
    // The bell may also ring for the connection, which is no more than a reason to look.
    while !matches!(inlet.watch(&bell), Ok(Watch::Ready)) {
        while !is_rung(&bell) {
            assert!(began.elapsed().as_secs_f64() < LONG, "it does not say so");
            std::thread::yield_now();
        }
        bell.clear();
    }
    let mut value = [0];
    assert!(inlet.pull_sample(&mut value, 0.0).expect("no error").is_some() && value == [5]);
    assert!(matches!(inlet.watch(&bell), Ok(Watch::Readable(_))));
    drop(outlet);
    while !matches!(inlet.watch(&bell), Ok(Watch::Ready)) && began.elapsed().as_secs_f64() < LONG {
        std::thread::yield_now();
    }
    assert_eq!(inlet.pull_sample(&mut value, 0.0), Err(Error::Lost));
}

#[test]
fn the_bell_rings_when_the_clock_offset_is_known_and_when_the_inlet_ends() {
    let (outlet, inlet) = pair(0.0, &OutletOptions::default(), Recover::No);
    inlet.set_post_processing(schwann_proto::postproc::CLOCKSYNC);
    let bell = Arc::new(Bell::new().expect("a bell"));
    outlet.push_sample(&[5], 0.0, Flush::Now).expect("a push");
    let began = Instant::now();
    let mut waits = 0;
    while !matches!(inlet.watch(&bell), Ok(Watch::Ready)) {
        assert!(began.elapsed().as_secs_f64() < LONG);
        waits += 1;
        while !is_rung(&bell) && began.elapsed().as_secs_f64() < LONG {
            std::thread::yield_now();
        }
        bell.clear();
    }
    assert!((1..50).contains(&waits), "woken {waits} times");
    assert!(inlet.pull_sample(&mut [0], 0.0).expect("no error").is_some());
    assert!(matches!(inlet.watch(&bell), Ok(Watch::Readable(_))));
    inlet.end();
    assert!(is_rung(&bell) && matches!(inlet.watch(&bell), Ok(Watch::Ready)));
}

/// Whether a loop would wake up.
fn is_rung(bell: &Bell) -> bool {
    format!("{bell:?}").contains("true")
}
