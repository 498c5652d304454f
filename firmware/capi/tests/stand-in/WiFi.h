#pragma once
#include "Arduino.h"
typedef enum { WL_IDLE_STATUS = 0, WL_CONNECTED = 3 } wl_status_t;
class WiFiClass {
 public:
  wl_status_t begin(const char *name, const char *password);
  wl_status_t status();
};
extern WiFiClass WiFi;
class WiFiClient {
 public:
  int available();
  int read(uint8_t *out, size_t len);
  size_t write(const uint8_t *bytes, size_t len);
  void stop();
  uint8_t connected();
  int setNoDelay(bool on);
  operator bool();
};
class WiFiServer {
 public:
  WiFiServer(uint16_t port);
  void begin();
  WiFiClient available();
};
