#ifndef SCHWANN_LSL_CPP_INLET_H
#define SCHWANN_LSL_CPP_INLET_H
/** Inlets: where samples come in. */
#include "streaminfo.h"

namespace lsl {

/// A stream that this program receives. It can be moved, not copied.
///
/// Timeouts are in seconds. In all pulls:
///
/// - values have one of seven types: float, double, int64_t, int32_t, int16_t, char, std::string. They are converted from the
///   stream's type;
/// - stamps are in seconds of the sender's clock, unless set_postprocessing() says otherwise. A stamp of 0.0 says that no sample
///   came in time;
/// - lost_error is thrown if the stream is gone for good, once what arrived before was pulled.
class stream_inlet {
public:
	/// Makes a receiver. It connects with open_stream(), or with the first pull.
	///
	/// @param info What resolve_stream() found, or any full description of the stream; the inlet copies it.
	/// @param max_buflen What is kept between pulls: seconds, or hundreds of samples if the stream has no rate. Beyond that the
	///        oldest samples are dropped.
	/// @param max_chunklen Samples per send of the outlet; 0 leaves that to the outlet.
	/// @param recover Whether to find the stream again by its source id after its sender restarted.
	/// @param flags lsl_transport_options_t values, added.
	/// @throws std::invalid_argument if there can be none; the text says why.
	stream_inlet(const stream_info &info, int32_t max_buflen = 360, int32_t max_chunklen = 0, bool recover = true,
		lsl_transport_options_t flags = transp_default)
		: channel_count(info.channel_count()),
		  obj(lsl_create_inlet_ex(info.handle().get(), max_buflen, max_chunklen, recover, static_cast<uint32_t>(flags)),
			  &lsl_destroy_inlet) {
		detail::check_made(obj.get());
	}

	stream_inlet(stream_inlet &&) noexcept = default;
	stream_inlet &operator=(stream_inlet &&) noexcept = default;
	stream_inlet(const stream_inlet &) = delete;
	stream_inlet &operator=(const stream_inlet &) = delete;

	/// The inlet for the C interface; it lives as long as the result or this object.
	std::shared_ptr<lsl_inlet_struct_> handle() { return obj; }

	/// Fetches the whole description, with metadata.
	/// @throws timeout_error, lost_error
	stream_info info(double timeout = FOREVER) {
		int32_t ec = lsl_no_error;
		const lsl_streaminfo full = lsl_get_fullinfo(obj.get(), timeout, &ec);
		check_error(ec);
		return stream_info(full);
	}

	/// Connects: all samples that are pushed after it returned are kept for a pull.
	/// @throws timeout_error, lost_error
	void open_stream(double timeout = FOREVER) {
		int32_t ec = lsl_no_error;
		lsl_open_stream(obj.get(), timeout, &ec);
		check_error(ec);
	}

	/// Disconnects and drops what was not pulled. A thread that waits comes back. A later pull connects again.
	void close_stream() { lsl_close_stream(obj.get()); }

	/// Measures how far the sender's clock is away. The first call takes about two thirds of a second; later ones return the
	/// newest estimate at once.
	/// @return Seconds to add to the sender's stamps to have them on the local clock.
	/// @throws timeout_error, lost_error
	double time_correction(double timeout = FOREVER) {
		int32_t ec = lsl_no_error;
		const double offset = lsl_time_correction(obj.get(), timeout, &ec);
		check_error(ec);
		return offset;
	}

	/// The same, and how good it is.
	/// @param remote_time Receives when it was measured, in seconds of the sender's clock.
	/// @param uncertainty Receives the round trip of the best probe in seconds, twice what the result can be wrong by.
	double time_correction(double *remote_time, double *uncertainty, double timeout = FOREVER) {
		int32_t ec = lsl_no_error;
		const double offset = lsl_time_correction_ex(obj.get(), remote_time, uncertainty, timeout, &ec);
		check_error(ec);
		return offset;
	}

	/// Chooses what is done with stamps before a pull returns them. Until then nothing is.
	/// @param flags processing_options_t values, added.
	void set_postprocessing(uint32_t flags = post_ALL) { check_error(lsl_set_postprocessing(obj.get(), flags)); }

	/// Pulls one sample of N values: pull_sample<float, 8>(array). @return Its stamp.
	template <class T, int N> double pull_sample(T sample[N], double timeout = FOREVER) {
		return pull_sample(&sample[0], N, timeout);
	}

	/// Pulls one sample; the vector gets its size. @return Its stamp.
	template <class T> double pull_sample(std::vector<T> &sample, double timeout = FOREVER) {
		sample.resize(static_cast<std::size_t>(channel_count));
		return pull_sample(sample.data(), channel_count, timeout);
	}

	/// Pulls one sample into an array.
	/// @param buffer_elements Number of values there: the channel count.
	/// @return Its stamp.
	double pull_sample(float *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		return pull(lsl_pull_sample_f, buffer, buffer_elements, timeout);
	}
	double pull_sample(double *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		return pull(lsl_pull_sample_d, buffer, buffer_elements, timeout);
	}
	double pull_sample(int64_t *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		return pull(lsl_pull_sample_l, buffer, buffer_elements, timeout);
	}
	double pull_sample(int32_t *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		return pull(lsl_pull_sample_i, buffer, buffer_elements, timeout);
	}
	double pull_sample(int16_t *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		return pull(lsl_pull_sample_s, buffer, buffer_elements, timeout);
	}
	double pull_sample(char *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		return pull(lsl_pull_sample_c, buffer, buffer_elements, timeout);
	}
	double pull_sample(std::string *buffer, int32_t buffer_elements, double timeout = FOREVER) {
		const std::size_t places = buffer_elements > 0 ? static_cast<std::size_t>(buffer_elements) : 0;
		detail::received_strings strings(places);
		int32_t ec = lsl_no_error;
		const double stamp = lsl_pull_sample_buf(
			obj.get(), strings.texts.data(), strings.lengths.data(), buffer_elements, timeout, &ec);
		check_error(ec);
		strings.copy_to(buffer, places);
		return stamp;
	}

	/// Pulls one sample into a structure of numbers as the stream has them, without gaps between them. @return Its stamp.
	/// @throws std::invalid_argument if the structure has another size than a sample.
	template <class T> double pull_numeric_struct(T &sample, double timeout = FOREVER) {
		return pull_numeric_raw(&sample, static_cast<int32_t>(sizeof(T)), timeout);
	}

	/// Pulls one sample into memory: values of the stream's own numeric type, one per channel. @return Its stamp.
	double pull_numeric_raw(void *sample, int32_t buffer_bytes, double timeout = FOREVER) {
		return pull(lsl_pull_sample_v, sample, buffer_bytes, timeout);
	}

	/// Pulls the samples that are there, with a stamp each; does not wait. @return Whether there were any.
	template <class T> bool pull_chunk(std::vector<std::vector<T>> &chunk, std::vector<double> &timestamps) {
		chunk.clear();
		timestamps.clear();
		each_sample<std::vector<T>>([&](const std::vector<T> &sample, double stamp) {
			chunk.push_back(sample);
			timestamps.push_back(stamp);
		});
		return !chunk.empty();
	}

	/// Pulls the samples that are there; does not wait. @return The stamp of the last one.
	template <class T> double pull_chunk(std::vector<std::vector<T>> &chunk) {
		double last = 0.0;
		chunk.clear();
		each_sample<std::vector<T>>([&](const std::vector<T> &sample, double stamp) {
			chunk.push_back(sample);
			last = stamp;
		});
		return last;
	}

	/// Pulls the samples that are there, without stamps: pull_chunk<float>(). Does not wait.
	template <class T> std::vector<std::vector<T>> pull_chunk() {
		std::vector<std::vector<T>> chunk;
		pull_chunk(chunk);
		return chunk;
	}

	/// Pulls several samples into an array: samples x channels, one sample after the other.
	///
	/// @param timestamp_buffer Receives one stamp per sample; may be null.
	/// @param data_buffer_elements Number of values there, not of samples: a multiple of the channel count.
	/// @param timestamp_buffer_elements Number of stamps there: as many as samples fit.
	/// @param timeout Seconds to wait until the array is full; 0 takes the samples that have arrived.
	/// @return Number of values, not of samples.
	/// @throws std::runtime_error if the sizes do not fit.
	std::size_t pull_chunk_multiplexed(float *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		return pull(lsl_pull_chunk_f, data_buffer, timestamp_buffer, data_buffer_elements, timestamp_buffer_elements, timeout);
	}
	std::size_t pull_chunk_multiplexed(double *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		return pull(lsl_pull_chunk_d, data_buffer, timestamp_buffer, data_buffer_elements, timestamp_buffer_elements, timeout);
	}
	std::size_t pull_chunk_multiplexed(int64_t *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		return pull(lsl_pull_chunk_l, data_buffer, timestamp_buffer, data_buffer_elements, timestamp_buffer_elements, timeout);
	}
	std::size_t pull_chunk_multiplexed(int32_t *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		return pull(lsl_pull_chunk_i, data_buffer, timestamp_buffer, data_buffer_elements, timestamp_buffer_elements, timeout);
	}
	std::size_t pull_chunk_multiplexed(int16_t *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		return pull(lsl_pull_chunk_s, data_buffer, timestamp_buffer, data_buffer_elements, timestamp_buffer_elements, timeout);
	}
	std::size_t pull_chunk_multiplexed(char *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		return pull(lsl_pull_chunk_c, data_buffer, timestamp_buffer, data_buffer_elements, timestamp_buffer_elements, timeout);
	}
	std::size_t pull_chunk_multiplexed(std::string *data_buffer, double *timestamp_buffer, std::size_t data_buffer_elements,
		std::size_t timestamp_buffer_elements, double timeout = 0.0) {
		detail::received_strings strings(data_buffer_elements);
		int32_t ec = lsl_no_error;
		const std::size_t values = lsl_pull_chunk_buf(obj.get(), strings.texts.data(), strings.lengths.data(),
			timestamp_buffer, static_cast<unsigned long>(data_buffer_elements),
			static_cast<unsigned long>(timestamp_buffer_elements), timeout, &ec);
		check_error(ec);
		strings.copy_to(data_buffer, values);
		return values;
	}

	/// Pulls the samples that are there into one vector: samples x channels, one sample after the other.
	///
	/// @param timestamps Receives one stamp per sample; may be null.
	/// @param timeout Seconds to wait for the first sample.
	/// @param append Whether to keep what is in the vectors.
	/// @return Whether there were any.
	template <class T>
	bool pull_chunk_multiplexed(std::vector<T> &chunk, std::vector<double> *timestamps = nullptr, double timeout = 0.0,
		bool append = false) {
		if (!append) chunk.clear();
		if (!append && timestamps) timestamps->clear();
		bool any = false;
		std::vector<T> sample;
		double stamp;
		while ((stamp = pull_sample(sample, any ? 0.0 : timeout)) != 0.0) {
			chunk.insert(chunk.end(), sample.begin(), sample.end());
			if (timestamps) timestamps->push_back(stamp);
			any = true;
		}
		return any;
	}

	/// Pulls the samples that are there into structures, with a stamp each; does not wait. @return Whether there were any.
	template <class T> bool pull_chunk_numeric_structs(std::vector<T> &chunk, std::vector<double> &timestamps) {
		chunk.clear();
		timestamps.clear();
		each_struct<T>([&](const T &sample, double stamp) {
			chunk.push_back(sample);
			timestamps.push_back(stamp);
		});
		return !chunk.empty();
	}

	/// Pulls the samples that are there into structures; does not wait. @return The stamp of the last one.
	template <class T> double pull_chunk_numeric_structs(std::vector<T> &chunk) {
		double last = 0.0;
		chunk.clear();
		each_struct<T>([&](const T &sample, double stamp) {
			chunk.push_back(sample);
			last = stamp;
		});
		return last;
	}

	/// Pulls the samples that are there into structures, without stamps: pull_chunk_numeric_structs<T>(). Does not wait.
	template <class T> std::vector<T> pull_chunk_numeric_structs() {
		std::vector<T> chunk;
		pull_chunk_numeric_structs(chunk);
		return chunk;
	}

	/// Number of samples that a pull would find now.
	std::size_t samples_available() { return lsl_samples_available(obj.get()); }

	/// Drops what has arrived. @return How many samples that were.
	uint32_t flush() noexcept { return lsl_inlet_flush(obj.get()); }

	/// Whether the sender may have another clock since this was last asked, because it restarted or moved.
	bool was_clock_reset() { return lsl_was_clock_reset(obj.get()) != 0; }

	/// Sets how slowly post_dejitter follows: after so many seconds a stamp counts half.
	void smoothing_halftime(float value) { check_error(lsl_smoothing_halftime(obj.get(), value)); }

	/// Values per sample.
	int get_channel_count() const { return channel_count; }

private:
	template <class T>
	double pull(double (*function)(lsl_inlet, T *, int32_t, double, int32_t *), T *buffer, int32_t len, double timeout) {
		int32_t ec = lsl_no_error;
		const double stamp = function(obj.get(), buffer, len, timeout, &ec);
		check_error(ec);
		return stamp;
	}

	template <class T>
	std::size_t pull(
		unsigned long (*function)(lsl_inlet, T *, double *, unsigned long, unsigned long, double, int32_t *), T *data,
		double *stamps, std::size_t data_len, std::size_t stamps_len, double timeout) {
		int32_t ec = lsl_no_error;
		const unsigned long values = function(obj.get(), data, stamps, static_cast<unsigned long>(data_len),
			static_cast<unsigned long>(stamps_len), timeout, &ec);
		check_error(ec);
		return values;
	}

	template <class Sample, class Take> void each_sample(Take take) {
		Sample sample;
		double stamp;
		while ((stamp = pull_sample(sample, 0.0)) != 0.0) take(sample, stamp);
	}

	template <class T, class Take> void each_struct(Take take) {
		T sample;
		double stamp;
		while ((stamp = pull_numeric_struct(sample, 0.0)) != 0.0) take(sample, stamp);
	}

	int32_t channel_count;
	std::shared_ptr<lsl_inlet_struct_> obj;
};

} // namespace lsl

#endif
