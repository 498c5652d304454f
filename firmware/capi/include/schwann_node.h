/* An LSL stream on a microcontroller, plain or sealed: the static library's only header.
 *
 * Memory, sockets, time and randomness are yours; the library allocates nothing and never blocks. Two tasks may share
 * a node: one pushes (any core), the other does everything else. Within each group, one call at a time.
 *
 * How to drive it, for each of the SCHWANN_NODE_LINKS sockets that listen on `data_port`:
 *   a connection came      schwann_node_accept
 *   bytes came             schwann_node_receive; give it again later what it does not take
 *   always then            schwann_node_poll, then send schwann_node_transmit and tell schwann_node_sent
 *   the connection ended   schwann_node_ended
 *   schwann_node_state     says when to close or reset a socket; call schwann_node_ended then
 * Datagrams to `service_port`, and to port 16571 of the groups 224.0.0.183 and 239.255.172.215: schwann_node_datagram.
 *
 * Times: `now_us` is microseconds on a clock that never goes back, and stamps are seconds on the same clock. `calendar_s` is
 * seconds since 1970, from a clock that is right to 30 s, for certificates and sealed searches. It is 0 where the device has
 * no calendar; a date of the build is none. The node then goes by the newest date that the lab has signed.
 */
#ifndef SCHWANN_NODE_H
#define SCHWANN_NODE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCHWANN_NODE_LINKS 4

/* Channel formats, as in the original library. */
enum {
  SCHWANN_FLOAT32 = 1,
  SCHWANN_DOUBLE64 = 2,
  SCHWANN_STRING = 3,
  SCHWANN_INT32 = 4,
  SCHWANN_INT16 = 5,
  SCHWANN_INT8 = 6,
  SCHWANN_INT64 = 7
};

/* What to do with a socket. */
enum { SCHWANN_LINK_VACANT = 0, SCHWANN_LINK_OPEN = 1, SCHWANN_LINK_CLOSING = 2, SCHWANN_LINK_BROKEN = 3 };

/* Returned by pushes. */
enum { SCHWANN_OK = 0, SCHWANN_ARGUMENT = -1, SCHWANN_FULL = -2 };

typedef struct schwann_node schwann_node;

/* Everything that it points to stays valid as long as the node is used. Texts are UTF-8, at most 63 bytes. */
typedef struct {
  const char *name;        /* of the stream; not empty */
  const char *stream_type; /* content type, such as EEG; or NULL */
  const char *source_id;   /* what identifies the device across restarts, such as its serial number; or NULL */
  const char *hostname;    /* name of the device; or NULL */
  const char *session_id;  /* NULL for "default" */
  const char *desc;        /* content of <desc>: well-formed XML of any length; or NULL */
  double nominal_rate;     /* Hz; 0 if irregular */
  double created_at;       /* seconds on the device's clock */
  /* Fills memory with unpredictable bytes; returns 0 on success. On an ESP32, esp_fill_random with the
   * radio on. Required. */
  int32_t (*entropy)(void *user, uint8_t *out, size_t len);
  void *entropy_user;
  const uint8_t *keys; /* what the key store holds, for a sealed stream; NULL for a plain one */
  size_t keys_len;
  uint32_t channel_count; /* 1 to 128 */
  int32_t format;         /* SCHWANN_FLOAT32 and so on */
  uint32_t within_us;     /* longest time that samples wait to be sent together; 0 sends each at once */
  int32_t keep_oldest;    /* what a full ring keeps: 0 the newest samples, 1 the oldest */
  uint32_t string_room;   /* bytes for the strings of one sample with two for each, at most 1,024; 0 for numbers */
  uint16_t data_port;     /* TCP; usually 16572 */
  uint16_t service_port;  /* UDP; usually 16572 */
} schwann_node_settings;

typedef struct {
  uint32_t polls;         /* a watchdog sees by it that the network's task is alive */
  uint32_t pushed;        /* samples */
  uint32_t refused;       /* samples: the ring was full and keeps the oldest */
  uint32_t sent;          /* samples, over all subscribers */
  uint32_t lost;          /* samples that a subscriber was too slow for, over all subscribers */
  uint32_t records;       /* writes that carried samples */
  uint32_t sessions;      /* sealed sessions made */
  uint32_t strangers;     /* connections given up */
  uint32_t odd_datagrams; /* that were no valid request */
} schwann_node_counters;

/* Memory for a node: static, aligned, and never moved. */
size_t schwann_node_size(void);
size_t schwann_node_alignment(void);

/* Makes a node; NULL if the settings or the memory are wrong. A ring of `word_count` 32-bit words holds as many samples
 * as fit, rounded down to a power of two. A sample takes (8 + channels * size + 3) / 4 words. For strings,
 * `string_room` stands for channels * size. There is nothing to free. */
schwann_node *schwann_node_create(void *memory, size_t size, uint32_t *words, size_t word_count,
                                  const schwann_node_settings *settings);

/* One sample: one value of the stream's own type per channel. Never waits, however many inlets listen. */
int32_t schwann_node_push_f32(schwann_node *, const float *values, size_t count, double stamp);
int32_t schwann_node_push_f64(schwann_node *, const double *values, size_t count, double stamp);
int32_t schwann_node_push_i8(schwann_node *, const int8_t *values, size_t count, double stamp);
int32_t schwann_node_push_i16(schwann_node *, const int16_t *values, size_t count, double stamp);
int32_t schwann_node_push_i32(schwann_node *, const int32_t *values, size_t count, double stamp);
int32_t schwann_node_push_i64(schwann_node *, const int64_t *values, size_t count, double stamp);

/* One sample of a stream of SCHWANN_STRING: one text per channel, in any encoding, copied before this returns. Together,
 * with two bytes for each and no end, they fit into `string_room`, else SCHWANN_ARGUMENT. Takes 1 KB of stack. */
int32_t schwann_node_push_strings(schwann_node *, const char *const *strings, size_t count, double stamp);

/* The network's task alone calls what follows. */

/* Does the pending work; returns until when to sleep, UINT64_MAX for until something comes or is pushed. */
uint64_t schwann_node_poll(schwann_node *, uint64_t now_us);

void schwann_node_accept(schwann_node *, size_t link, uint64_t now_us);
size_t schwann_node_receive(schwann_node *, size_t link, const uint8_t *bytes, size_t len, uint64_t now_us,
                            uint64_t calendar_s);
const uint8_t *schwann_node_transmit(schwann_node *, size_t link, size_t *len);
void schwann_node_sent(schwann_node *, size_t link, size_t count, uint64_t now_us);
void schwann_node_ended(schwann_node *, size_t link);
int32_t schwann_node_state(schwann_node *, size_t link);

/* Returns the length of the reply in `out` (2,800 bytes are enough), 0 for none. `port` holds the sender's port, and
 * is changed where the reply goes to another one. A sealed datagram is opened in place. */
size_t schwann_node_datagram(schwann_node *, int32_t is_service_port, uint8_t *datagram, size_t len, uint8_t *out,
                             size_t out_len, uint16_t *port, uint64_t now_us, uint64_t calendar_s);

/* Ends all streams; send what is left and close the sockets. */
void schwann_node_close(schwann_node *);

void schwann_node_read_counters(schwann_node *, schwann_node_counters *out);

/* Yours, on a microcontroller: called if the library finds a mistake of its own. Restart the device; do not return. */
#ifdef __cplusplus
[[noreturn]] void schwann_node_panic(void);
#else
_Noreturn void schwann_node_panic(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
