#ifndef SCHWANN_LSL_INLET_H
#define SCHWANN_LSL_INLET_H
/* Inlets: where samples come in.
 *
 * Any thread may use an inlet, several at the same time. Timeouts are in seconds. ec, where a function has it, receives
 * lsl_no_error or the error, and may be NULL. */
#include "common.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a receiver. It connects with lsl_open_stream, or with the first pull.
 *
 * @param info What a search found (resolver.h), or any full description of the stream; the inlet copies it.
 * @param max_buflen What is kept between pulls: seconds, or hundreds of samples if the stream has no rate. Beyond that the
 *        oldest samples are dropped. 360 is usual.
 * @param max_chunklen Samples per send of the outlet; 0 leaves that to the outlet.
 * @param recover 1 to find the stream again by its source id after its sender restarted; 0 to report lsl_lost_error.
 * @return An inlet that the caller gives back with lsl_destroy_inlet; NULL, with lsl_last_error, if there can be none.
 */
LIBLSL_C_API lsl_inlet lsl_create_inlet(lsl_streaminfo info, int32_t max_buflen, int32_t max_chunklen, int32_t recover);

/** Does what lsl_create_inlet does, with options. @param flags lsl_transport_options_t values, added. */
LIBLSL_C_API lsl_inlet lsl_create_inlet_ex(lsl_streaminfo info, int32_t max_buflen, int32_t max_chunklen, int32_t recover,
	uint32_t flags);

/** Disconnects and ends the inlet. A thread that waits in it comes back. @param in The inlet, or NULL. */
LIBLSL_C_API void lsl_destroy_inlet(lsl_inlet in);

/**
 * Fetches the whole description, with metadata.
 *
 * @param timeout Seconds.
 * @param ec lsl_timeout_error; lsl_lost_error; lsl_internal_error if it cannot be read.
 * @return A description that the caller gives back with lsl_destroy_streaminfo; NULL on an error.
 */
LIBLSL_C_API lsl_streaminfo lsl_get_fullinfo(lsl_inlet in, double timeout, int32_t *ec);

/**
 * Connects: all samples that are pushed after it returned are kept for a pull.
 *
 * @param timeout Seconds.
 * @param ec lsl_timeout_error; lsl_lost_error.
 */
LIBLSL_C_API void lsl_open_stream(lsl_inlet in, double timeout, int32_t *ec);

/** Disconnects and drops what was not pulled. A thread that waits comes back. A later pull connects again. */
LIBLSL_C_API void lsl_close_stream(lsl_inlet in);

/**
 * Measures how far the sender's clock is away. The first call takes about two thirds of a second. Later ones return the
 * newest estimate at once, and the background renews it.
 *
 * @param timeout Seconds.
 * @param ec lsl_timeout_error; lsl_lost_error.
 * @return Seconds to add to the sender's stamps to have them on the local clock; 0 on an error.
 */
LIBLSL_C_API double lsl_time_correction(lsl_inlet in, double timeout, int32_t *ec);

/**
 * Does what lsl_time_correction does, and says how good it is.
 *
 * @param remote_time Receives when it was measured, in seconds of the sender's clock; may be NULL.
 * @param uncertainty Receives the round trip of the best probe in seconds. This is twice the largest possible error of the
 *        result; may be NULL.
 */
LIBLSL_C_API double lsl_time_correction_ex(lsl_inlet in, double *remote_time, double *uncertainty, double timeout, int32_t *ec);

/**
 * Chooses what is done with stamps before a pull returns them. Until then nothing is.
 *
 * @param flags lsl_processing_options_t values, added.
 * @return lsl_no_error.
 */
LIBLSL_C_API int32_t lsl_set_postprocessing(lsl_inlet in, uint32_t flags);

/* One sample.
 *
 * buffer          receives one value per channel, converted to the type of the letter: f float, d double, l int64_t,
 *                 i int32_t, s int16_t, c char. str are strings that end with NUL. buf are bytes as long as buffer_lengths
 *                 says. v is the stream's own type. The caller gives each string back with lsl_destroy_string.
 * buffer_lengths  of buf: receives the bytes of each string.
 * buffer_elements number of places in buffer: the channel count; strings may have more.
 * buffer_bytes    of v: size of buffer: lsl_get_sample_bytes.
 * timeout         seconds to wait for a sample.
 * ec              lsl_lost_error once what arrived before was pulled; lsl_argument_error if the buffer has another size. The end
 *                 of the time is no error.
 *
 * Returns the sample's stamp, in seconds of the sender's clock unless lsl_set_postprocessing says otherwise; 0.0 if none came in
 * time. */
LIBLSL_C_API double lsl_pull_sample_f(lsl_inlet in, float *buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_d(lsl_inlet in, double *buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_l(lsl_inlet in, int64_t *buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_i(lsl_inlet in, int32_t *buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_s(lsl_inlet in, int16_t *buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_c(lsl_inlet in, char *buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_str(lsl_inlet in, char **buffer, int32_t buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_buf(lsl_inlet in, char **buffer, uint32_t *buffer_lengths, int32_t buffer_elements,
	double timeout, int32_t *ec);
LIBLSL_C_API double lsl_pull_sample_v(lsl_inlet in, void *buffer, int32_t buffer_bytes, double timeout, int32_t *ec);

/* Several samples.
 *
 * data_buffer               receives samples x channels, one sample after the other; types as above.
 * lengths_buffer            of buf: receives the bytes of each string.
 * timestamp_buffer          receives one stamp per sample; may be NULL.
 * data_buffer_elements      number of places in data_buffer: a multiple of the channel count.
 * timestamp_buffer_elements number of places in timestamp_buffer: as many as samples fit.
 * timeout                   seconds to wait until the buffer is full; 0 takes the samples that have arrived.
 * ec                        lsl_lost_error once what arrived before was pulled; lsl_internal_error if the sizes do not fit.
 *
 * Returns the number of values, not of samples; 0 if nothing came in time. Places for strings that stay unused become NULL. */
LIBLSL_C_API unsigned long lsl_pull_chunk_f(lsl_inlet in, float *data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_d(lsl_inlet in, double *data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_l(lsl_inlet in, int64_t *data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_i(lsl_inlet in, int32_t *data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_s(lsl_inlet in, int16_t *data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_c(lsl_inlet in, char *data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_str(lsl_inlet in, char **data_buffer, double *timestamp_buffer,
	unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);
LIBLSL_C_API unsigned long lsl_pull_chunk_buf(lsl_inlet in, char **data_buffer, uint32_t *lengths_buffer,
	double *timestamp_buffer, unsigned long data_buffer_elements, unsigned long timestamp_buffer_elements, double timeout, int32_t *ec);

/** @return Number of samples that a pull would find now. */
LIBLSL_C_API uint32_t lsl_samples_available(lsl_inlet in);

/** Drops what has arrived. @return How many samples that were. */
LIBLSL_C_API uint32_t lsl_inlet_flush(lsl_inlet in);

/** @return 1 if the sender may have another clock since the last call, because it restarted or moved; else 0. */
LIBLSL_C_API uint32_t lsl_was_clock_reset(lsl_inlet in);

/**
 * Sets how slowly proc_dejitter follows: after so many seconds a stamp counts half. 90, unless the configuration says otherwise.
 *
 * @return lsl_no_error.
 */
LIBLSL_C_API int32_t lsl_smoothing_halftime(lsl_inlet in, float value);

#ifdef __cplusplus
}
#endif

#endif
