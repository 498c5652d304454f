// An LSL stream from a board with Arduino's core for ESP32-C3: samples and network in turn on its one core.
//
// Put schwann_node.h beside this file, and libschwann_node.a where the linker looks (see firmware/README.md).
#include <WiFi.h>
#include <WiFiUdp.h>

#include "schwann_node.h"

static const uint16_t PORT = 16572;
alignas(16) static uint8_t memory[32 * 1024];
static uint32_t ring_words[64 * (4 + 2)];
static schwann_node *node;
static WiFiServer server(PORT);
static WiFiUDP discovery, service;
static WiFiClient links[SCHWANN_NODE_LINKS];
static bool open_links[SCHWANN_NODE_LINKS];

extern "C" void schwann_node_panic(void) {
  ESP.restart();
  for (;;) {
  }
}

static uint64_t now_us() { return (uint64_t)esp_timer_get_time(); }

static int32_t entropy(void *, uint8_t *out, size_t len) {
  esp_fill_random(out, len);
  return 0;
}

static void answer(WiFiUDP &socket, bool is_service_port) {
  static uint8_t datagram[1024], reply[2800];
  if (socket.parsePacket() <= 0) return;
  int len = socket.read(datagram, sizeof datagram);
  if (len <= 0) return;
  uint16_t port = socket.remotePort();
  size_t count = schwann_node_datagram(node, is_service_port, datagram, len, reply, sizeof reply, &port, now_us(), 0);
  if (count == 0) return;
  socket.beginPacket(socket.remoteIP(), port);
  socket.write(reply, count);
  socket.endPacket();
}

static void serve(size_t link) {
  uint8_t bytes[256];
  while (links[link].available() > 0) {
    int len = links[link].read(bytes, sizeof bytes);
    // A request is shorter than the node's memory for it, so all of it is taken.
    if (len > 0) schwann_node_receive(node, link, bytes, len, now_us(), 0);
  }
  schwann_node_poll(node, now_us());
  size_t waiting;
  const uint8_t *out = schwann_node_transmit(node, link, &waiting);
  if (waiting > 0) schwann_node_sent(node, link, links[link].write(out, waiting), now_us());
  schwann_node_transmit(node, link, &waiting);
  int state = schwann_node_state(node, link);
  bool done = state == SCHWANN_LINK_BROKEN || (state == SCHWANN_LINK_CLOSING && waiting == 0);
  if (done || !links[link].connected()) {
    links[link].stop();
    schwann_node_ended(node, link);
    open_links[link] = false;
  }
}

void setup() {
  WiFi.begin("network", "password");
  while (WiFi.status() != WL_CONNECTED) delay(100);
  schwann_node_settings settings = {};
  settings.name = "Arduino node";
  settings.stream_type = "EEG";
  settings.source_id = "arduino-0001";
  settings.nominal_rate = 250;
  settings.entropy = entropy;
  settings.channel_count = 4;
  settings.format = SCHWANN_FLOAT32;
  settings.data_port = settings.service_port = PORT;
  if (schwann_node_size() > sizeof memory) ESP.restart();
  node = schwann_node_create(memory, sizeof memory, ring_words, sizeof ring_words / 4, &settings);
  server.begin();
  service.begin(PORT);
  discovery.beginMulticast(IPAddress(239, 255, 172, 215), 16571);
}

void loop() {
  static uint64_t due;
  if (now_us() >= due) {
    due = now_us() + 4000;
    float values[4];
    for (int channel = 0; channel < 4; channel++) values[channel] = analogRead(channel);
    schwann_node_push_f32(node, values, 4, now_us() / 1e6);
  }
  answer(discovery, false);
  answer(service, true);
  for (size_t link = 0; link < SCHWANN_NODE_LINKS; link++) {
    if (!open_links[link]) {
      links[link] = server.available();
      if (!links[link]) continue;
      links[link].setNoDelay(true);
      open_links[link] = true;
      schwann_node_accept(node, link, now_us());
    }
    serve(link);
  }
}
