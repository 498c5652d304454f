//! An outlet and an inlet talk through a simulated connection that cuts the bytes anywhere. They use
//! every format, both protocols, both byte orders and values of every type.

use schwann_proto::{
    stream::{ChannelFormat, PROTOCOL_VERSION, PROTOCOL_VERSION_ARCHIVE},
    wire::{
        archive::Archive,
        feed::{Command, DataProtocol, Expected, FeedRequest, Offer, RequestReader, ResponseReader},
        sample::{ByteOrder, Extent, Layout, Stamp, StampTracker, Value},
        test_pattern,
    },
};

mod random;

use random::Random;

const UID: &str = "a82ad391-5ab0-451f-81f1-086fc1c239d3";
const RATE: f64 = 250.0;

/// What both ends know of the stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    format: ChannelFormat,
    channel_count: usize,
    /// Version that the inlet speaks.
    version: i32,
    /// Order of the inlet's memory.
    order: ByteOrder,
}

/// Everything the outlet sends for this request: response, pattern and three samples.
fn serve(stream: &Stream, request: &[u8], chunk: &[i64], stamp: f64) -> Vec<u8> {
    let Ok(Some(Command::Feed(request))) = RequestReader::new().read(request) else {
        panic!("not understood")
    };
    let (format, channel_count) = (stream.format, stream.channel_count);
    let offer = Offer {
        version: PROTOCOL_VERSION,
        uid: UID,
        format,
        swap_performance: f64::INFINITY,
        synchronous: false,
    };
    let agreement = offer.negotiate(&request).unwrap();
    let mut out = Vec::new();
    agreement.encode_response(&offer, &mut out).unwrap();
    match agreement.data_protocol {
        DataProtocol::Plain => {
            let layout = agreement.layout(format, channel_count);
            test_pattern::encode(&layout, &mut out).unwrap();
            layout.encode_chunk(Stamp::Sent(stamp), chunk, &mut out).unwrap();
        }
        DataProtocol::Archive => {
            let archive = Archive::new(format, channel_count);
            Archive::encode_header("<info />", &mut out).unwrap();
            test_pattern::encode_archive(&archive, &mut out).unwrap();
            let layout = Layout::new(format, channel_count, ByteOrder::NATIVE);
            let mut samples = Vec::new();
            layout.encode_chunk(Stamp::Sent(stamp), chunk, &mut samples).unwrap();
            archive.translate(&layout, &samples, &mut out).unwrap();
        }
    }
    out
}

/// The receiving end: takes pieces, keeps what is incomplete.
struct Inlet {
    stream: Stream,
    received: Vec<u8>,
    layout: Option<Layout>,
    state: InletState,
    /// Samples in data protocol 1.10.
    samples: Vec<u8>,
}

enum InletState {
    Response,
    Header,
    Pattern(DataProtocol),
    Samples(DataProtocol),
}

impl Inlet {
    fn new(stream: Stream) -> Self {
        let state =
            if stream.version == PROTOCOL_VERSION { InletState::Response } else { InletState::Header };
        Self { stream, received: Vec::new(), layout: None, state, samples: Vec::new() }
    }

    fn receive(&mut self, piece: &[u8]) {
        self.received.extend_from_slice(piece);
        while let Some(len) = self.advance() {
            self.received.drain(..len);
        }
    }

    /// Takes one part off the front and returns its length.
    fn advance(&mut self) -> Option<usize> {
        let Stream { format, channel_count, .. } = self.stream;
        let archive = Archive::new(format, channel_count);
        match self.state {
            InletState::Response => {
                let expected = Expected { version: PROTOCOL_VERSION, uid: UID, format };
                let response = ResponseReader::new(expected).read(&self.received).unwrap()?;
                self.layout = Some(response.layout(format, channel_count));
                self.state = match response.data_protocol {
                    DataProtocol::Plain => InletState::Pattern(DataProtocol::Plain),
                    DataProtocol::Archive => InletState::Header,
                };
                Some(response.len)
            }
            InletState::Header => {
                let header = Archive::decode_header(&self.received).unwrap()?;
                assert_eq!(header.shortinfo, b"<info />");
                let len = header.len;
                self.layout = Some(archive.plain_layout());
                self.state = InletState::Pattern(DataProtocol::Archive);
                Some(len)
            }
            InletState::Pattern(protocol) => {
                let verified = match protocol {
                    DataProtocol::Plain => test_pattern::verify(&self.layout?, &self.received),
                    DataProtocol::Archive => test_pattern::verify_archive(&archive, &self.received),
                };
                let len = verified.unwrap()?;
                self.state = InletState::Samples(protocol);
                Some(len)
            }
            InletState::Samples(DataProtocol::Archive) => {
                archive.decode(&self.received, &mut self.samples).unwrap()
            }
            InletState::Samples(DataProtocol::Plain) => {
                let Extent { bytes, .. } = self.layout?.count(&self.received, usize::MAX).unwrap();
                self.samples.extend_from_slice(&self.received[..bytes]);
                (bytes > 0).then_some(bytes)
            }
        }
    }

    fn pull<T: Value>(&self, rows: usize) -> (Vec<T>, Vec<f64>) {
        let mut values = vec![T::default(); rows * self.stream.channel_count];
        let mut stamps = vec![0.0; rows];
        let layout = self.layout.unwrap();
        let mut tracker = StampTracker::new(RATE);
        let extent = layout.decode_chunk(&self.samples, &mut values, &mut stamps, &mut tracker).unwrap();
        assert_eq!(extent, Extent { samples: rows, bytes: self.samples.len() }, "{:?}", self.stream);
        (values, stamps)
    }
}

fn talk(stream: Stream, random: &mut Random) {
    let rows = 1 + random.below(5);
    // Values that every format can hold; those of int8 streams are smaller still.
    let value = |random: &mut Random| i64::try_from(random.below(256)).unwrap() - 128;
    let chunk: Vec<i64> = (0..rows * stream.channel_count).map(|_| value(random)).collect();
    let request = FeedRequest {
        byte_order: Some(stream.order),
        ..FeedRequest::new(stream.version, UID, stream.format, 360, 0)
    };
    let mut asked = Vec::new();
    request.encode(&mut asked).unwrap();
    let sent = serve(&stream, &asked, &chunk, 1000.0);

    let mut inlet = Inlet::new(stream);
    let mut rest = sent.as_slice();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(1 + random.below(40).min(rest.len() - 1));
        inlet.receive(piece);
        rest = behind;
    }
    assert!(inlet.received.is_empty(), "{stream:?}");
    let expected: Vec<f64> = (0..rows)
        .scan(1000.0 - 1.0 / RATE, |stamp, row| {
            *stamp = if row == 0 { 1000.0 } else { *stamp + 1.0 / RATE };
            Some(*stamp)
        })
        .collect();
    let (values, stamps) = inlet.pull::<i64>(rows);
    assert_eq!((&values, &stamps), (&chunk, &expected), "{stream:?}");
    // int8 values made from strings are characters, not numbers.
    if stream.format != ChannelFormat::String {
        let narrow = |value: &i64| i8::try_from(*value).unwrap();
        assert_eq!(inlet.pull::<i8>(rows).0, chunk.iter().map(narrow).collect::<Vec<_>>(), "{stream:?}");
    }
    let (floats, _) = inlet.pull::<f32>(rows);
    assert!(floats.iter().zip(&chunk).all(|(float, value)| f64::from(*float) as i64 == *value), "{stream:?}");
}

#[test]
fn what_is_pushed_is_pulled() {
    let mut random = Random(0x5eed);
    for round in 0..3000 {
        let stream = Stream {
            format: ChannelFormat::ALL[round % 7],
            channel_count: 1 + random.below(9),
            version: [PROTOCOL_VERSION, PROTOCOL_VERSION_ARCHIVE][random.below(2)],
            order: [ByteOrder::Little, ByteOrder::Big][random.below(2)],
        };
        talk(stream, &mut random);
    }
}
