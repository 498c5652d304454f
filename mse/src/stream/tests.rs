use super::*;
use crate::cipher::Rc4;
use alloc::collections::VecDeque;
use std::io::ErrorKind;

/// A transport that takes and gives a few bytes at a time and is full every third time.
#[derive(Default)]
struct Stingy {
    bytes: VecDeque<u8>,
    turn: usize,
}

impl Stingy {
    fn next(&mut self, wanted: usize) -> io::Result<usize> {
        self.turn += 1;
        match self.turn % 3 {
            0 => Err(ErrorKind::WouldBlock.into()),
            1 => Err(ErrorKind::Interrupted.into()),
            _ => Ok(wanted.min(1 + self.turn % 7)),
        }
    }
}

impl Write for Stingy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.next(bytes.len())?;
        self.bytes.extend(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stingy {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.next(out.len())?.min(self.bytes.len());
        for slot in &mut out[..len] {
            *slot = self.bytes.pop_front().expect("counted");
        }
        Ok(len)
    }

    fn read_vectored(&mut self, out: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut total = 0;
        for slice in out {
            let len = slice.len().min(self.bytes.len());
            slice[..len].iter_mut().for_each(|b| *b = self.bytes.pop_front().expect("counted"));
            total += len;
        }
        Ok(total)
    }
}

fn rc4() -> Cipher {
    Cipher::Rc4(Rc4::with_discard(b"a direction's key"))
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 256) as u8).collect()
}

fn sealed(plain: &[u8]) -> Vec<u8> {
    let mut bytes = plain.to_vec();
    rc4().apply(&mut bytes);
    bytes
}

#[test]
fn short_and_refused_writes_never_move_the_keystream_past_what_was_accepted() {
    let plain = text(100_000);
    let mut writer = Writer::new(Stingy::default(), Outgoing::new(rc4()));
    let mut at = 0;
    while at < plain.len() {
        match writer.write(&plain[at..]) {
            Ok(count) => at += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    while writer.flush().is_err() {}
    assert!(writer.inner.bytes.iter().eq(&sealed(&plain)));
    assert_eq!(writer.outgoing.total(), 100_000);
    assert_eq!(writer.outgoing.pending().len(), 0);
}

#[test]
fn writes_in_place_and_from_several_slices_make_the_same_bytes() {
    let plain = text(40_000);
    let mut writer = Writer::new(Vec::new(), Outgoing::new(rc4()));
    let mut first = plain[..10_000].to_vec();
    writer.write_in_place(&mut first).expect("a vector takes all");
    let mut at = 10_000;
    while at < plain.len() {
        let rest = &plain[at..];
        let (a, b) = rest.split_at(rest.len() / 3);
        at += writer.write_vectored(&[IoSlice::new(a), IoSlice::new(b)]).expect("taken");
    }
    assert_eq!(writer.inner, sealed(&plain));
}

#[test]
fn reading_gives_the_early_payload_first_and_decrypts_in_place() {
    let plain = text(5_000);
    let wire = sealed(&plain);
    let transport = Stingy { bytes: wire[300..].iter().copied().collect(), turn: 0 };
    let incoming = Incoming::new(rc4(), b"initial".to_vec(), &wire[..300]);
    let mut reader = Reader::new(transport, incoming);
    let mut got = Vec::new();
    let mut turn = 0;
    while got.len() < plain.len() + 7 {
        turn += 1;
        let (mut a, mut b) = ([0; 50], [0; 9]);
        if turn % 4 == 0 {
            let len = reader
                .read_vectored(&mut [
                    IoSliceMut::new(&mut []),
                    IoSliceMut::new(&mut a),
                    IoSliceMut::new(&mut b),
                ])
                .expect("vectored reads never refuse here");
            got.extend([&a[..], &b].concat()[..len].iter());
        } else if let Ok(len) = reader.read(&mut a) {
            got.extend_from_slice(&a[..len]);
        }
    }
    assert_eq!(got, [&b"initial"[..], &plain].concat());
    assert_eq!(reader.incoming.total(), 5_007);
}
