#ifndef SCHWANN_LSL_STREAMINFO_H
#define SCHWANN_LSL_STREAMINFO_H
/* Descriptions of streams.
 *
 * Strings that a getter returns belong to the description and end with it. For NULL, getters return 0 or an empty string. */
#include "common.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Describes a stream. Metadata, such as labels and units of channels, is added below lsl_get_desc.
 *
 * @param name What people call the stream, such as the device's model. Not empty.
 * @param type Kind of its content, such as "EEG" or "Markers"; programs search for it.
 * @param channel_count Values per sample.
 * @param nominal_srate Samples per second, or LSL_IRREGULAR_RATE.
 * @param channel_format Type of the values.
 * @param source_id What stays the same when the sender restarts, such as a serial number. Inlets find a stream again by it.
 *        Without one (""), a lost stream stays lost.
 * @return A description that the caller gives back with lsl_destroy_streaminfo; NULL if an argument is wrong.
 */
LIBLSL_C_API lsl_streaminfo lsl_create_streaminfo(const char *name, const char *type, int32_t channel_count,
	double nominal_srate, lsl_channel_format_t channel_format, const char *source_id);

/** Gives a description back, with every node of its tree. @param info The description, or NULL. */
LIBLSL_C_API void lsl_destroy_streaminfo(lsl_streaminfo info);

/** Copies a description and its tree. @return A description that the caller gives back; NULL for NULL. */
LIBLSL_C_API lsl_streaminfo lsl_copy_streaminfo(lsl_streaminfo info);

/** @return The name. */
LIBLSL_C_API const char *lsl_get_name(lsl_streaminfo info);

/** @return The kind of content. */
LIBLSL_C_API const char *lsl_get_type(lsl_streaminfo info);

/** @return Values per sample. */
LIBLSL_C_API int32_t lsl_get_channel_count(lsl_streaminfo info);

/** @return Samples per second as announced; LSL_IRREGULAR_RATE if there is no rate. */
LIBLSL_C_API double lsl_get_nominal_srate(lsl_streaminfo info);

/** @return The type of the values. */
LIBLSL_C_API lsl_channel_format_t lsl_get_channel_format(lsl_streaminfo info);

/** @return What stays the same when the sender restarts; empty if there is nothing. */
LIBLSL_C_API const char *lsl_get_source_id(lsl_streaminfo info);

/** @return The version of the stream's protocol, times 100. */
LIBLSL_C_API int32_t lsl_get_version(lsl_streaminfo info);

/** @return When its outlet was made, in seconds of its sender's clock; 0 before there is one. */
LIBLSL_C_API double lsl_get_created_at(lsl_streaminfo info);

/** @return The identity of its outlet, another one after each start; empty before there is an outlet. */
LIBLSL_C_API const char *lsl_get_uid(lsl_streaminfo info);

/** @return The LSL session that its sender belongs to, from the configuration. */
LIBLSL_C_API const char *lsl_get_session_id(lsl_streaminfo info);

/** @return The name of its sender's computer. */
LIBLSL_C_API const char *lsl_get_hostname(lsl_streaminfo info);

/**
 * Leads to the element `desc`, below which metadata is (xml.h).
 *
 * What a search found has none: lsl_get_fullinfo fetches it. An outlet sends the metadata that its description had when it was
 * made.
 */
LIBLSL_C_API lsl_xml_ptr lsl_get_desc(lsl_streaminfo info);

/** Writes the whole description as XML. @return A string that the caller gives back with lsl_destroy_string; NULL for NULL. */
LIBLSL_C_API char *lsl_get_xml(lsl_streaminfo info);

/** @return Bytes of one value; 0 for strings. */
LIBLSL_C_API int32_t lsl_get_channel_bytes(lsl_streaminfo info);

/** @return Bytes of one sample; 0 for strings. */
LIBLSL_C_API int32_t lsl_get_sample_bytes(lsl_streaminfo info);

/** Gives a description another, random identity. @return The new one. It changes the description. */
LIBLSL_C_API const char *lsl_reset_uid(lsl_streaminfo info);

/**
 * Says whether a description fulfils a condition.
 *
 * @param query XPath 1.0 on the element `info`, such as "type='EEG' and channel_count>32".
 * @return 1 if it does; 0 if it does not, or if the condition is malformed.
 */
LIBLSL_C_API int32_t lsl_stream_info_matches_query(lsl_streaminfo info, const char *query);

/**
 * Reads a description from XML as lsl_get_xml writes it.
 *
 * @return A description that the caller gives back. If the XML is not one, it has no channels and its name says why. NULL for
 *         NULL.
 */
LIBLSL_C_API lsl_streaminfo lsl_streaminfo_from_xml(const char *xml);

#ifdef __cplusplus
}
#endif

#endif
