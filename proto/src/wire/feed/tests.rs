use std::{string::String, vec::Vec};

use super::{
    Command, DataProtocol, Expected, FeedRequest, Offer, RequestReader, ResponseError, ResponseReader,
};
use crate::{stream::ChannelFormat, wire::sample::ByteOrder};

fn offer(format: ChannelFormat) -> Offer<'static> {
    Offer { version: 110, uid: "u", format, swap_performance: 1e6, synchronous: false }
}

fn parse(text: &str) -> FeedRequest<'_> {
    match RequestReader::new().read(text.as_bytes()) {
        Ok(Some(Command::Feed(request))) => request,
        other => panic!("{other:?} from {text:?}"),
    }
}

#[test]
fn headers_are_parsed_leniently() {
    let request = parse(
        "LSL:streamfeed/110 u \r\nNATIVE-BYTE-ORDER : 4321 ; comment\r\nno colon\nMax-Buffer-Length:36x\r\n\
         Hostname: a:b\r\nHas-IEEE754-Floats: true\r\n\r\nHostname: behind the end\r\n\r\n",
    );
    assert_eq!(request.byte_order, Some(ByteOrder::Big));
    assert_eq!((request.max_buffer_length, request.hostname), (36, "a:b"));
    assert!(!request.has_ieee754_floats, "truth is exactly 1");
}

#[test]
fn metadata_cannot_forge_headers() {
    let request = FeedRequest {
        hostname: "h\r\nMax-Buffer-Length: 0; x",
        ..FeedRequest::new(110, "u", ChannelFormat::Int8, 7, 0)
    };
    let mut out = Vec::new();
    request.encode(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let again = parse(&text);
    assert_eq!((again.max_buffer_length, again.hostname), (7, "h  Max-Buffer-Length: 0  x"));
}

#[test]
fn the_byte_order_follows_value_size_and_performance() {
    // Source: lsl-wire §11.3.
    let other = ByteOrder::NATIVE.swapped();
    let cases = [
        (ChannelFormat::Float32, Some(4), 0.0, Some(other), other),
        (ChannelFormat::Float32, None, 0.0, Some(other), other),
        (ChannelFormat::Float32, Some(4), 1e300, Some(other), ByteOrder::NATIVE),
        (ChannelFormat::Float32, Some(4), 0.0, None, ByteOrder::NATIVE),
        (ChannelFormat::Int8, Some(1), 0.0, Some(other), ByteOrder::NATIVE),
        (ChannelFormat::String, Some(32), 0.0, Some(other), other),
        (ChannelFormat::String, Some(0), 0.0, Some(other), ByteOrder::NATIVE),
    ];
    for (format, value_size, swap_performance, byte_order, agreed) in cases {
        let request =
            FeedRequest { version: 110, value_size, swap_performance, byte_order, ..FeedRequest::default() };
        let agreement = offer(format).negotiate(&request).unwrap();
        assert_eq!(
            (agreement.byte_order, agreement.data_protocol),
            (agreed, DataProtocol::Plain),
            "{request:?}"
        );
    }
}

#[test]
fn what_we_answer_we_accept() {
    for format in ChannelFormat::ALL {
        let offer = offer(format);
        let agreement = offer.negotiate(&FeedRequest::new(110, "u", format, 1, 0)).unwrap();
        let mut out = Vec::new();
        agreement.encode_response(&offer, &mut out).unwrap();
        let response =
            ResponseReader::new(Expected { version: 110, uid: "U", format }).read(&out).unwrap().unwrap();
        assert_eq!(response.layout(format, 3), agreement.layout(format, 3));
        assert_eq!(response.len, out.len());
    }
}

#[test]
fn mixed_byte_orders_are_refused_unless_they_do_not_matter() {
    let text = b"LSL/110 200 OK\r\nUID: u\r\nByte-Order: 2134\r\n\r\n";
    let read = |format| ResponseReader::new(Expected { version: 110, uid: "u", format }).read(text);
    assert_eq!(read(ChannelFormat::Int16), Err(ResponseError::ByteOrder));
    assert_eq!(read(ChannelFormat::String), Err(ResponseError::ByteOrder));
    let response = read(ChannelFormat::Int8).unwrap().unwrap();
    assert_eq!(response.data_protocol, DataProtocol::Archive, "the default is the older protocol");
}

#[test]
fn endless_responses_are_refused() {
    let expected = Expected { version: 110, uid: "u", format: ChannelFormat::Int8 };
    let mut endless = b"LSL/110 200 OK\r\n".to_vec();
    endless.resize(super::RESPONSE_LIMIT, b'x');
    assert_eq!(ResponseReader::new(expected).read(&endless), Ok(None));
    endless.push(b'x');
    assert_eq!(ResponseReader::new(expected).read(&endless), Err(ResponseError::TooLong));
    let silent = std::vec![b'x'; super::RESPONSE_LIMIT + 1];
    assert_eq!(ResponseReader::new(expected).read(&silent), Err(ResponseError::TooLong));
}
