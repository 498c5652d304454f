#ifndef SCHWANN_LSL_XML_H
#define SCHWANN_LSL_XML_H
/* The tree of a description, below lsl_get_desc: elements with names, and texts within them.
 *
 * Nodes and strings belong to their description and end with it. Every function accepts NULL, the empty node. A removed node
 * behaves like it: walks lead to NULL, texts are "", changes do nothing. Many threads may read a tree; a thread that changes
 * it must be alone with its description. */
#include "common.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @return The first child, element or text; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_first_child(lsl_xml_ptr e);

/** @return The last child, element or text; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_last_child(lsl_xml_ptr e);

/** @return The node behind this one with the same parent; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_next_sibling(lsl_xml_ptr e);

/** @return The node before this one with the same parent; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_previous_sibling(lsl_xml_ptr e);

/** @return The node above this one; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_parent(lsl_xml_ptr e);

/** @return The first child element called `name`; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_child(lsl_xml_ptr e, const char *name);

/** @return The next element behind this node that is called `name`; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_next_sibling_n(lsl_xml_ptr e, const char *name);

/** @return The nearest element before this node that is called `name`; NULL if there is none. */
LIBLSL_C_API lsl_xml_ptr lsl_previous_sibling_n(lsl_xml_ptr e, const char *name);

/** @return 1 for the empty node, else 0. */
LIBLSL_C_API int32_t lsl_empty(lsl_xml_ptr e);

/** @return 1 if the node is no element, else 0. */
LIBLSL_C_API int32_t lsl_is_text(lsl_xml_ptr e);

/** @return The name of an element; empty for a text. */
LIBLSL_C_API const char *lsl_name(lsl_xml_ptr e);

/** @return The text of a text; empty for an element (lsl_child_value has the text within it). */
LIBLSL_C_API const char *lsl_value(lsl_xml_ptr e);

/** @return The text within an element: that of its first child that is a text. */
LIBLSL_C_API const char *lsl_child_value(lsl_xml_ptr e);

/** @return The text within the first child element called `name`. */
LIBLSL_C_API const char *lsl_child_value_n(lsl_xml_ptr e, const char *name);

/** Adds the element `name` with the text `value` at the end. @return The node itself, so that calls can be chained. */
LIBLSL_C_API lsl_xml_ptr lsl_append_child_value(lsl_xml_ptr e, const char *name, const char *value);

/** Adds the element `name` with the text `value` at the beginning. @return The node itself, so that calls can be chained. */
LIBLSL_C_API lsl_xml_ptr lsl_prepend_child_value(lsl_xml_ptr e, const char *name, const char *value);

/** Changes the text within the first child element called `name`. @return 1 if it has a text to change, else 0. */
LIBLSL_C_API int32_t lsl_set_child_value(lsl_xml_ptr e, const char *name, const char *value);

/** Renames an element. @return 1 if the node is one, else 0. */
LIBLSL_C_API int32_t lsl_set_name(lsl_xml_ptr e, const char *name);

/** Changes a text. @return 1 if the node is one, else 0. */
LIBLSL_C_API int32_t lsl_set_value(lsl_xml_ptr e, const char *value);

/** Adds the element `name` at the end. @return The new element. */
LIBLSL_C_API lsl_xml_ptr lsl_append_child(lsl_xml_ptr e, const char *name);

/** Adds the element `name` at the beginning. @return The new element. */
LIBLSL_C_API lsl_xml_ptr lsl_prepend_child(lsl_xml_ptr e, const char *name);

/** Adds a copy of `e2`, which may be in another tree, at the end. @return The copy. */
LIBLSL_C_API lsl_xml_ptr lsl_append_copy(lsl_xml_ptr e, lsl_xml_ptr e2);

/** Adds a copy of `e2`, which may be in another tree, at the beginning. @return The copy. */
LIBLSL_C_API lsl_xml_ptr lsl_prepend_copy(lsl_xml_ptr e, lsl_xml_ptr e2);

/** Removes the first child element called `name`, with what is below it. */
LIBLSL_C_API void lsl_remove_child_n(lsl_xml_ptr e, const char *name);

/** Removes the child `e2`, with what is below it. */
LIBLSL_C_API void lsl_remove_child(lsl_xml_ptr e, lsl_xml_ptr e2);

#ifdef __cplusplus
}
#endif

#endif
