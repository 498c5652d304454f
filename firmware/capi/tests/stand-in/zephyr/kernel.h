#pragma once
#include <stddef.h>
#include <stdint.h>
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define FUNC_NORETURN __attribute__((noreturn))
#define CODE_UNREACHABLE __builtin_unreachable()
#define ARG_UNUSED(value) (void)(value)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
typedef struct {
  int64_t ticks;
} k_timeout_t;
#define K_USEC(us) ((k_timeout_t){.ticks = (int64_t)(us)})
struct k_sem {
  unsigned int count;
};
struct k_timer {
  void *user_data;
};
typedef void (*k_timer_expiry_t)(struct k_timer *timer);
typedef void (*k_timer_stop_t)(struct k_timer *timer);
int k_sem_init(struct k_sem *sem, unsigned int initial_count, unsigned int limit);
void k_sem_give(struct k_sem *sem);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_timer_init(struct k_timer *timer, k_timer_expiry_t expiry, k_timer_stop_t stop);
void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period);
int64_t k_uptime_ticks(void);
uint64_t k_ticks_to_us_floor64(uint64_t ticks);
