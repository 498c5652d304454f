#ifndef SCHWANN_LSL_TYPES_H
#define SCHWANN_LSL_TYPES_H
/* Constants, enumerations and handles.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */

#ifdef __cplusplus
extern "C" {
#endif

#include <stdint.h>

/** Marks an exported function. */
#ifndef LSL_C_API
#if defined(_WIN32) && !defined(LIBLSL_STATIC)
#define LSL_C_API __declspec(dllimport)
#else
#define LSL_C_API
#endif
#endif

/** A stream without a regular rate. */
#define LSL_IRREGULAR_RATE 0.0
/** A stamp that follows from the one before. */
#define LSL_DEDUCED_TIMESTAMP -1.0
/** A timeout that never ends. */
#define LSL_FOREVER 32000000.0
/** Leaves a choice to the other side. */
#define LSL_NO_PREFERENCE 0
/** Version of this interface, times 100. */
#define LIBLSL_COMPILE_HEADER_VERSION 118

/** Types of values. */
typedef enum {
	cft_undefined = 0,
	cft_float32 = 1,
	cft_double64 = 2,
	cft_string = 3,
	cft_int32 = 4,
	cft_int16 = 5,
	cft_int8 = 6,
	cft_int64 = 7,
	_cft_maxval = 0x7f000000
} lsl_channel_format_t;

/** How stamps are processed before a pull returns them. */
typedef enum {
	proc_none = 0,
	proc_clocksync = 1,
	proc_dejitter = 2,
	proc_monotonize = 4,
	proc_threadsafe = 8,
	proc_ALL = 15,
	_proc_maxval = 0x7f000000
} lsl_processing_options_t;

/** What functions answer besides success. */
typedef enum {
	lsl_no_error = 0,
	lsl_timeout_error = -1,
	lsl_lost_error = -2,
	lsl_argument_error = -3,
	lsl_internal_error = -4,
	_lsl_error_code_maxval = 0x7f000000
} lsl_error_code_t;

/** How samples are delivered. */
typedef enum {
	transp_default = 0,
	transp_bufsize_samples = 1,
	transp_bufsize_thousandths = 2,
	transp_sync_blocking = 4,
	_lsl_transport_options_maxval = 0x7f000000
} lsl_transport_options_t;

/** The description of a stream. */
typedef struct lsl_streaminfo_struct_ *lsl_streaminfo;
/** A stream that is served. */
typedef struct lsl_outlet_struct_ *lsl_outlet;
/** A stream that is received. */
typedef struct lsl_inlet_struct_ *lsl_inlet;
/** A node of a description's tree; NULL is the empty node. */
typedef struct lsl_xml_ptr_struct_ *lsl_xml_ptr;
/** A search that goes on. */
typedef struct lsl_continuous_resolver_struct_ *lsl_continuous_resolver;

#ifdef __cplusplus
}
#endif

#endif
