//! What travels: one module per message, each with its encoder and its parser.

pub mod archive;
pub(crate) mod convert;
pub mod discover;
pub mod feed;
#[cfg(feature = "alloc")]
pub mod info;
pub mod number;
#[cfg(feature = "alloc")]
pub mod query;
pub mod sample;
pub mod test_pattern;
pub mod timedata;
pub mod view;
#[cfg(feature = "alloc")]
pub mod xml;

pub(crate) mod sink;

pub use sink::{ByteWriter, NoRoom, Sink};
