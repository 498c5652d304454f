#ifndef SCHWANN_LSL_OUTLET_H
#define SCHWANN_LSL_OUTLET_H
/* Outlets: where samples go out. Push functions return 0 or an error; stamps are seconds of the local clock, 0.0 is now. A chunk is samples x channels; its stamp is that of the last sample.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Serves a stream: description, samples per transmission (0: as the inlets want), seconds kept for slow inlets. */
LSL_C_API lsl_outlet lsl_create_outlet(lsl_streaminfo, int32_t chunk_size, int32_t max_buffered);
/** The same with transport options. */
LSL_C_API lsl_outlet lsl_create_outlet_ex(lsl_streaminfo, int32_t, int32_t, lsl_transport_options_t);
/** Ends a stream. */
LSL_C_API void lsl_destroy_outlet(lsl_outlet);
/** The description as it is on the network; give it back. */
LSL_C_API lsl_streaminfo lsl_get_info(lsl_outlet);
/** 1 if anybody receives the stream. */
LSL_C_API int32_t lsl_have_consumers(lsl_outlet);
LSL_C_API int32_t lsl_push_chunk_buf(lsl_outlet, const char**, const uint32_t*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_buft(lsl_outlet, const char**, const uint32_t*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_buftn(lsl_outlet, const char**, const uint32_t*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_buftnp(lsl_outlet, const char**, const uint32_t*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_buftp(lsl_outlet, const char**, const uint32_t*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_c(lsl_outlet, const char*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_ct(lsl_outlet, const char*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_ctn(lsl_outlet, const char*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_ctnp(lsl_outlet, const char*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_ctp(lsl_outlet, const char*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_d(lsl_outlet, const double*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_dt(lsl_outlet, const double*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_dtn(lsl_outlet, const double*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_dtnp(lsl_outlet, const double*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_dtp(lsl_outlet, const double*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_f(lsl_outlet, const float*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_ft(lsl_outlet, const float*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_ftn(lsl_outlet, const float*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_ftnp(lsl_outlet, const float*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_ftp(lsl_outlet, const float*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_i(lsl_outlet, const int32_t*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_it(lsl_outlet, const int32_t*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_itn(lsl_outlet, const int32_t*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_itnp(lsl_outlet, const int32_t*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_itp(lsl_outlet, const int32_t*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_l(lsl_outlet, const int64_t*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_lt(lsl_outlet, const int64_t*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_ltn(lsl_outlet, const int64_t*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_ltnp(lsl_outlet, const int64_t*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_ltp(lsl_outlet, const int64_t*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_s(lsl_outlet, const int16_t*, unsigned long);
LSL_C_API int32_t lsl_push_chunk_st(lsl_outlet, const int16_t*, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_stn(lsl_outlet, const int16_t*, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_stnp(lsl_outlet, const int16_t*, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_stp(lsl_outlet, const int16_t*, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_chunk_str(lsl_outlet, const char**, unsigned long);
LSL_C_API int32_t lsl_push_chunk_strt(lsl_outlet, const char**, unsigned long, double);
LSL_C_API int32_t lsl_push_chunk_strtn(lsl_outlet, const char**, unsigned long, const double*);
LSL_C_API int32_t lsl_push_chunk_strtnp(lsl_outlet, const char**, unsigned long, const double*, int32_t);
LSL_C_API int32_t lsl_push_chunk_strtp(lsl_outlet, const char**, unsigned long, double, int32_t);
LSL_C_API int32_t lsl_push_sample_buf(lsl_outlet, const char**, const uint32_t*);
LSL_C_API int32_t lsl_push_sample_buft(lsl_outlet, const char**, const uint32_t*, double);
LSL_C_API int32_t lsl_push_sample_buftp(lsl_outlet, const char**, const uint32_t*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_c(lsl_outlet, const char*);
LSL_C_API int32_t lsl_push_sample_ct(lsl_outlet, const char*, double);
LSL_C_API int32_t lsl_push_sample_ctp(lsl_outlet, const char*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_d(lsl_outlet, const double*);
LSL_C_API int32_t lsl_push_sample_dt(lsl_outlet, const double*, double);
LSL_C_API int32_t lsl_push_sample_dtp(lsl_outlet, const double*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_f(lsl_outlet, const float*);
LSL_C_API int32_t lsl_push_sample_ft(lsl_outlet, const float*, double);
LSL_C_API int32_t lsl_push_sample_ftp(lsl_outlet, const float*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_i(lsl_outlet, const int32_t*);
LSL_C_API int32_t lsl_push_sample_it(lsl_outlet, const int32_t*, double);
LSL_C_API int32_t lsl_push_sample_itp(lsl_outlet, const int32_t*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_l(lsl_outlet, const int64_t*);
LSL_C_API int32_t lsl_push_sample_lt(lsl_outlet, const int64_t*, double);
LSL_C_API int32_t lsl_push_sample_ltp(lsl_outlet, const int64_t*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_s(lsl_outlet, const int16_t*);
LSL_C_API int32_t lsl_push_sample_st(lsl_outlet, const int16_t*, double);
LSL_C_API int32_t lsl_push_sample_stp(lsl_outlet, const int16_t*, double, int32_t);
LSL_C_API int32_t lsl_push_sample_str(lsl_outlet, const char**);
LSL_C_API int32_t lsl_push_sample_strt(lsl_outlet, const char**, double);
LSL_C_API int32_t lsl_push_sample_strtp(lsl_outlet, const char**, double, int32_t);
LSL_C_API int32_t lsl_push_sample_v(lsl_outlet, const void*);
LSL_C_API int32_t lsl_push_sample_vt(lsl_outlet, const void*, double);
LSL_C_API int32_t lsl_push_sample_vtp(lsl_outlet, const void*, double, int32_t);
/** Waits up to timeout seconds for an inlet; 1 if there is one. */
LSL_C_API int32_t lsl_wait_for_consumers(lsl_outlet, double timeout);

#ifdef __cplusplus
}
#endif

#endif
