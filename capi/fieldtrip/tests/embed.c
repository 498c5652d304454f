/* Embeds a buffer, serves it, and puts and gets over both ways. Prints what fails; exits 0 if nothing does. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef _WIN32
#include <winsock2.h>
#define close_socket closesocket
#else
#include <arpa/inet.h>
#include <sys/socket.h>
#define close_socket close
#endif

#include "schwann_fieldtrip.h"

static int failures;
#define CHECK(what) ((what) ? (void)0 : (void)(failures++, printf("line %d: not %s\n", __LINE__, #what)))

static void *put_later(void *buffer) {
  float sample[2] = {5, 6};
  usleep(20000);
  CHECK(schwann_ft_put_samples(buffer, 2, 1, SCHWANN_FT_FLOAT32, sample) == SCHWANN_FT_OK);
  return NULL;
}

static void get_header_by_socket(uint16_t port, unsigned char *reply) {
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
  unsigned char request[8] = {1, 0, 1, 2, 0, 0, 0, 0};
#ifdef _WIN32
  WSADATA data;
  CHECK(WSAStartup(MAKEWORD(2, 2), &data) == 0);
  SOCKET connection = socket(AF_INET, SOCK_STREAM, 0);
#else
  int connection = socket(AF_INET, SOCK_STREAM, 0);
#endif
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(connection, (struct sockaddr *)&there, sizeof there) == 0);
  /* Windows takes char, and others void. */
  CHECK(send(connection, (void *)request, sizeof request, 0) == sizeof request);
  CHECK(recv(connection, (void *)reply, 40, MSG_WAITALL) == 40);
  close_socket(connection);
}

int main(void) {
  static const unsigned char chunk[8] = {99, 0, 0, 0, 0, 0, 0, 0};
  float values[4] = {1, 2, 3, 4}, back[4] = {0};
  unsigned char room[256], reply[40];
  schwann_ft_header header;
  uint32_t samples = 0, events = 0;
  uint16_t port = 0;
  size_t bytes = 0;
  pthread_t thread;
  schwann_ft_buffer *buffer = schwann_ft_new(0, 0);

  CHECK(schwann_ft_get_header(buffer, &header) == SCHWANN_FT_NO_HEADER);
  CHECK(schwann_ft_put_samples(buffer, 2, 2, SCHWANN_FT_FLOAT32, values) == SCHWANN_FT_NO_HEADER);
  CHECK(schwann_ft_put_header(buffer, 2, 250, 11, NULL, 0) == SCHWANN_FT_ARGUMENT);
  CHECK(schwann_ft_put_header(buffer, 2, 250, SCHWANN_FT_FLOAT32, chunk, sizeof chunk) == SCHWANN_FT_OK);
  CHECK(schwann_ft_put_samples(buffer, 3, 1, SCHWANN_FT_FLOAT32, values) == SCHWANN_FT_MISMATCH);
  CHECK(schwann_ft_put_samples(buffer, 2, 2, SCHWANN_FT_FLOAT32, NULL) == SCHWANN_FT_ARGUMENT);
  CHECK(schwann_ft_put_samples(NULL, 2, 2, SCHWANN_FT_FLOAT32, values) == SCHWANN_FT_ARGUMENT);
  CHECK(schwann_ft_put_samples(buffer, 2, 600001, SCHWANN_FT_FLOAT32, NULL) != SCHWANN_FT_OK);
  CHECK(schwann_ft_put_samples(buffer, 2, 2, SCHWANN_FT_FLOAT32, values) == SCHWANN_FT_OK);
  CHECK(schwann_ft_put_text_event(buffer, "stim", "left", 1) == SCHWANN_FT_OK);
  CHECK(schwann_ft_get_header(buffer, &header) == SCHWANN_FT_OK);
  CHECK(header.channels == 2 && header.samples == 2 && header.events == 1 && header.rate == 250);
  CHECK(header.data_type == SCHWANN_FT_FLOAT32 && header.chunk_bytes == sizeof chunk);
  CHECK(schwann_ft_get_chunks(buffer, room, 7) == SCHWANN_FT_TOO_LARGE);
  CHECK(schwann_ft_get_chunks(buffer, room, 8) == SCHWANN_FT_OK && memcmp(room, chunk, 8) == 0);
  CHECK(schwann_ft_get_samples(buffer, 0, 2, back, sizeof back) == SCHWANN_FT_OUT_OF_RANGE);
  CHECK(schwann_ft_get_samples(buffer, 0, 1, back, 15) == SCHWANN_FT_TOO_LARGE);
  CHECK(schwann_ft_get_samples(buffer, 0, SCHWANN_FT_LAST, back, sizeof back) == SCHWANN_FT_OK);
  CHECK(memcmp(values, back, sizeof values) == 0);
  CHECK(schwann_ft_get_events(buffer, 0, 0, room, 10, &bytes) == SCHWANN_FT_TOO_LARGE && bytes == 40);
  CHECK(schwann_ft_get_events(buffer, 0, 0, room, sizeof room, &bytes) == SCHWANN_FT_OK);
  CHECK(memcmp(room + 32, "stimleft", 8) == 0);
  CHECK(schwann_ft_put_events(buffer, room, 40) == SCHWANN_FT_OK);
  CHECK(schwann_ft_put_events(buffer, room, 39) == SCHWANN_FT_ARGUMENT);

  CHECK(pthread_create(&thread, NULL, put_later, buffer) == 0);
  CHECK(schwann_ft_wait(buffer, 2, SCHWANN_FT_NEVER, 20000, &samples, &events) == SCHWANN_FT_OK);
  CHECK(samples == 3 && events == 2);
  pthread_join(thread, NULL);
  CHECK(schwann_ft_wait_awake(buffer, 2, SCHWANN_FT_NEVER, 20000, &samples, NULL) == SCHWANN_FT_OK && samples == 3);
  CHECK(schwann_ft_wait_awake(buffer, 3, SCHWANN_FT_NEVER, 1, NULL, &events) == SCHWANN_FT_OK && events == 2);

  schwann_ft_server *server = schwann_ft_serve(buffer, "localhost:0", &port);
  CHECK(server != NULL && port != 0);
  CHECK(schwann_ft_serve(buffer, ":::", NULL) == NULL);
  get_header_by_socket(port, reply);
  CHECK(reply[2] == 4 && reply[3] == 2 && reply[8] == 2 && reply[12] == 3 && reply[32] == 99);
  schwann_ft_stop(server);

  CHECK(schwann_ft_flush_samples(buffer) == SCHWANN_FT_OK);
  CHECK(schwann_ft_flush_events(buffer) == SCHWANN_FT_OK);
  CHECK(schwann_ft_flush_header(buffer) == SCHWANN_FT_OK);
  CHECK(schwann_ft_flush_header(buffer) == SCHWANN_FT_NO_HEADER);
  schwann_ft_free(buffer);
  schwann_ft_free(NULL);
  schwann_ft_stop(NULL);
  printf("%s\n", failures ? "failed" : "the embedded buffer works");
  return failures != 0;
}
