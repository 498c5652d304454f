// Sends each line of its input as a marker, stamped with the time at which it came: markers
#include <iostream>

#include <lsl_cpp.h>

int main() try {
	// Markers have no rate: they come when something happens.
	lsl::stream_outlet outlet(
		lsl::stream_info("Events", "Markers", 1, lsl::IRREGULAR_RATE, lsl::cf_string, "example-events"));
	std::cout << "waiting for a receiver, such as `schwann watch Events`" << std::endl;
	outlet.wait_for_consumers(lsl::FOREVER);
	std::string line;
	while (std::getline(std::cin, line)) outlet.push_sample(&line, lsl::local_clock());
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
