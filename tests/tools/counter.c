/* Sends or receives a stream that counts, through whichever liblsl the loader finds.
 *
 *   counter send NAME CHANNELS RATE SECONDS
 *   counter receive NAME COUNT
 *
 * Every value of a sample is the sample's number, so that nothing is lost or changed unseen. The receiver ends with 0 once it
 * got COUNT samples of one sender, each once and in order; a sender that was started anew begins with 0. Both wait a minute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lsl_c.h"

enum { PATIENCE_S = 60, ROUNDS_PER_SECOND = 100, CHANNELS_MAX = 1024, VALUES_MAX = 1 << 20 };
/* A float counts exactly up to here; then the count begins again. */
static const long COUNT_MAX = 1L << 24;

#ifdef _WIN32
#include <windows.h>
static void pause_briefly(void) { Sleep(1); }
#else
#include <unistd.h>
static void pause_briefly(void) { usleep(1000); }
#endif

static int send_stream(const char *name, int channels, double rate, double seconds) {
	lsl_streaminfo info = lsl_create_streaminfo(name, "Test", channels, rate, cft_float32, name);
	lsl_outlet outlet = lsl_create_outlet(info, 0, 360);
	if (!outlet || !lsl_wait_for_consumers(outlet, PATIENCE_S)) return 2;
	long total = (long)(rate * seconds), sent = 0;
	float *chunk = malloc(sizeof(float) * VALUES_MAX);
	double begun = lsl_local_clock();
	for (long round = 1; sent < total && chunk; round++) {
		long until = (long)(rate * (double)round / ROUNDS_PER_SECOND), values = 0;
		if (until > total) until = total;
		for (; sent < until && values + channels <= VALUES_MAX; sent++)
			for (int channel = 0; channel < channels; channel++) chunk[values++] = (float)(sent % COUNT_MAX);
		if (lsl_push_chunk_f(outlet, chunk, (unsigned long)values)) return 3;
		while (lsl_local_clock() < begun + (double)round / ROUNDS_PER_SECOND) pause_briefly();
	}
	for (double end = lsl_local_clock() + PATIENCE_S; lsl_have_consumers(outlet) && lsl_local_clock() < end;) pause_briefly();
	printf("sent %ld samples\n", sent);
	free(chunk);
	lsl_destroy_outlet(outlet);
	lsl_destroy_streaminfo(info);
	return 0;
}

static int receive_stream(const char *name, long count) {
	lsl_streaminfo info;
	int error = 0;
	if (lsl_resolve_byprop(&info, 1, "name", name, 1, PATIENCE_S) != 1) return 4;
	int channels = lsl_get_channel_count(info);
	lsl_inlet inlet = lsl_create_inlet(info, 360, 0, 1);
	lsl_open_stream(inlet, PATIENCE_S, &error);
	if (error || channels > CHANNELS_MAX) return 5;
	double offset = lsl_time_correction(inlet, PATIENCE_S, &error);
	float sample[CHANNELS_MAX];
	long received = 0, wrong = 0, starts = 0;
	while (received < count && lsl_pull_sample_f(inlet, sample, channels, PATIENCE_S, &error) != 0.0 && !error) {
		if (sample[0] == 0 && received % COUNT_MAX) received = 0;
		if (received == 0) {
			starts++;
			puts("receiving");
			fflush(stdout);
		}
		for (int channel = 0; channel < channels; channel++) wrong += sample[channel] != (float)(received % COUNT_MAX);
		received++;
	}
	printf("received %ld of %ld samples from %ld senders, %ld wrong values, offset %.6f s, error %d, %s\n", received, count,
		starts, wrong, offset, error, lsl_library_info());
	lsl_destroy_inlet(inlet);
	lsl_destroy_streaminfo(info);
	return received == count && !wrong && !error ? 0 : 1;
}

int main(int argc, char **argv) {
	if (argc == 6 && !strcmp(argv[1], "send")) return send_stream(argv[2], atoi(argv[3]), atof(argv[4]), atof(argv[5]));
	if (argc == 4 && !strcmp(argv[1], "receive")) return receive_stream(argv[2], atol(argv[3]));
	fprintf(stderr, "counter send NAME CHANNELS RATE SECONDS | counter receive NAME COUNT\n");
	return 64;
}
