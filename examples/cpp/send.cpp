// Sends eight channels at 100 Hz, with their labels and units: send [SECONDS]
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <thread>

#include <lsl_cpp.h>

int main(int argc, char **argv) try {
	const double seconds = argc > 1 ? std::stod(argv[1]) : 60.0;
	std::array<float, 8> sample;
	// The source id stays the same when this program restarts: inlets find the stream again by it.
	lsl::stream_info info("Waves", "EEG", static_cast<int32_t>(sample.size()), 100.0, lsl::cf_float32, "example-waves");
	lsl::xml_element channels = info.desc().append_child("channels");
	for (std::size_t k = 0; k < sample.size(); k++)
		channels.append_child("channel")
			.append_child_value("label", "E" + std::to_string(k + 1))
			.append_child_value("unit", "microvolts");
	lsl::stream_outlet outlet(info);
	std::cout << "sending" << std::endl;
	const double start = lsl::local_clock();
	for (long n = 0; lsl::local_clock() < start + seconds; n++) {
		for (std::size_t k = 0; k < sample.size(); k++)
			sample[k] = static_cast<float>(50.0 * std::sin(0.0628 * static_cast<double>(k + 1) * static_cast<double>(n)));
		outlet.push_sample(sample.data());
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
