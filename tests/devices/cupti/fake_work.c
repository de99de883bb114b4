/* What a program does with CUDA, as far as the fake records it: calls, kernels, copies, graphs. */
#include "fake_state.h"

#include <stdlib.h>
#include <string.h>

static uint32_t new_correlation(void) {
  if (fake.stuck_id && pthread_equal(fake.stuck_thread, pthread_self())) return fake.stuck_id;
  if (fake.config.first_correlation) fake.correlation = fake.config.first_correlation;
  fake.config.first_correlation = 0;
  if (!++fake.correlation) ++fake.correlation; /* 0 means none */
  return fake.correlation;
}

static uint32_t call_since(bool driver, uint32_t cbid, uint32_t result, uint32_t id, uint64_t start) {
  if (!id) id = new_correlation();
  if (driver ? !fake.driver_call[cbid] : !fake.runtime_call[cbid]) return id;
  CUpti_ActivityAPI *api = fake_put(driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME, NULL);
  if (!api) return id;
  api->cbid = cbid;
  api->start = start;
  api->end = fake_now();
  api->processId = (uint32_t)getpid();
  api->threadId = (uint32_t)gettid();
  api->correlationId = id;
  api->returnValue = result;
  return id;
}

static uint32_t call(bool driver, uint32_t cbid, uint32_t result, uint32_t id) {
  return call_since(driver, cbid, result, id, fake_now());
}

static void kernel(const char *name, uint32_t id, uint32_t graph, uint32_t node) {
  fake_buffer *buffer;
  if (!fake.counts.kernel_on || fake.running_count == FAKE_KERNEL_SLOTS) return;
  CUpti_ActivityKernel10 *record = fake_put(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &buffer);
  if (!record) return;
  record->name = name;
  record->correlationId = id;
  record->gridX = 63;
  record->gridY = record->gridZ = record->blockY = record->blockZ = 1;
  record->blockX = 128;
  record->registersPerThread = 16;
  record->streamId = 7;
  record->contextId = 1;
  record->graphId = graph;
  record->graphNodeId = (uint64_t)graph << 32 | node;
  buffer->running++;
  fake.running[fake.running_count].record = record;
  fake.running[fake.running_count++].buffer = buffer;
}

uint32_t fake_call(bool driver, uint32_t cbid, uint32_t result, bool nested_in_last) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = call(driver, cbid, result, nested_in_last ? fake.correlation : 0);
  pthread_mutex_unlock(&fake.lock);
  return id;
}
uint32_t fake_launch(const char *name) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = new_correlation();
  kernel(name, id, 0, 0); /* the kernel's place is taken before the call returns */
  call(false, 211, 0, id);
  pthread_mutex_unlock(&fake.lock);
  return id;
}
uint32_t fake_driver_launch(const char *name) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = new_correlation();
  kernel(name, id, 0, 0);
  call(true, 307, 0, id);
  pthread_mutex_unlock(&fake.lock);
  return id;
}
static uint32_t graph_launch(uint32_t graph, uint32_t nodes, uint32_t shift) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = new_correlation();
  const uint64_t start = fake_now();
  call(true, 514, 0, id); /* the driver's call is inside the runtime's */
  call_since(false, 311, 0, id, start);
  for (uint32_t i = 0; i < nodes && !(fake.config.graph_silence && fake.sessions_on > 1); i++)
    kernel("_Z4nodev", id + shift, graph, i + 1);
  fake.correlation += shift;
  pthread_mutex_unlock(&fake.lock);
  return id;
}
uint32_t fake_graph_launch(uint32_t graph, uint32_t nodes) { return graph_launch(graph, nodes, 0); }
uint32_t fake_graph_launch_wrong(uint32_t graph, uint32_t nodes) { return graph_launch(graph, nodes, 1); }
uint32_t fake_memcpy(uint64_t bytes) {
  pthread_mutex_lock(&fake.lock);
  const uint64_t start = fake_now();
  uint32_t id = call(true, 279, 0, 0);
  call_since(false, 41, 0, id, start);
  CUpti_ActivityMemcpy6 *record = fake.counts.memcpy_on ? fake_put(CUPTI_ACTIVITY_KIND_MEMCPY, NULL) : NULL;
  if (record) {
    record->start = fake_now();
    record->end = record->start + 10;
    record->bytes = bytes;
    record->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    record->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->correlationId = id;
    record->streamId = 7;
  }
  pthread_mutex_unlock(&fake.lock);
  return id;
}
uint32_t fake_peer_memcpy(uint64_t bytes) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = call(false, 41, 0, 0);
  CUpti_ActivityMemcpyPtoP4 *record = fake.counts.peer_on ? fake_put(CUPTI_ACTIVITY_KIND_MEMCPY2, NULL) : NULL;
  if (record) {
    record->start = fake_now();
    record->end = record->start + 10;
    record->bytes = bytes;
    record->srcKind = record->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->correlationId = id;
  }
  pthread_mutex_unlock(&fake.lock);
  return id;
}
uint32_t fake_memset(uint64_t bytes) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = call(false, 51, 0, 0);
  CUpti_ActivityMemset4 *record = fake.counts.memset_on && bytes ? fake_put(CUPTI_ACTIVITY_KIND_MEMSET, NULL) : NULL;
  if (record) {
    record->start = fake_now();
    record->end = record->start + 10;
    record->bytes = bytes;
    record->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->correlationId = id;
  }
  pthread_mutex_unlock(&fake.lock);
  return id;
}
void fake_overhead(void) {
  pthread_mutex_lock(&fake.lock);
  CUpti_ActivityOverhead3 *record = fake.counts.overhead_on ? fake_put(CUPTI_ACTIVITY_KIND_OVERHEAD, NULL) : NULL;
  if (record) {
    record->overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
    record->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record->objectId.pt.threadId = (uint32_t)gettid();
    record->start = fake_now();
    record->end = record->start + 100;
    record->overheadData = malloc(24);
  }
  pthread_mutex_unlock(&fake.lock);
}
void fake_sync(void) {
  pthread_mutex_lock(&fake.lock);
  CUpti_ActivitySynchronization2 *record =
      fake.counts.sync_on ? fake_put(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, NULL) : NULL;
  if (record) {
    record->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    record->start = fake_now();
    record->end = record->start + 5;
    record->streamId = 7;
  }
  pthread_mutex_unlock(&fake.lock);
}
static void finish(uint32_t at, uint64_t start, uint64_t end) {
  fake.running[at].record->start = start;
  fake.running[at].record->end = end;
  fake.running[at].buffer->running--;
}
void fake_finish(uint32_t only) {
  pthread_mutex_lock(&fake.lock);
  uint32_t done = only && only < fake.running_count ? only : fake.running_count;
  for (uint32_t i = 0; i < done; i++) {
    uint64_t at = fake_now();
    finish(i, at, at + 50);
  }
  memmove(fake.running, fake.running + done, (fake.running_count - done) * sizeof *fake.running);
  fake.running_count -= done;
  pthread_mutex_unlock(&fake.lock);
}
void fake_finish_at(uint32_t id, uint64_t start, uint64_t end) {
  pthread_mutex_lock(&fake.lock);
  for (uint32_t i = 0; i < fake.running_count; i++) {
    if (fake.running[i].record->correlationId != id) continue;
    finish(i, start, end);
    fake.running[i--] = fake.running[--fake.running_count];
  }
  pthread_mutex_unlock(&fake.lock);
}
void fake_stick(void) {
  pthread_mutex_lock(&fake.lock);
  fake.stuck_id = fake.correlation;
  fake.stuck_thread = pthread_self();
  pthread_mutex_unlock(&fake.lock);
}
uint32_t fake_straggler(const char *name, uint64_t start) {
  pthread_mutex_lock(&fake.lock);
  uint32_t id = new_correlation();
  CUpti_ActivityAPI *call_row = fake_put(CUPTI_ACTIVITY_KIND_RUNTIME, NULL);
  if (call_row)
    *call_row = (CUpti_ActivityAPI){.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                                    .cbid = 211,
                                    .start = start,
                                    .end = fake_now(),
                                    .threadId = (uint32_t)gettid(),
                                    .correlationId = id};
  CUpti_ActivityKernel10 *kernel_row = fake_put(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL);
  if (kernel_row)
    *kernel_row = (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           .name = name,
                                           .start = start + 1,
                                           .end = start + 2,
                                           .correlationId = id};
  pthread_mutex_unlock(&fake.lock);
  return id;
}
