#ifndef SCHWANN_LSL_INLET_H
#define SCHWANN_LSL_INLET_H
/* Inlets: where samples come in. Timeouts are in seconds; ec may be NULL. A pull returns 0.0, and no error, if nothing came in time. Strings are given back with lsl_destroy_string.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Disconnects and drops what was not pulled. */
LSL_C_API void lsl_close_stream(lsl_inlet);
/** Receives a stream: description, seconds kept, samples per transmission (0: as the outlet wants), 1 to find a lost stream again. */
LSL_C_API lsl_inlet lsl_create_inlet(lsl_streaminfo, int32_t max_buflen, int32_t max_chunklen, int32_t recover);
/** The same with transport options. */
LSL_C_API lsl_inlet lsl_create_inlet_ex(lsl_streaminfo, int32_t, int32_t, int32_t, lsl_transport_options_t);
/** Ends a receiver. */
LSL_C_API void lsl_destroy_inlet(lsl_inlet);
/** The whole description from the outlet; give it back. */
LSL_C_API lsl_streaminfo lsl_get_fullinfo(lsl_inlet, double timeout, int32_t *ec);
/** Drops what was not pulled; returns how many samples. */
LSL_C_API uint32_t lsl_inlet_flush(lsl_inlet);
/** Connects; samples from then on are received. */
LSL_C_API void lsl_open_stream(lsl_inlet, double timeout, int32_t *ec);
LSL_C_API unsigned long lsl_pull_chunk_buf(lsl_inlet, char**, uint32_t*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_c(lsl_inlet, char*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_d(lsl_inlet, double*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_f(lsl_inlet, float*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_i(lsl_inlet, int32_t*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_l(lsl_inlet, int64_t*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_s(lsl_inlet, int16_t*, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API unsigned long lsl_pull_chunk_str(lsl_inlet, char**, double*, unsigned long, unsigned long, double, int32_t*);
LSL_C_API double lsl_pull_sample_buf(lsl_inlet, char**, uint32_t*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_c(lsl_inlet, char*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_d(lsl_inlet, double*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_f(lsl_inlet, float*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_i(lsl_inlet, int32_t*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_l(lsl_inlet, int64_t*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_s(lsl_inlet, int16_t*, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_str(lsl_inlet, char**, int32_t, double, int32_t*);
LSL_C_API double lsl_pull_sample_v(lsl_inlet, void*, int32_t, double, int32_t*);
/** Samples that can be pulled. */
LSL_C_API uint32_t lsl_samples_available(lsl_inlet);
/** Chooses how stamps are processed: bits of lsl_processing_options_t. */
LSL_C_API int32_t lsl_set_postprocessing(lsl_inlet, uint32_t flags);
/** Half-time of the de-jittering filter, in seconds. */
LSL_C_API int32_t lsl_smoothing_halftime(lsl_inlet, float);
/** What to add to the sender's stamps to have them on the local clock. */
LSL_C_API double lsl_time_correction(lsl_inlet, double timeout, int32_t *ec);
/** The same, with the sender's time at the measurement and the uncertainty. */
LSL_C_API double lsl_time_correction_ex(lsl_inlet, double *remote_time, double *uncertainty, double timeout, int32_t *ec);
/** 1 if the sender's clock may have changed since the last call. */
LSL_C_API uint32_t lsl_was_clock_reset(lsl_inlet);

#ifdef __cplusplus
}
#endif

#endif
