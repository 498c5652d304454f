#ifndef SCHWANN_LSL_RESOLVER_H
#define SCHWANN_LSL_RESOLVER_H
/* Searches for streams.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

LSL_C_API lsl_continuous_resolver lsl_create_continuous_resolver(double);
LSL_C_API lsl_continuous_resolver lsl_create_continuous_resolver_bypred(const char*, double);
LSL_C_API lsl_continuous_resolver lsl_create_continuous_resolver_byprop(const char*, const char*, double);
LSL_C_API void lsl_destroy_continuous_resolver(lsl_continuous_resolver);
LSL_C_API int32_t lsl_resolve_all(lsl_streaminfo*, uint32_t, double);
LSL_C_API int32_t lsl_resolve_bypred(lsl_streaminfo*, uint32_t, const char*, int32_t, double);
LSL_C_API int32_t lsl_resolve_byprop(lsl_streaminfo*, uint32_t, const char*, const char*, int32_t, double);
LSL_C_API int32_t lsl_resolver_results(lsl_continuous_resolver, lsl_streaminfo*, uint32_t);

#ifdef __cplusplus
}
#endif

#endif
