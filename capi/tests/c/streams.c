/* Every push and pull function, with values that show the conversion. */
#include "check.h"

#define CHANNELS 3
#define ROWS 4

static lsl_outlet outlet;
static lsl_inlet inlet;

static void open_pair(const char *name, lsl_channel_format_t format) {
	lsl_streaminfo info = lsl_create_streaminfo(name, "Test", CHANNELS, 100.0, format, name);
	CHECK(info);
	outlet = lsl_create_outlet(info, 0, 360);
	CHECK(outlet);
	lsl_streaminfo found = resolve(name);
	inlet = lsl_create_inlet(found, 360, 0, 1);
	CHECK(inlet);
	int32_t error = 1;
	lsl_open_stream(inlet, LONG, &error);
	CHECK(error == 0 && lsl_have_consumers(outlet) == 1);
	lsl_destroy_streaminfo(found);
	lsl_destroy_streaminfo(info);
}

static void close_pair(void) {
	lsl_destroy_outlet(outlet);
	lsl_destroy_inlet(inlet);
}

#define NUMERIC(SUFFIX, TYPE, FORMAT)                                                                \
	static void numeric_##SUFFIX(void) {                                                         \
		open_pair("numeric-" #SUFFIX, FORMAT);                                               \
		TYPE sample[CHANNELS] = {1, -2, 100}, pulled[CHANNELS * ROWS] = {0};                 \
		TYPE chunk[CHANNELS * ROWS];                                                         \
		double stamps[ROWS], times[ROWS] = {11.0, 12.0, 13.0, 14.0};                         \
		int32_t error = 0;                                                                   \
		for (int k = 0; k < CHANNELS * ROWS; k++) chunk[k] = (TYPE)(k - 5);                  \
		CHECK(lsl_push_sample_##SUFFIX(outlet, sample) == 0);                                \
		CHECK(lsl_push_sample_##SUFFIX##t(outlet, sample, 7.0) == 0);                        \
		CHECK(lsl_push_sample_##SUFFIX##tp(outlet, sample, 8.0, 1) == 0);                    \
		double stamp = lsl_pull_sample_##SUFFIX(inlet, pulled, CHANNELS, LONG, &error);      \
		CHECK(fabs(stamp - lsl_local_clock()) < 10.0 && error == 0);                         \
		CHECK(lsl_pull_sample_##SUFFIX(inlet, pulled, CHANNELS, LONG, &error) == 7.0);       \
		CHECK(lsl_pull_sample_##SUFFIX(inlet, pulled, CHANNELS, LONG, &error) == 8.0);       \
		CHECK(memcmp(sample, pulled, sizeof sample) == 0);                                   \
		lsl_pull_sample_##SUFFIX(inlet, pulled, CHANNELS + 1, 0.0, &error);                  \
		CHECK(error == lsl_argument_error);                                                  \
		CHECK(lsl_push_chunk_##SUFFIX(outlet, chunk, CHANNELS * ROWS) == 0);                 \
		CHECK(lsl_push_chunk_##SUFFIX##t(outlet, chunk, CHANNELS * ROWS, 20.0) == 0);        \
		CHECK(lsl_push_chunk_##SUFFIX##tp(outlet, chunk, CHANNELS * ROWS, 21.0, 0) == 0);    \
		CHECK(lsl_push_chunk_##SUFFIX##tn(outlet, chunk, CHANNELS * ROWS, times) == 0);      \
		CHECK(lsl_push_chunk_##SUFFIX##tnp(outlet, chunk, CHANNELS * ROWS, times, 1) == 0);  \
		for (int k = 0; k < 5; k++) {                                                        \
			unsigned long n = lsl_pull_chunk_##SUFFIX(                                   \
				inlet, pulled, stamps, CHANNELS * ROWS, ROWS, LONG, &error);         \
			CHECK(n == CHANNELS * ROWS && error == 0);                                   \
			CHECK(memcmp(chunk, pulled, sizeof chunk) == 0);                             \
			if (k == 1) CHECK(fabs(stamps[ROWS - 1] - 20.0) < 1e-9);                     \
			if (k >= 3) CHECK(memcmp(stamps, times, sizeof stamps) == 0);                \
		}                                                                                    \
		CHECK(lsl_push_chunk_##SUFFIX(outlet, chunk, CHANNELS + 1) == lsl_internal_error);   \
		CHECK(lsl_push_chunk_##SUFFIX(outlet, chunk, 0) == 0);                               \
		CHECK(lsl_push_chunk_##SUFFIX(outlet, NULL, CHANNELS) == lsl_internal_error);        \
		lsl_pull_chunk_##SUFFIX(inlet, pulled, stamps, CHANNELS + 1, 1, 0.0, &error);        \
		CHECK(error == lsl_internal_error);                                                  \
		CHECK(lsl_push_sample_v(outlet, sample) == 0);                                       \
		CHECK(lsl_push_sample_vt(outlet, sample, 5.0) == 0);                                 \
		CHECK(lsl_push_sample_vtp(outlet, sample, 6.0, 1) == 0);                             \
		for (int k = 0; k < 3; k++)                                                          \
			stamp = lsl_pull_sample_v(inlet, pulled, sizeof sample, LONG, &error);       \
		CHECK(stamp == 6.0 && memcmp(sample, pulled, sizeof sample) == 0);                   \
		close_pair();                                                                        \
	}

NUMERIC(f, float, cft_float32)
NUMERIC(d, double, cft_double64)
NUMERIC(l, int64_t, cft_int64)
NUMERIC(i, int32_t, cft_int32)
NUMERIC(s, int16_t, cft_int16)
NUMERIC(c, char, cft_int8)

static void give_back(char **texts, int count) {
	lsl_destroy_string_array(texts, (unsigned long)count);
	for (int k = 0; k < count; k++) texts[k] = NULL;
}

static void strings(void) {
	open_pair("strings", cft_string);
	const char *sample[CHANNELS] = {"one", "", "three"};
	const char *raw[CHANNELS] = {"a\0b", "", "xyz"};
	const uint32_t lengths[CHANNELS] = {3, 0, 2};
	double stamps[2], times[1] = {9.0};
	int32_t error = 0;
	CHECK(lsl_push_sample_str(outlet, sample) == 0);
	CHECK(lsl_push_sample_strt(outlet, sample, 2.0) == 0);
	CHECK(lsl_push_sample_strtp(outlet, sample, 3.0, 1) == 0);
	CHECK(lsl_push_chunk_str(outlet, sample, CHANNELS) == 0);
	CHECK(lsl_push_chunk_strt(outlet, sample, CHANNELS, 4.0) == 0);
	CHECK(lsl_push_chunk_strtp(outlet, sample, CHANNELS, 5.0, 1) == 0);
	CHECK(lsl_push_chunk_strtn(outlet, sample, CHANNELS, times) == 0);
	CHECK(lsl_push_chunk_strtnp(outlet, sample, CHANNELS, times, 1) == 0);
	char *texts[2 * CHANNELS];
	for (int k = 0; k < 8; k++) {
		double stamp = lsl_pull_sample_str(inlet, texts, CHANNELS, LONG, &error);
		CHECK(stamp != 0.0 && error == 0 && (k != 1 || stamp == 2.0) && (k < 6 || stamp == 9.0));
		CHECK(strcmp(texts[0], "one") == 0 && texts[1][0] == 0 && strcmp(texts[2], "three") == 0);
		give_back(texts, CHANNELS);
	}
	CHECK(lsl_push_sample_buf(outlet, raw, lengths) == 0);
	CHECK(lsl_push_sample_buft(outlet, raw, lengths, 2.0) == 0);
	CHECK(lsl_push_sample_buftp(outlet, raw, lengths, 3.0, 1) == 0);
	CHECK(lsl_push_chunk_buf(outlet, raw, lengths, CHANNELS) == 0);
	CHECK(lsl_push_chunk_buft(outlet, raw, lengths, CHANNELS, 4.0) == 0);
	CHECK(lsl_push_chunk_buftp(outlet, raw, lengths, CHANNELS, 5.0, 1) == 0);
	CHECK(lsl_push_chunk_buftn(outlet, raw, lengths, CHANNELS, times) == 0);
	CHECK(lsl_push_chunk_buftnp(outlet, raw, lengths, CHANNELS, times, 1) == 0);
	uint32_t got[2 * CHANNELS];
	for (int k = 0; k < 7; k++) {
		CHECK(lsl_pull_sample_buf(inlet, texts, got, CHANNELS, LONG, &error) != 0.0);
		CHECK(memcmp(got, lengths, sizeof lengths) == 0 && memcmp(texts[0], "a\0b", 3) == 0);
		CHECK(memcmp(texts[2], "xy", 3) == 0);
		give_back(texts, CHANNELS);
	}
	/* One sample is left; the second row's places become empty. */
	CHECK(lsl_pull_chunk_buf(inlet, texts, got, stamps, 2 * CHANNELS, 2, 2.0, &error) == CHANNELS);
	CHECK(texts[CHANNELS] == NULL && got[CHANNELS] == 0 && got[0] == 3 && stamps[0] == 9.0);
	give_back(texts, 2 * CHANNELS);
	CHECK(lsl_pull_chunk_str(inlet, texts, NULL, 2 * CHANNELS, 0, 0.0, &error) == 0 && error == 0);
	CHECK(texts[0] == NULL && texts[2 * CHANNELS - 1] == NULL);
	const char *missing[CHANNELS] = {"a", NULL, "c"};
	CHECK(lsl_push_sample_str(outlet, missing) == lsl_internal_error);
	CHECK(lsl_push_sample_v(outlet, raw) == lsl_argument_error);
	lsl_pull_sample_v(inlet, got, sizeof got, 0.0, &error);
	CHECK(error == lsl_argument_error);
	close_pair();
}

static void conversions(void) {
	open_pair("conversions", cft_string);
	int32_t values[CHANNELS] = {1 << 30, -7, 0}, back[CHANNELS];
	int32_t error = 0;
	CHECK(lsl_push_sample_it(outlet, values, 1.0) == 0);
	CHECK(lsl_pull_sample_i(inlet, back, CHANNELS, LONG, &error) == 1.0);
	CHECK(memcmp(values, back, sizeof values) == 0);
	double fractions[CHANNELS] = {0.1, 1e10, -2.5};
	char *texts[CHANNELS];
	CHECK(lsl_push_sample_dt(outlet, fractions, 2.0) == 0);
	CHECK(lsl_pull_sample_str(inlet, texts, CHANNELS, LONG, &error) == 2.0);
	CHECK(strcmp(texts[0], "0.1000000000000000") == 0 && strcmp(texts[2], "-2.500000000000000") == 0);
	give_back(texts, CHANNELS);
	close_pair();
}

static void state(void) {
	open_pair("state", cft_float32);
	float sample[CHANNELS] = {0};
	int32_t error = 0;
	CHECK(isnan(schwann_inlet_lag(inlet)));
	CHECK(schwann_inlet_next_event(inlet, LONG) == schwann_event_connected);
	CHECK(schwann_outlet_consumer_count(outlet) == 1);
	CHECK(schwann_outlet_wait_for_consumers(outlet, 2, 0.01) == 0);
	for (int k = 0; k < 10; k++) CHECK(lsl_push_sample_f(outlet, sample) == 0);
	CHECK(schwann_outlet_flush(outlet, LONG) == 0);
	while (lsl_samples_available(inlet) < 10) usleep(100);
	CHECK(schwann_inlet_buffered_bytes(inlet) > 0);
	CHECK(lsl_inlet_flush(inlet) == 10 && lsl_samples_available(inlet) == 0);
	CHECK(lsl_push_sample_f(outlet, sample) == 0);
	CHECK(lsl_pull_sample_f(inlet, sample, CHANNELS, LONG, &error) > 0.0);
	uint64_t dropped = 1;
	CHECK(schwann_outlet_dropped_by_consumer(outlet, &dropped, 1) == 1 && dropped == 0);
	CHECK(schwann_outlet_dropped_samples(outlet) == 0 && schwann_inlet_dropped_samples(inlet) == 0);
	CHECK(schwann_outlet_flush(outlet, LONG) == 0 && schwann_outlet_buffered_bytes(outlet) == 0);
	double remote = 0.0, uncertainty = -1.0;
	double offset = lsl_time_correction_ex(inlet, &remote, &uncertainty, LONG, &error);
	/* One clock, so the truth is 0, which lies within the uncertainty however slow the machine is. */
	CHECK(error == 0 && fabs(offset) <= uncertainty + 1e-6 && uncertainty < LONG && remote > 0.0);
	/* The lag is known with the sender's clock. */
	CHECK(schwann_inlet_lag(inlet) >= -uncertainty && schwann_inlet_lag(inlet) < 2.0 * LONG);
	CHECK(lsl_set_postprocessing(inlet, proc_ALL) == 0 && lsl_smoothing_halftime(inlet, 30.0f) == 0);
	CHECK(lsl_push_sample_f(outlet, sample) == 0);
	CHECK(lsl_pull_sample_f(inlet, sample, CHANNELS, LONG, &error) > 0.0 && error == 0);
	CHECK(lsl_was_clock_reset(inlet) == 0);
	lsl_close_stream(inlet);
	CHECK(lsl_samples_available(inlet) == 0);
	close_pair();
}

static void note(const schwann_alarm_t *alarm, void *user) {
	schwann_alarm_t *last = user;
	if (alarm->event == schwann_event_behind) last->lag = alarm->lag;
	last->event = alarm->event;
}

static void freshness(void) {
	open_pair("freshness", cft_float32);
	schwann_alarm_t last = {0, 0, 0.0, 0};
	float sample[CHANNELS] = {0};
	int32_t error = 0;
	CHECK(schwann_inlet_set_alarm(NULL, 0.1, note, &last) == lsl_argument_error);
	CHECK(schwann_inlet_set_max_lag(NULL, 0.1) == lsl_argument_error);
	CHECK(schwann_inlet_next_event(inlet, LONG) == schwann_event_connected);
	/* Samples of long ago are passed over, each of them counted, and the program is told. */
	CHECK(schwann_inlet_set_alarm(inlet, 0.0, note, &last) == 0 && schwann_inlet_set_max_lag(inlet, 1.0) == 0);
	for (int k = 0; k < 7; k++) CHECK(lsl_push_sample_ft(outlet, sample, lsl_local_clock() - 9.0) == 0);
	CHECK(lsl_push_sample_ft(outlet, sample, lsl_local_clock() + LONG) == 0);
	CHECK(lsl_pull_sample_f(inlet, sample, CHANNELS, LONG, &error) > 0.0 && error == 0);
	CHECK(schwann_inlet_dropped_samples(inlet) == 7);
	CHECK(schwann_inlet_next_event(inlet, LONG) == schwann_event_behind);
	CHECK(schwann_inlet_next_event(inlet, LONG) == schwann_event_caught_up);
	CHECK(schwann_inlet_set_alarm(inlet, 0.0, NULL, NULL) == 0);
	schwann_consumer_t consumer;
	CHECK(schwann_outlet_consumers(outlet, &consumer, 1) == 1 && consumer.name[0] != 0 && consumer.dropped_samples == 0);
	CHECK(schwann_outlet_consumers(outlet, NULL, 0) == 1 && schwann_outlet_consumers(NULL, NULL, 0) == 0);
	close_pair();
	CHECK(last.event != 0);
}

int main(void) {
	configure();
	numeric_f();
	numeric_d();
	numeric_l();
	numeric_i();
	numeric_s();
	numeric_c();
	strings();
	conversions();
	state();
	freshness();
	puts("streams: ok");
	return 0;
}
