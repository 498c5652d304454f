#ifndef SCHWANN_LSL_OUTLET_H
#define SCHWANN_LSL_OUTLET_H
/* Outlets: where samples go out.
 *
 * Any thread may use an outlet; pushes of several threads take turns. A push does not wait for inlets, unless the outlet is
 * transp_sync_blocking. Samples that a slow inlet does not take in time wait for it, and the oldest are dropped first. */
#include "common.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a stream known and starts to send it.
 *
 * @param info Its description, which the outlet copies.
 * @param chunk_size Samples sent at a time; 0 leaves that to the inlets and to the pushes.
 * @param max_buffered What is kept for an inlet that lags, in seconds. For a stream without a rate, in hundreds of samples.
 *        360 is usual.
 * @return An outlet that the caller gives back with lsl_destroy_outlet; NULL, with lsl_last_error, if there can be none.
 */
LIBLSL_C_API lsl_outlet lsl_create_outlet(lsl_streaminfo info, int32_t chunk_size, int32_t max_buffered);

/** Does what lsl_create_outlet does, with options. @param flags lsl_transport_options_t values, added. */
LIBLSL_C_API lsl_outlet lsl_create_outlet_ex(lsl_streaminfo info, int32_t chunk_size, int32_t max_buffered, uint32_t flags);

/** Ends a stream: inlets lose it. No other thread may use the outlet any more. @param out The outlet, or NULL. */
LIBLSL_C_API void lsl_destroy_outlet(lsl_outlet out);

/* One sample.
 *
 * data         one value per channel. The letter is its type: f float, d double, l int64_t, i int32_t, s int16_t, c char.
 *              str are strings that end with NUL. buf are bytes as long as lengths says. v is the stream's own type. Numbers
 *              and strings are converted to the stream's type; v is not for streams of strings.
 * lengths      of buf: bytes of each string.
 * timestamp    of t and tp: when it was measured, in seconds of lsl_local_clock. 0.0 is now; LSL_DEDUCED_TIMESTAMP follows
 *              from the sample before.
 * pushthrough  of tp: 1 sends it now, 0 together with a later push.
 *
 * Returns lsl_no_error; lsl_argument_error if out is NULL; lsl_internal_error if data is NULL or the process is a fork's child.
 * The caller keeps its arrays. */

/* Stamped now: */
LIBLSL_C_API int32_t lsl_push_sample_f(lsl_outlet out, const float *data);
LIBLSL_C_API int32_t lsl_push_sample_d(lsl_outlet out, const double *data);
LIBLSL_C_API int32_t lsl_push_sample_l(lsl_outlet out, const int64_t *data);
LIBLSL_C_API int32_t lsl_push_sample_i(lsl_outlet out, const int32_t *data);
LIBLSL_C_API int32_t lsl_push_sample_s(lsl_outlet out, const int16_t *data);
LIBLSL_C_API int32_t lsl_push_sample_c(lsl_outlet out, const char *data);
LIBLSL_C_API int32_t lsl_push_sample_str(lsl_outlet out, const char **data);
LIBLSL_C_API int32_t lsl_push_sample_v(lsl_outlet out, const void *data);
LIBLSL_C_API int32_t lsl_push_sample_buf(lsl_outlet out, const char **data, const uint32_t *lengths);

/* With a stamp: */
LIBLSL_C_API int32_t lsl_push_sample_ft(lsl_outlet out, const float *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_dt(lsl_outlet out, const double *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_lt(lsl_outlet out, const int64_t *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_it(lsl_outlet out, const int32_t *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_st(lsl_outlet out, const int16_t *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_ct(lsl_outlet out, const char *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_strt(lsl_outlet out, const char **data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_vt(lsl_outlet out, const void *data, double timestamp);
LIBLSL_C_API int32_t lsl_push_sample_buft(lsl_outlet out, const char **data, const uint32_t *lengths, double timestamp);

/* With a stamp, now or later: */
LIBLSL_C_API int32_t lsl_push_sample_ftp(lsl_outlet out, const float *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_dtp(lsl_outlet out, const double *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_ltp(lsl_outlet out, const int64_t *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_itp(lsl_outlet out, const int32_t *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_stp(lsl_outlet out, const int16_t *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_ctp(lsl_outlet out, const char *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_strtp(lsl_outlet out, const char **data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_vtp(lsl_outlet out, const void *data, double timestamp, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_sample_buftp(lsl_outlet out, const char **data, const uint32_t *lengths, double timestamp,
	int32_t pushthrough);

/* Several samples.
 *
 * data          samples x channels, one sample after the other; types as above.
 * lengths       of buf: bytes of each string.
 * data_elements number of values, not of samples: a multiple of the channel count; 0 sends nothing.
 * timestamp     of t and tp: that of the last sample, in seconds of lsl_local_clock; 0.0 is now. The others precede it at the
 *               stream's rate, or have the same stamp if it has none.
 * timestamps    of tn and tnp: one per sample.
 * pushthrough   of tp and tnp: 1 sends them now, 0 together with a later push.
 *
 * Returns as for one sample, and lsl_internal_error if data_elements does not fit the channel count. */

/* The last one stamped now: */
LIBLSL_C_API int32_t lsl_push_chunk_f(lsl_outlet out, const float *data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_d(lsl_outlet out, const double *data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_l(lsl_outlet out, const int64_t *data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_i(lsl_outlet out, const int32_t *data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_s(lsl_outlet out, const int16_t *data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_c(lsl_outlet out, const char *data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_str(lsl_outlet out, const char **data, unsigned long data_elements);
LIBLSL_C_API int32_t lsl_push_chunk_buf(lsl_outlet out, const char **data, const uint32_t *lengths, unsigned long data_elements);

/* With the stamp of the last one: */
LIBLSL_C_API int32_t lsl_push_chunk_ft(lsl_outlet out, const float *data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_dt(lsl_outlet out, const double *data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_lt(lsl_outlet out, const int64_t *data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_it(lsl_outlet out, const int32_t *data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_st(lsl_outlet out, const int16_t *data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_ct(lsl_outlet out, const char *data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_strt(lsl_outlet out, const char **data, unsigned long data_elements, double timestamp);
LIBLSL_C_API int32_t lsl_push_chunk_buft(lsl_outlet out, const char **data, const uint32_t *lengths, unsigned long data_elements,
	double timestamp);

/* With the stamp of the last one, now or later: */
LIBLSL_C_API int32_t lsl_push_chunk_ftp(lsl_outlet out, const float *data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_dtp(lsl_outlet out, const double *data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_ltp(lsl_outlet out, const int64_t *data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_itp(lsl_outlet out, const int32_t *data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_stp(lsl_outlet out, const int16_t *data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_ctp(lsl_outlet out, const char *data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_strtp(lsl_outlet out, const char **data, unsigned long data_elements, double timestamp,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_buftp(lsl_outlet out, const char **data, const uint32_t *lengths,
	unsigned long data_elements, double timestamp, int32_t pushthrough);

/* With a stamp each: */
LIBLSL_C_API int32_t lsl_push_chunk_ftn(lsl_outlet out, const float *data, unsigned long data_elements, const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_dtn(lsl_outlet out, const double *data, unsigned long data_elements,
	const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_ltn(lsl_outlet out, const int64_t *data, unsigned long data_elements,
	const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_itn(lsl_outlet out, const int32_t *data, unsigned long data_elements,
	const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_stn(lsl_outlet out, const int16_t *data, unsigned long data_elements,
	const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_ctn(lsl_outlet out, const char *data, unsigned long data_elements, const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_strtn(lsl_outlet out, const char **data, unsigned long data_elements,
	const double *timestamps);
LIBLSL_C_API int32_t lsl_push_chunk_buftn(lsl_outlet out, const char **data, const uint32_t *lengths,
	unsigned long data_elements, const double *timestamps);

/* With a stamp each, now or later: */
LIBLSL_C_API int32_t lsl_push_chunk_ftnp(lsl_outlet out, const float *data, unsigned long data_elements,
	const double *timestamps, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_dtnp(lsl_outlet out, const double *data, unsigned long data_elements,
	const double *timestamps, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_ltnp(lsl_outlet out, const int64_t *data, unsigned long data_elements,
	const double *timestamps, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_itnp(lsl_outlet out, const int32_t *data, unsigned long data_elements,
	const double *timestamps, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_stnp(lsl_outlet out, const int16_t *data, unsigned long data_elements,
	const double *timestamps, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_ctnp(lsl_outlet out, const char *data, unsigned long data_elements, const double *timestamps,
	int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_strtnp(lsl_outlet out, const char **data, unsigned long data_elements,
	const double *timestamps, int32_t pushthrough);
LIBLSL_C_API int32_t lsl_push_chunk_buftnp(lsl_outlet out, const char **data, const uint32_t *lengths,
	unsigned long data_elements, const double *timestamps, int32_t pushthrough);

/** @return 1 if an inlet receives the stream now, else 0. */
LIBLSL_C_API int32_t lsl_have_consumers(lsl_outlet out);

/** Waits until an inlet receives the stream. @param timeout Seconds. @return 1 if one does, 0 if the time was over. */
LIBLSL_C_API int32_t lsl_wait_for_consumers(lsl_outlet out, double timeout);

/**
 * Copies the description that the stream has on the network: with its identity, computer and ports.
 *
 * @return A description that the caller gives back with lsl_destroy_streaminfo; NULL for NULL.
 */
LIBLSL_C_API lsl_streaminfo lsl_get_info(lsl_outlet out);

#ifdef __cplusplus
}
#endif

#endif
