//! An outlet's consumers: they are counted, and those that stall hold up no other.

use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::InletOptions;
use schwann::outlet::{Delivery, Flush, Outlet, OutletOptions};
use schwann_proto::stream::ChannelFormat;

use crate::pairs::{LONG, connect, context, info, pair};

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
