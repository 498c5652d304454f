//! liblsl's C ABI on the Schwann engine: `liblsl.so` for every program that exists already.
//!
//! One file per header of the original. Each function converts its arguments, calls the engine, and
//! converts the outcome; nothing else happens here. A panic never leaves this crate: [`guard`] turns it
//! into the function's failure value. Our own additions are in [`schwann`] and have a header and a prefix
//! of their own.
//!
//! What is unsafe here is believing the caller: each block says which promise of the C interface it
//! rests on.

mod chunk;
mod common;
mod guard;
mod inlet;
mod outlet;
mod resolver;
mod schwann_additions;
mod schwann_lag;
mod streaminfo;
mod strings;
mod sys;
mod xml;

pub use self::{
    common::*, inlet::*, outlet::*, resolver::*, schwann_additions::*, schwann_lag::*, streaminfo::*, xml::*,
};
