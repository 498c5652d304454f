//! Descriptions and queries: what the real library sends, what it reads, what it answers.

use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::{IpVersion, OutletIdentity, StreamInfo};
use schwann_proto::wire::query::{Query, QueryCache};

use crate::vectors::{Exchange, Step};

/// The capture script's stream: three channels with labels that need escaping, and odd metadata.
fn captured_stream() -> StreamInfo {
    let mut info = StreamInfo::new("Golden", "EEG", 3, 100.0, ChannelFormat::Float32, "src-golden").unwrap();
    let desc = info.desc().unwrap();
    let tree = info.document_mut();
    let channels = tree.append_child(desc, "channels").unwrap();
    for label in ["C3", "C4", "a<b&\"c'>"] {
        let channel = tree.append_child(channels, "channel").unwrap();
        tree.append_child_value(channel, "label", label);
        tree.append_child_value(channel, "unit", "µV");
    }
    tree.append_child_value(desc, "manufacturer", "line1\nline2\ttab");
    tree.append_child_value(desc, "empty", "");
    info
}

/// Makes an outlet's description out of `info` that agrees with a message in what differs from run to run.
fn outlet_like(info: &StreamInfo, message: &StreamInfo) -> StreamInfo {
    let mut outlet = info.for_outlet(&OutletIdentity {
        session_id: b"golden",
        random: uuid_bytes(&message.uid().to_string_lossy()),
        created_at: message.created_at(),
        hostname: message.hostname().as_bytes(),
    });
    for version in [IpVersion::V4, IpVersion::V6] {
        let endpoint = message.endpoint(version);
        outlet.set_ports(version, endpoint.data_port, endpoint.service_port);
    }
    outlet
}

fn uuid_bytes(uuid: &str) -> [u8; 16] {
    let digits: String = uuid.chars().filter(|digit| *digit != '-').collect();
    u128::from_str_radix(&digits, 16).unwrap().to_be_bytes()
}

/// The document of a message, after the query id of a datagram.
fn document(step: &Step) -> &[u8] {
    let start = step.bytes.windows(5).position(|bytes| bytes == b"<?xml").unwrap();
    &step.bytes[start..]
}

fn is_description(step: &Step) -> bool {
    step.bytes.windows(6).any(|bytes| bytes == b"<info>")
}

#[test]
fn shortinfo_and_fullinfo_equal_the_captured_bytes() {
    let exchange = Exchange::load("outlet_tcp_info");
    let mut compared = (0, 0);
    for pair in exchange.steps.chunks(2).filter(|pair| is_description(&pair[1])) {
        let message = StreamInfo::parse(document(&pair[1])).unwrap();
        let outlet = outlet_like(&captured_stream(), &message);
        if pair[0].bytes.starts_with(b"LSL:fullinfo") {
            compared.1 += 1;
            assert_eq!(text(&outlet.fullinfo()), text(&pair[1].bytes));
        } else {
            compared.0 += 1;
            assert_eq!(text(&outlet.shortinfo()), text(&pair[1].bytes));
        }
    }
    assert_eq!(compared, (3, 1));
}

#[test]
fn a_description_of_protocol_100_says_so() {
    let exchange = Exchange::load("outlet_cfg_protocol100");
    let bytes = &exchange.steps[1].bytes;
    let message = StreamInfo::parse(bytes).unwrap();
    assert_eq!(message.version(), 100);
    let source_id = message.source_id().to_string_lossy();
    let mut info = StreamInfo::new("Golden", "EEG", 1, 100.0, message.channel_format(), &*source_id).unwrap();
    info.set_version(100);
    assert_eq!(text(&outlet_like(&info, &message).shortinfo()), text(bytes));
}

#[test]
fn queries_over_tcp_and_udp_are_answered_as_captured() {
    let mut asked = 0;
    for name in ["outlet_tcp_info", "outlet_udp_shortinfo"] {
        let exchange = Exchange::load(name);
        let info = if name == "outlet_tcp_info" { captured_stream() } else { plain_stream() };
        let first = exchange.steps.iter().find(|step| step.from_library && is_description(step)).unwrap();
        let outlet = outlet_like(&info, &StreamInfo::parse(document(first)).unwrap());
        let mut cache = QueryCache::default();
        for pair in exchange.steps.chunks(2) {
            let request = String::from_utf8(pair[0].bytes.clone()).unwrap();
            let mut lines = request.lines();
            if lines.next().map(str::trim) != Some("LSL:shortinfo") {
                continue;
            }
            asked += 1;
            let query = lines.next().unwrap().trim();
            let answer = cache.matches(outlet.document(), query).unwrap_or(false);
            assert_eq!(answer, is_description(&pair[1]), "{name}: {query}");
        }
    }
    assert_eq!(asked, 10);
}

#[test]
fn an_inlet_shows_a_received_description_as_the_library_does() {
    for (name, reply) in [
        ("inlet_fullinfo", "reply, followed by a close"),
        ("inlet_resolve_query", "reply to the return port"),
    ] {
        let exchange = Exchange::load(name);
        let is_reply = |step: &&Step| !step.from_library && is_description(step) && step.note.contains(reply);
        let step = exchange.steps.iter().rfind(is_reply).unwrap();
        let mut info = StreamInfo::parse(document(step)).unwrap();
        info.set_address(IpVersion::V4, "127.0.0.1");
        assert_eq!(info.document_error(), None);
        assert_eq!(text(&info.fullinfo()), exchange.checks["xml"].as_str().unwrap(), "{name}");
    }
}

#[test]
fn the_queries_of_resolvers_and_recovery_find_their_stream() {
    let stream = StreamInfo::new("A", "EEG", 3, 100.0, ChannelFormat::Float32, "src").unwrap();
    let identity =
        OutletIdentity { session_id: b"golden", hostname: b"host", created_at: 1.0, random: [7; 16] };
    let stream = stream.for_outlet(&identity);
    let exchange = Exchange::load("inlet_resolve_query_strings");
    let queries: Vec<String> = exchange.steps.iter().map(|step| second_line(&step.bytes)).collect();
    assert_eq!(queries.len(), 6);
    for query in &queries {
        assert!(stream.matches(&Query::parse(query).unwrap()), "{query}");
    }

    let exchange = Exchange::load("inlet_recovery_query");
    let found: Vec<StreamInfo> = exchange
        .steps
        .iter()
        .filter(|step| is_description(step))
        .map(|step| StreamInfo::parse(document(step)).unwrap())
        .collect();
    let query =
        exchange.steps.iter().find(|step| step.bytes.windows(13).any(|b| b == b"channel_count")).unwrap();
    let query = Query::parse(second_line(&query.bytes)).unwrap();
    for info in found {
        assert!(info.matches(&query));
    }
}

fn plain_stream() -> StreamInfo {
    StreamInfo::new("Golden", "EEG", 3, 100.0, ChannelFormat::Float32, "src-golden").unwrap()
}

fn second_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().nth(1).unwrap().to_owned()
}

fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap()
}
