/* What schwann.h tells of sealed connections. Needs SCHWANN_KEYS with an unprotected device key of a lab; with the
 * argument "no-key", an empty SCHWANN_KEYS and SCHWANN_SECURITY=require. */
#include "check.h"

#define NAME "sealed-c"

static lsl_outlet make_outlet(void) {
	lsl_streaminfo info = lsl_create_streaminfo(NAME, "EEG", 2, 0, cft_float32, "sealed-c");
	lsl_outlet outlet = lsl_create_outlet(info, 0, 1);
	lsl_destroy_streaminfo(info);
	return outlet;
}

static void members(void) {
	CHECK(strstr(lsl_library_info(), "security:require as ") != NULL);
	lsl_outlet outlet = make_outlet();
	CHECK(outlet != NULL);
	lsl_streaminfo found = resolve(NAME);
	lsl_inlet inlet = lsl_create_inlet(found, 10, 0, 1);
	schwann_peer_t peer;
	memset(&peer, 0xff, sizeof peer);
	CHECK(schwann_inlet_peer(inlet, &peer) == schwann_no_connection && peer.security == schwann_no_connection);
	CHECK(peer.name[0] == 0 && peer.fingerprint[0] == 0 && peer.serial == 0 && peer.roles == 0);
	int32_t ec = 1;
	lsl_open_stream(inlet, LONG, &ec);
	CHECK(ec == 0 && lsl_wait_for_consumers(outlet, LONG));
	CHECK(schwann_inlet_peer(inlet, &peer) == schwann_sealed && schwann_inlet_peer(inlet, NULL) == schwann_sealed);
	CHECK(strcmp(peer.name, "first computer") == 0 && strlen(peer.fingerprint) == 39 && peer.hybrid == 1);
	CHECK(peer.roles == (schwann_role_publish | schwann_role_subscribe) && peer.serial == 1);
	CHECK(peer.not_after > 1700000000 && peer.revocation_list == 1 && peer.reserved == 0);
	schwann_peer_t peers[4];
	memset(peers, 0xff, sizeof peers);
	CHECK(schwann_outlet_peers(outlet, peers, 4) == 1 && schwann_outlet_peers(outlet, NULL, 0) == 1);
	CHECK(peers[0].security == schwann_sealed && strcmp(peers[0].fingerprint, peer.fingerprint) == 0);
	CHECK(schwann_inlet_refusal(inlet, NULL, 0) == 0);
	lsl_destroy_inlet(inlet);
	lsl_destroy_streaminfo(found);
	lsl_destroy_outlet(outlet);
}

static void without_a_key(void) {
	CHECK(make_outlet() == NULL);
	CHECK(strstr(lsl_last_error(), "no key in ") && strstr(lsl_last_error(), "`schwann keys init`"));
	lsl_streaminfo found;
	CHECK(lsl_resolve_byprop(&found, 1, "name", NAME, 1, 1.0) == lsl_internal_error);
	CHECK(strstr(lsl_last_error(), "no key in ") != NULL);
}

int main(int argc, char **argv) {
	configure();
	if (argc > 1 && strcmp(argv[1], "no-key") == 0) {
		without_a_key();
		return 0;
	}
	CHECK(schwann_inlet_peer(NULL, NULL) == lsl_argument_error);
	CHECK(schwann_outlet_peers(NULL, NULL, 3) == 0 && schwann_inlet_refusal(NULL, NULL, 0) == 0);
	members();
	return 0;
}
