/* What the export says of the machine and of itself. See nsys_reader.h. */
#include "nsys_reader.h"

#include <stdio.h>
#include <string.h>

/* ---- processes ---- */

static void add_process(nsys_reader *self, int64_t process) {
  for (uint32_t i = 0; i < self->process_count; i++)
    if (self->processes[i] == process) return;
  if (self->process_count < NSYS_PROCESSES) self->processes[self->process_count++] = process;
}

static void find_in(nsys_reader *self, const char *table, const char *column) {
  char sql[192];
  sqlite3_stmt *statement = NULL;
  if (!nsys_has_table(self->file, table) || !nsys_has_column(self->file, table, column)) return;
  snprintf(sql, sizeof sql, "SELECT DISTINCT \"%s\" >> 24 FROM \"%s\" WHERE \"%s\" IS NOT NULL ORDER BY 1 LIMIT %d",
           column, table, column, NSYS_PROCESSES);
  if (sqlite3_prepare_v2(self->file, sql, -1, &statement, NULL) == SQLITE_OK)
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const int64_t process = sqlite3_column_int64(statement, 0);
      if (process >= 0) add_process(self, process);
    }
  sqlite3_finalize(statement);
}

/* Each process that used a device is a window of its own: its numbers of calls are its own, too. A file without such a
 * column, or without device records, is one window. */
void nsys_find_processes(nsys_reader *self) {
  static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                       "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) find_in(self, tables[i], "globalPid");
  if (!self->process_count) self->processes[self->process_count++] = -1;
}

/* ---- devices ---- */

/* The number that the process has for a GPU of the machine. */
static uint32_t index_of(nsys_reader *self, int64_t gpu) {
  enum { GPU, CUDA, PID };
  nsys_rows rows;
  uint32_t found = gpu >= 0 && gpu <= UINT32_MAX ? (uint32_t)gpu : 0;
  if (!nsys_rows_open(&rows, self->file, "TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid", NULL, NULL, 0)) return found;
  while (nsys_rows_next(&rows))
    if (nsys_has(&rows, GPU) && nsys_integer(&rows, GPU) == gpu &&
        (self->process < 0 || nsys_integer(&rows, PID) == (self->process & 0xFFFFFF))) {
      found = nsys_small(&rows, CUDA);
      break;
    }
  nsys_rows_close(&rows);
  return found;
}

void nsys_read_devices(nsys_reader *self) {
  enum {
    ID,
    NAME,
    MAJOR,
    MINOR,
    SMS,
    MEMORY,
    BANDWIDTH,
    WARP,
    THREADS,
    WARPS,
    BLOCKS,
    REGISTERS,
    SM_REGISTERS,
    SHARED,
    SM_SHARED,
    OPTIN
  };
  nsys_rows rows;
  if (!nsys_rows_open(&rows, self->file, "TARGET_INFO_GPU",
                      "id name computeMajor computeMinor smCount totalMemory memoryBandwidth threadsPerWarp "
                      "maxThreadsPerBlock maxWarpsPerSm maxBlocksPerSm maxRegistersPerBlock maxRegistersPerSm "
                      "maxShmemPerBlock maxShmemPerSm maxShmemPerBlockOptin",
                      NULL, NULL, 0))
    return;
  while (self->device_count < NSYS_DEVICES && nsys_rows_next(&rows)) {
    char *name = self->device_names[self->device_count];
    const int64_t memory = nsys_integer(&rows, MEMORY), rate = nsys_integer(&rows, BANDWIDTH);
    snprintf(name, sizeof self->device_names[0], "%s", nsys_text(&rows, NAME));
    self->devices[self->device_count++] =
        (pd_device_props){.size = sizeof(pd_device_props),
                          .index = index_of(self, nsys_integer(&rows, ID)),
                          .name = name,
                          .is_cuda = 1,
                          .total_bytes = memory > 0 ? (uint64_t)memory : 0,
                          .compute_major = nsys_small(&rows, MAJOR),
                          .compute_minor = nsys_small(&rows, MINOR),
                          .sm_count = nsys_small(&rows, SMS),
                          .warp_size = nsys_small(&rows, WARP),
                          .max_threads_per_block = nsys_small(&rows, THREADS),
                          .max_threads_per_sm = nsys_small(&rows, WARPS) * nsys_small(&rows, WARP),
                          .max_blocks_per_sm = nsys_small(&rows, BLOCKS),
                          .registers_per_block = nsys_small(&rows, REGISTERS),
                          .registers_per_sm = nsys_small(&rows, SM_REGISTERS),
                          .shared_per_block = nsys_small(&rows, SHARED),
                          .shared_per_sm = nsys_small(&rows, SM_SHARED),
                          .shared_per_block_optin = nsys_small(&rows, OPTIN),
                          .peak_bytes_per_s = rate > 0 ? (double)rate : 0};
  }
  nsys_rows_close(&rows);
}

/* ---- itself ---- */

/* CLOCK_REALTIME of time 0. */
static int64_t session_start(nsys_reader *self) {
  nsys_rows rows;
  int64_t start = 0;
  if (!nsys_rows_open(&rows, self->file, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", NULL, NULL, 0)) return 0;
  if (nsys_rows_next(&rows)) start = nsys_integer(&rows, 0);
  nsys_rows_close(&rows);
  return start > 0 && start < INT64_C(4000000000000000000) ? start : 0;
}

static void read_version(nsys_reader *self, char *out, size_t room) {
  nsys_rows rows;
  if (!nsys_rows_open(&rows, self->file, "META_DATA_EXPORT", "name value", NULL, NULL, 0)) return;
  while (nsys_rows_next(&rows))
    if (strcmp(nsys_text(&rows, 0), "EXPORT_PRODUCT_VERSION") == 0) {
      snprintf(out, room, "Nsight Systems %.64s", nsys_text(&rows, 1));
      break;
    }
  nsys_rows_close(&rows);
}

/* The profiler's own words where it lost something: warnings and errors that speak of events. */
static void tell_diagnostics(nsys_reader *self) {
  enum { SEVERITY, TEXT };
  enum { WARNING = 2, ERROR = 3 };
  nsys_rows rows;
  if (!nsys_rows_open(&rows, self->file, "DIAGNOSTIC_EVENT", "severity text", NULL, NULL, 0)) return;
  while (nsys_rows_next(&rows)) {
    const int64_t severity = nsys_integer(&rows, SEVERITY);
    const char *text = nsys_text(&rows, TEXT);
    if (severity != WARNING && severity != ERROR) continue;
    if (!strcasestr(text, "dropped") && !strcasestr(text, "lost") && !strcasestr(text, "incomplete") &&
        !strcasestr(text, "missing"))
      continue;
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1, "the profiler says: %.300s", text);
  }
  nsys_rows_close(&rows);
}

static void read_overheads(nsys_reader *self, const char *table) {
  enum { START, END, NAME };
  nsys_rows rows;
  if (!nsys_open_rows(self, &rows, table, "start end nameId", "globalTid")) return;
  while (nsys_rows_next(&rows) && !self->no_memory) {
    const nsys_name *name = nsys_name_of(self, &rows, NAME);
    pd_activity overhead;
    memset(&overhead, 0, sizeof overhead);
    if (!name || !nsys_has(&rows, START) || !nsys_has(&rows, END)) continue;
    overhead.kind = PD_ACTIVITY_OVERHEAD;
    overhead.name = name->id;
    overhead.start = nsys_integer(&rows, START);
    overhead.end = nsys_integer(&rows, END);
    overhead.thread = PD_NONE;
    overhead.stream = PD_STREAM_UNKNOWN;
    self->intake->activity(self->intake, &overhead);
  }
  nsys_close_rows(self, &rows);
}

static void name_threads(nsys_reader *self) {
  enum { NAME, TID };
  nsys_rows rows;
  if (!nsys_open_rows(self, &rows, "ThreadNames", "nameId globalTid", "globalTid")) return;
  const uint64_t kept = self->kept;
  while (nsys_rows_next(&rows) && !self->no_memory) {
    const uint32_t thread = nsys_thread_of(self, nsys_integer(&rows, TID));
    const nsys_name *name = nsys_name_of(self, &rows, NAME);
    if (name) self->intake->name_thread(self->intake, thread, name->id);
  }
  nsys_close_rows(self, &rows);
  self->kept = kept; /* they are not events */
}

void nsys_tell_source(nsys_reader *self) {
  char versions[96] = "";
  name_threads(self);
  read_overheads(self, "CUPTI_ACTIVITY_KIND_OVERHEAD");
  read_overheads(self, "PROFILER_OVERHEAD");
  tell_diagnostics(self);
  read_version(self, versions, sizeof versions);
  const pd_source source = {.size = sizeof source,
                            .pid = self->process < 0 ? 0 : (uint32_t)self->process & 0xFFFFFF,
                            .facts = self->facts,
                            .partial = self->is_partial,
                            .base_ns = session_start(self),
                            .versions = versions[0] ? versions : NULL,
                            .devices = self->devices,
                            .device_count = self->device_count};
  self->intake->source(self->intake, &source);
}
