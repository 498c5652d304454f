//! Changes to the tree.

use alloc::vec::Vec;

use super::document::{Attribute, Document, NodeId, NodeKind, Slot, to_usize};
use super::fragment::{Fragment, Piece};
use super::text::Text;

impl Document {
    /// Adds an element at the end; `None` if `parent` cannot have children.
    pub fn append_child(&mut self, parent: NodeId, name: impl AsRef<[u8]>) -> Option<NodeId> {
        self.insert(parent, SiblingEnd::Last, Piece::element(name.as_ref()))
    }

    /// Adds an element at the beginning; `None` if `parent` cannot have children.
    pub fn prepend_child(&mut self, parent: NodeId, name: impl AsRef<[u8]>) -> Option<NodeId> {
        self.insert(parent, SiblingEnd::First, Piece::element(name.as_ref()))
    }

    /// Adds `<name>value</name>` at the end and returns the new element.
    pub fn append_child_value(
        &mut self,
        parent: NodeId,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Option<NodeId> {
        let child = self.append_child(parent, name)?;
        self.append_text(child, value);
        Some(child)
    }

    /// Adds `<name>value</name>` at the beginning and returns the new element.
    pub fn prepend_child_value(
        &mut self,
        parent: NodeId,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Option<NodeId> {
        let child = self.prepend_child(parent, name)?;
        self.append_text(child, value);
        Some(child)
    }

    /// Adds a text node at the end; `None` if `parent` cannot have children.
    pub fn append_text(&mut self, parent: NodeId, value: impl AsRef<[u8]>) -> Option<NodeId> {
        self.insert(parent, SiblingEnd::Last, Piece::text(NodeKind::Text, value.as_ref()))
    }

    /// Adds a copy at the end and returns its outermost node. Returns `None` if `parent` cannot have
    /// children or the fragment is empty.
    pub fn append_copy(&mut self, parent: NodeId, fragment: &Fragment) -> Option<NodeId> {
        self.insert_fragment(parent, SiblingEnd::Last, fragment)
    }

    /// Adds a copy at the beginning; see [`Self::append_copy`].
    pub fn prepend_copy(&mut self, parent: NodeId, fragment: &Fragment) -> Option<NodeId> {
        self.insert_fragment(parent, SiblingEnd::First, fragment)
    }

    /// Removes `child` and everything below it; `false` if it is not a child of `parent`.
    pub fn remove_child(&mut self, parent: NodeId, child: NodeId) -> bool {
        if self.node(parent).is_none() || self.parent(child) != Some(parent) {
            return false;
        }
        self.unlink(parent, child);
        self.release(child);
        true
    }

    /// Removes the first child element of that name; `false` if there is none.
    pub fn remove_child_named(&mut self, parent: NodeId, name: impl AsRef<[u8]>) -> bool {
        self.child(parent, name).is_some_and(|child| self.remove_child(parent, child))
    }

    /// Renames an element; `false` for every other kind.
    pub fn set_name(&mut self, node: NodeId, name: impl AsRef<[u8]>) -> bool {
        match self.node_mut(node) {
            Some(node) if node.kind == NodeKind::Element => {
                node.name = Text::new(name);
                true
            }
            _ => false,
        }
    }

    /// Replaces the text of a text node; `false` for every other kind.
    pub fn set_value(&mut self, node: NodeId, value: impl AsRef<[u8]>) -> bool {
        match self.node_mut(node) {
            Some(node) if node.kind.is_character_data() => {
                node.value = Text::new(value);
                true
            }
            _ => false,
        }
    }

    /// Replaces the text of the first node inside child `name`. Returns `false` if that child is missing
    /// or empty.
    ///
    /// - Source: `lsl_set_child_value`, which does not create a text node either.
    pub fn set_child_value(&mut self, node: NodeId, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> bool {
        self.child(node, name)
            .and_then(|child| self.first_child(child))
            .is_some_and(|text| self.set_value(text, value))
    }

    /// Makes `value` the text of an element, and adds a text node if needed. Returns `false` if that is
    /// not possible.
    pub fn set_text(&mut self, element: NodeId, value: impl AsRef<[u8]>) -> bool {
        let text = self.children(element).find(|child| self.is_character_data(*child));
        match text {
            Some(text) => self.set_value(text, value),
            None => self.append_text(element, value).is_some(),
        }
    }

    pub(super) fn push_attribute(&mut self, node: NodeId, attribute: Attribute) {
        if let Some(node) = self.node_mut(node) {
            node.attributes.push(attribute);
        }
    }

    fn insert_fragment(&mut self, parent: NodeId, place: SiblingEnd, fragment: &Fragment) -> Option<NodeId> {
        let (outermost, below) = fragment.pieces().split_first()?;
        let copy = self.insert(parent, place, outermost.clone())?;
        let mut path = alloc::vec![copy];
        for piece in below {
            path.truncate(piece.depth);
            let parent = *path.last()?;
            path.push(self.insert(parent, SiblingEnd::Last, piece.clone())?);
        }
        Some(copy)
    }

    pub(super) fn insert(&mut self, parent: NodeId, place: SiblingEnd, piece: Piece) -> Option<NodeId> {
        if !self.kind(parent)?.has_children() || piece.kind == NodeKind::Document {
            return None;
        }
        let child = self.allocate(piece)?;
        let neighbour = match place {
            SiblingEnd::First => self.first_child(parent),
            SiblingEnd::Last => self.last_child(parent),
        };
        if let Some(slot) = self.node_mut(child) {
            slot.parent = Some(parent);
            match place {
                SiblingEnd::First => slot.next = neighbour,
                SiblingEnd::Last => slot.previous = neighbour,
            }
        }
        if let Some(slot) = neighbour.and_then(|neighbour| self.node_mut(neighbour)) {
            match place {
                SiblingEnd::First => slot.previous = Some(child),
                SiblingEnd::Last => slot.next = Some(child),
            }
        }
        if let Some(slot) = self.node_mut(parent) {
            if place == SiblingEnd::First || neighbour.is_none() {
                slot.first_child = Some(child);
            }
            if place == SiblingEnd::Last || neighbour.is_none() {
                slot.last_child = Some(child);
            }
        }
        Some(child)
    }

    fn unlink(&mut self, parent: NodeId, child: NodeId) {
        let (previous, next) = (self.previous_sibling(child), self.next_sibling(child));
        match previous.and_then(|previous| self.node_mut(previous)) {
            Some(slot) => slot.next = next,
            None => {
                if let Some(slot) = self.node_mut(parent) {
                    slot.first_child = next;
                }
            }
        }
        match next.and_then(|next| self.node_mut(next)) {
            Some(slot) => slot.previous = previous,
            None => {
                if let Some(slot) = self.node_mut(parent) {
                    slot.last_child = previous;
                }
            }
        }
    }

    fn allocate(&mut self, piece: Piece) -> Option<NodeId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot::new(piece.kind));
                index
            }
        };
        let slot = self.slots.get_mut(to_usize(index))?;
        *slot = Slot {
            name: piece.name,
            value: piece.value,
            attributes: piece.attributes,
            generation: slot.generation,
            ..Slot::new(piece.kind)
        };
        Some(NodeId { index, generation: slot.generation })
    }

    fn release(&mut self, top: NodeId) {
        let mut released = Vec::new();
        let mut next = Some(top);
        while let Some(node) = next {
            released.push(node.index);
            next = self.next_in_document(top, node);
        }
        for index in released {
            let Some(slot) = self.slots.get_mut(to_usize(index)) else { continue };
            let used_up = slot.generation;
            *slot = Slot::new(NodeKind::Document);
            // A slot with no generations left is not reused, so no old handle can come back to life.
            if let Some(generation) = used_up.checked_add(1) {
                slot.generation = generation;
                self.free.push(index);
            }
        }
    }
}

/// The end of its siblings at which a node is put.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum SiblingEnd {
    First,
    Last,
}
