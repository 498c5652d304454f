#ifndef SCHWANN_LSL_COMMON_H
#define SCHWANN_LSL_COMMON_H
/* Constants, errors, the clock, strings and the configuration. Any thread may call these functions. */

#if !defined(LIBLSL_FFI)
#include <stdint.h>
#endif

/* Marks an exported function. LIBLSL_FFI is for programs that read these headers instead of compiling them. */
#if defined(_WIN32) && !defined(LIBLSL_STATIC) && !defined(LIBLSL_FFI)
#define LIBLSL_C_API __declspec(dllimport)
#else
#define LIBLSL_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The rate, in Hz, of a stream whose samples come at no fixed rate, such as markers. */
#define LSL_IRREGULAR_RATE 0.0

/** A stamp deduced from the one before: one sample period later, or equal if the stream has no rate. */
#define LSL_DEDUCED_TIMESTAMP -1.0

/** A timeout without limit. */
#define LSL_FOREVER 32000000.0

/** A chunk size that leaves the choice to the other end. */
#define LSL_NO_PREFERENCE 0

/** Version of the interface that these headers describe, times 100. */
#define LIBLSL_COMPILE_HEADER_VERSION 118

/** Type of a stream's values; all channels have the same. */
typedef enum {
	cft_undefined = 0, /* none: such a stream cannot be sent */
	cft_float32 = 1,   /* float */
	cft_double64 = 2,  /* double */
	cft_string = 3,    /* text or bytes of any length */
	cft_int32 = 4,     /* int32_t */
	cft_int16 = 5,     /* int16_t */
	cft_int8 = 6,      /* char, read as a signed number */
	cft_int64 = 7,     /* int64_t */
	_cft_maxval = 0x7f000000 /* makes the type four bytes wide */
} lsl_channel_format_t;

/** What an inlet does with stamps before a pull returns them; add what you want. */
typedef enum {
	proc_none = 0,       /* nothing: stamps as they were sent */
	proc_clocksync = 1,  /* moves them to the local clock: adds lsl_time_correction */
	proc_dejitter = 2,   /* smooths them: a straight line through the stamps, which follows slowly; for regular rates */
	proc_monotonize = 4, /* lets none be smaller than the one before */
	proc_threadsafe = 8, /* several threads may pull; here they always may */
	proc_ALL = 15,
	_proc_maxval = 0x7f000000
} lsl_processing_options_t;

/** Errors. lsl_last_error has the text. */
typedef enum {
	lsl_no_error = 0,
	lsl_timeout_error = -1,  /* the time was over: try again */
	lsl_lost_error = -2,     /* the stream is gone and does not come back to this inlet: resolve it again */
	lsl_argument_error = -3, /* an argument is wrong: mend the call */
	lsl_internal_error = -4, /* anything else, such as a chunk whose length does not fit the channels */
	_lsl_error_code_maxval = 0x7f000000
} lsl_error_code_t;

/** Options of outlets and inlets; add what you want. The two of the buffer exclude each other. */
typedef enum {
	transp_default = 0,             /* buffers are in seconds, or in hundreds of samples without a rate */
	transp_bufsize_samples = 1,     /* buffers are in samples */
	transp_bufsize_thousandths = 2, /* buffers are in thousandths of the default unit */
	transp_sync_blocking = 4,       /* outlets of numbers: a push returns once every inlet's connection has taken the sample */
	_lsl_transport_options_maxval = 0x7f000000
} lsl_transport_options_t;

/**
 * Says what went wrong last in this thread.
 *
 * @return Text of at most 511 bytes; empty if nothing did. It belongs to the library and changes with the thread's next error.
 */
LIBLSL_C_API const char *lsl_last_error(void);

/** @return The newest version of the protocol that this program speaks, times 100: 110, unless its configuration says less. */
LIBLSL_C_API int32_t lsl_protocol_version(void);

/** @return The version of the interface that this library has, times 100. */
LIBLSL_C_API int32_t lsl_library_version(void);

/** @return What this library is, and whether it seals streams; for people to read. It belongs to the library. */
LIBLSL_C_API const char *lsl_library_info(void);

/**
 * Reads the clock that stamps are on: seconds since this computer started. It never goes back. Other computers have other
 * clocks; lsl_time_correction says how far they are away.
 */
LIBLSL_C_API double lsl_local_clock(void);

/** Gives back a string that this library allocated (free() does, too). @param text The string, or NULL. */
LIBLSL_C_API void lsl_destroy_string(char *text);

/**
 * Gives back each string of an array, but not the array.
 *
 * @param texts Strings that this library allocated; NULLs are permitted.
 * @param count Number of places in the array.
 */
LIBLSL_C_API void lsl_destroy_string_array(char **texts, unsigned long count);

/**
 * Names the configuration file. Call it before any other function: the configuration is read once. A later call changes
 * nothing and says so on the standard error output.
 *
 * @param filename Path of an lsl_api.cfg.
 */
LIBLSL_C_API void lsl_set_config_filename(const char *filename);

/** Gives the configuration itself, in place of a file; otherwise as lsl_set_config_filename. @param content Text as in the file. */
LIBLSL_C_API void lsl_set_config_content(const char *content);

#ifdef __cplusplus
}
#endif

#endif
