/* Device records: kernels, copies, sets, whole graphs, and what streams waited for. See nsys_reader.h. */
#include "nsys_reader.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns that the four tables of device work share, in this order. */
#define PLACE "start end deviceId contextId streamId correlationId "
enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, PLACE_COUNT };

static bool open_work(nsys_reader *self, nsys_rows *rows, const char *table, const char *columns) {
  if (!nsys_open_rows(self, rows, table, columns, "globalPid")) return false;
  nsys_tell_lacking(self, table, "start end");
  return true;
}

/* False: it has no times. */
static bool take_place(const nsys_rows *rows, pd_activity *out) {
  memset(out, 0, sizeof *out);
  if (!nsys_has(rows, START) || !nsys_has(rows, END)) return false;
  const int64_t number = nsys_integer(rows, CORRELATION);
  out->start = nsys_integer(rows, START);
  out->end = nsys_integer(rows, END);
  out->device = nsys_small(rows, DEVICE);
  out->context = nsys_small(rows, CONTEXT);
  out->stream = nsys_small(rows, STREAM);
  out->correlation = number > 0 ? (uint64_t)number : 0;
  return true;
}

static const pd_device_props *device_of(const nsys_reader *self, uint32_t index) {
  for (uint32_t i = 0; i < self->device_count; i++)
    if (self->devices[i].index == index) return &self->devices[i];
  return NULL;
}

/* As Kineto has them: blocks and warps of the grid over the multiprocessors. */
static void spread(const nsys_reader *self, pd_activity *kernel) {
  const pd_device_props *device = device_of(self, kernel->device);
  const uint32_t *grid = kernel->u.kernel.grid, *block = kernel->u.kernel.block;
  kernel->u.kernel.occupancy = -1;
  kernel->u.kernel.waves = -1;
  if (!device || !device->sm_count) return;
  const double blocks = (double)grid[0] * grid[1] * grid[2] / device->sm_count;
  const double warp = device->warp_size ? device->warp_size : 32;
  kernel->u.kernel.blocks_per_sm = (float)blocks;
  kernel->u.kernel.warps_per_sm = (float)(blocks * block[0] * block[1] * block[2] / warp);
}

/* A node's id has its graph above the lowest 32 bits, where the table has no column for it. */
static void take_graph(const nsys_rows *rows, int node_column, int graph_column, uint32_t *graph, uint32_t *node) {
  const uint64_t id = (uint64_t)nsys_integer(rows, node_column);
  *graph = nsys_has(rows, graph_column) ? nsys_small(rows, graph_column) : (uint32_t)(id >> 32);
  *node = (uint32_t)id;
}

static void read_kernels(nsys_reader *self) {
  enum {
    NAME = PLACE_COUNT,
    SHORT,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    REGISTERS,
    STATIC,
    DYNAMIC,
    NODE,
    GRAPH
  };
  nsys_rows rows;
  if (!open_work(self, &rows, "CUPTI_ACTIVITY_KIND_KERNEL",
                 PLACE "demangledName shortName gridX gridY gridZ blockX blockY blockZ registersPerThread "
                       "staticSharedMemory dynamicSharedMemory graphNodeId graphId"))
    return;
  while (nsys_rows_next(&rows) && !self->no_memory) {
    pd_activity kernel;
    const nsys_name *name = nsys_name_of(self, &rows, nsys_has(&rows, NAME) ? NAME : SHORT);
    if (!name || !take_place(&rows, &kernel)) continue;
    kernel.kind = PD_ACTIVITY_KERNEL;
    kernel.name = name->id;
    for (int i = 0; i < 3; i++) {
      kernel.u.kernel.grid[i] = nsys_small(&rows, GRID_X + i);
      kernel.u.kernel.block[i] = nsys_small(&rows, BLOCK_X + i);
    }
    kernel.u.kernel.registers = nsys_small(&rows, REGISTERS);
    kernel.u.kernel.static_bytes = nsys_small(&rows, STATIC);
    kernel.u.kernel.dynamic_bytes = nsys_small(&rows, DYNAMIC);
    take_graph(&rows, NODE, GRAPH, &kernel.u.kernel.graph, &kernel.u.kernel.graph_node);
    spread(self, &kernel);
    self->intake->activity(self->intake, &kernel);
  }
  nsys_close_rows(self, &rows);
}

/* Words of Kineto's, for ENUM_CUDA_MEM_KIND. */
static const struct {
  const char *word;
  pd_memory_kind kind;
} ends[] = {{"Pageable", PD_MEMORY_PAGEABLE}, {"Pinned", PD_MEMORY_PINNED},   {"Device", PD_MEMORY_DEVICE},
            {"Array", PD_MEMORY_DEVICE},      {"Managed", PD_MEMORY_MANAGED}, {"Device", PD_MEMORY_DEVICE},
            {"Managed", PD_MEMORY_MANAGED},   {"Unknown", PD_MEMORY_UNKNOWN}};
enum { ENDS = sizeof ends / sizeof ends[0], UNKNOWN_END = ENDS - 1 };

static int end_of(const nsys_rows *rows, int column) {
  const int64_t number = nsys_integer(rows, column);
  return nsys_has(rows, column) && number >= 0 && number < ENDS ? (int)number : UNKNOWN_END;
}

/* By ENUM_CUDA_MEMCPY_OPER. */
static const char *way_of(int64_t number) {
  static const char *const ways[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                     "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
  return number >= 0 && number < (int64_t)(sizeof ways / sizeof ways[0]) ? ways[number] : ways[0];
}

static void read_copies(nsys_reader *self) {
  enum { BYTES = PLACE_COUNT, WAY, FROM, TO, NODE, GRAPH };
  nsys_rows rows;
  if (!open_work(self, &rows, "CUPTI_ACTIVITY_KIND_MEMCPY", PLACE "bytes copyKind srcKind dstKind graphNodeId graphId"))
    return;
  while (nsys_rows_next(&rows)) {
    pd_activity copy;
    char text[96];
    if (!take_place(&rows, &copy)) continue;
    const int from = end_of(&rows, FROM), to = end_of(&rows, TO);
    const int length = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", way_of(nsys_integer(&rows, WAY)),
                                ends[from].word, ends[to].word);
    copy.kind = PD_ACTIVITY_MEMCPY;
    copy.name = self->intake->intern(self->intake, text, (uint64_t)length);
    copy.bytes = (uint64_t)nsys_integer(&rows, BYTES);
    copy.u.copy.from = ends[from].kind;
    copy.u.copy.to = ends[to].kind;
    take_graph(&rows, NODE, GRAPH, &copy.u.copy.graph, &copy.u.copy.graph_node);
    self->intake->activity(self->intake, &copy);
  }
  nsys_close_rows(self, &rows);
}

static void read_sets(nsys_reader *self) {
  enum { BYTES = PLACE_COUNT, OF, NODE, GRAPH };
  nsys_rows rows;
  if (!open_work(self, &rows, "CUPTI_ACTIVITY_KIND_MEMSET", PLACE "bytes memKind graphNodeId graphId")) return;
  while (nsys_rows_next(&rows)) {
    pd_activity set;
    char text[64];
    if (!take_place(&rows, &set)) continue;
    const int of = end_of(&rows, OF);
    const int length = snprintf(text, sizeof text, "Memset (%s)", ends[of].word);
    set.kind = PD_ACTIVITY_MEMSET;
    set.name = self->intake->intern(self->intake, text, (uint64_t)length);
    set.bytes = (uint64_t)nsys_integer(&rows, BYTES);
    set.u.copy.to = ends[of].kind;
    take_graph(&rows, NODE, GRAPH, &set.u.copy.graph, &set.u.copy.graph_node);
    self->intake->activity(self->intake, &set);
  }
  nsys_close_rows(self, &rows);
}

/* With --cuda-graph-trace=graph a graph is one record: its kernels are not known. */
static void read_graphs(nsys_reader *self) {
  enum { GRAPH = PLACE_COUNT };
  nsys_rows rows;
  if (!open_work(self, &rows, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", PLACE "graphId")) return;
  while (nsys_rows_next(&rows)) {
    pd_activity graph;
    char text[64];
    if (!take_place(&rows, &graph)) continue;
    const int length = snprintf(text, sizeof text, "CUDA graph %u", nsys_small(&rows, GRAPH));
    graph.kind = PD_ACTIVITY_KERNEL;
    graph.name = self->intake->intern(self->intake, text, (uint64_t)length);
    graph.u.kernel.graph = nsys_small(&rows, GRAPH);
    graph.u.kernel.occupancy = -1;
    graph.u.kernel.waves = -1;
    self->intake->activity(self->intake, &graph);
  }
  if (rows.read)
    self->intake->odd(self->intake, PD_ODD_NOTE, rows.read,
                      "%llu launches of graphs are one record each: nsys profile "
                      "--cuda-graph-trace=node records their kernels",
                      (unsigned long long)rows.read);
  nsys_close_rows(self, &rows);
}

/* ENUM_CUPTI_SYNC_TYPE. */
static const char *const sync_names[] = {"Synchronization", "Event Sync", "Stream Wait Event", "Stream Sync",
                                         "Context Sync"};
enum { SYNC_CONTEXT = 4, SYNC_COUNT = 5 };

/* A record of an event: its id, and the call that made it. */
typedef struct nsys_event {
  int64_t id;
  uint64_t call;
} nsys_event;

typedef struct nsys_events {
  nsys_event *rows;
  uint64_t count, room;
} nsys_events;

static int by_id(const void *a, const void *b) {
  const nsys_event *first = a, *second = b;
  return (first->id > second->id) - (first->id < second->id);
}

static void read_events(nsys_reader *self, nsys_events *events) {
  enum { ID, CALL };
  nsys_rows rows;
  *events = (nsys_events){.rows = NULL};
  if (!nsys_open_rows(self, &rows, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "eventSyncId correlationId", "globalPid")) return;
  while (nsys_rows_next(&rows)) {
    if (!nsys_has(&rows, ID) || nsys_integer(&rows, CALL) <= 0) continue;
    if (!PD_ARRAY_FIT(events->rows, events->room, events->count + 1)) {
      self->no_memory = true;
      break;
    }
    events->rows[events->count++] = (nsys_event){nsys_integer(&rows, ID), (uint64_t)nsys_integer(&rows, CALL)};
  }
  nsys_close_rows(self, &rows);
  if (events->count) qsort(events->rows, events->count, sizeof *events->rows, by_id);
}

static uint64_t awaited_of(const nsys_events *events, const nsys_rows *rows, int column) {
  const nsys_event wanted = {.id = nsys_integer(rows, column)};
  if (!events->count || !nsys_has(rows, column)) return 0;
  const nsys_event *found = bsearch(&wanted, events->rows, events->count, sizeof wanted, by_id);
  return found ? found->call : 0;
}

static void read_syncs(nsys_reader *self) {
  enum { TYPE = PLACE_COUNT, EVENT };
  nsys_events events;
  nsys_rows rows;
  if (!nsys_open_rows(self, &rows, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", PLACE "syncType eventSyncId", "globalPid"))
    return;
  read_events(self, &events);
  while (nsys_rows_next(&rows)) {
    pd_activity sync;
    if (!take_place(&rows, &sync)) continue;
    const int64_t type = nsys_integer(&rows, TYPE);
    const char *name = sync_names[type >= 0 && type < SYNC_COUNT ? type : 0];
    sync.kind = PD_ACTIVITY_SYNC;
    sync.name = self->intake->intern(self->intake, name, strlen(name));
    sync.thread = PD_NONE;
    if (type == SYNC_CONTEXT || !nsys_has(&rows, STREAM)) sync.stream = PD_STREAM_UNKNOWN;
    const uint64_t awaited = awaited_of(&events, &rows, EVENT);
    if (awaited) self->facts |= PD_FACT_EVENTS;
    self->intake->wait(self->intake, &sync, awaited);
  }
  free(events.rows);
  nsys_close_rows(self, &rows);
}

/* With --cuda-graph-trace=graph the launches that were captured run nothing. A file without any device records says
 * that by itself. */
static void tell_no_kernels(nsys_reader *self, bool has_work) {
  if (!self->kernel_launches || nsys_has_table(self->file, "CUPTI_ACTIVITY_KIND_KERNEL") ||
      nsys_has_table(self->file, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"))
    return;
  self->is_partial |= has_work;
  if (self->next == 1)
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1,
                      "the file has no table CUPTI_ACTIVITY_KIND_KERNEL, though it has launches of kernels: export the "
                      "report again, or record the device's work too");
}

void nsys_read_device(nsys_reader *self) {
  const uint64_t before = self->kept;
  read_kernels(self);
  read_copies(self);
  read_sets(self);
  read_graphs(self);
  tell_no_kernels(self, self->kept > before);
  read_syncs(self);
}
