// Receives an EEG stream: prints the labels of its channels, then samples: receive [SAMPLES]
#include <iomanip>
#include <iostream>

#include <lsl_cpp.h>

int main(int argc, char **argv) try {
	const int samples = argc > 1 ? std::stoi(argv[1]) : 10;
	const std::vector<lsl::stream_info> found = lsl::resolve_stream("type", "EEG", 1, 10.0);
	if (found.empty()) throw std::runtime_error("no EEG stream was found in 10 seconds");
	lsl::stream_inlet inlet(found.front());
	// What a search found has no metadata; the inlet fetches it.
	lsl::stream_info info = inlet.info(10.0);
	std::cout << info.name() << " from " << info.hostname() << ':';
	lsl::xml_element channel = info.desc().child("channels").child("channel");
	for (; !channel.empty(); channel = channel.next_sibling()) std::cout << ' ' << channel.child_value("label");

	std::vector<float> sample;
	std::cout << std::fixed;
	for (int n = 0; n < samples; n++) {
		const double stamp = inlet.pull_sample(sample);
		std::cout << '\n' << std::setprecision(6) << stamp << std::setprecision(2);
		for (float value : sample) std::cout << ' ' << value;
	}
	std::cout << '\n';
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
