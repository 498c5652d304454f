#ifndef SCHWANN_LSL_CPP_STREAMINFO_H
#define SCHWANN_LSL_CPP_STREAMINFO_H
/** Descriptions of streams. */
#include "common.h"
#include "xml.h"

namespace lsl {

/// The description of a stream. Copies share one description; clone() makes another. Many threads may read one; a thread that
/// changes it must be alone with it.
class stream_info {
public:
	/// Describes a stream. Metadata, such as labels and units of channels, is added below desc().
	///
	/// @param name What people call the stream, such as the device's model. Not empty.
	/// @param type Kind of its content, such as "EEG" or "Markers"; programs search for it.
	/// @param channel_count Values per sample.
	/// @param nominal_srate Samples per second, or IRREGULAR_RATE.
	/// @param channel_format Type of the values.
	/// @param source_id What stays the same when the sender restarts, such as a serial number. Inlets find a stream again by it.
	/// @throws std::invalid_argument if an argument is wrong.
	stream_info(const std::string &name, const std::string &type, int32_t channel_count = 1,
		double nominal_srate = IRREGULAR_RATE, channel_format_t channel_format = cf_float32,
		const std::string &source_id = std::string())
		: stream_info(lsl_create_streaminfo(name.c_str(), type.c_str(), channel_count, nominal_srate,
			  static_cast<lsl_channel_format_t>(channel_format), source_id.c_str())) {
		detail::check_made(obj.get());
	}

	/// A place for a description; it stands for no stream.
	stream_info() : stream_info("untitled", "", 0, IRREGULAR_RATE, cf_undefined) {}

	/// Takes over a description of the C interface, and gives it back in the end.
	stream_info(lsl_streaminfo handle) : obj(handle, &lsl_destroy_streaminfo) {}

	stream_info(const stream_info &) noexcept = default;
	stream_info(stream_info &&) noexcept = default;
	stream_info &operator=(const stream_info &) noexcept = default;
	stream_info &operator=(stream_info &&) noexcept = default;

	/// Copies the description and its tree.
	stream_info clone() { return stream_info(lsl_copy_streaminfo(obj.get())); }

	/// Reads a description from XML as as_xml() writes it. If the XML is not one, the result has no channels and its name says
	/// why.
	static stream_info from_xml(const std::string &xml) { return stream_info(lsl_streaminfo_from_xml(xml.c_str())); }

	/// The name.
	std::string name() const { return lsl_get_name(obj.get()); }
	/// The kind of content.
	std::string type() const { return lsl_get_type(obj.get()); }
	/// Values per sample.
	int32_t channel_count() const { return lsl_get_channel_count(obj.get()); }
	/// Samples per second as announced; IRREGULAR_RATE if there is no rate.
	double nominal_srate() const { return lsl_get_nominal_srate(obj.get()); }
	/// The type of the values.
	channel_format_t channel_format() const { return static_cast<channel_format_t>(lsl_get_channel_format(obj.get())); }
	/// What stays the same when the sender restarts; empty if there is nothing.
	std::string source_id() const { return lsl_get_source_id(obj.get()); }
	/// Bytes of one value; 0 for strings.
	int32_t channel_bytes() const { return lsl_get_channel_bytes(obj.get()); }
	/// Bytes of one sample; 0 for strings.
	int32_t sample_bytes() const { return lsl_get_sample_bytes(obj.get()); }

	/// The version of the stream's protocol, times 100.
	int32_t version() const { return lsl_get_version(obj.get()); }
	/// When its outlet was made, in seconds of its sender's clock; 0 before there is one.
	double created_at() const { return lsl_get_created_at(obj.get()); }
	/// The identity of its outlet, another one after each start; empty before there is an outlet.
	std::string uid() const { return lsl_get_uid(obj.get()); }
	/// Gives the description another, random identity. @return The new one.
	std::string reset_uid() { return lsl_reset_uid(obj.get()); }
	/// The LSL session that its sender belongs to, from the configuration.
	std::string session_id() const { return lsl_get_session_id(obj.get()); }
	/// The name of its sender's computer.
	std::string hostname() const { return lsl_get_hostname(obj.get()); }

	/// The element below which metadata is. What a search found has none: stream_inlet::info() fetches it.
	xml_element desc() { return lsl_get_desc(obj.get()); }

	/// Whether the description fulfils a condition: XPath 1.0 on the element `info`, such as "type='EEG' and channel_count>32".
	bool matches_query(const char *query) const { return lsl_stream_info_matches_query(obj.get(), query) != 0; }

	/// The whole description as XML.
	std::string as_xml() const {
		detail::received_strings text(1);
		text.texts[0] = lsl_get_xml(obj.get());
		return text.texts[0] ? std::string(text.texts[0]) : std::string();
	}

	/// The description for the C interface; it lives as long as the result or this object.
	std::shared_ptr<lsl_streaminfo_struct_> handle() const { return obj; }

private:
	std::shared_ptr<lsl_streaminfo_struct_> obj;
};

} // namespace lsl

#endif
