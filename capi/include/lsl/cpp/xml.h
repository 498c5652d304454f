#ifndef SCHWANN_LSL_CPP_XML_H
#define SCHWANN_LSL_CPP_XML_H
/** The tree of a description, below stream_info::desc(). */
#include "common.h"

namespace lsl {

/// An element or a text in the tree of a stream_info. It belongs to that stream_info, and must not be used after it. Copies
/// stand for the same node. Every method accepts the empty node: walks lead to the empty node, texts are "", changes do
/// nothing.
class xml_element {
public:
	/// The empty node, or a node of the C interface.
	xml_element(lsl_xml_ptr node = nullptr) : obj(node) {}

	/// The first child, element or text.
	xml_element first_child() const { return lsl_first_child(obj); }
	/// The last child, element or text.
	xml_element last_child() const { return lsl_last_child(obj); }
	/// The node behind this one.
	xml_element next_sibling() const { return lsl_next_sibling(obj); }
	/// The node before this one.
	xml_element previous_sibling() const { return lsl_previous_sibling(obj); }
	/// The node above this one.
	xml_element parent() const { return lsl_parent(obj); }

	/// The first child element called `name`.
	xml_element child(const std::string &name) const { return lsl_child(obj, name.c_str()); }
	/// The next element behind this node that is called `name`.
	xml_element next_sibling(const std::string &name) const { return lsl_next_sibling_n(obj, name.c_str()); }
	/// The nearest element before this node that is called `name`.
	xml_element previous_sibling(const std::string &name) const { return lsl_previous_sibling_n(obj, name.c_str()); }

	/// Whether this is the empty node.
	bool empty() const { return lsl_empty(obj) != 0; }
	/// Whether this is no element.
	bool is_text() const { return lsl_is_text(obj) != 0; }
	/// The name of an element; empty for a text.
	const char *name() const { return lsl_name(obj); }
	/// The text of a text; empty for an element.
	const char *value() const { return lsl_value(obj); }
	/// The text within an element.
	const char *child_value() const { return lsl_child_value(obj); }
	/// The text within the first child element called `name`.
	const char *child_value(const std::string &name) const { return lsl_child_value_n(obj, name.c_str()); }

	/// Adds the element `name` with the text `value` at the end. @return This node, so that calls can be chained.
	xml_element append_child_value(const std::string &name, const std::string &value) {
		return lsl_append_child_value(obj, name.c_str(), value.c_str());
	}
	/// Adds the element `name` with the text `value` at the beginning. @return This node, so that calls can be chained.
	xml_element prepend_child_value(const std::string &name, const std::string &value) {
		return lsl_prepend_child_value(obj, name.c_str(), value.c_str());
	}
	/// Changes the text within the first child element called `name`. @return Whether it has a text to change.
	bool set_child_value(const std::string &name, const std::string &value) {
		return lsl_set_child_value(obj, name.c_str(), value.c_str()) != 0;
	}
	/// Renames an element. @return Whether the node is one.
	bool set_name(const std::string &rhs) { return lsl_set_name(obj, rhs.c_str()) != 0; }
	/// Changes a text. @return Whether the node is one.
	bool set_value(const std::string &rhs) { return lsl_set_value(obj, rhs.c_str()) != 0; }
	/// Adds the element `name` at the end. @return The new element.
	xml_element append_child(const std::string &name) { return lsl_append_child(obj, name.c_str()); }
	/// Adds the element `name` at the beginning. @return The new element.
	xml_element prepend_child(const std::string &name) { return lsl_prepend_child(obj, name.c_str()); }
	/// Adds a copy of `e`, which may be in another tree, at the end. @return The copy.
	xml_element append_copy(const xml_element &e) { return lsl_append_copy(obj, e.obj); }
	/// Adds a copy of `e`, which may be in another tree, at the beginning. @return The copy.
	xml_element prepend_copy(const xml_element &e) { return lsl_prepend_copy(obj, e.obj); }
	/// Removes the first child element called `name`, with what is below it.
	void remove_child(const std::string &name) { lsl_remove_child_n(obj, name.c_str()); }
	/// Removes the child `e`, with what is below it.
	void remove_child(const xml_element &e) { lsl_remove_child(obj, e.obj); }

private:
	lsl_xml_ptr obj;
};

} // namespace lsl

#endif
