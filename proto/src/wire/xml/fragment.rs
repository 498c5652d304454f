//! A copied subtree on its way from one place to another.

use alloc::vec::Vec;

use super::document::{Attribute, NodeKind};
use super::text::Text;

/// A node and all below it, detached from any document.
///
/// Because it borrows nothing, a tree can be copied into itself, and two documents need not be locked together.
#[derive(Clone, Debug, Default)]
pub struct Fragment {
    pieces: Vec<Piece>,
}

impl Fragment {
    pub(super) fn push(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// In document order; the outermost node, at depth 0, comes first.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

/// One node of a fragment.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) depth: usize,
    pub(super) kind: NodeKind,
    pub(super) name: Text,
    pub(super) value: Text,
    pub(super) attributes: Vec<Attribute>,
}

impl Piece {
    pub(super) fn element(name: &[u8]) -> Self {
        Self { name: Text::new(name), ..Self::text(NodeKind::Element, b"") }
    }

    pub(super) fn text(kind: NodeKind, value: &[u8]) -> Self {
        Self { depth: 0, kind, name: Text::default(), value: Text::new(value), attributes: Vec::new() }
    }
}
