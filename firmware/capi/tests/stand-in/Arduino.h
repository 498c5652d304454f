#pragma once
#include <stddef.h>
#include <stdint.h>
#include "esp_random.h"
#include "esp_timer.h"
void delay(uint32_t ms);
int analogRead(uint8_t pin);
class EspClass {
 public:
  void restart();
};
extern EspClass ESP;
class IPAddress {
 public:
  IPAddress(uint8_t a, uint8_t b, uint8_t c, uint8_t d);
};
