/* Receives an EEG stream only if it is sealed, and says who sends it: sealed
 *
 * Sealing itself needs no code: `schwann keys init` founds a lab, and from then on its streams are sealed. */
#include <stdio.h>

#include <schwann.h>

int main(void) {
	lsl_streaminfo found;
	if (lsl_resolve_byprop(&found, 1, "type", "EEG", 1, 10.0) < 1) {
		fprintf(stderr, "no EEG stream was found in 10 seconds: %s\n", lsl_last_error());
		return 1;
	}
	lsl_inlet inlet = lsl_create_inlet(found, 360, 0, 1);
	int32_t error = 0;
	lsl_open_stream(inlet, 10.0, &error);
	if (error) {
		fprintf(stderr, "no connection: %s\n", lsl_last_error());
		return 1;
	}
	schwann_peer_t peer;
	const int sealed = schwann_inlet_peer(inlet, &peer) == schwann_sealed;
	if (sealed)
		printf("sealed, sent by %s, whose key is %s\n", peer.name, peer.fingerprint);
	else
		puts("everybody on the network can read this stream; `schwann keys init` founds a lab");
	lsl_destroy_inlet(inlet);
	lsl_destroy_streaminfo(found);
	return sealed ? 0 : 2;
}
