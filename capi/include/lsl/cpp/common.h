#ifndef SCHWANN_LSL_CPP_COMMON_H
#define SCHWANN_LSL_CPP_COMMON_H
/** Constants, errors, versions and the clock. */
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../lsl_c.h"

namespace lsl {

/// The rate, in Hz, of a stream whose samples come at no fixed rate.
const double IRREGULAR_RATE = LSL_IRREGULAR_RATE;

/// A stamp deduced from the one before: one sample period later, or equal if the stream has no rate.
const double DEDUCED_TIMESTAMP = LSL_DEDUCED_TIMESTAMP;

/// A timeout without limit.
const double FOREVER = LSL_FOREVER;

/// Type of a stream's values; all channels have the same.
enum channel_format_t {
	cf_float32 = cft_float32,    ///< float
	cf_double64 = cft_double64,  ///< double
	cf_string = cft_string,      ///< std::string: text or bytes of any length
	cf_int32 = cft_int32,        ///< int32_t
	cf_int16 = cft_int16,        ///< int16_t
	cf_int8 = cft_int8,          ///< char, read as a signed number
	cf_int64 = cft_int64,        ///< int64_t
	cf_undefined = cft_undefined ///< none: such a stream cannot be sent
};

/// What an inlet does with stamps before a pull returns them; add what you want.
enum processing_options_t {
	post_none = proc_none,             ///< nothing: stamps as they were sent
	post_clocksync = proc_clocksync,   ///< moves them to the local clock: adds stream_inlet::time_correction
	post_dejitter = proc_dejitter,     ///< smooths them, for streams with a rate
	post_monotonize = proc_monotonize, ///< lets none be smaller than the one before
	post_threadsafe = proc_threadsafe, ///< several threads may pull; here they always may
	post_ALL = proc_ALL
};

/// The stream is gone and does not come back to this inlet: resolve it again.
class lost_error : public std::runtime_error {
public:
	explicit lost_error(const std::string &msg) : std::runtime_error(msg) {}
};

/// The time was over: try again.
class timeout_error : public std::runtime_error {
public:
	explicit timeout_error(const std::string &msg) : std::runtime_error(msg) {}
};

/// Throws what an error of the C interface stands for.
/// @return `ec`, if it is no error.
inline int32_t check_error(int32_t ec) {
	if (ec >= 0) return ec;
	switch (ec) {
	case lsl_timeout_error: throw timeout_error("The operation timed out.");
	case lsl_lost_error: throw lost_error("The stream has been lost; resolve it again to go on.");
	case lsl_argument_error: throw std::invalid_argument("An argument is wrong; lsl_last_error() may say which.");
	case lsl_internal_error: throw std::runtime_error("The library refused this; lsl_last_error() may say why.");
	default: throw std::runtime_error("The library reported the unknown error " + std::to_string(ec) + ".");
	}
}

/// @return The newest version of the protocol that this program speaks, times 100.
inline int32_t protocol_version() { return lsl_protocol_version(); }

/// @return The version of the interface that the library has, times 100.
inline int32_t library_version() { return lsl_library_version(); }

/// @return What the library is; for people to read.
inline const char *library_info() { return lsl_library_info(); }

/// @return Seconds of the clock that stamps are on; it never goes back.
inline double local_clock() { return lsl_local_clock(); }

/// What only these headers use.
namespace detail {

/// Throws why the library has made nothing.
inline void check_made(const void *handle) {
	if (!handle) throw std::invalid_argument(lsl_last_error());
}

/// Strings as the C functions take them. They stay where they are.
struct borrowed_strings {
	std::vector<const char *> texts;
	std::vector<uint32_t> lengths;

	borrowed_strings(const std::string *strings, std::size_t count) : texts(count), lengths(count) {
		for (std::size_t k = 0; k < count; k++) {
			if (strings[k].size() > (std::numeric_limits<uint32_t>::max)())
				throw std::length_error("A string has more than 4,294,967,295 bytes.");
			texts[k] = strings[k].data();
			lengths[k] = static_cast<uint32_t>(strings[k].size());
		}
	}
};

/// Places for strings that the library allocates, which go back to it in the end.
struct received_strings {
	std::vector<char *> texts;
	std::vector<uint32_t> lengths;

	explicit received_strings(std::size_t count) : texts(count), lengths(count) {}
	received_strings(const received_strings &) = delete;
	received_strings &operator=(const received_strings &) = delete;

	~received_strings() {
		for (char *text : texts) lsl_destroy_string(text);
	}

	void copy_to(std::string *strings, std::size_t count) const {
		for (std::size_t k = 0; k < count; k++) {
			if (texts[k])
				strings[k].assign(texts[k], lengths[k]);
			else
				strings[k].clear();
		}
	}
};

} // namespace detail
} // namespace lsl

#endif
