/* An LSL stream from a Zephyr board: a timer pushes samples, the main thread serves the network. */
#include <errno.h>
#include <fcntl.h>
#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>
#include <zephyr/random/random.h>
#include <zephyr/sys/reboot.h>

#include "schwann_node.h"

#define CHANNELS 8
#define RATE_HZ 250
#define PORT 16572

static uint8_t memory[32 * 1024] __aligned(16);
static uint32_t ring[64 * (CHANNELS + 2)];
static schwann_node *node;
static struct k_sem pushed;

FUNC_NORETURN void schwann_node_panic(void) {
  sys_reboot(SYS_REBOOT_COLD);
  CODE_UNREACHABLE;
}

static int32_t entropy(void *user, uint8_t *out, size_t len) {
  ARG_UNUSED(user);
  return sys_csrand_get(out, len);
}

static uint64_t now_us(void) { return k_ticks_to_us_floor64(k_uptime_ticks()); }

static void take_sample(struct k_timer *timer) {
  ARG_UNUSED(timer);
  static uint32_t sequence;
  float values[CHANNELS];
  for (int channel = 0; channel < CHANNELS; channel++) values[channel] = (float)(sequence + channel);
  sequence++;
  schwann_node_push_f32(node, values, CHANNELS, now_us() / 1e6);
  k_sem_give(&pushed);
}

static int bound(int type, uint16_t port) {
  int fd = zsock_socket(AF_INET, type, type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
  zsock_bind(fd, (struct sockaddr *)&here, sizeof here);
  zsock_fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

static void join(int fd, const char *group) {
  struct ip_mreqn request = {0};
  zsock_inet_pton(AF_INET, group, &request.imr_multiaddr);
  zsock_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
}

static void answer(int fd, int is_service_port) {
  static uint8_t datagram[1024], reply[2800];
  struct sockaddr_in from;
  socklen_t from_len = sizeof from;
  ssize_t len = zsock_recvfrom(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &from_len);
  if (len <= 0) return;
  uint16_t port = ntohs(from.sin_port);
  size_t count = schwann_node_datagram(node, is_service_port, datagram, len, reply, sizeof reply, &port, now_us(), 0);
  from.sin_port = htons(port);
  if (count > 0) zsock_sendto(fd, reply, count, 0, (struct sockaddr *)&from, from_len);
}

static int serve(int fd, size_t link) {
  uint8_t bytes[512];
  ssize_t len = zsock_recv(fd, bytes, sizeof bytes, ZSOCK_MSG_PEEK);
  if (len == 0 || (len < 0 && errno != EAGAIN)) return 0;
  if (len > 0) {
    size_t taken = schwann_node_receive(node, link, bytes, len, now_us(), 0);
    zsock_recv(fd, bytes, taken, 0);
  }
  for (;;) {
    size_t waiting;
    schwann_node_poll(node, now_us());
    const uint8_t *out = schwann_node_transmit(node, link, &waiting);
    if (waiting == 0) break;
    ssize_t sent = zsock_send(fd, out, waiting, 0);
    if (sent <= 0) return sent < 0 && errno == EAGAIN;
    schwann_node_sent(node, link, sent, now_us());
  }
  return schwann_node_state(node, link) == SCHWANN_LINK_OPEN;
}

int main(void) {
  schwann_node_settings settings = {.name = "Zephyr node", .stream_type = "EEG", .source_id = "zephyr-0001",
                                    .nominal_rate = RATE_HZ, .entropy = entropy, .channel_count = CHANNELS,
                                    .format = SCHWANN_FLOAT32, .data_port = PORT, .service_port = PORT};
  if (schwann_node_size() > sizeof memory) return -ENOMEM;
  node = schwann_node_create(memory, sizeof memory, ring, ARRAY_SIZE(ring), &settings);
  if (!node) return -EINVAL;
  k_sem_init(&pushed, 0, 1);
  static struct k_timer timer;
  k_timer_init(&timer, take_sample, NULL);
  k_timer_start(&timer, K_USEC(1000000 / RATE_HZ), K_USEC(1000000 / RATE_HZ));
  int links[SCHWANN_NODE_LINKS] = {-1, -1, -1, -1};
  int discovery = bound(SOCK_DGRAM, 16571), service = bound(SOCK_DGRAM, PORT), listener = bound(SOCK_STREAM, PORT);
  join(discovery, "224.0.0.183");
  join(discovery, "239.255.172.215");
  zsock_listen(listener, SCHWANN_NODE_LINKS);
  for (;;) {
    answer(discovery, 0);
    answer(service, 1);
    for (size_t link = 0; link < SCHWANN_NODE_LINKS; link++) {
      if (links[link] < 0) {
        links[link] = zsock_accept(listener, NULL, NULL);
        if (links[link] < 0) continue;
        zsock_fcntl(links[link], F_SETFL, O_NONBLOCK);
        schwann_node_accept(node, link, now_us());
      }
      if (!serve(links[link], link)) {
        zsock_close(links[link]);
        schwann_node_ended(node, link);
        links[link] = -1;
      }
    }
    uint64_t until = schwann_node_poll(node, now_us()), now = now_us();
    uint64_t left = until <= now ? 0 : until - now;
    k_sem_take(&pushed, K_USEC(left < 5000 ? left : 5000));
  }
}
