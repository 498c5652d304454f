#pragma once
#include "Arduino.h"
class WiFiUDP {
 public:
  uint8_t begin(uint16_t port);
  uint8_t beginMulticast(IPAddress group, uint16_t port);
  int parsePacket();
  int read(uint8_t *out, size_t len);
  IPAddress remoteIP();
  uint16_t remotePort();
  int beginPacket(IPAddress to, uint16_t port);
  size_t write(const uint8_t *bytes, size_t len);
  int endPacket();
};
