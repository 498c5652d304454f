#ifndef SCHWANN_LSL_CPP_OUTLET_H
#define SCHWANN_LSL_CPP_OUTLET_H
/** Outlets: where samples go out. */
#include "streaminfo.h"

namespace lsl {

/// A stream that this program sends, until it is destroyed. It can be moved, not copied.
///
/// A push does not wait for inlets, unless the outlet is transp_sync_blocking. Samples that a slow inlet does not take in
/// time wait for it, and the oldest are dropped first. In all pushes:
///
/// - values have one of seven types: float, double, int64_t, int32_t, int16_t, char, std::string. They are converted to the
///   stream's type;
/// - `timestamp` says when a sample was measured, in seconds of local_clock(). 0.0 is now; DEDUCED_TIMESTAMP follows from the
///   sample before. In a chunk, this is the stamp of the last sample; the others precede it at the stream's rate;
/// - `pushthrough` sends now, or else together with a later push.
class stream_outlet {
public:
	/// Makes a stream known and starts to send it.
	///
	/// @param info Its description, which the outlet copies.
	/// @param chunk_size Samples sent at a time; 0 leaves that to the inlets and to the pushes.
	/// @param max_buffered What is kept for an inlet that lags, in seconds. For a stream without a rate, in hundreds of
	///        samples.
	/// @param flags lsl_transport_options_t values, added.
	/// @throws std::invalid_argument if there can be none; the text says why.
	stream_outlet(const stream_info &info, int32_t chunk_size = 0, int32_t max_buffered = 360,
		lsl_transport_options_t flags = transp_default)
		: channel_count(info.channel_count()), sample_rate(info.nominal_srate()),
		  obj(lsl_create_outlet_ex(info.handle().get(), chunk_size, max_buffered, static_cast<uint32_t>(flags)),
			  &lsl_destroy_outlet) {
		detail::check_made(obj.get());
	}

	stream_outlet(stream_outlet &&) noexcept = default;
	stream_outlet &operator=(stream_outlet &&) noexcept = default;
	stream_outlet(const stream_outlet &) = delete;
	stream_outlet &operator=(const stream_outlet &) = delete;
	~stream_outlet() = default;

	/// Pushes one sample of N values: push_sample<float, 8>(array).
	/// @throws std::runtime_error if the stream has another number of channels.
	template <class T, int32_t N> void push_sample(const T data[N], double timestamp = 0.0, bool pushthrough = true) {
		check_channels(N);
		push_sample(&data[0], timestamp, pushthrough);
	}

	/// Pushes one sample.
	/// @throws std::runtime_error if the stream has another number of channels.
	template <class T> void push_sample(const std::vector<T> &data, double timestamp = 0.0, bool pushthrough = true) {
		check_channels(data.size());
		push_sample(data.data(), timestamp, pushthrough);
	}

	/// Pushes one sample from an array with one value per channel.
	void push_sample(const float *data, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_ftp(obj.get(), data, timestamp, pushthrough));
	}
	void push_sample(const double *data, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_dtp(obj.get(), data, timestamp, pushthrough));
	}
	void push_sample(const int64_t *data, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_ltp(obj.get(), data, timestamp, pushthrough));
	}
	void push_sample(const int32_t *data, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_itp(obj.get(), data, timestamp, pushthrough));
	}
	void push_sample(const int16_t *data, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_stp(obj.get(), data, timestamp, pushthrough));
	}
	void push_sample(const char *data, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_ctp(obj.get(), data, timestamp, pushthrough));
	}
	void push_sample(const std::string *data, double timestamp = 0.0, bool pushthrough = true) {
		detail::borrowed_strings strings(data, static_cast<std::size_t>(channel_count));
		check_error(lsl_push_sample_buftp(
			obj.get(), strings.texts.data(), strings.lengths.data(), timestamp, pushthrough));
	}

	/// Pushes one sample from a structure of numbers as the stream has them, without gaps between them.
	/// @throws std::runtime_error if the structure has another size than a sample.
	template <class T> void push_numeric_struct(const T &sample, double timestamp = 0.0, bool pushthrough = true) {
		if (static_cast<std::size_t>(info().sample_bytes()) != sizeof(T))
			throw std::runtime_error("The structure has " + std::to_string(sizeof(T)) + " bytes, and a sample of the stream " +
									 std::to_string(info().sample_bytes()) + ".");
		push_numeric_raw(&sample, timestamp, pushthrough);
	}

	/// Pushes one sample from memory: values of the stream's own numeric type, one per channel.
	void push_numeric_raw(const void *sample, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_sample_vtp(obj.get(), sample, timestamp, pushthrough));
	}

	/// Pushes several samples: vectors of values, or pointers to them.
	template <class T> void push_chunk(const std::vector<T> &samples, double timestamp = 0.0, bool pushthrough = true) {
		push_each(samples, timestamp, pushthrough,
			[this](const T &sample, double stamp, bool push) { push_sample(sample, stamp, push); });
	}

	/// Pushes several samples with a stamp each.
	/// @throws std::runtime_error if there are fewer stamps than samples; then nothing was pushed.
	template <class T>
	void push_chunk(const std::vector<T> &samples, const std::vector<double> &timestamps, bool pushthrough = true) {
		push_each(samples, timestamps, pushthrough,
			[this](const T &sample, double stamp, bool push) { push_sample(sample, stamp, push); });
	}

	/// Pushes several samples from structures, as push_numeric_struct().
	template <class T>
	void push_chunk_numeric_structs(const std::vector<T> &samples, double timestamp = 0.0, bool pushthrough = true) {
		push_each(samples, timestamp, pushthrough,
			[this](const T &sample, double stamp, bool push) { push_numeric_struct(sample, stamp, push); });
	}

	/// Pushes several samples from structures with a stamp each, as push_numeric_struct().
	/// @throws std::runtime_error if there are fewer stamps than samples; then nothing was pushed.
	template <class T>
	void push_chunk_numeric_structs(
		const std::vector<T> &samples, const std::vector<double> &timestamps, bool pushthrough = true) {
		push_each(samples, timestamps, pushthrough,
			[this](const T &sample, double stamp, bool push) { push_numeric_struct(sample, stamp, push); });
	}

	/// Pushes several samples from one vector: samples x channels, one sample after the other.
	/// @throws std::runtime_error if the number of values is no multiple of the channel count.
	template <class T>
	void push_chunk_multiplexed(const std::vector<T> &buffer, double timestamp = 0.0, bool pushthrough = true) {
		if (!buffer.empty()) push_chunk_multiplexed(buffer.data(), buffer.size(), timestamp, pushthrough);
	}

	/// Pushes several samples from one vector, samples x channels, with a stamp each.
	/// @throws std::runtime_error if there are fewer stamps than samples; then nothing was pushed.
	template <class T>
	void push_chunk_multiplexed(
		const std::vector<T> &buffer, const std::vector<double> &timestamps, bool pushthrough = true) {
		if (buffer.empty() || timestamps.empty()) return;
		check_stamps(timestamps.size(), buffer.size() / static_cast<std::size_t>(channel_count));
		push_chunk_multiplexed(buffer.data(), timestamps.data(), buffer.size(), pushthrough);
	}

	/// Pushes several samples from an array: samples x channels, one sample after the other.
	/// @param buffer_elements Number of values, not of samples.
	void push_chunk_multiplexed(
		const float *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_chunk_ftp(obj.get(), buffer, count(buffer_elements), timestamp, pushthrough));
	}
	void push_chunk_multiplexed(
		const double *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_chunk_dtp(obj.get(), buffer, count(buffer_elements), timestamp, pushthrough));
	}
	void push_chunk_multiplexed(
		const int64_t *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_chunk_ltp(obj.get(), buffer, count(buffer_elements), timestamp, pushthrough));
	}
	void push_chunk_multiplexed(
		const int32_t *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_chunk_itp(obj.get(), buffer, count(buffer_elements), timestamp, pushthrough));
	}
	void push_chunk_multiplexed(
		const int16_t *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_chunk_stp(obj.get(), buffer, count(buffer_elements), timestamp, pushthrough));
	}
	void push_chunk_multiplexed(
		const char *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		check_error(lsl_push_chunk_ctp(obj.get(), buffer, count(buffer_elements), timestamp, pushthrough));
	}
	void push_chunk_multiplexed(
		const std::string *buffer, std::size_t buffer_elements, double timestamp = 0.0, bool pushthrough = true) {
		detail::borrowed_strings strings(buffer, buffer_elements);
		check_error(lsl_push_chunk_buftp(obj.get(), strings.texts.data(), strings.lengths.data(), count(buffer_elements),
			timestamp, pushthrough));
	}

	/// Pushes several samples from an array, samples x channels, with a stamp each.
	/// @param timestamp_buffer One stamp per sample.
	/// @param data_buffer_elements Number of values, not of samples.
	void push_chunk_multiplexed(const float *data_buffer, const double *timestamp_buffer, std::size_t data_buffer_elements,
		bool pushthrough = true) {
		check_error(lsl_push_chunk_ftnp(
			obj.get(), data_buffer, count(data_buffer_elements), timestamp_buffer, pushthrough));
	}
	void push_chunk_multiplexed(const double *data_buffer, const double *timestamp_buffer, std::size_t data_buffer_elements,
		bool pushthrough = true) {
		check_error(lsl_push_chunk_dtnp(
			obj.get(), data_buffer, count(data_buffer_elements), timestamp_buffer, pushthrough));
	}
	void push_chunk_multiplexed(const int64_t *data_buffer, const double *timestamp_buffer, std::size_t data_buffer_elements,
		bool pushthrough = true) {
		check_error(lsl_push_chunk_ltnp(
			obj.get(), data_buffer, count(data_buffer_elements), timestamp_buffer, pushthrough));
	}
	void push_chunk_multiplexed(const int32_t *data_buffer, const double *timestamp_buffer, std::size_t data_buffer_elements,
		bool pushthrough = true) {
		check_error(lsl_push_chunk_itnp(
			obj.get(), data_buffer, count(data_buffer_elements), timestamp_buffer, pushthrough));
	}
	void push_chunk_multiplexed(const int16_t *data_buffer, const double *timestamp_buffer, std::size_t data_buffer_elements,
		bool pushthrough = true) {
		check_error(lsl_push_chunk_stnp(
			obj.get(), data_buffer, count(data_buffer_elements), timestamp_buffer, pushthrough));
	}
	void push_chunk_multiplexed(const char *data_buffer, const double *timestamp_buffer, std::size_t data_buffer_elements,
		bool pushthrough = true) {
		check_error(lsl_push_chunk_ctnp(
			obj.get(), data_buffer, count(data_buffer_elements), timestamp_buffer, pushthrough));
	}
	void push_chunk_multiplexed(const std::string *data_buffer, const double *timestamp_buffer,
		std::size_t data_buffer_elements, bool pushthrough = true) {
		detail::borrowed_strings strings(data_buffer, data_buffer_elements);
		check_error(lsl_push_chunk_buftnp(obj.get(), strings.texts.data(), strings.lengths.data(),
			count(data_buffer_elements), timestamp_buffer, pushthrough));
	}

	/// Whether an inlet receives the stream.
	bool have_consumers() { return lsl_have_consumers(obj.get()) != 0; }

	/// Waits until an inlet receives the stream. @return Whether one does before `timeout` seconds are over.
	bool wait_for_consumers(double timeout) { return lsl_wait_for_consumers(obj.get(), timeout) != 0; }

	/// A copy of the description that the stream has on the network: with its identity, computer and ports.
	stream_info info() const { return stream_info(lsl_get_info(obj.get())); }

	/// The outlet for the C interface; it lives as long as the result or this object.
	std::shared_ptr<lsl_outlet_struct_> handle() { return obj; }

private:
	static unsigned long count(std::size_t elements) { return static_cast<unsigned long>(elements); }

	void check_channels(std::size_t values) const {
		if (values != static_cast<std::size_t>(channel_count))
			throw std::runtime_error("A sample of the stream has " + std::to_string(channel_count) + " values, and not " +
									 std::to_string(values) + ".");
	}

	static void check_stamps(std::size_t stamps, std::size_t samples) {
		if (stamps < samples)
			throw std::runtime_error(
				"There are " + std::to_string(stamps) + " stamps for " + std::to_string(samples) + " samples.");
	}

	/// Pushes samples one by one, so that they travel together and the last has the stamp.
	template <class T, class Push>
	void push_each(const std::vector<T> &samples, double stamp, bool pushthrough, Push push) {
		const std::size_t count = samples.size();
		if (stamp == 0.0) stamp = local_clock();
		if (sample_rate != IRREGULAR_RATE && count > 0) stamp -= static_cast<double>(count - 1) / sample_rate;
		for (std::size_t k = 0; k < count; k++)
			push(samples[k], k == 0 ? stamp : DEDUCED_TIMESTAMP, pushthrough && k + 1 == count);
	}

	/// The same with a stamp each.
	template <class T, class Push>
	void push_each(const std::vector<T> &samples, const std::vector<double> &stamps, bool pushthrough, Push push) {
		check_stamps(stamps.size(), samples.size());
		for (std::size_t k = 0; k < samples.size(); k++)
			push(samples[k], stamps[k], pushthrough && k + 1 == samples.size());
	}

	int32_t channel_count;
	double sample_rate;
	std::shared_ptr<lsl_outlet_struct_> obj;
};

} // namespace lsl

#endif
