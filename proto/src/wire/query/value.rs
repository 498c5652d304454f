//! The four types of XPath.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::wire::xml::NodeId;

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Boolean(bool),
    /// In document order, each node once.
    NodeSet(Vec<Node>),
    Number(f64),
    Text(Cow<'a, [u8]>),
}

/// A node of the tree or one of its attributes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Node {
    pub(super) id: NodeId,
    /// Which attribute of the element, if it is not the element itself.
    pub(super) attribute: Option<usize>,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) node: Node,
    /// Position of the node in its set, from 1.
    pub(super) position: usize,
    /// Size of that set.
    pub(super) size: usize,
}

impl From<NodeId> for Node {
    fn from(id: NodeId) -> Self {
        Self { id, attribute: None }
    }
}

impl Value<'_> {
    pub(super) const EMPTY_TEXT: Self = Self::Text(Cow::Borrowed(b""));
}
