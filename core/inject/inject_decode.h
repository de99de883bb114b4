/* CUPTI's buffers to rows of the ring: each record is looked at alone. Which record answers which call is found when
 * the capture is read. [the collector's thread] */
#ifndef CORE_INJECT_INJECT_DECODE_H
#define CORE_INJECT_INJECT_DECODE_H

#include "inject_gpus.h"
#include "inject_names.h"

#include "devices/cuda/cupti/cupti_allowlist.h"
#include "devices/cuda/cupti/occupancy.h"

enum { INJECT_CAPTURES = 64 };

typedef struct inject_decoder {
  const cupti_api *api;
  cupti_allowlist *calls;
  ring_writer *ring;
  inject_names names;
  ring_lane rows;
  uint32_t overheads[16];              /* string ids; 0: not met yet */
  uint32_t capturing[INJECT_CAPTURES]; /* threads that capture a stream; 0: a free place */
  uint64_t correlation;                /* the newest, widened to 64 bits */
  record_gpu gpus[INJECT_GPUS];
  occupancy *fullness; /* by GPU */
  uint32_t gpu_count;
  uint64_t calls_seen, kernels_seen; /* so far */
} inject_decoder;

/* `gpus` are written to the ring, and tell how full each kernel fills them. False: no memory. */
bool inject_decoder_open(inject_decoder *self, const cupti_api *api, cupti_allowlist *calls, ring_writer *ring);
/* Decodes one buffer and frees what its records own. */
void inject_decoder_buffer(inject_decoder *self, uint8_t *data, size_t valid_bytes);

#endif
