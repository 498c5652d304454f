/* Drives a node as a board would, and checks every byte that comes out of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schwann_node.h"

#define CHECK(what) \
  do { \
    if (!(what)) { \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #what); \
      exit(1); \
    } \
  } while (0)

static int32_t dice(void *user, uint8_t *out, size_t len) {
  uint32_t *state = user;
  for (size_t i = 0; i < len; i++) {
    *state = *state * 1664525u + 1013904223u;
    out[i] = (uint8_t)(*state >> 24);
  }
  return 0;
}

static int32_t no_dice(void *user, uint8_t *out, size_t len) {
  (void)user, (void)out, (void)len;
  return 1;
}

static uint8_t collected[65536];

/* Collects everything that a link has to send, at most `part` bytes at a time. */
static size_t collect(schwann_node *node, size_t link, size_t part, uint64_t now) {
  size_t total = 0;
  for (;;) {
    size_t len = 0;
    schwann_node_poll(node, now);
    const uint8_t *bytes = schwann_node_transmit(node, link, &len);
    if (len == 0) return total;
    if (len > part) len = part;
    CHECK(total + len <= sizeof collected);
    memcpy(collected + total, bytes, len);
    total += len;
    schwann_node_sent(node, link, len, now);
  }
}

static void ask(schwann_node *node, size_t link, const char *request, uint64_t now) {
  schwann_node_accept(node, link, now);
  size_t len = strlen(request);
  CHECK(schwann_node_receive(node, link, (const uint8_t *)request, len, now, 0) == len);
}

/* Strings: what is pushed is what is sent, and what does not fit is refused. */
static void check_strings(void *memory, uint32_t *words, schwann_node_settings settings) {
  settings.format = SCHWANN_STRING, settings.channel_count = 2, settings.string_room = 400, settings.nominal_rate = 0;
  settings.keep_oldest = 1;
  schwann_node_settings wrong = settings;
  wrong.string_room = 0;
  CHECK(!schwann_node_create(memory, schwann_node_size(), words, 640, &wrong));
  wrong.string_room = 1025;
  CHECK(!schwann_node_create(memory, schwann_node_size(), words, 640, &wrong));
  schwann_node *node = schwann_node_create(memory, schwann_node_size(), words, 640, &settings);
  CHECK(node);
  ask(node, 0, "LSL:streamfeed/110 \r\nNative-Byte-Order: 1234\r\nMax-Buffer-Length: 100\r\n\r\n", 1000);
  CHECK(collect(node, 0, 7, 1000) > 0 && memcmp(collected, "LSL/110 200 OK\r\n", 16) == 0);

  const char *texts[] = {"left", ""};
  double stamp = 3.5;
  CHECK(schwann_node_push_strings(node, texts, 2, stamp) == SCHWANN_OK);
  CHECK(collect(node, 0, 5, 1000) == 9 + 2 + 4 + 2);
  CHECK(collected[0] == 2 && memcmp(collected + 1, &stamp, 8) == 0);
  CHECK(memcmp(collected + 9, "\1\4left\1\0", 8) == 0);

  /* 396 bytes and two for each length fit; one more does not. Long texts have a length of four bytes. */
  char longest[398];
  memset(longest, 'x', sizeof longest - 1), longest[397] = 0;
  texts[0] = longest + 1;
  CHECK(schwann_node_push_strings(node, texts, 2, stamp) == SCHWANN_OK);
  CHECK(collect(node, 0, 100, 1000) == 9 + 5 + 396 + 2);
  CHECK(memcmp(collected + 9, "\4\x8c\1\0\0", 5) == 0 && memcmp(collected + 14, longest + 1, 396) == 0);
  texts[0] = longest;
  CHECK(schwann_node_push_strings(node, texts, 2, stamp) == SCHWANN_ARGUMENT);

  texts[0] = NULL;
  CHECK(schwann_node_push_strings(node, texts, 2, stamp) == SCHWANN_ARGUMENT);
  texts[0] = "x";
  CHECK(schwann_node_push_strings(node, texts, 1, stamp) == SCHWANN_ARGUMENT);
  CHECK(schwann_node_push_strings(node, NULL, 2, stamp) == SCHWANN_ARGUMENT);
  CHECK(schwann_node_push_strings(NULL, texts, 2, stamp) == SCHWANN_ARGUMENT);
  CHECK(schwann_node_push_f32(node, (const float[]){1, 2}, 2, stamp) == SCHWANN_ARGUMENT);
  CHECK(collect(node, 0, 100, 1000) == 0);
  int taken = 0;
  for (int turn = 0; turn < 20; turn++) taken += schwann_node_push_strings(node, texts, 2, stamp) == SCHWANN_OK;
  CHECK(taken == 4 && schwann_node_push_strings(node, texts, 2, stamp) == SCHWANN_FULL);
  schwann_node_ended(node, 0);
}

int main(void) {
  uint32_t seed = 1;
  void *memory = aligned_alloc(schwann_node_alignment(), schwann_node_size() + schwann_node_alignment());
  uint32_t *words = calloc(640, sizeof *words);
  CHECK(memory && words);
  schwann_node_settings settings = {
      .name = "C node", .stream_type = "EEG", .source_id = "c-1", .nominal_rate = 500, .entropy = dice,
      .entropy_user = &seed, .channel_count = 8, .format = SCHWANN_FLOAT32, .data_port = 16572, .service_port = 16572,
      .desc = "<manufacturer>C</manufacturer>"};
  size_t size = schwann_node_size();

  /* What cannot be made is refused. */
  schwann_node_settings wrong = settings;
  CHECK(!schwann_node_create(NULL, size, words, 640, &settings));
  CHECK(!schwann_node_create(memory, size - 1, words, 640, &settings));
  CHECK(!schwann_node_create((char *)memory + 1, size, words, 640, &settings));
  CHECK(!schwann_node_create(memory, size, NULL, 640, &settings));
  CHECK(!schwann_node_create(memory, size, words, 11, &settings));
  CHECK(!schwann_node_create(memory, size, words, 640, NULL));
  wrong.name = NULL;
  CHECK(!schwann_node_create(memory, size, words, 640, &wrong));
  wrong = settings, wrong.name = "\xff\xfe";
  CHECK(!schwann_node_create(memory, size, words, 640, &wrong));
  wrong = settings, wrong.format = 99;
  CHECK(!schwann_node_create(memory, size, words, 640, &wrong));
  wrong = settings, wrong.channel_count = 129;
  CHECK(!schwann_node_create(memory, size, words, 640, &wrong));
  wrong = settings, wrong.entropy = no_dice;
  CHECK(!schwann_node_create(memory, size, words, 640, &wrong));
  wrong = settings, wrong.keys = (const uint8_t *)"no keys", wrong.keys_len = 7;
  CHECK(!schwann_node_create(memory, size, words, 640, &wrong));

  schwann_node *node = schwann_node_create(memory, size, words, 640, &settings);
  CHECK(node);
  CHECK(schwann_node_poll(node, 1000) == UINT64_MAX);

  /* Descriptions. */
  ask(node, 0, "LSL:fullinfo\r\n", 1000);
  size_t len = collect(node, 0, 100, 1000);
  collected[len] = 0;
  CHECK(strstr((char *)collected, "<name>C node</name>") && strstr((char *)collected, "<manufacturer>C<"));
  CHECK(schwann_node_state(node, 0) == SCHWANN_LINK_CLOSING);
  schwann_node_ended(node, 0);
  CHECK(schwann_node_state(node, 0) == SCHWANN_LINK_VACANT);

  /* Datagrams. */
  uint8_t query[] = "LSL:shortinfo\r\nname='C node'\r\n17001 42\r\n", out[2800];
  uint16_t port = 5;
  len = schwann_node_datagram(node, 0, query, sizeof query - 1, out, sizeof out, &port, 1000, 0);
  CHECK(len > 100 && port == 17001 && memcmp(out, "42\r\n<?xml", 9) == 0);
  uint8_t probe[] = "LSL:timedata\r\n7 1.5\r\n";
  len = schwann_node_datagram(node, 1, probe, sizeof probe - 1, out, sizeof out, &port, 2000000, 0);
  CHECK(len > 8 && memcmp(out, " 7 1.5 2 2", len < 10 ? len : 10) == 0);
  CHECK(schwann_node_datagram(node, 1, out, 0, out, sizeof out, &port, 1000, 0) == 0);
  CHECK(schwann_node_datagram(node, 1, NULL, 9, out, sizeof out, &port, 1000, 0) == 0);

  /* Samples: tag, stamp, values, in order, and nothing else. */
  ask(node, 1, "LSL:streamfeed/110 \r\nNative-Byte-Order: 1234\r\nValue-Size: 4\r\nMax-Buffer-Length: 100\r\n\r\n", 1000);
  len = collect(node, 1, 7, 1000);
  CHECK(memcmp(collected, "LSL/110 200 OK\r\n", 16) == 0 && len > 2 * (9 + 32));
  float values[8];
  for (int turn = 0; turn < 1000; turn++) {
    for (int channel = 0; channel < 8; channel++) values[channel] = (float)(turn * 8 + channel);
    CHECK(schwann_node_push_f32(node, values, 8, turn + 0.25) == SCHWANN_OK);
    double stamp = turn + 0.25;
    CHECK(collect(node, 1, 11, 1000) == 9 + 32);
    CHECK(collected[0] == 2 && memcmp(collected + 1, &stamp, 8) == 0 && memcmp(collected + 9, values, 32) == 0);
  }
  CHECK(schwann_node_push_f32(node, values, 7, 1) == SCHWANN_ARGUMENT);
  CHECK(schwann_node_push_f32(node, NULL, 8, 1) == SCHWANN_ARGUMENT);
  CHECK(schwann_node_push_f32(NULL, values, 8, 1) == SCHWANN_ARGUMENT);
  CHECK(schwann_node_push_i16(node, (const int16_t *)values, 8, 1) == SCHWANN_ARGUMENT);

  /* A subscriber that takes nothing misses samples, which are counted; then it is given up. */
  for (int turn = 0; turn < 500; turn++) CHECK(schwann_node_push_f32(node, values, 8, 1) == SCHWANN_OK);
  schwann_node_poll(node, 2000);
  schwann_node_counters counters;
  schwann_node_read_counters(node, &counters);
  CHECK(counters.pushed == 1500 && counters.lost > 0 && counters.polls > 1000);
  schwann_node_poll(node, 60000000);
  CHECK(schwann_node_state(node, 1) == SCHWANN_LINK_BROKEN);
  schwann_node_ended(node, 1);

  /* Noise on every port. */
  for (int turn = 0; turn < 2000; turn++) {
    uint8_t noise[300];
    size_t count = (size_t)turn % sizeof noise;
    dice(&seed, noise, count);
    schwann_node_accept(node, (size_t)turn % 6, 1000);
    schwann_node_receive(node, (size_t)turn % 6, noise, count, 1000, 0);
    schwann_node_poll(node, 1000);
    schwann_node_ended(node, (size_t)turn % 6);
    schwann_node_datagram(node, turn & 1, noise, count, out, sizeof out, &port, 1000, 0);
  }
  schwann_node_close(node);

  /* The oldest are kept where that is wished. */
  settings.keep_oldest = 1;
  node = schwann_node_create(memory, size, words, 640, &settings);
  int taken = 0;
  for (int turn = 0; turn < 100; turn++) taken += schwann_node_push_f32(node, values, 8, 1) == SCHWANN_OK;
  CHECK(taken == 64 && schwann_node_push_f32(node, values, 8, 1) == SCHWANN_FULL);
  CHECK(schwann_node_push_strings(node, (const char *const[]){"x"}, 1, 1) == SCHWANN_ARGUMENT);
  settings.keep_oldest = 0;
  check_strings(memory, words, settings);
  free(memory);
  free(words);
  puts("the C node works");
  return 0;
}
