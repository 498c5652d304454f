//! Functions of `lsl/xml.h`.
//!
//! An `lsl_xml_ptr` points to a [`Node`]. That knows its description and its place in the description's
//! tree. The same place always has the same pointer. A node whose place was removed behaves as an empty
//! one until its description is given back.

use core::ffi::{CStr, c_char};
use core::ptr;

use crate::guard::guard;
use crate::strings;

mod node;

pub use self::node::Node;
pub(crate) use self::node::Nodes;
use self::node::{TreeElement, add, change};

/// Stamps functions that lead from a node to another one, or to one of a given name.
macro_rules! walks {
    ($($(#[$doc:meta])* $name:ident => $walk:ident;)* / $($(#[$named_doc:meta])* $named:ident => $named_walk:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// - `node` is null or a node of a live description.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(node: *mut Node) -> *mut Node {
                // SAFETY: as this function's own contract.
                let Some(place) = (unsafe { TreeElement::of(node) }) else { return ptr::null_mut() };
                guard(ptr::null_mut(), || place.handle(place.document.$walk(place.id)))
            }
        )*
        $(
            $(#[$named_doc])*
            ///
            /// # Safety
            ///
            /// - `node` is null or a node of a live description, `name` null or NUL-terminated.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $named(node: *mut Node, name: *const c_char) -> *mut Node {
                // SAFETY: as this function's own contract.
                let Some(place) = (unsafe { TreeElement::of(node) }) else { return ptr::null_mut() };
                // SAFETY: as this function's own contract.
                let Some(name) = (unsafe { strings::bytes(name) }) else { return ptr::null_mut() };
                guard(ptr::null_mut(), || place.handle(place.document.$named_walk(place.id, name)))
            }
        )*
    };
}

walks! {
    /// The first child, text included.
    lsl_first_child => first_child;
    /// The last child, text included.
    lsl_last_child => last_child;
    /// The node behind this one.
    lsl_next_sibling => next_sibling;
    /// The node before this one.
    lsl_previous_sibling => previous_sibling;
    /// The node above this one.
    lsl_parent => parent;
    /
    /// The first child element of this name.
    lsl_child => child;
    /// The next element of this name behind this node.
    lsl_next_sibling_n => next_sibling_named;
    /// The next element of this name before this node.
    lsl_previous_sibling_n => previous_sibling_named;
}

/// Whether there is no node.
///
/// # Safety
///
/// - `node` is null or a node of a live description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_empty(node: *mut Node) -> i32 {
    // SAFETY: as this function's own contract.
    i32::from(unsafe { TreeElement::of(node) }.is_none())
}

/// Whether the node is not an element.
///
/// # Safety
///
/// - `node` is null or a node of a live description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_is_text(node: *mut Node) -> i32 {
    // SAFETY: as this function's own contract.
    let place = unsafe { TreeElement::of(node) };
    i32::from(place.is_none_or(|place| place.document.is_text(place.id)))
}

/// Stamps functions that return a text of a node.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident => $text:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// - `node` is null or a node of a live description.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(node: *mut Node) -> *const c_char {
            // SAFETY: as this function's own contract.
            let Some(place) = (unsafe { TreeElement::of(node) }) else { return EMPTY.as_ptr() };
            guard(EMPTY.as_ptr(), || place.document.$text(place.id).as_c_str().as_ptr())
        }
    )*};
}

texts! {
    /// Name of an element; empty for text.
    lsl_name => name;
    /// The text of a text node; empty for elements.
    lsl_value => value;
    /// The text within an element.
    lsl_child_value => child_value;
}

/// The text within the first child element of this name.
///
/// # Safety
///
/// - `node` is null or a node of a live description, `name` null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_child_value_n(node: *mut Node, name: *const c_char) -> *const c_char {
    // SAFETY: as this function's own contract.
    let Some(place) = (unsafe { TreeElement::of(node) }) else { return EMPTY.as_ptr() };
    // SAFETY: as this function's own contract.
    let Some(name) = (unsafe { strings::bytes(name) }) else { return EMPTY.as_ptr() };
    guard(EMPTY.as_ptr(), || place.document.child_value_named(place.id, name).as_c_str().as_ptr())
}

/// Adds an element with a text at the end, and returns the node itself.
///
/// # Safety
///
/// - `node` is null or a node of a live description that no other code uses meanwhile. The strings are null
///   or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_append_child_value(
    node: *mut Node,
    name: *const c_char,
    value: *const c_char,
) -> *mut Node {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    // SAFETY: as this function's own contract.
    let value = unsafe { strings::bytes(value) }.unwrap_or_default();
    guard((), || {
        // SAFETY: as this function's own contract.
        unsafe { change(node, None, |document, id| document.append_child_value(id, name, value)) };
    });
    node
}

/// Adds an element with a text at the beginning, and returns the node itself.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_prepend_child_value(
    node: *mut Node,
    name: *const c_char,
    value: *const c_char,
) -> *mut Node {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    // SAFETY: as this function's own contract.
    let value = unsafe { strings::bytes(value) }.unwrap_or_default();
    guard((), || {
        // SAFETY: as this function's own contract.
        unsafe { change(node, None, |document, id| document.prepend_child_value(id, name, value)) };
    });
    node
}

/// Changes the text of the first child element of this name; says whether there is one with a text.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_child_value(
    node: *mut Node,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    // SAFETY: as this function's own contract.
    let value = unsafe { strings::bytes(value) }.unwrap_or_default();
    guard(0, || {
        // SAFETY: as this function's own contract.
        i32::from(unsafe { change(node, false, |document, id| document.set_child_value(id, name, value)) })
    })
}

/// Renames an element; says whether it is one.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_name(node: *mut Node, name: *const c_char) -> i32 {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    guard(0, || {
        // SAFETY: as this function's own contract.
        i32::from(unsafe { change(node, false, |document, id| document.set_name(id, name)) })
    })
}

/// Changes the text of a text node; says whether it is one.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_value(node: *mut Node, value: *const c_char) -> i32 {
    // SAFETY: as this function's own contract.
    let value = unsafe { strings::bytes(value) }.unwrap_or_default();
    guard(0, || {
        // SAFETY: as this function's own contract.
        i32::from(unsafe { change(node, false, |document, id| document.set_value(id, value)) })
    })
}

/// Adds an element at the end and returns it.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_append_child(node: *mut Node, name: *const c_char) -> *mut Node {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    guard(ptr::null_mut(), || {
        // SAFETY: as this function's own contract.
        unsafe { add(node, |document, id| document.append_child(id, name)) }
    })
}

/// Adds an element at the beginning and returns it.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_prepend_child(node: *mut Node, name: *const c_char) -> *mut Node {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    guard(ptr::null_mut(), || {
        // SAFETY: as this function's own contract.
        unsafe { add(node, |document, id| document.prepend_child(id, name)) }
    })
}

/// Adds a copy of `original`, which may be in another tree, at the end and returns it.
///
/// # Safety
///
/// - As [`lsl_append_child_value`], for both nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_append_copy(node: *mut Node, original: *mut Node) -> *mut Node {
    // SAFETY: as this function's own contract.
    let Some(fragment) = (unsafe { TreeElement::of(original) }) else { return ptr::null_mut() };
    guard(ptr::null_mut(), || {
        let fragment = fragment.document.copy_of(fragment.id);
        // SAFETY: as this function's own contract.
        unsafe { add(node, |document, id| document.append_copy(id, &fragment)) }
    })
}

/// Adds a copy of `original`, which may be in another tree, at the beginning and returns it.
///
/// # Safety
///
/// - As [`lsl_append_copy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_prepend_copy(node: *mut Node, original: *mut Node) -> *mut Node {
    // SAFETY: as this function's own contract.
    let Some(fragment) = (unsafe { TreeElement::of(original) }) else { return ptr::null_mut() };
    guard(ptr::null_mut(), || {
        let fragment = fragment.document.copy_of(fragment.id);
        // SAFETY: as this function's own contract.
        unsafe { add(node, |document, id| document.prepend_copy(id, &fragment)) }
    })
}

/// Removes the first child element of this name.
///
/// # Safety
///
/// - As [`lsl_append_child_value`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_remove_child_n(node: *mut Node, name: *const c_char) {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) }.unwrap_or_default();
    guard((), || {
        // SAFETY: as this function's own contract.
        unsafe { change(node, false, |document, id| document.remove_child_named(id, name)) };
    });
}

/// Removes a child.
///
/// # Safety
///
/// - As [`lsl_append_child_value`], for both nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_remove_child(node: *mut Node, child: *mut Node) {
    // SAFETY: as this function's own contract.
    let (Some(parent), Some(child)) = (unsafe { node.as_ref() }, unsafe { child.as_ref() }) else { return };
    if parent.owner != child.owner {
        return;
    }
    guard((), || {
        // SAFETY: as this function's own contract.
        unsafe { change(node, false, |document, id| document.remove_child(id, child.id)) };
    });
}

/// The text that stands for none; never null, because wrappers decode it.
const EMPTY: &CStr = c"";
