#ifndef SCHWANN_SCHWANN_H
#define SCHWANN_SCHWANN_H
/* What Schwann can tell beyond the original interface. Link with the same library.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "lsl_c.h"
#ifdef __cplusplus
extern "C" {
#endif

/** Age of the newest pulled sample in seconds, corrected by the clock offset where it is known; NaN before the first. */
LSL_C_API double schwann_inlet_lag(lsl_inlet inlet);
/** Samples that arrived and were dropped because nobody pulled them in time. */
LSL_C_API uint64_t schwann_inlet_dropped_samples(lsl_inlet inlet);
/** Bytes of samples that wait to be pulled. */
LSL_C_API uint64_t schwann_inlet_buffered_bytes(lsl_inlet inlet);

/** What happens to the connection of an inlet. */
typedef enum {
	schwann_event_none = 0,
	schwann_event_connected = 1,
	schwann_event_recovering = 2,
	schwann_event_lost = 3,
	schwann_event_clock_reset = 4
} schwann_event_t;

/** The oldest event that was not taken yet; waits up to timeout seconds for one. */
LSL_C_API int32_t schwann_inlet_next_event(lsl_inlet inlet, double timeout);

/** Number of inlets that receive the stream. */
LSL_C_API uint64_t schwann_outlet_consumer_count(lsl_outlet outlet);
/** Waits up to timeout seconds until count inlets receive the stream; 1 if they do. */
LSL_C_API int32_t schwann_outlet_wait_for_consumers(lsl_outlet outlet, uint64_t count, double timeout);
/** Waits up to timeout seconds until the system has every sample pushed so far; 0, or lsl_timeout_error. */
LSL_C_API int32_t schwann_outlet_flush(lsl_outlet outlet, double timeout);
/** Samples that all consumers together, also those that are gone, were too slow for. */
LSL_C_API uint64_t schwann_outlet_dropped_samples(lsl_outlet outlet);
/** Samples that each present consumer was too slow for: writes up to len counts, returns the number of consumers. */
LSL_C_API uint64_t schwann_outlet_dropped_by_consumer(lsl_outlet outlet, uint64_t *counts, uint64_t len);
/** Bytes that wait for consumers that lag. */
LSL_C_API uint64_t schwann_outlet_buffered_bytes(lsl_outlet outlet);

#ifdef __cplusplus
}
#endif

#endif
