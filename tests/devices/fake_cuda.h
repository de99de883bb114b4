/* A runtime and libraries of CUDA that are played: what the CUDA device does on the host is tested against them. */
#ifndef TESTS_DEVICES_FAKE_CUDA_H
#define TESTS_DEVICES_FAKE_CUDA_H

#include "devices/cuda/conv_plan.h"
#include "pd_test.h"
#include "test_host.h"

typedef struct fake_cuda {
  void *memory[64];      /* allocated and not freed */
  uint64_t refuse_bytes; /* allocations of this size or more fail; 0: none */
  uint64_t pool_keeps;   /* as many bytes less are there until the pool is trimmed */
  int waits, trims, events, small_products, gathered;
  bool records_during;         /* the recorder is switched on while an allocation is under way */
  cudaError_t last, fault;     /* the latter: what waiting for a stream ends with */
  cudnnStatus_t candidates[8]; /* what executing each ends with */
  uint64_t workspaces[8];
  int candidate_count;
  const char *folder; /* where libraries are looked for; NULL: as usual */
} fake_cuda;

extern fake_cuda fake;
extern test_host host;
extern pd_device device;
extern cuda_conv_cache convolutions;
extern uint32_t recording;
extern pd_memory_event last_event; /* the last event of memory that was recorded */

bool is_live(const void *memory);
/* How many allocations are not freed. */
int live(void);
/* Everything anew, and a stream of the device. */
pd_stream *open_stream(void);
/* A graph is captured on the stream, and destroyed. */
void capture(pd_stream *stream);

#endif
