//! What only a look from inside can show: secrets that steer, linger, or are read past their end.

use std::vec;
use std::vec::Vec;

#[cfg(unix)]
mod guard;
pub(super) mod residue;
pub(super) mod taint;

use super::frames::Frames;
use super::wide::Noted;
use super::wide::{self, model::Model};
use super::{Ahead, Direction, Kernel};
use crate::{Key, Message, Nonce, OpenError, Tag};

/// A kernel of this CPU, or the model of one that tools can follow.
#[derive(Clone, Copy)]
enum Subject {
    Kernel(Kernel),
    Model,
    StitchedModel,
}

impl Subject {
    fn all() -> impl Iterator<Item = Self> {
        Kernel::available().map(Self::Kernel).chain([Self::Model, Self::StitchedModel])
    }

    fn run(self, messages: &mut [Message<'_>], direction: Direction) {
        match self {
            Self::Kernel(kernel) => kernel.batch(messages, direction),
            Self::Model => {
                wide::batch(Noted { token: Model::<false>, frames: &Frames::new() }, messages, direction)
            }
            Self::StitchedModel => {
                wide::batch(Noted { token: Model::<true>, frames: &Frames::new() }, messages, direction)
            }
        }
    }
}

/// Shapes of batches that take every path: lengths of the messages, and of what is authenticated besides.
const SHAPES: &[(&[usize], usize)] = &[
    (&[0], 0),
    (&[1], 13),
    (&[64], 0),
    (&[300], 20),
    (&[1300], 0),
    (&[2500], 130),
    (&[64, 64], 0),
    (&[100, 0, 17, 64, 64], 13),
    (&[64, 64, 64, 64, 64, 64, 64, 64], 0),
    (&[64, 0, 17, 63, 1, 16, 48, 64, 5], 13),
    (&[512, 512, 512, 512, 512, 512, 512, 512, 512], 0),
    (&[5, 70, 1025, 64, 128, 96, 16, 15, 0, 33, 640, 511, 1, 2, 3, 80, 81, 400], 13),
    (&[3000, 40, 90], 5),
    (&[530], 3),
    (&[264, 264, 264, 264, 264, 264, 264, 264], 0),
    (&[1100, 300, 700, 0, 40, 900], 20),
    (&[2000, 1600], 13),
    (&[700, 448, 1, 0, 512, 1024, 65, 960, 0, 900], 0),
];

/// A batch as its owner keeps it.
struct Batch {
    key: Key,
    aad: Vec<u8>,
    buffers: Vec<Vec<u8>>,
    tags: Vec<Tag>,
}

impl Batch {
    fn new(lengths: &[usize], aad: usize) -> Self {
        Self {
            key: Key::new(&[0xa7; 32]),
            aad: vec![3; aad],
            buffers: lengths.iter().map(|&length| vec![0xff; length]).collect(),
            tags: vec![Tag([0; 16]); lengths.len()],
        }
    }

    fn run(&mut self, subject: Subject, direction: Direction) -> Vec<Result<(), OpenError>> {
        let aad = &self.aad;
        let mut messages = Vec::new();
        for (i, (buffer, tag)) in self.buffers.iter_mut().zip(&self.tags).enumerate() {
            messages.push(Message::sealed(&self.key, Nonce([i as u8; 12]), aad, buffer, *tag));
        }
        subject.run(&mut messages, direction);
        self.tags = messages.iter().map(|message| message.tag).collect();
        messages.iter().map(|message| message.outcome).collect()
    }
}

#[test]
fn the_model_agrees_with_the_portable_kernel() {
    [Subject::Model, Subject::StitchedModel].into_iter().for_each(agrees_with_the_portable_kernel);
}

fn agrees_with_the_portable_kernel(subject: Subject) {
    for &(lengths, aad) in SHAPES {
        // Interpreted, a block takes a second: two shapes that take all paths between them must do.
        if cfg!(miri) && ![&[100, 0, 17, 64, 64][..], &[530]].contains(&lengths) {
            continue;
        }
        let mut portable = Batch::new(lengths, aad);
        let mut model = Batch::new(lengths, aad);
        portable.run(Subject::Kernel(Kernel::Portable), Direction::Seal);
        model.run(subject, Direction::Seal);
        assert_eq!(portable.buffers, model.buffers);
        assert!(portable.tags.iter().zip(&model.tags).all(|(a, b)| a.matches(b)));
        model.tags[lengths.len() / 2].0[0] ^= 1;
        let outcomes = model.run(subject, Direction::Open);
        for (i, outcome) in outcomes.into_iter().enumerate() {
            let (expected, byte) =
                if i == lengths.len() / 2 { (Err(OpenError::Forged), 0) } else { (Ok(()), 0xff) };
            assert_eq!(outcome, expected);
            assert!(model.buffers[i].iter().all(|&b| b == byte));
        }
    }
}
