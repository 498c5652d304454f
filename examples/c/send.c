/* Sends eight channels at 100 Hz, with their labels and units: send [SECONDS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <lsl_c.h>

#define CHANNELS 8

static void pause_ms(long milliseconds) {
	const struct timespec pause = {0, milliseconds * 1000000};
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv) {
	const double seconds = argc > 1 ? atof(argv[1]) : 60.0;
	/* The source id stays the same when this program restarts: inlets find the stream again by it. */
	lsl_streaminfo info = lsl_create_streaminfo("Waves", "EEG", CHANNELS, 100.0, cft_float32, "example-waves");
	lsl_xml_ptr channels = lsl_append_child(lsl_get_desc(info), "channels");
	for (int k = 0; k < CHANNELS; k++) {
		char label[8];
		snprintf(label, sizeof label, "E%d", k + 1);
		lsl_xml_ptr channel = lsl_append_child(channels, "channel");
		lsl_append_child_value(channel, "label", label);
		lsl_append_child_value(channel, "unit", "microvolts");
	}
	lsl_outlet outlet = lsl_create_outlet(info, 0, 360);
	if (!outlet) {
		fprintf(stderr, "no outlet: %s\n", lsl_last_error());
		return 1;
	}
	puts("sending");
	fflush(stdout);
	const double start = lsl_local_clock();
	for (long n = 0; lsl_local_clock() < start + seconds; n++) {
		float sample[CHANNELS];
		for (int k = 0; k < CHANNELS; k++) sample[k] = (float)(50.0 * sin(0.0628 * (k + 1) * (double)n));
		lsl_push_sample_f(outlet, sample);
		pause_ms(10);
	}
	lsl_destroy_outlet(outlet);
	lsl_destroy_streaminfo(info);
	return 0;
}
