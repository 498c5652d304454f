//! Which nodes lie on an axis, nearest first.

use alloc::vec::Vec;

use super::TooCostly;
use super::evaluate::Evaluator;
use super::syntax::{Axis, NodeTest};
use super::value::Node;
use crate::wire::xml::{NodeId, NodeKind};

impl Evaluator<'_> {
    /// Returns the nodes on the axis that pass the test, in the order of the axis.
    pub(super) fn axis(&mut self, node: Node, axis: Axis, test: &NodeTest) -> Result<Vec<Node>, TooCostly> {
        let mut found = Vec::new();
        if let Some(attribute) = node.attribute {
            self.attribute_axis(node, attribute, axis, test, &mut found)?;
            return Ok(found);
        }
        let document = self.document;
        let id = node.id;
        match axis {
            Axis::Ancestor => self.follow(document.parent(id), test, &mut found, |id| document.parent(id))?,
            Axis::AncestorOrSelf => self.follow(Some(id), test, &mut found, |id| document.parent(id))?,
            Axis::Attribute => self.attributes(id, test, &mut found)?,
            Axis::Child => {
                self.follow(document.first_child(id), test, &mut found, |id| document.next_sibling(id))?;
            }
            Axis::Descendant => self.follow(document.first_child(id), test, &mut found, |next| {
                document.next_in_document(id, next)
            })?,
            Axis::DescendantOrSelf => {
                self.follow(Some(id), test, &mut found, |next| document.next_in_document(id, next))?;
            }
            Axis::Following => {
                let root = document.root();
                let first = document.next_after_subtree(root, id);
                self.follow(first, test, &mut found, |next| document.next_in_document(root, next))?;
            }
            Axis::FollowingSibling => {
                self.follow(document.next_sibling(id), test, &mut found, |id| document.next_sibling(id))?;
            }
            Axis::Itself => self.follow(Some(id), test, &mut found, |_| None)?,
            Axis::Namespace => {}
            Axis::Parent => self.follow(document.parent(id), test, &mut found, |_| None)?,
            Axis::Preceding => self.preceding(id, test, &mut found)?,
            Axis::PrecedingSibling => {
                let first = document.previous_sibling(id);
                self.follow(first, test, &mut found, |id| document.previous_sibling(id))?;
            }
        }
        Ok(found)
    }

    /// An attribute has a parent but is no element's child. It has no siblings and no children.
    fn attribute_axis(
        &mut self,
        node: Node,
        attribute: usize,
        axis: Axis,
        test: &NodeTest,
        found: &mut Vec<Node>,
    ) -> Result<(), TooCostly> {
        let document = self.document;
        self.spend(1)?;
        let itself = matches!(axis, Axis::AncestorOrSelf | Axis::DescendantOrSelf | Axis::Itself);
        // No axis but the attribute axis has attributes as its principal nodes, so no name can match here.
        if itself && matches!(test, NodeTest::AnyNode) {
            found.push(Node { id: node.id, attribute: Some(attribute) });
        }
        match axis {
            Axis::Ancestor | Axis::AncestorOrSelf => {
                self.follow(Some(node.id), test, found, |id| document.parent(id))
            }
            Axis::Following => {
                let root = document.root();
                let first = document.next_in_document(root, node.id);
                self.follow(first, test, found, |next| document.next_in_document(root, next))
            }
            Axis::Parent => self.follow(Some(node.id), test, found, |_| None),
            Axis::Preceding => self.preceding(node.id, test, found),
            _ => Ok(()),
        }
    }

    fn attributes(&mut self, id: NodeId, test: &NodeTest, found: &mut Vec<Node>) -> Result<(), TooCostly> {
        for (index, attribute) in self.document.attributes(id).iter().enumerate() {
            self.spend(1)?;
            let name = attribute.name.as_bytes();
            let passes = match test {
                NodeTest::AnyName | NodeTest::AnyNode => true,
                NodeTest::Name(wanted) => name == &**wanted,
                NodeTest::Nothing | NodeTest::Text => false,
                NodeTest::Prefix(prefix) => name.starts_with(prefix),
            };
            // A namespace declaration looks like an attribute but is none.
            if passes && name != b"xmlns" && !name.starts_with(b"xmlns:") {
                found.push(Node { id, attribute: Some(index) });
            }
        }
        Ok(())
    }

    /// All nodes that end before this one begins; its ancestors do not.
    fn preceding(&mut self, id: NodeId, test: &NodeTest, found: &mut Vec<Node>) -> Result<(), TooCostly> {
        let document = self.document;
        let root = document.root();
        let mut ancestor = document.parent(id);
        let mut ancestors = Vec::new();
        while let Some(node) = ancestor {
            self.spend(1)?;
            ancestors.push(node);
            ancestor = document.parent(node);
        }
        let first_found = found.len();
        let mut next = Some(root);
        while let Some(node) = next.filter(|node| *node != id) {
            self.spend(1)?;
            // Seen from the root, the path to `id` is the ancestors from the last to the first.
            if ancestors.last() == Some(&node) {
                ancestors.pop();
            } else if self.passes(node, test) {
                found.push(Node::from(node));
            }
            next = document.next_in_document(root, node);
        }
        if let Some(found) = found.get_mut(first_found..) {
            found.reverse();
        }
        Ok(())
    }

    fn follow(
        &mut self,
        first: Option<NodeId>,
        test: &NodeTest,
        found: &mut Vec<Node>,
        next: impl Fn(NodeId) -> Option<NodeId>,
    ) -> Result<(), TooCostly> {
        let mut node = first;
        while let Some(id) = node {
            self.spend(1)?;
            if self.passes(id, test) {
                found.push(Node::from(id));
            }
            node = next(id);
        }
        Ok(())
    }

    /// Applies a node test where elements are the principal nodes.
    fn passes(&self, id: NodeId, test: &NodeTest) -> bool {
        let is_element = || self.document.kind(id) == Some(NodeKind::Element);
        let name = || self.document.name(id).as_bytes();
        match test {
            NodeTest::AnyName => is_element(),
            NodeTest::AnyNode => true,
            NodeTest::Name(wanted) => name() == &**wanted,
            NodeTest::Nothing => false,
            NodeTest::Prefix(prefix) => name().starts_with(prefix),
            NodeTest::Text => self.document.is_character_data(id),
        }
    }
}
