//! The measured libraries and kernels.

use schwann_aead::kernel::Shape;
use schwann_aead::{Kernel, Key, Message, Nonce, Tag};

use super::workload::{KEY, Workload};

/// A library, or one way of using it.
pub(crate) trait Contender {
    /// Name in the tables.
    fn name(&self) -> String;
    /// Does what can be done before the messages are there, if anything can.
    fn prepare(&mut self, _work: &Workload) {}
    /// Seals every message in place and writes its tag after it.
    fn seal(&mut self, work: &mut Workload);
    /// Opens every message in place; says whether every tag verified.
    fn open(&mut self, work: &mut Workload) -> bool;
}

/// A library that takes one message at a time, with room for a tag, or with its tag, after it.
pub(super) trait OneByOne {
    fn name(&self) -> String;
    fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]);
    fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool;
}

impl<C: OneByOne> Contender for C {
    fn name(&self) -> String {
        OneByOne::name(self)
    }

    fn seal(&mut self, work: &mut Workload) {
        let Workload { data, places, aad, .. } = work;
        for (index, place) in places.iter().enumerate() {
            OneByOne::seal(self, Workload::nonce(index), aad, &mut data[place.start..place.end + 16]);
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let Workload { data, places, aad, .. } = work;
        places.iter().enumerate().all(|(index, place)| {
            OneByOne::open(self, Workload::nonce(index), aad, &mut data[place.start..place.end + 16])
        })
    }
}

/// A message's text and its tag.
pub(super) fn text_and_tag(message: &mut [u8]) -> (&mut [u8], &mut [u8; 16]) {
    message.split_last_chunk_mut().expect("room for a tag follows every message")
}

/// This project's engine, with one kernel. It gets `batch` messages at a time; 1 means the calls for one message.
pub(crate) fn engine(kernel: Kernel, batch: usize) -> Box<dyn Contender> {
    let key = Key::new(&KEY);
    if batch == 1 { Box::new(Single { kernel, key }) } else { Box::new(Engine::new(kernel, batch)) }
}

struct Single {
    kernel: Kernel,
    key: Key,
}

impl OneByOne for Single {
    fn name(&self) -> String {
        format!("schwann {} x1", self.kernel.name())
    }

    fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) {
        let (text, tag) = text_and_tag(message);
        let sealed = self.kernel.seal_in_place(&self.key, &Nonce(nonce), aad, text);
        *tag = sealed.expect("a workload's messages are short").0;
    }

    fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool {
        let (text, tag) = text_and_tag(message);
        self.kernel.open_in_place(&self.key, &Nonce(nonce), aad, text, &Tag(*tag)).is_ok()
    }
}

/// The calls for a batch of messages.
pub(super) struct Engine {
    kernel: Kernel,
    key: Key,
    batch: usize,
    /// Where it is not the kernel that chooses.
    shape: Option<Shape>,
}

impl Engine {
    pub(super) fn new(kernel: Kernel, batch: usize) -> Self {
        Self { kernel, key: Key::new(&KEY), batch, shape: None }
    }

    /// The same, but the kernel does not choose how it works on a batch.
    pub(super) fn in_shape(kernel: Kernel, batch: usize, shape: Shape) -> Self {
        Self { shape: Some(shape), ..Self::new(kernel, batch) }
    }

    /// Calls `each` on every batch, with its tags in their messages before and after.
    fn for_each_batch(&self, work: &mut Workload, mut each: impl FnMut(&mut [Message<'_>])) {
        let mut messages = Vec::with_capacity(work.places.len());
        let mut tags = Vec::with_capacity(work.places.len());
        let mut rest = work.data.as_mut_slice();
        for (index, place) in work.places.iter().enumerate() {
            let (message, after) = rest.split_at_mut(place.len() + 16);
            let (text, tag) = text_and_tag(message);
            let nonce = Nonce(Workload::nonce(index));
            messages.push(Message::sealed(&self.key, nonce, &work.aad, text, Tag(*tag)));
            tags.push(tag);
            rest = after;
        }
        messages.chunks_mut(self.batch).for_each(&mut each);
        for (tag, message) in tags.into_iter().zip(&messages) {
            *tag = message.tag.0;
        }
    }
}

impl Contender for Engine {
    fn name(&self) -> String {
        let shape = self.shape.map_or_else(String::new, |shape| format!(" {shape:?}"));
        format!("schwann {} x{}{shape}", self.kernel.name(), self.batch)
    }

    fn seal(&mut self, work: &mut Workload) {
        self.for_each_batch(work, |batch| {
            let is_sealed = match self.shape {
                Some(shape) => self.kernel.seal_in_shape(shape, batch),
                None => self.kernel.seal_batch(batch).is_ok(),
            };
            assert!(is_sealed, "a workload's messages fit");
        });
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let mut verified = true;
        self.for_each_batch(work, |batch| {
            verified &= match self.shape {
                Some(shape) => self.kernel.open_in_shape(shape, batch),
                None => self.kernel.open_batch(batch).is_ok(),
            };
            verified &= batch.iter().all(|message| message.outcome.is_ok());
        });
        verified
    }
}
