#ifndef SCHWANN_LSL_COMMON_H
#define SCHWANN_LSL_COMMON_H
/* Versions, errors, strings, the clock and the configuration.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Gives back a string that this library returned; NULL is permitted. */
LSL_C_API void lsl_destroy_string(char*);
/** Gives back each of n strings; NULLs are permitted. */
LSL_C_API void lsl_destroy_string_array(char**, unsigned long);
/** Text of this thread's last error; empty if there was none. Never freed by the caller. */
LSL_C_API const char* lsl_last_error(void);
/** What this library is, and whether it seals streams. */
LSL_C_API const char* lsl_library_info(void);
/** Version of this interface, times 100. */
LSL_C_API int32_t lsl_library_version(void);
/** Seconds of the local clock. */
LSL_C_API double lsl_local_clock(void);
/** Newest protocol version spoken, times 100. */
LSL_C_API int32_t lsl_protocol_version(void);
/** Gives the configuration itself. Call it before anything else. */
LSL_C_API void lsl_set_config_content(const char*);
/** Names the configuration file. Call it before anything else. */
LSL_C_API void lsl_set_config_filename(const char*);

#ifdef __cplusplus
}
#endif

#endif
