#ifndef SCHWANN_SCHWANN_H
#define SCHWANN_SCHWANN_H
/* What Schwann can tell beyond lsl_c.h: lag, losses, events and who is at the other end. It is in the same library.
 *
 * Any thread may call these functions, several at the same time. Only the three that have a timeout wait; timeouts are in
 * seconds. NULL for a handle counts as an inlet or outlet without anything. */
#include "lsl_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Inlets. */

/**
 * Says how old the newest pulled sample is.
 *
 * @return Seconds from its stamp until now. NaN before the first pull, and before the sender's clock offset is known;
 *         lsl_time_correction has it measured.
 */
LIBLSL_C_API double schwann_inlet_lag(lsl_inlet inlet);

/**
 * Makes pulls pass over samples that are too old. A program that cannot keep up then sees the present.
 *
 * What was passed over counts in schwann_inlet_dropped_samples, exactly. A sample's age is that of its timestamp, so the first
 * pull waits for the offset of the sender's clock.
 *
 * @param seconds Greatest age; 0 or less delivers every sample, as at the beginning.
 * @return lsl_no_error; lsl_argument_error for NULL.
 */
LIBLSL_C_API int32_t schwann_inlet_set_max_lag(lsl_inlet inlet, double seconds);

/** What is the matter with a stream, or that it is over. */
typedef struct {
	int32_t event;    /* schwann_event_behind, schwann_event_caught_up or schwann_event_silent */
	int32_t reserved; /* 0 */
	double lag;       /* age in seconds of the oldest sample that waits; of a silent stream, how long ago something came */
	uint64_t skipped; /* samples that the program will not get: schwann_inlet_dropped_samples */
} schwann_alarm_t;

/** Called by a thread of the inlet. It returns soon, and does not destroy the inlet. */
typedef void (*schwann_alarm_callback_t)(const schwann_alarm_t *alarm, void *user);

/**
 * Has a function called when the program falls behind, whether it pulls or not. The function is also called when the stream
 * is silent, and when either is over.
 *
 * Samples that were skipped count as behind. After another function is set, a call of the one before may still be under way.
 * After lsl_destroy_inlet there is none.
 *
 * @param max_lag Seconds of age, or of silence of a stream with a rate, that are too many. 0 or less tells only of skipped
 *        samples.
 * @param callback The function; NULL ends that.
 * @param user What it is called with.
 * @return lsl_no_error; lsl_argument_error for NULL.
 */
LIBLSL_C_API int32_t schwann_inlet_set_alarm(
	lsl_inlet inlet, double max_lag, schwann_alarm_callback_t callback, void *user);

/** @return Number of samples that arrived and were dropped because they were not pulled in time, or were too old. */
LIBLSL_C_API uint64_t schwann_inlet_dropped_samples(lsl_inlet inlet);

/** @return Bytes of samples that wait to be pulled. */
LIBLSL_C_API uint64_t schwann_inlet_buffered_bytes(lsl_inlet inlet);

/** What happened to the connection of an inlet. */
typedef enum {
	schwann_event_none = 0,        /* nothing in time */
	schwann_event_connected = 1,   /* samples arrive */
	schwann_event_recovering = 2,  /* the connection broke, and the stream is looked for */
	schwann_event_lost = 3,        /* the stream does not come back to this inlet */
	schwann_event_clock_reset = 4, /* the sender may have another clock now */
	schwann_event_refused = 5,     /* there is no session with the outlet: schwann_inlet_refusal says why */
	schwann_event_other_device = 6, /* another device than before sends the stream: schwann_inlet_peer says which */
	schwann_event_behind = 7,      /* the program gets old samples, or lost some: schwann_inlet_set_alarm says what is old */
	schwann_event_caught_up = 8,   /* it gets samples of the present again */
	schwann_event_silent = 9       /* nothing arrives although the stream has a rate, or the connection broke */
} schwann_event_t;

/**
 * Takes the oldest event that was not taken yet, or waits for one.
 *
 * @param timeout Seconds. If another thread destroys the inlet, the wait ends.
 * @return A schwann_event_t; lsl_argument_error for NULL.
 */
LIBLSL_C_API int32_t schwann_inlet_next_event(lsl_inlet inlet, double timeout);

/**
 * Says why there is no session with the outlet, and the command that mends it.
 *
 * @param text Receives as much as fits, with NUL at the end; may be NULL.
 * @param len Bytes of room there.
 * @return Bytes of the whole text without NUL; 0 if there is no such reason.
 */
LIBLSL_C_API uint64_t schwann_inlet_refusal(lsl_inlet inlet, char *text, uint64_t len);

/* Outlets. */

/** @return Number of inlets that receive the stream. */
LIBLSL_C_API uint64_t schwann_outlet_consumer_count(lsl_outlet outlet);

/**
 * Waits until several inlets receive the stream.
 *
 * @param count How many.
 * @param timeout Seconds.
 * @return 1 if they do, 0 if the time was over.
 */
LIBLSL_C_API int32_t schwann_outlet_wait_for_consumers(lsl_outlet outlet, uint64_t count, double timeout);

/**
 * Sends what was pushed for later, and waits until the system has taken every sample for every inlet. Call it before a program
 * ends.
 *
 * @param timeout Seconds.
 * @return lsl_no_error; lsl_timeout_error if an inlet has not taken its part by then (nothing of it is lost);
 *         lsl_argument_error for NULL.
 */
LIBLSL_C_API int32_t schwann_outlet_flush(lsl_outlet outlet, double timeout);

/** @return Number of samples that inlets, present or gone, were too slow for; one sample counts once per inlet. */
LIBLSL_C_API uint64_t schwann_outlet_dropped_samples(lsl_outlet outlet);

/**
 * Says how many samples each inlet that is there was too slow for.
 *
 * @param counts Receives a number per inlet; may be NULL.
 * @param len Places there.
 * @return Number of inlets, which may be more than `len`.
 */
LIBLSL_C_API uint64_t schwann_outlet_dropped_by_consumer(lsl_outlet outlet, uint64_t *counts, uint64_t len);

/** An inlet as its outlet sees it. */
typedef struct {
	uint64_t dropped_samples; /* samples that it was too slow for */
	uint64_t waiting_bytes;   /* bytes that wait for it */
	uint64_t skipped_samples; /* samples that arrived there and that its program will not get; 0 if it has said nothing */
	double lag;               /* seconds by which its program was behind when it said so; 0 once it has caught up */
	char name[128];           /* the device's name if it has proven one, and its address or its process; UTF-8, with NUL */
} schwann_consumer_t;

/**
 * Says who receives the stream, and who is too slow for it.
 *
 * @param consumers Receives an entry per inlet; may be NULL.
 * @param len Places there.
 * @return Number of inlets, which may be more than `len`.
 */
LIBLSL_C_API uint64_t schwann_outlet_consumers(lsl_outlet outlet, schwann_consumer_t *consumers, uint64_t len);

/** @return Bytes that wait for inlets that lag. */
LIBLSL_C_API uint64_t schwann_outlet_buffered_bytes(lsl_outlet outlet);

/* The peer at the other end. */

/** How a connection travels. */
typedef enum {
	schwann_no_connection = -1,
	schwann_plain = 0, /* everybody on the network can read and change it */
	schwann_sealed = 1 /* only members of the lab can */
} schwann_security_t;

/** What a device may do, as the lab's authority says. */
typedef enum {
	schwann_role_publish = 1,  /* send streams */
	schwann_role_subscribe = 2 /* receive streams */
} schwann_role_t;

/** The device at the other end of a connection. Unless that is sealed, numbers are 0 and texts are empty. */
typedef struct {
	int32_t security;         /* a schwann_security_t */
	int32_t roles;            /* schwann_role_t values, added */
	int32_t hybrid;           /* 1 if a quantum computer does not open a recording of the connection */
	int32_t reserved;         /* 0 */
	uint64_t serial;          /* number of the device's certificate */
	uint64_t not_after;       /* last second of its validity, since 1970-01-01 UTC */
	uint64_t revocation_list; /* number of the revocation list that the device had when it connected */
	char name[64];            /* what people call the device, UTF-8, with NUL at the end */
	char fingerprint[64];     /* of its key, as `schwann keys status` shows it there, with NUL at the end */
} schwann_peer_t;

/**
 * Says who sends the stream.
 *
 * @param peer Receives the device; may be NULL.
 * @return A schwann_security_t; lsl_argument_error for NULL as inlet.
 */
LIBLSL_C_API int32_t schwann_inlet_peer(lsl_inlet inlet, schwann_peer_t *peer);

/**
 * Says who receives the stream.
 *
 * @param peers Receives an entry per inlet; may be NULL.
 * @param len Places there.
 * @return Number of inlets, which may be more than `len`.
 */
LIBLSL_C_API uint64_t schwann_outlet_peers(lsl_outlet outlet, schwann_peer_t *peers, uint64_t len);

#ifdef __cplusplus
}
#endif

#endif
