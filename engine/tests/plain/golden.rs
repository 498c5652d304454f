//! The captured conversations with the original's outlets, held with a running outlet of ours. Every byte
//! must be the same, except for the identifiers that each outlet makes anew.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use schwann::{ChannelFormat, Config, Context, Flush, Outlet, OutletOptions, StreamInfo};
use schwann_proto::stream_info::IpVersion;
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp};
use serde_json::Value;

use crate::ports::ports;

struct Step {
    from_outlet: bool,
    note: String,
    bytes: Vec<u8>,
    /// Where the capture's identifiers are.
    volatile: Vec<core::ops::Range<usize>>,
}

fn load(name: &str) -> Vec<Step> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto/tests/vectors").join(name);
    let text = std::fs::read_to_string(path).expect("a capture");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    json["steps"].as_array().expect("steps").iter().map(step).collect()
}

fn step(json: &Value) -> Step {
    let hex = json["hex"].as_str().expect("bytes");
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    let number = |value: &Value| value.as_u64().expect("a number") as usize;
    let range = |json: &Value| number(&json["offset"])..number(&json["offset"]) + number(&json["length"]);
    Step {
        from_outlet: json["dir"] == "lib->script",
        note: json["note"].as_str().unwrap_or_default().to_owned(),
        bytes: (0..hex.len()).step_by(2).map(byte).collect(),
        volatile: json["volatile"].as_array().into_iter().flatten().map(range).collect(),
    }
}

fn outlet(format: ChannelFormat) -> Outlet {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n",
        base + 38
    );
    let context = Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")));
    let info = StreamInfo::new("Golden", "EEG", 3, 100.0, format, "src-golden").expect("a description");
    Outlet::in_context(&info, &OutletOptions::default(), context).expect("an outlet")
}

fn connect(outlet: &Outlet) -> TcpStream {
    let port = outlet.info().endpoint(IpVersion::V4).data_port;
    let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    client
}

/// Puts our outlet's identifier where the capture has the original's.
fn with_our_uid(step: &Step, outlet: &Outlet) -> Vec<u8> {
    let mut bytes = step.bytes.clone();
    for range in &step.volatile {
        let uid = outlet.info().uid().to_string();
        assert_eq!(range.len(), uid.len(), "{}", step.note);
        bytes[range.clone()].copy_from_slice(uid.as_bytes());
    }
    bytes
}

/// Pushes the sample that the captured bytes are.
fn push(outlet: &Outlet, layout: &Layout, bytes: &[u8]) {
    let (stamp, values, _) = layout.split_sample(bytes).expect("a sample").expect("a whole sample");
    let stamp = match stamp {
        Stamp::Deduced => -1.0,
        Stamp::Sent(stamp) => stamp,
    };
    let pushed = if layout.format == ChannelFormat::String {
        let mut strings = Vec::new();
        layout.read_strings(values, |text| strings.push(text.to_vec())).expect("strings");
        let strings: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
        outlet.push_strings(&strings, stamp, Flush::Now)
    } else {
        let mut native = vec![0; values.len()];
        layout.read_raw(values, &mut native).expect("values");
        outlet.push_raw_sample(&native, stamp, Flush::Now)
    };
    pushed.expect("a push");
}

#[test]
fn feeds_of_protocol_1_10_equal_the_captures_byte_for_byte() {
    for format in ChannelFormat::ALL {
        for suffix in ["le", "be"] {
            let steps = load(&format!("outlet_feed110_{format}_{suffix}.json"));
            let outlet = outlet(format);
            // What the outlet says counts, not what was asked for: single bytes have no order to swap.
            let said = steps.iter().any(|step| {
                step.bytes.windows(16).any(|text| text == b"Byte-Order: 4321") && step.from_outlet
            });
            let order = if said { ByteOrder::Big } else { ByteOrder::Little };
            let layout = Layout::new(format, 3, order);
            let mut client = connect(&outlet);
            let mut samples = 0;
            for step in steps {
                let bytes = with_our_uid(&step, &outlet);
                if !step.from_outlet {
                    client.write_all(&bytes).expect("a connection");
                    continue;
                }
                if step.note.starts_with("sample pushed") {
                    push(&outlet, &layout, &bytes);
                    samples += 1;
                }
                let mut received = vec![0; bytes.len()];
                client.read_exact(&mut received).expect("an answer");
                assert_eq!(received, bytes, "{format} {suffix}: {}", step.note);
            }
            assert!(samples >= 2, "{format} {suffix}");
        }
    }
}

#[test]
fn a_byte_from_the_client_after_the_handshake_ends_the_feed() {
    let steps = load("outlet_feed_client_after_handshake.json");
    let outlet = outlet(ChannelFormat::Int8);
    let request = steps.iter().find(|step| !step.from_outlet).expect("a request");
    for ending in [b"x".as_slice(), b""] {
        let mut client = connect(&outlet);
        client.write_all(&with_our_uid(request, &outlet)).expect("a connection");
        assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs(20))));
        client.write_all(ending).expect("a connection");
        if ending.is_empty() {
            client.shutdown(std::net::Shutdown::Write).expect("a connection");
        }
        // The feed ends: what was sent before is read, then the end.
        let mut rest = Vec::new();
        match client.read_to_end(&mut rest) {
            Ok(_) => assert!(rest.starts_with(b"LSL/110 200 OK\r\n")),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
        while outlet.have_consumers() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_client_that_ends_its_side_with_the_request_gets_the_answer_and_no_feed() {
    let steps = load("outlet_feed_client_after_handshake.json");
    let outlet = outlet(ChannelFormat::Int8);
    let request = steps.iter().find(|step| !step.from_outlet).expect("a request");
    for _ in 0..10 {
        let mut client = connect(&outlet);
        // The end then comes in the request's packet. Elsewhere this is left to chance.
        #[cfg(target_os = "linux")]
        socket2::SockRef::from(&client).set_tcp_cork(true).expect("a socket option");
        client.write_all(&with_our_uid(request, &outlet)).expect("a connection");
        client.shutdown(std::net::Shutdown::Write).expect("a connection");
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).expect("the end");
        assert!(answer.starts_with(b"LSL/110 200 OK\r\n"));
    }
    while outlet.have_consumers() {
        std::thread::yield_now();
    }
}
