#ifndef SCHWANN_SCHWANN_H
#define SCHWANN_SCHWANN_H
/* What Schwann can tell beyond the original interface. Link with the same library.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "lsl_c.h"
#ifdef __cplusplus
extern "C" {
#endif

/** Age of the newest pulled sample in seconds; NaN before the first, and before the offset of the sender's clock is known
 * (lsl_time_correction has it measured). */
LSL_C_API double schwann_inlet_lag(lsl_inlet inlet);
/** Samples that arrived and were dropped because they were not pulled in time. */
LSL_C_API uint64_t schwann_inlet_dropped_samples(lsl_inlet inlet);
/** Bytes of samples that wait to be pulled. */
LSL_C_API uint64_t schwann_inlet_buffered_bytes(lsl_inlet inlet);

/** What happens to the connection of an inlet. */
typedef enum {
	schwann_event_none = 0,
	schwann_event_connected = 1,
	schwann_event_recovering = 2,
	schwann_event_lost = 3,
	schwann_event_clock_reset = 4,
	schwann_event_refused = 5,     /* schwann_inlet_refusal says why */
	schwann_event_other_device = 6 /* another device than before serves the stream: schwann_inlet_peer says which */
} schwann_event_t;

/** The oldest event that was not taken yet; waits up to timeout seconds for one, and no longer than until the
    inlet is destroyed by another thread. */
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

/** How a connection travels. */
typedef enum {
	schwann_no_connection = -1,
	schwann_plain = 0, /* everybody on the network can read and change it */
	schwann_sealed = 1 /* only members of the lab can */
} schwann_security_t;

/** What a device may do, as the lab's authority says. */
typedef enum { schwann_role_publish = 1, schwann_role_subscribe = 2 } schwann_role_t;

/** Who is at the other end of a connection. All but security is 0, and texts are empty, unless it is sealed. */
typedef struct {
	int32_t security;         /* a schwann_security_t */
	int32_t roles;            /* schwann_role_t values, added */
	int32_t hybrid;           /* 1 if a quantum computer does not open a recording of the connection */
	int32_t reserved;         /* 0 */
	uint64_t serial;          /* number of the device's certificate */
	uint64_t not_after;       /* last second of its validity, since 1970-01-01 UTC */
	uint64_t revocation_list; /* number of the revocation list that the device had when it connected */
	char name[64];            /* what people call the device, UTF-8 */
	char fingerprint[64];     /* of its key, as `schwann keys status` shows it there */
} schwann_peer_t;

/** Who sends the stream. Returns peer->security, or lsl_argument_error; peer may be NULL. */
LSL_C_API int32_t schwann_inlet_peer(lsl_inlet inlet, schwann_peer_t *peer);
/** Who receives the stream: writes up to len entries, returns the number of consumers. */
LSL_C_API uint64_t schwann_outlet_peers(lsl_outlet outlet, schwann_peer_t *peers, uint64_t len);
/** Why there is no session with the outlet, and the command that mends it: writes up to len bytes with the NUL, returns the
 * length of the whole text; 0 if there is no such reason. */
LSL_C_API uint64_t schwann_inlet_refusal(lsl_inlet inlet, char *text, uint64_t len);

#ifdef __cplusplus
}
#endif

#endif
