#ifndef SCHWANN_LSL_TYPES_H
#define SCHWANN_LSL_TYPES_H
/* Handles. */

/** The description of a stream: streaminfo.h. Many threads may read one; a thread that changes it must be alone with it. */
typedef struct lsl_streaminfo_struct_ *lsl_streaminfo;

/** A stream that this program sends: outlet.h. Any thread may use it. */
typedef struct lsl_outlet_struct_ *lsl_outlet;

/** A stream that this program receives: inlet.h. Any thread may use it. */
typedef struct lsl_inlet_struct_ *lsl_inlet;

/** An element or a text in the tree of a description: xml.h. It belongs to its lsl_streaminfo and ends with it. NULL is the
 * empty node. */
typedef struct lsl_xml_ptr_struct_ *lsl_xml_ptr;

/** A search that goes on in the background: resolver.h. Any thread may use it. */
typedef struct lsl_continuous_resolver_ *lsl_continuous_resolver;

#endif
