/* An LSL stream from an ESP32 with two cores: core 0 measures and pushes, core 1 serves the network.
 *
 * Wi-Fi must be up (see ESP-IDF's `wifi/getting_started/station`); with keys in NVS the stream is sealed.
 * Provision: print schwann's request on the console, run `schwann keys issue --device REQUEST`, paste what it prints.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "esp_random.h"
#include "esp_system.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "lwip/sockets.h"
#include "schwann_node.h"

#define CHANNELS 8
#define RATE_HZ 250
#define PORT 16572

static uint8_t memory[32 * 1024] __attribute__((aligned(16)));
static uint32_t ring[64 * (CHANNELS + 2)];
static schwann_node *node;
static TaskHandle_t network_task_handle;

_Noreturn void schwann_node_panic(void) { esp_restart(); }

static int32_t entropy(void *user, uint8_t *out, size_t len) {
  (void)user;
  esp_fill_random(out, len);
  return 0;
}

static uint64_t now_us(void) { return (uint64_t)esp_timer_get_time(); }

/* Core 0: a timer ticks, a sample is taken and pushed. A push never waits. */
static void take_sample(void *unused) {
  (void)unused;
  static uint32_t sequence;
  float values[CHANNELS];
  for (int channel = 0; channel < CHANNELS; channel++) values[channel] = (float)(sequence + channel);
  sequence++;
  schwann_node_push_f32(node, values, CHANNELS, now_us() / 1e6);
  xTaskNotifyGive(network_task_handle);
}

static int udp_socket(uint16_t port, int multicast) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_ANY)};
  bind(fd, (struct sockaddr *)&here, sizeof here);
  const char *groups[] = {"224.0.0.183", "239.255.172.215"};
  for (int group = 0; multicast && group < 2; group++) {
    struct ip_mreq request = {.imr_multiaddr.s_addr = inet_addr(groups[group]), .imr_interface.s_addr = INADDR_ANY};
    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  }
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

static void answer(int fd, int is_service_port) {
  static uint8_t datagram[1024], reply[2800];
  struct sockaddr_in from;
  socklen_t from_len = sizeof from;
  ssize_t len = recvfrom(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &from_len);
  if (len <= 0) return;
  uint16_t port = ntohs(from.sin_port);
  size_t count = schwann_node_datagram(node, is_service_port, datagram, (size_t)len, reply, sizeof reply, &port, now_us(), 0);
  from.sin_port = htons(port);
  if (count > 0) sendto(fd, reply, count, 0, (struct sockaddr *)&from, from_len);
}

/* Moves bytes of one link; returns 0 when its socket is done with. */
static int serve(int fd, size_t link) {
  uint8_t bytes[512];
  ssize_t len = recv(fd, bytes, sizeof bytes, MSG_PEEK);
  if (len == 0 || (len < 0 && errno != EAGAIN)) return 0;
  if (len > 0) {
    size_t taken = schwann_node_receive(node, link, bytes, (size_t)len, now_us(), 0);
    recv(fd, bytes, taken, 0);
  }
  for (;;) {
    size_t waiting;
    schwann_node_poll(node, now_us());
    const uint8_t *out = schwann_node_transmit(node, link, &waiting);
    if (waiting == 0) break;
    ssize_t sent = send(fd, out, waiting, 0);
    if (sent <= 0) return sent < 0 && errno == EAGAIN;
    schwann_node_sent(node, link, (size_t)sent, now_us());
  }
  return schwann_node_state(node, link) == SCHWANN_LINK_OPEN;
}

/* Core 1: everything that has to do with the network. */
static void network_task(void *unused) {
  (void)unused;
  int links[SCHWANN_NODE_LINKS] = {-1, -1, -1, -1};
  int discovery = udp_socket(16571, 1), service = udp_socket(PORT, 0);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_ANY)};
  bind(listener, (struct sockaddr *)&here, sizeof here);
  listen(listener, SCHWANN_NODE_LINKS);
  fcntl(listener, F_SETFL, O_NONBLOCK);
  for (;;) {
    answer(discovery, 0);
    answer(service, 1);
    for (size_t link = 0; link < SCHWANN_NODE_LINKS; link++) {
      if (links[link] < 0) {
        links[link] = accept(listener, NULL, NULL);
        if (links[link] < 0) continue;
        int yes = 1;
        setsockopt(links[link], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        fcntl(links[link], F_SETFL, O_NONBLOCK);
        schwann_node_accept(node, link, now_us());
      }
      if (!serve(links[link], link)) {
        close(links[link]);
        schwann_node_ended(node, link);
        links[link] = -1;
      }
    }
    /* A push wakes this task; datagrams are looked for at least every 5 ms. */
    uint64_t until = schwann_node_poll(node, now_us()), now = now_us();
    uint64_t left_ms = until <= now ? 0 : (until - now) / 1000;
    ulTaskNotifyTake(pdTRUE, pdMS_TO_TICKS(left_ms < 5 ? left_ms : 5));
  }
}

void app_main(void) {
  schwann_node_settings settings = {.name = "ESP32 node", .stream_type = "EEG", .source_id = "esp32-0001",
                                    .hostname = "esp32", .nominal_rate = RATE_HZ, .created_at = now_us() / 1e6,
                                    .entropy = entropy, .channel_count = CHANNELS, .format = SCHWANN_FLOAT32,
                                    .data_port = PORT, .service_port = PORT};
  if (schwann_node_size() > sizeof memory) abort();
  node = schwann_node_create(memory, sizeof memory, ring, sizeof ring / sizeof *ring, &settings);
  if (!node) abort();
  /* A handshake takes 14 KB of stack, and 36 KB with the hybrid suite. */
  xTaskCreatePinnedToCore(network_task, "schwann", 20 * 1024, NULL, 5, &network_task_handle, 1);
  esp_timer_handle_t timer;
  esp_timer_create_args_t every_sample = {.callback = take_sample, .name = "sample"};
  esp_timer_create(&every_sample, &timer);
  esp_timer_start_periodic(timer, 1000000 / RATE_HZ);
}
