/* Receives an EEG stream: prints the labels of its channels, then samples: receive [SAMPLES] */
#include <stdio.h>
#include <stdlib.h>

#include <lsl_c.h>

int main(int argc, char **argv) {
	const int samples = argc > 1 ? atoi(argv[1]) : 10;
	lsl_streaminfo found;
	if (lsl_resolve_byprop(&found, 1, "type", "EEG", 1, 10.0) < 1) {
		fprintf(stderr, "no EEG stream was found in 10 seconds\n");
		return 1;
	}
	lsl_inlet inlet = lsl_create_inlet(found, 360, 0, 1);
	/* What a search found has no metadata; the inlet fetches it. */
	int32_t error = 0;
	lsl_streaminfo info = lsl_get_fullinfo(inlet, 10.0, &error);
	if (!info) {
		fprintf(stderr, "no description: %s\n", lsl_last_error());
		return 1;
	}
	printf("%s from %s:", lsl_get_name(info), lsl_get_hostname(info));
	lsl_xml_ptr channel = lsl_child(lsl_child(lsl_get_desc(info), "channels"), "channel");
	for (; !lsl_empty(channel); channel = lsl_next_sibling(channel)) printf(" %s", lsl_child_value_n(channel, "label"));

	const int channels = lsl_get_channel_count(info);
	float *sample = malloc((size_t)channels * sizeof *sample);
	for (int n = 0; n < samples && !error; n++) {
		const double stamp = lsl_pull_sample_f(inlet, sample, channels, LSL_FOREVER, &error);
		printf("\n%.6f", stamp);
		for (int k = 0; k < channels; k++) printf(" %.2f", (double)sample[k]);
	}
	puts("");
	if (error) fprintf(stderr, "the stream ended: %s\n", lsl_last_error());
	free(sample);
	lsl_destroy_inlet(inlet);
	lsl_destroy_streaminfo(info);
	lsl_destroy_streaminfo(found);
	return error ? 1 : 0;
}
