//! What an `lsl_xml_ptr` stands for.

use core::ptr;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use schwann_proto::wire::xml::{Document, NodeId};

use crate::streaminfo::Info;

/// What an `lsl_xml_ptr` points to.
pub struct Node {
    pub(super) owner: *mut Info,
    pub(super) id: NodeId,
}

/// The nodes of one description that were handed out.
#[derive(Default)]
pub(crate) struct Nodes(Mutex<HashMap<u64, Box<Node>>>);

impl Nodes {
    /// The pointer that stands for a place in the tree of `owner`; null for none.
    pub(crate) fn handle(&self, owner: *mut Info, id: Option<NodeId>) -> *mut Node {
        let Some(id) = id else { return ptr::null_mut() };
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let node = nodes.entry(id.to_bits()).or_insert_with(|| Box::new(Node { owner, id }));
        ptr::from_mut(node.as_mut())
    }
}

/// A node and the tree that it is in.
pub(super) struct TreeElement<'a> {
    info: *mut Info,
    pub(super) document: &'a Document,
    nodes: &'a Nodes,
    pub(super) id: NodeId,
}

impl TreeElement<'_> {
    /// What a pointer stands for; nothing for null and for nodes that were removed.
    ///
    /// # Safety
    ///
    /// - `node` is null or a node of a live description that no other code changes meanwhile.
    pub(super) unsafe fn of(node: *mut Node) -> Option<Self> {
        // SAFETY: as the caller promises.
        let node = unsafe { node.as_ref() }?;
        // SAFETY: the description is live, so its handle is.
        let info = unsafe { Info::of(node.owner) }?;
        let document = info.info.document();
        document.contains(node.id).then_some(Self {
            info: node.owner,
            document,
            nodes: &info.nodes,
            id: node.id,
        })
    }

    /// The pointer that stands for a place in the same tree; null for none.
    pub(super) fn handle(&self, id: Option<NodeId>) -> *mut Node {
        self.nodes.handle(self.info, id)
    }
}

/// Changes the tree of `node`; returns `failure` for null and for removed nodes.
///
/// # Safety
///
/// - `node` is null or a node of a live description that no other code uses meanwhile.
pub(super) unsafe fn change<R>(
    node: *mut Node,
    failure: R,
    change: impl FnOnce(&mut Document, NodeId) -> R,
) -> R {
    // SAFETY: as the caller promises.
    let Some(place) = (unsafe { node.as_ref() }) else { return failure };
    // SAFETY: the description is live, and the caller is alone with it.
    let Some(owner) = (unsafe { place.owner.as_mut() }) else { return failure };
    let document = owner.info.document_mut();
    if !document.contains(place.id) {
        return failure;
    }
    change(document, place.id)
}

/// Adds a node and returns its pointer.
///
/// # Safety
///
/// - As [`change`].
pub(super) unsafe fn add(
    node: *mut Node,
    place: impl FnOnce(&mut Document, NodeId) -> Option<NodeId>,
) -> *mut Node {
    // SAFETY: as the caller promises.
    let added = unsafe { change(node, None, place) };
    // SAFETY: as the caller promises.
    let Some(place) = (unsafe { TreeElement::of(node) }) else { return ptr::null_mut() };
    place.handle(added)
}
