#ifndef SCHWANN_LSL_RESOLVER_H
#define SCHWANN_LSL_RESOLVER_H
/* Searches for streams on this computer and the network, within the LSL session of the configuration. Any thread may search.
 *
 * The functions that search write descriptions into an array of the caller and return how many. The caller gives each back
 * with lsl_destroy_streaminfo. A negative result is an error: lsl_argument_error for a malformed condition,
 * lsl_internal_error if nothing can be searched. What is found has no metadata yet: lsl_get_fullinfo fetches it. */
#include "common.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Finds all streams.
 *
 * @param buffer Where the descriptions go.
 * @param buffer_elements Number of places there.
 * @param wait_time Seconds to search; 1 finds what answers on a healthy network.
 * @return Number of descriptions written, or an error.
 */
LIBLSL_C_API int32_t lsl_resolve_all(lsl_streaminfo *buffer, uint32_t buffer_elements, double wait_time);

/**
 * Finds streams by one property.
 *
 * @param buffer Where the descriptions go.
 * @param buffer_elements Number of places there.
 * @param prop The property: "name", "type", "source_id", or a path such as "desc/manufacturer".
 * @param value What it must be equal to.
 * @param minimum The search ends as soon as it has found so many.
 * @param timeout Seconds after which it ends at the latest.
 * @return Number of descriptions written, less than `minimum` if the time was over, or an error.
 */
LIBLSL_C_API int32_t lsl_resolve_byprop(lsl_streaminfo *buffer, uint32_t buffer_elements, const char *prop, const char *value,
	int32_t minimum, double timeout);

/**
 * Finds streams by a condition.
 *
 * @param buffer Where the descriptions go.
 * @param buffer_elements Number of places there.
 * @param pred XPath 1.0 on the element `info`, such as "type='EEG' and starts-with(name,'Bio')".
 * @param minimum The search ends as soon as it has found so many.
 * @param timeout Seconds after which it ends at the latest.
 * @return Number of descriptions written, less than `minimum` if the time was over, or an error.
 */
LIBLSL_C_API int32_t lsl_resolve_bypred(lsl_streaminfo *buffer, uint32_t buffer_elements, const char *pred, int32_t minimum,
	double timeout);

/**
 * Searches all streams in the background.
 *
 * @param forget_after Seconds after which a stream that no longer answers leaves the results.
 * @return A search that the caller gives back with lsl_destroy_continuous_resolver; NULL if it cannot start.
 */
LIBLSL_C_API lsl_continuous_resolver lsl_create_continuous_resolver(double forget_after);

/** Searches by one property in the background; as lsl_resolve_byprop and lsl_create_continuous_resolver. */
LIBLSL_C_API lsl_continuous_resolver lsl_create_continuous_resolver_byprop(const char *prop, const char *value,
	double forget_after);

/** Searches by a condition in the background; as lsl_resolve_bypred and lsl_create_continuous_resolver. */
LIBLSL_C_API lsl_continuous_resolver lsl_create_continuous_resolver_bypred(const char *pred, double forget_after);

/**
 * Reads what a background search knows now; does not wait.
 *
 * @param resolver The search.
 * @param buffer Where the descriptions go.
 * @param buffer_elements Number of places there; at most 1,024 are used.
 * @return Number of descriptions written, or an error.
 */
LIBLSL_C_API int32_t lsl_resolver_results(lsl_continuous_resolver resolver, lsl_streaminfo *buffer, uint32_t buffer_elements);

/** Ends a background search. No other thread may use it any more. @param resolver The search, or NULL. */
LIBLSL_C_API void lsl_destroy_continuous_resolver(lsl_continuous_resolver resolver);

#ifdef __cplusplus
}
#endif

#endif
