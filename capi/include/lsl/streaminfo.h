#ifndef SCHWANN_LSL_STREAMINFO_H
#define SCHWANN_LSL_STREAMINFO_H
/* Descriptions of streams.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Copies a description with its tree. */
LSL_C_API lsl_streaminfo lsl_copy_streaminfo(lsl_streaminfo);
/** Describes a stream: name, type, channel count, rate in Hz (0: irregular), format, source id. NULL if an argument is wrong. */
LSL_C_API lsl_streaminfo lsl_create_streaminfo(const char*, const char*, int32_t, double, lsl_channel_format_t, const char*);
/** Gives a description back, with all nodes of its tree. */
LSL_C_API void lsl_destroy_streaminfo(lsl_streaminfo);
/** Bytes per value; 0 for strings. */
LSL_C_API int32_t lsl_get_channel_bytes(lsl_streaminfo);
/** Values per sample. */
LSL_C_API int32_t lsl_get_channel_count(lsl_streaminfo);
/** Type of the values. */
LSL_C_API lsl_channel_format_t lsl_get_channel_format(lsl_streaminfo);
/** When the outlet was made, in seconds of its clock. */
LSL_C_API double lsl_get_created_at(lsl_streaminfo);
/** The element below which applications keep their metadata. */
LSL_C_API lsl_xml_ptr lsl_get_desc(lsl_streaminfo);
/** Computer of the outlet. */
LSL_C_API const char* lsl_get_hostname(lsl_streaminfo);
/** Name. */
LSL_C_API const char* lsl_get_name(lsl_streaminfo);
/** Samples per second; 0 without a regular rate. */
LSL_C_API double lsl_get_nominal_srate(lsl_streaminfo);
/** Bytes per sample; 0 for strings. */
LSL_C_API int32_t lsl_get_sample_bytes(lsl_streaminfo);
/** Session of the outlet. */
LSL_C_API const char* lsl_get_session_id(lsl_streaminfo);
/** Where the stream comes from; a restarted stream is found again by it. */
LSL_C_API const char* lsl_get_source_id(lsl_streaminfo);
/** Content type, such as EEG. */
LSL_C_API const char* lsl_get_type(lsl_streaminfo);
/** Identity of the outlet. */
LSL_C_API const char* lsl_get_uid(lsl_streaminfo);
/** Protocol version, times 100. */
LSL_C_API int32_t lsl_get_version(lsl_streaminfo);
/** The whole description as a document; give it back with lsl_destroy_string. */
LSL_C_API char* lsl_get_xml(lsl_streaminfo);
/** Gives the description a new identity and returns it. */
LSL_C_API const char* lsl_reset_uid(lsl_streaminfo);
/** 1 if an XPath condition is fulfilled. */
LSL_C_API int32_t lsl_stream_info_matches_query(lsl_streaminfo, const char*);
/** Reads a description; the name of an invalid one says why. */
LSL_C_API lsl_streaminfo lsl_streaminfo_from_xml(const char*);

#ifdef __cplusplus
}
#endif

#endif
