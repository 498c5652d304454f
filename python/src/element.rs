//! Elements of descriptions, with the names and the behaviour that pylsl gives them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use schwann::{Document, NodeId, StreamInfo};

use crate::info::text;

/// A place in a description's tree; an empty one stands for nothing, and a change of it does nothing.
#[pyclass(frozen, module = "schwann._schwann", name = "XMLElement")]
pub(crate) struct Element {
    owner: Arc<Mutex<StreamInfo>>,
    id: Option<NodeId>,
}

/// What `remove_child` takes.
#[derive(FromPyObject)]
pub(crate) enum Child<'py> {
    Element(PyRef<'py, Element>),
    Name(String),
}

#[pymethods]
impl Element {
    /// The first child, text included.
    fn first_child(&self) -> Self {
        self.walk(Document::first_child)
    }

    /// The last child, text included.
    fn last_child(&self) -> Self {
        self.walk(Document::last_child)
    }

    /// The first child element of this name.
    fn child(&self, name: &str) -> Self {
        self.walk(|document, id| document.child(id, name))
    }

    /// The node behind this one; with a name the next element that has it.
    #[pyo3(signature = (name=None))]
    fn next_sibling(&self, name: Option<&str>) -> Self {
        self.walk(|document, id| match name {
            None => document.next_sibling(id),
            Some(name) => document.next_sibling_named(id, name),
        })
    }

    /// The node before this one; with a name the last element before it that has it.
    #[pyo3(signature = (name=None))]
    fn previous_sibling(&self, name: Option<&str>) -> Self {
        self.walk(|document, id| match name {
            None => document.previous_sibling(id),
            Some(name) => document.previous_sibling_named(id, name),
        })
    }

    /// The node above this one.
    fn parent(&self) -> Self {
        self.walk(Document::parent)
    }

    /// Whether there is no node.
    fn empty(&self) -> bool {
        self.look(true, |_, _| false)
    }

    /// Whether it is a text rather than an element.
    fn is_text(&self) -> bool {
        self.look(true, Document::is_text)
    }

    /// The element's name.
    fn name(&self) -> String {
        self.look(String::new(), |document, id| text(document.name(id).as_bytes()))
    }

    /// The text of a text.
    fn value(&self) -> String {
        self.look(String::new(), |document, id| text(document.value(id).as_bytes()))
    }

    /// The text within the element, or within its first child element of this name.
    #[pyo3(signature = (name=None))]
    fn child_value(&self, name: Option<&str>) -> String {
        self.look(String::new(), |document, id| match name {
            None => text(document.child_value(id).as_bytes()),
            Some(name) => text(document.child_value_named(id, name).as_bytes()),
        })
    }

    /// Adds an element with a text at the end, and returns this one.
    fn append_child_value(this: PyRef<'_, Self>, name: &str, value: &str) -> Self {
        this.change(None, |document, id| document.append_child_value(id, name, value));
        this.same()
    }

    /// Adds an element with a text at the beginning, and returns this one.
    fn prepend_child_value(this: PyRef<'_, Self>, name: &str, value: &str) -> Self {
        this.change(None, |document, id| document.prepend_child_value(id, name, value));
        this.same()
    }

    /// Changes the text of the first child element of this name, and returns this one.
    fn set_child_value(this: PyRef<'_, Self>, name: &str, value: &str) -> Self {
        this.change(false, |document, id| document.set_child_value(id, name, value));
        this.same()
    }

    /// Renames the element; says whether it is one.
    fn set_name(&self, name: &str) -> bool {
        self.change(false, |document, id| document.set_name(id, name))
    }

    /// Changes the text; says whether it is one.
    fn set_value(&self, value: &str) -> bool {
        self.change(false, |document, id| document.set_value(id, value))
    }

    /// Adds an element at the end, and returns it.
    fn append_child(&self, name: &str) -> Self {
        self.at(self.change(None, |document, id| document.append_child(id, name)))
    }

    /// Adds an element at the beginning, and returns it.
    fn prepend_child(&self, name: &str) -> Self {
        self.at(self.change(None, |document, id| document.prepend_child(id, name)))
    }

    /// Adds a copy of an element at the end, and returns it.
    fn append_copy(&self, elem: PyRef<'_, Self>) -> Self {
        let copied = elem.look(None, |document, id| Some(document.copy_of(id)));
        let added = copied.and_then(|copy| self.change(None, |document, id| document.append_copy(id, &copy)));
        self.at(added)
    }

    /// Adds a copy of an element at the beginning, and returns it.
    fn prepend_copy(&self, elem: PyRef<'_, Self>) -> Self {
        let copied = elem.look(None, |document, id| Some(document.copy_of(id)));
        let added =
            copied.and_then(|copy| self.change(None, |document, id| document.prepend_copy(id, &copy)));
        self.at(added)
    }

    /// Removes a child, which is given itself or by its name.
    fn remove_child(&self, rhs: Child<'_>) {
        match rhs {
            Child::Name(name) => {
                self.change(false, |document, id| document.remove_child_named(id, name));
            }
            Child::Element(child) => {
                let Some(child) = child.id.filter(|_| Arc::ptr_eq(&self.owner, &child.owner)) else { return };
                self.change(false, |document, id| document.remove_child(id, child));
            }
        }
    }
}

impl Element {
    pub(crate) fn of(owner: Arc<Mutex<StreamInfo>>, id: Option<NodeId>) -> Self {
        Self { owner, id }
    }

    fn at(&self, id: Option<NodeId>) -> Self {
        Self::of(Arc::clone(&self.owner), id)
    }

    fn same(&self) -> Self {
        self.at(self.id)
    }

    fn lock(&self) -> MutexGuard<'_, StreamInfo> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn walk(&self, step: impl FnOnce(&Document, NodeId) -> Option<NodeId>) -> Self {
        self.at(self.look(None, step))
    }

    /// What `look` sees there; `nothing` where no node is, or where it was removed.
    fn look<T>(&self, nothing: T, look: impl FnOnce(&Document, NodeId) -> T) -> T {
        let info = self.lock();
        let document = info.document();
        let Some(id) = self.id.filter(|id| document.contains(*id)) else { return nothing };
        look(document, id)
    }

    fn change<T>(&self, nothing: T, change: impl FnOnce(&mut Document, NodeId) -> T) -> T {
        let mut info = self.lock();
        let document = info.document_mut();
        let Some(id) = self.id.filter(|id| document.contains(*id)) else { return nothing };
        change(document, id)
    }
}
