// Receives an EEG stream only if it is sealed, and says who sends it: sealed
//
// Sealing itself needs no code: `schwann keys init` founds a lab, and from then on its streams are sealed.
#include <iostream>

#include <lsl_cpp.h>
#include <schwann.h>

int main() try {
	const std::vector<lsl::stream_info> found = lsl::resolve_stream("type", "EEG", 1, 10.0);
	if (found.empty()) throw std::runtime_error("no EEG stream was found in 10 seconds");
	lsl::stream_inlet inlet(found.front());
	inlet.open_stream(10.0);
	schwann_peer_t peer;
	if (schwann_inlet_peer(inlet.handle().get(), &peer) != schwann_sealed) {
		std::cout << "everybody on the network can read this stream; `schwann keys init` founds a lab\n";
		return 2;
	}
	std::cout << "sealed, sent by " << peer.name << ", whose key is " << peer.fingerprint << '\n';
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
