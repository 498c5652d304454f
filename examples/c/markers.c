/* Sends each line of its input as a marker, stamped with the time at which it came: markers */
#include <stdio.h>
#include <string.h>

#include <lsl_c.h>

int main(void) {
	/* Markers have no rate: they come when something happens. */
	lsl_streaminfo info = lsl_create_streaminfo("Events", "Markers", 1, LSL_IRREGULAR_RATE, cft_string, "example-events");
	lsl_outlet outlet = lsl_create_outlet(info, 0, 360);
	if (!outlet) {
		fprintf(stderr, "no outlet: %s\n", lsl_last_error());
		return 1;
	}
	puts("waiting for a receiver, such as `schwann watch Events`");
	fflush(stdout);
	lsl_wait_for_consumers(outlet, LSL_FOREVER);
	char line[256];
	while (fgets(line, sizeof line, stdin)) {
		const double stamp = lsl_local_clock();
		const char *marker = line;
		line[strcspn(line, "\n")] = '\0';
		lsl_push_sample_strt(outlet, &marker, stamp);
	}
	lsl_destroy_outlet(outlet);
	lsl_destroy_streaminfo(info);
	return 0;
}
