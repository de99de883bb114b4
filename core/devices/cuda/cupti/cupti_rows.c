/* See cupti_rows.h. */
#include "cupti_rows.h"

bool cupti_row_can_be(int64_t start_ns, int64_t end_ns) {
  return start_ns > 0 && end_ns >= start_ns && end_ns < INT64_C(1) << 62;
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static const char *const overheads[CUPTI_ROW_OVERHEADS] = {"Unknown",
                                                           "Driver Compiler",
                                                           "Buffer Flush",
                                                           "Instrumentation",
                                                           "Resource",
                                                           "Runtime Triggered Module Loading",
                                                           "Lazy Function Loading",
                                                           "Command Buffer Full",
                                                           "Activity Buffer Request",
                                                           "UVM Activity Init"};

uint32_t cupti_row_overhead_number(const CUpti_ActivityOverhead3 *overhead) {
  const uint32_t code = (uint32_t)overhead->overheadKind, row = code == 1 ? 1 : code >> 16 ? (code >> 16) + 1 : 0;
  return row < CUPTI_ROW_OVERHEADS ? row : 0;
}

const char *cupti_row_overhead_text(uint32_t number) { return overheads[number]; }

const char *cupti_row_sync_text(CUpti_ActivitySynchronizationType type) {
  switch ((int)type) {
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE: return "Event Sync";
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT: return "Stream Wait Event";
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE: return "Stream Sync";
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE: return "Context Sync";
  default: return "Unknown Sync";
  }
}

/* ---- records ----------------------------------------------------------------------------------------------- */

/* What the records of all device work have, under the same names in types of their own. */
#define WORK_ROW(of, row_kind, row_correlation)                                                                        \
  {                                                                                                                    \
    .kind = (row_kind), .start = (int64_t)(of)->start, .end = (int64_t)(of)->end, .correlation = (row_correlation),    \
    .device = (of)->deviceId, .context = (of)->contextId, .stream = (of)->streamId                                     \
  }

pd_activity cupti_row_kernel(const CUpti_ActivityKernel10 *kernel, uint64_t correlation, uint32_t name) {
  pd_activity row = WORK_ROW(kernel, PD_ACTIVITY_KERNEL, correlation);
  row.name = name;
  row.u.kernel.grid[0] = (uint32_t)kernel->gridX;
  row.u.kernel.grid[1] = (uint32_t)kernel->gridY;
  row.u.kernel.grid[2] = (uint32_t)kernel->gridZ;
  row.u.kernel.block[0] = (uint32_t)kernel->blockX;
  row.u.kernel.block[1] = (uint32_t)kernel->blockY;
  row.u.kernel.block[2] = (uint32_t)kernel->blockZ;
  row.u.kernel.registers = kernel->registersPerThread;
  row.u.kernel.static_bytes = (uint32_t)kernel->staticSharedMemory;
  row.u.kernel.dynamic_bytes = (uint32_t)kernel->dynamicSharedMemory;
  row.u.kernel.graph = kernel->graphId;
  row.u.kernel.graph_node = (uint32_t)kernel->graphNodeId;
  return row;
}

static pd_memory_kind memory_kind(uint32_t kind) {
  switch (kind) {
  case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE: return PD_MEMORY_PAGEABLE;
  case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return PD_MEMORY_PINNED;
  case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
  case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
  case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC: return PD_MEMORY_DEVICE;
  case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
  case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC: return PD_MEMORY_MANAGED;
  default: return PD_MEMORY_UNKNOWN;
  }
}

/* A copy, within a device or between two: the types differ, the fields do not. */
#define FILL_COPY(row, of)                                                                                             \
  do {                                                                                                                 \
    (row).bytes = (of)->bytes;                                                                                         \
    (row).u.copy.from = memory_kind((of)->srcKind);                                                                    \
    (row).u.copy.to = memory_kind((of)->dstKind);                                                                      \
    (row).u.copy.graph = (of)->graphId;                                                                                \
    (row).u.copy.graph_node = (uint32_t)(of)->graphNodeId;                                                             \
  } while (0)

pd_activity cupti_row_memcpy(const CUpti_ActivityMemcpy6 *copy, uint64_t correlation) {
  pd_activity row = WORK_ROW(copy, PD_ACTIVITY_MEMCPY, correlation);
  FILL_COPY(row, copy);
  return row;
}

pd_activity cupti_row_peer_memcpy(const CUpti_ActivityMemcpyPtoP4 *copy, uint64_t correlation) {
  pd_activity row = WORK_ROW(copy, PD_ACTIVITY_MEMCPY, correlation);
  FILL_COPY(row, copy);
  return row;
}

pd_activity cupti_row_memset(const CUpti_ActivityMemset4 *set, uint64_t correlation) {
  pd_activity row = WORK_ROW(set, PD_ACTIVITY_MEMSET, correlation);
  row.bytes = set->bytes;
  row.u.copy.to = memory_kind(set->memoryKind);
  row.u.copy.graph = set->graphId;
  row.u.copy.graph_node = (uint32_t)set->graphNodeId;
  return row;
}

pd_activity cupti_row_sync(const CUpti_ActivitySynchronization2 *sync, uint64_t correlation, uint32_t device) {
  return (pd_activity){.kind = PD_ACTIVITY_SYNC,
                       .start = (int64_t)sync->start,
                       .end = (int64_t)sync->end,
                       .correlation = correlation,
                       .device = device,
                       .context = sync->contextId,
                       .stream = sync->streamId};
}

pd_activity cupti_row_overhead(const CUpti_ActivityOverhead3 *overhead, uint64_t correlation) {
  pd_activity row = {.kind = PD_ACTIVITY_OVERHEAD,
                     .start = (int64_t)overhead->start,
                     .end = (int64_t)overhead->end,
                     .correlation = correlation};
  if (overhead->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) row.thread = overhead->objectId.pt.threadId;
  return row;
}
