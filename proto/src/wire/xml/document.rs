//! The tree: nodes in an arena, named by handles that outlive every change but their own removal.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::fragment::{Fragment, Piece};
use super::text::{EMPTY, Text};

/// An XML document that can be walked and changed in any order.
///
/// Every function accepts any [`NodeId`]. A removed node, or one from another document of a different
/// shape, behaves like the empty node of the C interface. It has no relatives, name or text, and accepts
/// no additions.
///
/// - Source: the `lsl_xml_ptr` functions (lsl-wire §4.1).
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) slots: Vec<Slot>,
    /// Places of removed nodes, to be used again.
    pub(super) free: Vec<u32>,
}

/// A handle of one node; valid until that node is removed, and never reused for another.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId {
    pub(super) index: u32,
    pub(super) generation: NonZeroU32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NodeKind {
    /// Character data written as `<![CDATA[..]]>`.
    Cdata,
    /// The node above the outermost element.
    Document,
    /// An element; the only kind with a name, attributes and (besides the document) children.
    Element,
    /// Character data.
    Text,
}

/// One attribute of an element; only documents parsed from text have them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: Text,
    /// Its value, references decoded.
    pub value: Text,
}

impl Document {
    /// Creates a document without any element.
    pub fn new() -> Self {
        Self { slots: alloc::vec![Slot::new(NodeKind::Document)], free: Vec::new() }
    }

    /// Returns the node above the outermost element.
    pub fn root(&self) -> NodeId {
        NodeId { index: 0, generation: NonZeroU32::MIN }
    }

    /// Returns whether the node is in this document and has not been removed.
    pub fn contains(&self, node: NodeId) -> bool {
        self.node(node).is_some()
    }

    /// Returns how many nodes there are, the document node included.
    pub fn node_count(&self) -> usize {
        self.slots.len().saturating_sub(self.free.len())
    }

    /// Returns what the node is.
    pub fn kind(&self, node: NodeId) -> Option<NodeKind> {
        self.node(node).map(|node| node.kind)
    }

    /// Returns whether the node is anything but an element, as `lsl_is_text` does.
    pub fn is_text(&self, node: NodeId) -> bool {
        self.kind(node) != Some(NodeKind::Element)
    }

    /// Returns the name; empty for all but elements.
    pub fn name(&self, node: NodeId) -> &Text {
        self.node(node).map_or(&EMPTY, |node| &node.name)
    }

    /// Returns the text of a text node; empty for all other kinds.
    pub fn value(&self, node: NodeId) -> &Text {
        self.node(node).map_or(&EMPTY, |node| &node.value)
    }

    /// Returns the attributes in document order.
    pub fn attributes(&self, node: NodeId) -> &[Attribute] {
        self.node(node).map_or(&[], |node| &node.attributes)
    }

    /// Returns the text of the first child that is non-empty text.
    pub fn child_value(&self, node: NodeId) -> &Text {
        self.children(node)
            .filter(|child| self.is_character_data(*child))
            .map(|child| self.value(child))
            .find(|value| !value.is_empty())
            .unwrap_or(&EMPTY)
    }

    /// Returns the text of the first child element of that name.
    pub fn child_value_named(&self, node: NodeId, name: impl AsRef<[u8]>) -> &Text {
        self.child(node, name).map_or(&EMPTY, |child| self.child_value(child))
    }

    /// Returns the first child.
    pub fn first_child(&self, node: NodeId) -> Option<NodeId> {
        self.node(node)?.first_child
    }

    /// Returns the last child.
    pub fn last_child(&self, node: NodeId) -> Option<NodeId> {
        self.node(node)?.last_child
    }

    /// Returns the node after this one, under the same parent.
    pub fn next_sibling(&self, node: NodeId) -> Option<NodeId> {
        self.node(node)?.next
    }

    /// Returns the node before this one, under the same parent.
    pub fn previous_sibling(&self, node: NodeId) -> Option<NodeId> {
        self.node(node)?.previous
    }

    /// Returns the node above.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.node(node)?.parent
    }

    /// Returns the first child element of that name.
    pub fn child(&self, node: NodeId, name: impl AsRef<[u8]>) -> Option<NodeId> {
        self.named(self.first_child(node), name.as_ref(), Self::next_sibling)
    }

    /// Returns the nearest following sibling of that name.
    pub fn next_sibling_named(&self, node: NodeId, name: impl AsRef<[u8]>) -> Option<NodeId> {
        self.named(self.next_sibling(node), name.as_ref(), Self::next_sibling)
    }

    /// Returns the nearest preceding sibling of that name.
    pub fn previous_sibling_named(&self, node: NodeId, name: impl AsRef<[u8]>) -> Option<NodeId> {
        self.named(self.previous_sibling(node), name.as_ref(), Self::previous_sibling)
    }

    /// Iterates over the children in document order.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        core::iter::successors(self.first_child(node), |child| self.next_sibling(*child))
    }

    /// Returns the outermost element.
    pub fn document_element(&self) -> Option<NodeId> {
        self.children(self.root()).find(|child| !self.is_text(*child))
    }

    /// Copies the node and everything below it, for [`Self::append_copy`] here or in another document.
    pub fn copy_of(&self, node: NodeId) -> Fragment {
        let mut fragment = Fragment::default();
        self.walk(node, |node, depth| {
            fragment.push(Piece {
                depth,
                kind: node.kind,
                name: node.name.clone(),
                value: node.value.clone(),
                attributes: node.attributes.clone(),
            });
        });
        fragment
    }

    /// Returns the node after `node` in document order, within the tree below `top`.
    pub(crate) fn next_in_document(&self, top: NodeId, node: NodeId) -> Option<NodeId> {
        self.first_child(node).or_else(|| self.next_after_subtree(top, node))
    }

    /// Returns the first node in document order that is after `node` and not below it, within the tree below `top`.
    pub(crate) fn next_after_subtree(&self, top: NodeId, node: NodeId) -> Option<NodeId> {
        let mut node = node;
        while node != top {
            if let Some(next) = self.next_sibling(node) {
                return Some(next);
            }
            node = self.parent(node)?;
        }
        None
    }

    /// Returns the position of each node in document order, by [`NodeId::index`].
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order = alloc::vec![usize::MAX; self.slots.len()];
        let root = self.root();
        let nodes = core::iter::successors(Some(root), |node| self.next_in_document(root, *node));
        for (position, node) in nodes.enumerate() {
            if let Some(slot) = order.get_mut(node.index()) {
                *slot = position;
            }
        }
        order
    }

    pub(crate) fn is_character_data(&self, node: NodeId) -> bool {
        self.kind(node).is_some_and(NodeKind::is_character_data)
    }

    fn walk(&self, top: NodeId, mut visit: impl FnMut(&Slot, usize)) {
        let (mut node, mut depth) = (top, 0_usize);
        loop {
            let Some(slot) = self.node(node) else { return };
            visit(slot, depth);
            if let Some(child) = slot.first_child {
                (node, depth) = (child, depth.saturating_add(1));
                continue;
            }
            loop {
                if node == top {
                    return;
                }
                if let Some(next) = self.next_sibling(node) {
                    node = next;
                    break;
                }
                let Some(parent) = self.parent(node) else { return };
                (node, depth) = (parent, depth.saturating_sub(1));
            }
        }
    }

    fn named(
        &self,
        first: Option<NodeId>,
        name: &[u8],
        next: impl Fn(&Self, NodeId) -> Option<NodeId>,
    ) -> Option<NodeId> {
        // Text nodes have an empty name, and the empty name matches nothing.
        core::iter::successors(first, |node| next(self, *node))
            .find(|node| !name.is_empty() && self.name(*node).as_bytes() == name)
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Slot> {
        self.slots.get(to_usize(id.index)).filter(|slot| slot.generation == id.generation)
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> Option<&mut Slot> {
        self.slots.get_mut(to_usize(id.index)).filter(|slot| slot.generation == id.generation)
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

impl NodeId {
    /// Returns the handle as one number, which no other node of the document has or had.
    pub fn to_bits(self) -> u64 {
        (u64::from(self.generation.get()) << 32) | u64::from(self.index)
    }

    /// Returns the place in the arena, to keep something beside each node.
    pub(crate) fn index(self) -> usize {
        to_usize(self.index)
    }
}

impl NodeKind {
    pub(super) fn has_children(self) -> bool {
        matches!(self, Self::Document | Self::Element)
    }

    pub(super) fn is_character_data(self) -> bool {
        matches!(self, Self::Cdata | Self::Text)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) kind: NodeKind,
    pub(super) generation: NonZeroU32,
    pub(super) name: Text,
    pub(super) value: Text,
    pub(super) attributes: Vec<Attribute>,
    pub(super) parent: Option<NodeId>,
    pub(super) first_child: Option<NodeId>,
    pub(super) last_child: Option<NodeId>,
    pub(super) previous: Option<NodeId>,
    pub(super) next: Option<NodeId>,
}

impl Slot {
    pub(super) fn new(kind: NodeKind) -> Self {
        Self {
            kind,
            generation: NonZeroU32::MIN,
            name: Text::default(),
            value: Text::default(),
            attributes: Vec::new(),
            parent: None,
            first_child: None,
            last_child: None,
            previous: None,
            next: None,
        }
    }
}

pub(super) fn to_usize(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
