use std::io::Write;

use schwann_proto::stream::ChannelFormat;
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp};

use super::*;
use crate::codec::QueueCodec;
use crate::inlet::queue::SampleQueue;
use crate::net::testing::sealed_pair;

const CHANNELS: usize = 64;
/// Bytes of a record besides its text (secure-session §4.1).
const OVERHEAD: usize = 20;
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// A sealed stream of samples of equal numbers, that an inlet receives.
struct Stream {
    outlet: Link,
    receiver: Receiver,
    queue: SampleQueue,
    pushed: i32,
    pulled: i32,
}

impl Stream {
    fn new() -> Self {
        let (inlet, outlet) = sealed_pair();
        Self {
            outlet,
            receiver: Receiver::new(Arc::new(inlet), 0, Opener::default(), None),
            queue: SampleQueue::new(QueueCodec::new(layout(), 100.0), 1000, 1 << 20),
            pushed: 0,
            pulled: 0,
        }
    }

    /// The next sample as a sealed record.
    fn record(&mut self) -> Vec<u8> {
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        let values = [self.pushed; CHANNELS];
        layout().encode_chunk(Stamp::Sent(1.0), &values, &mut plain).expect("a vector has room");
        self.pushed += 1;
        let len = self.outlet.layer().seal(&plain, &mut wire).expect("sealed").len();
        wire.truncate(len);
        wire
    }

    /// Sends `bytes` and receives once.
    fn carry(&mut self, bytes: &[u8]) -> Received {
        self.outlet.socket().write_all(bytes).expect("a socket with room");
        let mut block = self.queue.take_tail();
        let received = self.receiver.receive(&mut block, Wait::Until(Instant::now() + BUSY_TIMEOUT));
        self.queue.put_back(block).expect("samples");
        received
    }

    /// Pulls `count` samples; they are the next ones.
    fn pull(&mut self, count: usize) {
        assert_eq!(self.queue.len(), count);
        for _ in 0..count {
            let mut values = [0; CHANNELS];
            let pulled = self.queue.pop(|codec, bytes| codec.read(bytes, &mut values));
            assert!(matches!(pulled, Some((1.0, Ok(())))));
            assert_eq!(values, [self.pulled; CHANNELS]);
            self.pulled += 1;
        }
    }
}

fn layout() -> Layout {
    Layout::new(ChannelFormat::Int32, CHANNELS, ByteOrder::NATIVE)
}

#[test]
fn a_record_alone_is_opened_where_its_samples_are_kept() {
    let mut stream = Stream::new();
    for _ in 0..3 {
        let mut block = stream.queue.take_tail();
        let Receiver { link, staging, .. } = &stream.receiver;
        assert!(staging.place(link, &mut block).is_some());
        stream.queue.put_back(block).expect("no samples");
        let record = stream.record();
        let plain = record.len() - OVERHEAD;
        assert_eq!(stream.carry(&record), Received::Bytes(plain));
        stream.pull(1);
    }
}

#[test]
fn records_arrive_whole_in_whatever_pieces() {
    let mut stream = Stream::new();
    for round in 0..4 {
        let records: Vec<_> = (0..6).map(|_| stream.record()).collect();
        // One alone, which the next is expected to be, too.
        stream.carry(&records[0]);
        stream.pull(1);
        let (front, back) = records[1].split_at(1 + 90 * round);
        assert_eq!(stream.carry(front), Received::Bytes(0));
        stream.pull(0);
        stream.carry(&[back, &records[2]].concat());
        // Unread samples lie before the next ones.
        stream.carry(&records[3]);
        stream.pull(3);
        stream.carry(&records[4]);
        stream.carry(&records[5]);
        stream.pull(2);
    }
}

#[test]
fn a_forged_record_ends_the_stream_and_none_of_it_is_kept() {
    // Of the header, the text and the tag, in a record alone and in front of another one.
    for (forged, others) in [0, 3, 4, 100, 284].into_iter().flat_map(|forged| [(forged, 0), (forged, 1)]) {
        let mut stream = Stream::new();
        for _ in 0..2 {
            let record = stream.record();
            stream.carry(&record);
            stream.pull(1);
        }
        let mut record = stream.record();
        record[forged] ^= 1;
        for _ in 0..others {
            record.extend(stream.record());
        }
        assert_eq!(stream.carry(&record), Received::Broken, "byte {forged}");
        stream.pull(0);
    }
}
