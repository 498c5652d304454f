#ifndef SCHWANN_LSL_CPP_RESOLVER_H
#define SCHWANN_LSL_CPP_RESOLVER_H
/** Searches for streams on this computer and the network, within the LSL session of the configuration. What is found has no
 * metadata yet: stream_inlet::info() fetches it. */
#include "streaminfo.h"

namespace lsl {
namespace detail {

/// Most streams that one search returns.
const uint32_t RESULTS_LIMIT = 1024;

/// Runs a search of the C interface and takes over what it found.
template <class Search> std::vector<stream_info> found(Search search) {
	std::vector<lsl_streaminfo> handles(RESULTS_LIMIT);
	const int32_t count = check_error(search(handles.data(), RESULTS_LIMIT));
	return std::vector<stream_info>(handles.begin(), handles.begin() + count);
}

} // namespace detail

/// Finds all streams.
///
/// @param wait_time Seconds to search; 1 finds what answers on a healthy network.
inline std::vector<stream_info> resolve_streams(double wait_time = 1.0) {
	return detail::found([&](lsl_streaminfo *buffer, uint32_t len) { return lsl_resolve_all(buffer, len, wait_time); });
}

/// Finds streams by one property.
///
/// @param prop The property: "name", "type", "source_id", or a path such as "desc/manufacturer".
/// @param value What it must be equal to.
/// @param minimum The search ends as soon as it has found so many.
/// @param timeout Seconds after which it ends at the latest, with what it has found.
inline std::vector<stream_info> resolve_stream(
	const std::string &prop, const std::string &value, int32_t minimum = 1, double timeout = FOREVER) {
	return detail::found([&](lsl_streaminfo *buffer, uint32_t len) {
		return lsl_resolve_byprop(buffer, len, prop.c_str(), value.c_str(), minimum, timeout);
	});
}

/// Finds streams by a condition.
///
/// @param pred XPath 1.0 on the element `info`, such as "type='EEG' and starts-with(name,'Bio')".
/// @param minimum The search ends as soon as it has found so many.
/// @param timeout Seconds after which it ends at the latest, with what it has found.
/// @throws std::invalid_argument if the condition is malformed.
inline std::vector<stream_info> resolve_stream(const std::string &pred, int32_t minimum = 1, double timeout = FOREVER) {
	return detail::found([&](lsl_streaminfo *buffer, uint32_t len) {
		return lsl_resolve_bypred(buffer, len, pred.c_str(), minimum, timeout);
	});
}

/// A search that goes on in the background. It can be moved, not copied.
class continuous_resolver {
public:
	/// Searches all streams.
	///
	/// @param forget_after Seconds after which a stream that no longer answers leaves the results.
	continuous_resolver(double forget_after = 5.0) : obj(started(lsl_create_continuous_resolver(forget_after))) {}

	/// Searches by one property, as resolve_stream(prop, value).
	continuous_resolver(const std::string &prop, const std::string &value, double forget_after = 5.0)
		: obj(started(lsl_create_continuous_resolver_byprop(prop.c_str(), value.c_str(), forget_after))) {}

	/// Searches by a condition, as resolve_stream(pred).
	continuous_resolver(const std::string &pred, double forget_after = 5.0)
		: obj(started(lsl_create_continuous_resolver_bypred(pred.c_str(), forget_after))) {}

	continuous_resolver(continuous_resolver &&) noexcept = default;
	continuous_resolver &operator=(continuous_resolver &&) noexcept = default;

	/// The streams that are there now; does not wait.
	std::vector<stream_info> results() {
		return detail::found(
			[&](lsl_streaminfo *buffer, uint32_t len) { return lsl_resolver_results(obj.get(), buffer, len); });
	}

private:
	typedef std::unique_ptr<lsl_continuous_resolver_, void (*)(lsl_continuous_resolver_ *)> owned;

	static owned started(lsl_continuous_resolver handle) {
		if (!handle) throw std::invalid_argument("The search cannot start; the condition may be malformed.");
		return owned(handle, &lsl_destroy_continuous_resolver);
	}

	owned obj;
};

} // namespace lsl

#endif
