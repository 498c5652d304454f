//! Who is measured.

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

/// This project's engine, with one kernel and one batch size.
pub(crate) struct Engine {
    kernel: Kernel,
    key: Key,
    batch: usize,
    /// Where it is not the kernel that chooses.
    shape: Option<Shape>,
}

impl Engine {
    /// An engine that is handed `batch` messages at a time; 1 means the calls for one message.
    pub(crate) fn new(kernel: Kernel, batch: usize) -> Self {
        Self { kernel, key: Key::new(&KEY), batch, shape: None }
    }

    /// The same, but that the kernel does not choose how it works on a batch.
    pub(crate) fn in_shape(kernel: Kernel, batch: usize, shape: Shape) -> Self {
        Self { shape: Some(shape), ..Self::new(kernel, batch) }
    }

    fn seal_batch(&self, batch: &mut [Message<'_>]) -> bool {
        match self.shape {
            Some(shape) => self.kernel.seal_in_shape(shape, batch),
            None => self.kernel.seal_batch(batch).is_ok(),
        }
    }

    fn open_batch(&self, batch: &mut [Message<'_>]) -> bool {
        match self.shape {
            Some(shape) => {
                self.kernel.open_in_shape(shape, batch) && batch.iter().all(|message| message.outcome.is_ok())
            }
            None => self.kernel.open_batch(batch).is_ok(),
        }
    }

    /// Calls `each` on every message, its index and its tag.
    fn for_each(
        &self,
        work: &mut Workload,
        mut each: impl FnMut(&Self, &[u8], usize, &mut [u8], &mut [u8; 16]),
    ) {
        let mut rest = work.data.as_mut_slice();
        for (index, place) in work.places.iter().enumerate() {
            let (buffer, after) = rest.split_at_mut(place.len());
            let (tag, after) = after.split_first_chunk_mut().expect("room for a tag follows every message");
            each(self, &work.aad, index, buffer, tag);
            rest = after;
        }
    }

    /// Calls `each` on every batch, with its tags in their messages before and after.
    fn for_each_batch(&self, work: &mut Workload, mut each: impl FnMut(&Self, &mut [Message<'_>])) {
        let mut messages = Vec::with_capacity(work.places.len());
        let mut tags = Vec::with_capacity(work.places.len());
        let mut rest = work.data.as_mut_slice();
        for (index, place) in work.places.iter().enumerate() {
            let (buffer, after) = rest.split_at_mut(place.len());
            let (tag, after) = after.split_first_chunk_mut().expect("room for a tag follows every message");
            messages.push(Message::sealed(
                &self.key,
                Nonce(Workload::nonce(index)),
                &work.aad,
                buffer,
                Tag(*tag),
            ));
            tags.push(tag);
            rest = after;
        }
        for batch in messages.chunks_mut(self.batch) {
            each(self, batch);
        }
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
        if self.batch == 1 && self.shape.is_none() {
            self.for_each(work, |engine, aad, index, buffer, tag| {
                let nonce = Nonce(Workload::nonce(index));
                let sealed = engine.kernel.seal_in_place(&engine.key, &nonce, aad, buffer);
                *tag = sealed.expect("a workload's messages are short").0;
            });
        } else {
            self.for_each_batch(work, |engine, batch| {
                assert!(engine.seal_batch(batch), "a workload's messages fit");
            });
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let mut verified = true;
        if self.batch == 1 && self.shape.is_none() {
            self.for_each(work, |engine, aad, index, buffer, tag| {
                let nonce = Nonce(Workload::nonce(index));
                let opened = engine.kernel.open_in_place(&engine.key, &nonce, aad, buffer, &Tag(*tag));
                verified &= opened.is_ok();
            });
        } else {
            self.for_each_batch(work, |engine, batch| verified &= engine.open_batch(batch));
        }
        verified
    }
}
