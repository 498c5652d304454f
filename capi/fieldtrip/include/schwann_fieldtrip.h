/* The FieldTrip buffer in your own process: put and get without a socket, and serve it to others.
 *
 * Link with -lfieldtripbuffer. All functions may be called from any thread. Functions that return int return
 * SCHWANN_FT_OK or one of the codes below; after any other code nothing has changed. A null handle, or a null
 * pointer where data are due, is SCHWANN_FT_ARGUMENT.
 */
#ifndef SCHWANN_FIELDTRIP_H
#define SCHWANN_FIELDTRIP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct schwann_ft_buffer schwann_ft_buffer;
typedef struct schwann_ft_server schwann_ft_server;

enum {
  SCHWANN_FT_OK = 0,
  SCHWANN_FT_ARGUMENT = -1,     /* the call contradicts itself */
  SCHWANN_FT_NO_HEADER = -2,    /* no client has sent a header yet */
  SCHWANN_FT_MISMATCH = -3,     /* not the header's channels or data type */
  SCHWANN_FT_TOO_LARGE = -4,    /* more than the ring, or your memory, can hold */
  SCHWANN_FT_OUT_OF_RANGE = -5, /* not in the ring: not yet, or not any more */
  SCHWANN_FT_INTERNAL = -6      /* a fault of ours */
};

/* Data types, as in the protocol. */
enum {
  SCHWANN_FT_CHAR, SCHWANN_FT_UINT8, SCHWANN_FT_UINT16, SCHWANN_FT_UINT32, SCHWANN_FT_UINT64, SCHWANN_FT_INT8,
  SCHWANN_FT_INT16, SCHWANN_FT_INT32, SCHWANN_FT_INT64, SCHWANN_FT_FLOAT32, SCHWANN_FT_FLOAT64
};

/* As `last` of a selection of samples: the newest. As a threshold of a wait: do not wait for this. */
#define SCHWANN_FT_LAST UINT32_MAX
#define SCHWANN_FT_NEVER UINT32_MAX

typedef struct {
  uint32_t channels;
  uint32_t samples;     /* written since the header or the last flush */
  uint32_t events;
  float rate;           /* Hz */
  uint32_t data_type;
  uint32_t chunk_bytes;
} schwann_ft_header;

/* An empty buffer that keeps so many samples and events; 0 means what the original keeps (600,000 and 100). */
schwann_ft_buffer *schwann_ft_new(uint32_t samples, uint32_t events);

/* Gives the handle back. Servers of the buffer go on until they are stopped. */
void schwann_ft_free(schwann_ft_buffer *buffer);

/* Replaces the header, drops all samples and events. `chunks` are as in the protocol, in this machine's byte order. */
int schwann_ft_put_header(schwann_ft_buffer *buffer, uint32_t channels, float rate, uint32_t data_type,
                          const void *chunks, uint32_t chunk_bytes);

/* Appends samples: all channels of the first, then of the second. */
int schwann_ft_put_samples(schwann_ft_buffer *buffer, uint32_t channels, uint32_t samples, uint32_t data_type,
                           const void *values);

/* Appends events, back to back as in the protocol, in this machine's byte order. */
int schwann_ft_put_events(schwann_ft_buffer *buffer, const void *events, size_t bytes);

/* Appends one event whose type is text and whose value is text; sample -1 means now. */
int schwann_ft_put_text_event(schwann_ft_buffer *buffer, const char *type, const char *value, int32_t sample);

int schwann_ft_get_header(schwann_ft_buffer *buffer, schwann_ft_header *header);

/* Copies the header's chunks; `room` is the size of `out` in bytes. */
int schwann_ft_get_chunks(schwann_ft_buffer *buffer, void *out, size_t room);

/* Copies samples first..last, both included; `room` is the size of `out` in bytes. */
int schwann_ft_get_samples(schwann_ft_buffer *buffer, uint32_t first, uint32_t last, void *out, size_t room);

/* Copies events first..last, both included, back to back; `bytes` becomes their size, also if `room` is too small. */
int schwann_ft_get_events(schwann_ft_buffer *buffer, uint32_t first, uint32_t last, void *out, size_t room,
                          size_t *bytes);

/* Waits until the buffer has more samples or events than given, or the time is over. `samples` and `events`
 * become the numbers at that moment. Either may be null. */
int schwann_ft_wait(schwann_ft_buffer *buffer, uint32_t more_than_samples, uint32_t more_than_events,
                    uint32_t milliseconds, uint32_t *samples, uint32_t *events);

/* As schwann_ft_wait, but does not fall asleep. It keeps a processor busy until the wait is over, and saves
 * the time of a wake-up. With a single processor it falls asleep all the same. */
int schwann_ft_wait_awake(schwann_ft_buffer *buffer, uint32_t more_than_samples, uint32_t more_than_events,
                          uint32_t milliseconds, uint32_t *samples, uint32_t *events);

int schwann_ft_flush_header(schwann_ft_buffer *buffer);
int schwann_ft_flush_samples(schwann_ft_buffer *buffer);
int schwann_ft_flush_events(schwann_ft_buffer *buffer);

/* Serves the buffer at HOST:PORT, a port of this machine as "localhost:PORT", or the path of a UNIX socket. Port 0
 * takes a free one; `port` becomes the one it got, and may be null. Returns null if it cannot listen there. */
schwann_ft_server *schwann_ft_serve(schwann_ft_buffer *buffer, const char *address, uint16_t *port);

/* Stops a server: closes its connections. */
void schwann_ft_stop(schwann_ft_server *server);

#ifdef __cplusplus
}
#endif

#endif
