// Lists the streams on the network, and how far the clocks of their computers are away: resolve
#include <iostream>

#include <lsl_cpp.h>

int main() try {
	for (const lsl::stream_info &stream : lsl::resolve_streams(1.0)) {
		std::cout << stream.name() << " (" << stream.type() << "): " << stream.channel_count() << " channels at "
				  << stream.nominal_srate() << " Hz on " << stream.hostname();
		try {
			std::cout << ", clock " << std::showpos << lsl::stream_inlet(stream).time_correction(5.0) << std::noshowpos << " s";
		} catch (const lsl::timeout_error &) {
			std::cout << ", clock unknown";
		}
		std::cout << '\n';
	}
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
