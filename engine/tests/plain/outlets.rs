//! What an outlet promises beyond the plain stream: chunks, large descriptions, other rates, several threads.

use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::InletOptions;
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{ChannelFormat, Config, Context, StreamInfo, local_clock, resolver};

use crate::pairs::{LONG, connect, context};

/// Ports for few streams.
const FEW_PORTS: &str = "[ports]\nPortRange=8\n";

fn info(rate: f64, source_id: &str) -> StreamInfo {
    StreamInfo::new("Test", "EEG", 1, rate, ChannelFormat::Int32, source_id).expect("a valid description")
}

fn serve(context: &Arc<Context>, info: &StreamInfo, options: &OutletOptions) -> Outlet {
    Outlet::in_context(info, options, Arc::clone(context)).expect("an outlet")
}

#[test]
fn an_outlets_chunk_size_is_honoured() {
    let context = context(FEW_PORTS);
    let options = OutletOptions { chunk_samples: 3, ..OutletOptions::default() };
    let outlet = serve(&context, &info(0.0, "chunks"), &options);
    let inlet = connect(&context, &InletOptions::default());
    for value in 1..=7 {
        outlet.push_sample(&[value], f64::from(value), Flush::Later).expect("a push");
    }
    let mut values = [0; 7];
    // Two chunks are full and gone; the seventh sample waits for more.
    assert_eq!(inlet.pull_chunk(&mut values[..6], &mut [], LONG), Ok(6));
    assert_eq!(inlet.pull_sample(&mut [0], 0.05), Ok(None));
    outlet.flush(Some(Duration::from_secs_f64(LONG))).expect("a consumer that takes it");
    assert_eq!(inlet.pull_chunk(&mut values[6..], &mut [], LONG), Ok(1));
    assert_eq!(values, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_stamp_goes_out_as_pushed_and_zero_means_now() {
    // What is pushed, and whether the outlet's own clock replaces it although it may say something.
    for (own_clock, name) in [(false, "caller"), (true, "own")] {
        let context = context(&format!("{FEW_PORTS}[tuning]\nForceDefaultTimestamps={own_clock}\n"));
        let outlet = serve(&context, &info(0.0, name), &OutletOptions::default());
        let inlet = connect(&context, &InletOptions::default());
        let stamps = [-5.0, -1.0, f64::NAN, 0.0];
        let earliest = local_clock();
        for stamp in stamps {
            outlet.push_sample(&[1], stamp, Flush::Now).expect("a push");
        }
        outlet.push_chunk_stamped(&[1; 4], &stamps, Flush::Now).expect("a push");
        let latest = local_clock();
        for stamp in [stamps, stamps].concat() {
            let sent = inlet.pull_sample(&mut [0], LONG).expect("a stream").expect("a sample");
            match stamp {
                _ if own_clock || stamp == 0.0 => {
                    assert!((earliest..=latest).contains(&sent), "{stamp}: {sent}")
                }
                // Deduced: without a rate, the stamp of the sample before.
                -1.0 => assert_eq!(sent, -5.0),
                _ => assert_eq!(sent.to_bits(), stamp.to_bits()),
            }
        }
    }
}

#[test]
fn a_description_larger_than_a_datagram_is_found_over_tcp() {
    let large = "x".repeat(70_000);
    let datagrams = context(FEW_PORTS);
    let outlet = serve(&datagrams, &info(0.0, &large), &OutletOptions::default());
    let search = |context: &Arc<Context>| {
        resolver::resolve_byprop(context, "name", "Test", 1, Duration::from_secs(1)).expect("a search")
    };
    assert!(search(&datagrams).is_empty(), "no datagram can hold it");
    let ports = &datagrams.ports;
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={}\nPortRange=8\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nResolveOverTCP=1\nSessionID={}\n",
        ports.multicast, ports.base, datagrams.lab.session_id
    );
    let over_tcp = Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")));
    let found = search(&over_tcp);
    assert_eq!(found.iter().map(StreamInfo::uid).collect::<Vec<_>>(), [outlet.info().uid()]);
    assert_eq!(found[0].source_id().as_bytes(), large.as_bytes());
}

#[test]
fn a_restarted_stream_may_have_another_rate() {
    let context = context(FEW_PORTS);
    let outlet = serve(&context, &info(100.0, "rate"), &OutletOptions::default());
    let inlet = connect(&context, &InletOptions::default());
    let mut stamps = [0.0; 3];
    outlet.push_chunk(&[1, 2, 3], 10.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_chunk(&mut [0; 3], &mut stamps, LONG), Ok(3));
    assert!((stamps[1] - 9.99).abs() < 1e-9, "{stamps:?}");
    drop(outlet);
    let outlet = serve(&context, &info(4.0, "rate"), &OutletOptions::default());
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    outlet.push_chunk(&[4, 5, 6], 20.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_chunk(&mut [0; 3], &mut stamps, LONG), Ok(3));
    assert_eq!(stamps, [19.5, 19.75, 20.0]);
    assert_eq!(inlet.info().nominal_rate(), 4.0);
}

#[test]
fn pushes_of_several_threads_take_turns() {
    const THREADS: i32 = 4;
    const EACH: i32 = 5_000;
    let context = context(FEW_PORTS);
    let outlet = serve(&context, &info(0.0, "threads"), &OutletOptions::default());
    let inlet = connect(&context, &InletOptions::default());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let outlet = &outlet;
            scope.spawn(move || {
                for number in 0..EACH {
                    outlet.push_sample(&[thread * EACH + number], 1.0, Flush::Now).expect("a push");
                }
            });
        }
        let mut next = [0; THREADS as usize];
        for _ in 0..THREADS * EACH {
            let mut value = [0];
            assert_eq!(inlet.pull_sample(&mut value, LONG), Ok(Some(1.0)));
            let (thread, number) = (value[0] / EACH, value[0] % EACH);
            assert_eq!(number, next[thread as usize], "of thread {thread}");
            next[thread as usize] += 1;
        }
        assert_eq!(next, [EACH; THREADS as usize]);
    });
    assert_eq!(outlet.dropped_samples(), 0);
    assert_eq!(inlet.pull_sample(&mut [0], 0.0), Ok(None));
}
