//! Requests and responses in both roles.

use schwann_proto::{
    stream::{BufferUnit, ChannelFormat},
    wire::{
        archive::Archive,
        feed::{
            Command, DataProtocol, Expected, FeedRequest, Offer, Preamble, RequestError, RequestReader,
            ResponseError, ResponseReader,
        },
        sample::{ByteOrder, Subnormals},
        test_pattern,
    },
};

use crate::vectors::{Exchange, FORMATS, ORDERS};

/// What the golden inlet knew of its stream.
const UID: &str = "11111111-2222-4333-8444-555555555555";

/// Feeds `bytes` one by one and returns the command, which must be complete with the last byte at the latest.
fn read_request(bytes: &[u8]) -> Result<Option<Command<'_>>, RequestError> {
    let mut reader = RequestReader::new();
    for len in 0..bytes.len() {
        if reader.read(&bytes[..len])?.is_some() {
            break;
        }
    }
    RequestReader::new().read(bytes)
}

/// Answers a request as an outlet does, up to and with the test pattern.
fn answer(request: &[u8], offer: &Offer<'_>, channel_count: usize, shortinfo: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let Ok(Some(Command::Feed(request))) = read_request(request) else { return out };
    match offer.negotiate(&request) {
        Err(refusal) => refusal.encode(offer, &mut out).unwrap(),
        Ok(agreement) => {
            agreement.encode_response(offer, &mut out).unwrap();
            match agreement.data_protocol {
                DataProtocol::Plain => {
                    test_pattern::encode(&agreement.layout(offer.format, channel_count), &mut out).unwrap();
                }
                DataProtocol::Archive => {
                    Archive::encode_header(shortinfo, &mut out).unwrap();
                    test_pattern::encode_archive(&Archive::new(offer.format, channel_count), &mut out)
                        .unwrap();
                }
            }
        }
    }
    out
}

/// The stream's description, found anywhere in the bytes that the real library sent.
fn shortinfo(bytes: &[u8]) -> &str {
    let find = |needle: &[u8]| bytes.windows(needle.len()).position(|window| window == needle);
    let (Some(start), Some(end)) = (find(b"<?xml"), find(b"</info>\n")) else { return "" };
    core::str::from_utf8(&bytes[start..end + 8]).unwrap()
}

fn uid(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let tag = |start: &str, end: &str| Some(text.split_once(start)?.1.split_once(end)?.0.to_string());
    tag("UID: ", "\r\n").or_else(|| tag("<uid>", "</uid>")).unwrap_or_default()
}

fn offer(uid: &str, format: ChannelFormat) -> Offer<'_> {
    Offer { version: 110, uid, format, swap_performance: 1e6, synchronous: false }
}

#[test]
fn outlets_answer_as_the_real_one() {
    for format in FORMATS {
        for name in ORDERS.map(|(_, suffix)| format!("outlet_feed110_{format}_{suffix}")) {
            let exchange = Exchange::load(&name);
            let uid = uid(&exchange.steps[1].bytes);
            let captured = [exchange.steps[1].bytes.as_slice(), &exchange.steps[2].bytes].concat();
            assert_eq!(answer(&exchange.steps[0].bytes, &offer(&uid, format), 3, ""), captured, "{name}");
        }
        let exchange = Exchange::load(&format!("outlet_feed100_{format}"));
        let captured = [exchange.steps[1].bytes.as_slice(), &exchange.steps[2].bytes].concat();
        let (uid, info) = (uid(&captured), shortinfo(&captured));
        assert_eq!(
            answer(&exchange.steps[0].bytes, &offer(&uid, format), 3, info),
            captured,
            "1.00 {format}"
        );
    }
}

#[test]
fn outlets_refuse_and_downgrade_as_the_real_one() {
    let exchange = Exchange::load("outlet_feed_errors");
    let pairs: Vec<_> = exchange.steps.chunks(2).collect();
    assert_eq!(pairs.len(), 18);
    let uid = uid(&pairs[2][1].bytes);
    for pair in pairs {
        let [request, reply] = pair else { panic!("a request and a reply") };
        assert!(!request.from_library && reply.from_library);
        let answer = answer(&request.bytes, &offer(&uid, ChannelFormat::Float32), 1, shortinfo(&reply.bytes));
        assert_eq!(answer, reply.bytes, "{}", request.note);
    }
}

#[test]
fn outlets_of_an_old_configuration_answer_as_the_real_one() {
    let exchange = Exchange::load("outlet_cfg_protocol100");
    for (request, reply) in [(2, 3), (4, 5)] {
        let reply = &exchange.steps[reply].bytes;
        let uid = uid(reply);
        let offer = Offer { version: 100, ..offer(&uid, ChannelFormat::Float32) };
        assert_eq!(answer(&exchange.steps[request].bytes, &offer, 1, shortinfo(reply)), *reply);
    }
}

#[test]
fn synchronous_outlets_refuse_archives() {
    let exchange = Exchange::load("outlet_feed110_sync");
    let uid = uid(&exchange.steps[1].bytes);
    let offer = Offer { synchronous: true, ..offer(&uid, ChannelFormat::Int32) };
    for (request, reply) in [(0, 1), (4, 5), (6, 7)] {
        let answer = answer(&exchange.steps[request].bytes, &offer, 2, "");
        assert_eq!(answer, exchange.steps[reply].bytes, "{}", exchange.steps[request].note);
    }
}

#[test]
fn inlets_ask_as_the_real_one() {
    let ask = |name: &str, format, buffer, chunk| {
        let exchange = Exchange::load(name);
        let captured = &exchange.steps[0].bytes;
        let Some(Command::Feed(parsed)) = read_request(captured).unwrap() else { panic!("no feed") };
        let request = FeedRequest {
            byte_order: Some(ByteOrder::Little),
            // Measured on the machine of the capture.
            swap_performance: parsed.swap_performance,
            hostname: "fakehost",
            source_id: "src-fake",
            session_id: "golden",
            ..FeedRequest::new(parsed.version, UID, format, buffer, chunk)
        };
        let mut out = Vec::new();
        request.encode(&mut out).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(captured), "{name}");
        if parsed.version == 110 {
            assert_eq!(parsed, request);
        }
    };
    let default = BufferUnit::Seconds.samples(360, 100.0);
    for format in FORMATS {
        for (_, suffix) in ORDERS {
            ask(&format!("inlet_feed110_{format}_{suffix}"), format, default, 0);
        }
        ask(&format!("inlet_feed100_{format}"), format, default, 0);
    }
    ask("inlet_cfg_protocol100", ChannelFormat::Float32, default, 0);
    for (unit, name) in [(BufferUnit::Samples, "samples"), (BufferUnit::Thousandths, "thousandths")] {
        let length = if unit == BufferUnit::Samples { 30 } else { 2500 };
        ask(&format!("inlet_feed110_buflen_{name}"), ChannelFormat::Int8, unit.samples(length, 100.0), 0);
    }
    ask("inlet_feed110_buflen_seconds", ChannelFormat::Int8, BufferUnit::Seconds.samples(30, 100.0), 7);
}

#[test]
fn inlets_accept_what_the_real_one_accepts() {
    let read = |name: &str, format| {
        let exchange = Exchange::load(name);
        let mut reader = ResponseReader::new(Expected { version: 110, uid: UID, format });
        let bytes = &exchange.steps[1].bytes;
        for len in 0..bytes.len() {
            assert_eq!(reader.read(&bytes[..len]), Ok(None), "{name} after {len} bytes");
        }
        let response = reader.read(bytes).unwrap().unwrap();
        assert_eq!(response.len, bytes.len(), "{name}");
        response
    };
    for format in FORMATS {
        for (order, suffix) in ORDERS {
            let response = read(&format!("inlet_feed110_{format}_{suffix}"), format);
            assert_eq!((response.byte_order, response.data_protocol), (order, DataProtocol::Plain));
        }
    }
    let downgraded = read("inlet_feed110_downgrade100", ChannelFormat::Float32);
    assert_eq!((downgraded.byte_order, downgraded.data_protocol), (ByteOrder::NATIVE, DataProtocol::Archive));
    let suppressed = read("inlet_feed110_suppress_subnormals", ChannelFormat::Float32);
    assert_eq!(suppressed.subnormals, Subnormals::Suppress);
}

#[test]
fn inlets_reject_what_the_real_one_rejects() {
    let exchange = Exchange::load("inlet_feed_errors");
    let expected = [
        ResponseError::Gone { status: 404 },
        ResponseError::Refused { status: 505 },
        ResponseError::Gone { status: 301 },
        ResponseError::Malformed,
        ResponseError::Version,
        ResponseError::WrongStream,
    ];
    let format = ChannelFormat::Float32;
    for (step, why) in exchange.steps.iter().zip(expected) {
        let mut reader = ResponseReader::new(Expected { version: 110, uid: UID, format });
        let result = reader.read(&step.bytes);
        assert_eq!(result.err().unwrap_or_else(|| reader.finish(&step.bytes)), why, "{}", step.note);
    }
    let mut reader = ResponseReader::new(Expected { version: 110, uid: UID, format });
    let bytes = &exchange.steps[6].bytes;
    let response = reader.read(bytes).unwrap().unwrap();
    let pattern = test_pattern::verify(&response.layout(format, 3), &bytes[response.len..]);
    assert_eq!(pattern, Err(test_pattern::Mismatch::Values));
    assert_eq!(reader.finish(b""), ResponseError::Ended);
}

#[test]
fn other_commands_are_understood() {
    type Outcome<'a> = Result<Option<Command<'a>>, RequestError>;
    let cases: [(&[u8], Outcome<'_>); 9] = [
        (b"LSL:fullinfo\r\n", Ok(Some(Command::FullInfo))),
        (b"LSL:view\r\n", Ok(Some(Command::View))),
        (b"LSL:shortinfo\r\n\r\n", Ok(Some(Command::ShortInfo { query: "" }))),
        (b"LSL:shortinfo\n name='A' \r\n", Ok(Some(Command::ShortInfo { query: "name='A'" }))),
        (b"LSL:shortinfo\r\nname='A'\n", Ok(None)),
        (b"LSL:fullinfo\n", Ok(None)),
        (b"GET / HTTP/1.1\r\n", Err(RequestError::Unknown)),
        (b"LSL:streamfeed/abc\r\n\r\n", Err(RequestError::Header)),
        (b"LSL:streamfeed/110 \r\nMax-Buffer-Length: x\r\n\r\n", Err(RequestError::Header)),
    ];
    for (bytes, command) in cases {
        assert_eq!(read_request(bytes), command, "{}", String::from_utf8_lossy(bytes));
    }
    let endless = vec![b'x'; (64 << 10) + 1];
    assert_eq!(RequestReader::new().read(&endless), Err(RequestError::TooLong));
    assert_eq!(RequestReader::new().read(&endless[1..]), Ok(None));
}

#[test]
fn preambles_follow_the_form_of_the_request() {
    let request = FeedRequest { version: 100, ..FeedRequest::default() };
    let agreement = offer("", ChannelFormat::Int8).negotiate(&request).unwrap();
    assert_eq!((agreement.preamble, agreement.data_protocol), (Preamble::None, DataProtocol::Archive));
}
