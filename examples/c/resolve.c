/* Lists the streams on the network, and how far the clocks of their computers are away: resolve */
#include <stdio.h>

#include <lsl_c.h>

int main(void) {
	lsl_streaminfo found[256];
	const int32_t count = lsl_resolve_all(found, 256, 1.0);
	if (count < 0) {
		fprintf(stderr, "cannot search: %s\n", lsl_last_error());
		return 1;
	}
	for (int k = 0; k < count; k++) {
		printf("%s (%s): %d channels at %g Hz on %s", lsl_get_name(found[k]), lsl_get_type(found[k]),
			(int)lsl_get_channel_count(found[k]), lsl_get_nominal_srate(found[k]), lsl_get_hostname(found[k]));
		lsl_inlet inlet = lsl_create_inlet(found[k], 360, 0, 1);
		int32_t error = 0;
		const double offset = lsl_time_correction(inlet, 5.0, &error);
		if (inlet && !error) printf(", clock %+.6f s", offset);
		puts("");
		lsl_destroy_inlet(inlet);
		lsl_destroy_streaminfo(found[k]);
	}
	return 0;
}
