//! The XML of stream descriptions: a tree in an arena, its parser and its writer.
//!
//! The dialect is the one existing peers speak (lsl-wire §4): no namespaces and no validation. Text is
//! bytes because a host name need not be UTF-8. What a hostile peer sends costs bounded memory and no
//! recursion.
//!
//! Not here: what the elements mean ([`crate::wire::info`]) and how they are searched ([`crate::wire::query`]).

mod document;
mod edit;
mod encoding;
mod escape;
mod fragment;
mod parse;
mod text;
mod write;

pub use document::{Attribute, Document, NodeId, NodeKind};
pub use fragment::Fragment;
pub use parse::{MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_NODES, Parsed, XmlError};
pub use text::Text;

#[cfg(test)]
mod tests;
