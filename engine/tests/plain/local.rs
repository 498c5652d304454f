//! The local transport between an outlet and an inlet: what goes by it and what does not. Programs
//! notice no difference.

use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, StreamEvent};
use schwann::outlet::{Carrier, Delivery, Flush, Outlet, OutletOptions};
use schwann::{Context, StreamInfo};
use schwann_proto::stream::{BufferUnit, ChannelFormat};
use schwann_proto::stream_info::IpVersion;

use crate::pairs::context;

/// Long enough for a busy machine; a test that passes never waits for it.
const LONG: f64 = 60.0;
const OFF: &str = "[tuning]\nLocalSocket=off\n";
const BOTH: [Carrier; 2] = [Carrier::Local, Carrier::Tcp];

/// A configuration in which connections go by `carrier`.
fn config_for(carrier: Carrier) -> Arc<Context> {
    context(if carrier == Carrier::Local { "" } else { OFF })
}

fn info(channels: i32) -> StreamInfo {
    StreamInfo::new("Local", "EEG", channels, 10_000.0, ChannelFormat::Int32, "local").expect("a description")
}

fn outlet(channels: i32, delivery: Delivery, context: &Arc<Context>) -> Outlet {
    let options = OutletOptions { delivery, ..OutletOptions::default() };
    Outlet::in_context(&info(channels), &options, Arc::clone(context)).expect("an outlet")
}

/// The description of an outlet as a search on this computer brings it.
fn found(outlet: &Outlet) -> StreamInfo {
    let mut info = outlet.info().clone();
    info.set_address(IpVersion::V4, "127.0.0.1");
    info
}

fn inlet(info: &StreamInfo, context: &Arc<Context>) -> Inlet {
    let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(context)).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    inlet
}

fn pair(channels: i32, delivery: Delivery, context: &Arc<Context>) -> (Outlet, Inlet) {
    let outlet = outlet(channels, delivery, context);
    let inlet = inlet(&found(&outlet), context);
    (outlet, inlet)
}

fn carriers(outlet: &Outlet) -> Vec<Carrier> {
    outlet.consumers().iter().map(|consumer| consumer.carrier).collect()
}

/// The name that an outlet listens by, as the specification says.
fn name_of(info: &StreamInfo) -> SocketAddr {
    let name = format!("schwann-lsl/{}/{}", info.uid(), info.endpoint(IpVersion::V4).data_port);
    SocketAddr::from_abstract_name(name).expect("a name")
}

/// Pulls `count` samples of one channel, which must be the numbers from `first` on.
fn pull_numbers(inlet: &Inlet, first: i32, count: usize) {
    let mut values = vec![0; count];
    let mut done = 0;
    while done < count {
        let pulled = inlet.pull_chunk(&mut values[done..], &mut [], LONG).expect("a stream");
        assert!(pulled > 0, "{done} of {count}");
        done += pulled;
    }
    assert!(values.into_iter().eq((first..).take(count)));
}

#[test]
fn samples_descriptions_and_reopened_streams_go_by_either() {
    for carrier in BOTH {
        let (outlet, inlet) = pair(1, Delivery::Queued, &config_for(carrier));
        let mut next = 0;
        for count in [1, 1, 1000, 1, 300_000, 1] {
            assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
            assert_eq!(carriers(&outlet), [carrier]);
            let values: Vec<i32> = (next..next + count).collect();
            outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
            pull_numbers(&inlet, next, count as usize);
            next += count;
            assert_eq!(inlet.full_info(LONG).expect("a description").uid(), outlet.info().uid());
            inlet.close_stream();
            while outlet.have_consumers() {
                std::thread::yield_now();
            }
            inlet.open_stream(LONG).expect("it opens again");
        }
    }
}

#[test]
fn what_was_pushed_before_the_end_of_an_outlet_arrives() {
    // Over TCP the system's buffers take this much at once; a local socket's take a tenth of it.
    const COUNT: i32 = 500_000;
    for carrier in BOTH {
        let (outlet, inlet) = pair(1, Delivery::Queued, &config_for(carrier));
        let values: Vec<i32> = (0..COUNT).collect();
        outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
        drop(outlet);
        pull_numbers(&inlet, 0, COUNT as usize);
    }
}

#[test]
fn single_samples_before_the_end_of_an_outlet_arrive() {
    for carrier in BOTH {
        let (outlet, inlet) = pair(1, Delivery::Queued, &config_for(carrier));
        (0..20_000).for_each(|value| outlet.push_sample(&[value], 0.0, Flush::Now).expect("a push"));
        drop(outlet);
        pull_numbers(&inlet, 0, 20_000);
    }
}

#[test]
fn a_synchronous_push_larger_than_the_socket_returns_and_arrives() {
    for carrier in BOTH {
        let (outlet, inlet) = pair(1, Delivery::Synchronous, &config_for(carrier));
        // No thread pulls meanwhile: the inlet's own thread drains the socket.
        let values: Vec<i32> = (0..2_000_000).collect();
        outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
        assert_eq!((carriers(&outlet), outlet.dropped_samples()), (vec![carrier], 0));
        pull_numbers(&inlet, 0, 2_000_000);
    }
}

#[test]
fn all_that_was_flushed_can_be_pulled_at_once() {
    for carrier in BOTH {
        let (outlet, inlet) = pair(1, Delivery::Queued, &config_for(carrier));
        let values: Vec<i32> = (0..1_000_000).collect();
        outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
        outlet.flush(Some(Duration::from_secs_f64(LONG))).expect("a consumer that takes it");
        assert_eq!(outlet.buffered_bytes(), 0);
        while inlet.samples_available() < 1_000_000 {
            std::thread::yield_now();
        }
        pull_numbers(&inlet, 0, 1_000_000);
    }
}

/// A consumer that asks for samples by the local socket and never reads.
fn stalled(outlet: &Outlet) -> UnixStream {
    let mut socket = UnixStream::connect_addr(&name_of(outlet.info())).expect("a connection");
    let before = outlet.consumer_count();
    socket.write_all(b"LSL:streamfeed/110 \r\nMax-Buffer-Length: 1000\r\n\r\n").expect("a request");
    assert!(outlet.wait_for_consumers(before + 1, Some(Duration::from_secs_f64(LONG))));
    socket
}

#[test]
fn a_stalled_consumer_loses_the_oldest_samples_and_holds_nobody_up() {
    let context = context("");
    let options =
        OutletOptions { buffer_length: 1000, buffer_unit: BufferUnit::Samples, ..OutletOptions::default() };
    let outlet = Outlet::in_context(&info(250), &options, Arc::clone(&context)).expect("an outlet");
    let inlet = inlet(&found(&outlet), &context);
    let stalled = stalled(&outlet);
    for value in 0..10_000 {
        outlet.push_sample(&[value; 250], 1.0, Flush::Now).expect("a push");
        let mut pulled = [0; 250];
        assert_eq!(inlet.pull_sample(&mut pulled, LONG), Ok(Some(1.0)));
        assert_eq!(pulled, [value; 250]);
    }
    assert!(outlet.dropped_samples() > 1000);
    assert!(outlet.buffered_bytes() < 2_000_000, "{}", outlet.buffered_bytes());
    // It ends although one consumer takes nothing.
    drop(outlet);
    drop(stalled);
}

#[test]
fn an_outlet_that_went_away_and_came_back_is_found_again() {
    for carrier in BOTH {
        let context = config_for(carrier);
        let (first, inlet) = pair(1, Delivery::Queued, &context);
        first.push_chunk(&[0, 1, 2], 0.0, Flush::Now).expect("a push");
        drop(first);
        while inlet.next_event(LONG).expect("an event") != StreamEvent::Recovering {}
        let second = outlet(1, Delivery::Queued, &context);
        assert!(second.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
        assert_eq!(carriers(&second), [carrier]);
        second.push_chunk(&[3, 4], 0.0, Flush::Now).expect("a push");
        pull_numbers(&inlet, 0, 5);
    }
}

#[test]
fn either_end_can_switch_it_off() {
    for (sending, receiving) in [("", OFF), (OFF, ""), (OFF, OFF)] {
        let outlet = outlet(1, Delivery::Queued, &context(sending));
        let inlet = inlet(&found(&outlet), &context(receiving));
        assert_eq!(carriers(&outlet), [Carrier::Tcp]);
        let listens = UnixStream::connect_addr(&name_of(outlet.info())).is_ok();
        assert_eq!(listens, sending != OFF);
        outlet.push_chunk(&[0], 0.0, Flush::Now).expect("a push");
        pull_numbers(&inlet, 0, 1);
    }
}

#[test]
fn the_name_is_gone_with_the_outlet() {
    let outlet = outlet(1, Delivery::Queued, &context(""));
    let name = name_of(outlet.info());
    UnixStream::connect_addr(&name).expect("it listens");
    drop(outlet);
    assert_eq!(UnixStream::connect_addr(&name).expect_err("closed").kind(), ErrorKind::ConnectionRefused);
}

/// Passes bytes on until either end has no more.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn a_relay_at_another_port_is_not_passed_by() {
    let context = context("");
    let outlet = outlet(1, Delivery::Queued, &context);
    let relay = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (at, behind) =
        (relay.local_addr().expect("bound").port(), outlet.info().endpoint(IpVersion::V4).data_port);
    let relaying = std::thread::spawn(move || {
        let (client, _) = relay.accept().expect("the inlet");
        let server = TcpStream::connect(("127.0.0.1", behind)).expect("the outlet");
        let (client_too, server_too) =
            (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
        std::thread::spawn(move || pass_on(client_too, server_too));
        pass_on(server, client);
    });
    let mut info = found(&outlet);
    info.set_ports(IpVersion::V4, at, info.endpoint(IpVersion::V4).service_port);
    let inlet = inlet(&info, &context);
    assert_eq!(carriers(&outlet), [Carrier::Tcp]);
    outlet.push_chunk(&[0, 1, 2], 0.0, Flush::Now).expect("a push");
    pull_numbers(&inlet, 0, 3);
    drop(outlet);
    relaying.join().expect("the relay saw the end");
}

#[test]
fn something_else_behind_the_name_costs_nothing_but_the_shorter_way() {
    for answer in [b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), b"\x7f\x01\x09\x04"] {
        let outlet = outlet(1, Delivery::Queued, &context(OFF));
        let squatter = UnixListener::bind_addr(&name_of(outlet.info())).expect("the name is free");
        let squatting = std::thread::spawn(move || {
            let (mut client, _) = squatter.accept().expect("the inlet");
            assert!(client.read(&mut [0; 1000]).expect("a request") > 0);
            client.write_all(answer).expect("an answer");
        });
        let inlet = inlet(&found(&outlet), &context(""));
        squatting.join().expect("it was asked first");
        assert_eq!(carriers(&outlet), [Carrier::Tcp]);
        outlet.push_chunk(&[0], 0.0, Flush::Now).expect("a push");
        pull_numbers(&inlet, 0, 1);
    }
}

#[test]
fn strangers_that_say_nothing_keep_no_inlet_out() {
    let context = context("");
    let outlet = outlet(1, Delivery::Queued, &context);
    let name = name_of(outlet.info());
    let silent: Vec<_> = (0..200).filter_map(|_| UnixStream::connect_addr(&name).ok()).collect();
    assert!(!silent.is_empty());
    let inlet = Inlet::in_context(&found(&outlet), &InletOptions::default(), Arc::clone(&context));
    let inlet = inlet.expect("an inlet");
    // Some of them lose their places after 10 s at the latest.
    while inlet.open_stream(LONG).is_err() {}
    outlet.push_chunk(&[0], 0.0, Flush::Now).expect("a push");
    pull_numbers(&inlet, 0, 1);
    drop(silent);
}
