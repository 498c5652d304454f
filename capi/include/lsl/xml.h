#ifndef SCHWANN_LSL_XML_H
#define SCHWANN_LSL_XML_H
/* The tree of a description. Every function accepts NULL, the empty node.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

LSL_C_API lsl_xml_ptr lsl_append_child(lsl_xml_ptr, const char*);
LSL_C_API lsl_xml_ptr lsl_append_child_value(lsl_xml_ptr, const char*, const char*);
LSL_C_API lsl_xml_ptr lsl_append_copy(lsl_xml_ptr, lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_child(lsl_xml_ptr, const char*);
LSL_C_API const char* lsl_child_value(lsl_xml_ptr);
LSL_C_API const char* lsl_child_value_n(lsl_xml_ptr, const char*);
LSL_C_API int32_t lsl_empty(lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_first_child(lsl_xml_ptr);
LSL_C_API int32_t lsl_is_text(lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_last_child(lsl_xml_ptr);
LSL_C_API const char* lsl_name(lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_next_sibling(lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_next_sibling_n(lsl_xml_ptr, const char*);
LSL_C_API lsl_xml_ptr lsl_parent(lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_prepend_child(lsl_xml_ptr, const char*);
LSL_C_API lsl_xml_ptr lsl_prepend_child_value(lsl_xml_ptr, const char*, const char*);
LSL_C_API lsl_xml_ptr lsl_prepend_copy(lsl_xml_ptr, lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_previous_sibling(lsl_xml_ptr);
LSL_C_API lsl_xml_ptr lsl_previous_sibling_n(lsl_xml_ptr, const char*);
LSL_C_API void lsl_remove_child(lsl_xml_ptr, lsl_xml_ptr);
LSL_C_API void lsl_remove_child_n(lsl_xml_ptr, const char*);
LSL_C_API int32_t lsl_set_child_value(lsl_xml_ptr, const char*, const char*);
LSL_C_API int32_t lsl_set_name(lsl_xml_ptr, const char*);
LSL_C_API int32_t lsl_set_value(lsl_xml_ptr, const char*);
LSL_C_API const char* lsl_value(lsl_xml_ptr);

#ifdef __cplusplus
}
#endif

#endif
