/* An event's way into the intake. See kineto.h. */
#include "kineto.h"

#include "../lib/range_roles.h"

#include <string.h>

static void met(kineto_oddity *self, uint64_t at) {
  if (!self->count++) self->first = at;
}

/* Process and thread numbers: any text gives one, and the same text the same. */
static uint32_t number_of(scan_text text) {
  int64_t number;
  uint64_t size = 0;
  if (scan_integer(text, &number))
    size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  else
    for (size_t i = 0; i < text.length; i++) size = size * 31 + (unsigned char)text.at[i];
  return (uint32_t)(size ^ size >> 32);
}

static uint32_t thread_of(const kineto_reader *self, const kineto_event *event) {
  return self->intake->thread(self->intake, number_of(event->pid), number_of(event->tid));
}

/* The N of ProfilerStep#N. */
static uint64_t step_number(scan_text name) {
  int64_t number;
  const char *hash = memchr(name.at, '#', name.length);
  const size_t before = hash ? (size_t)(hash + 1 - name.at) : 0;
  if (!hash || !scan_integer((scan_text){hash + 1, name.length - before}, &number) || number < 0) return 0;
  return (uint64_t)number;
}

/* Inputs whose shapes are kept: an operation with more has lists of tensors. */
enum { KINETO_INPUTS = 16 };

static void take_range(kineto_reader *self, kineto_event *event, kineto_category category, const kineto_name *name) {
  pd_read_range range = {.start_ns = event->start_ns,
                         .end_ns = event->start_ns + event->duration_ns,
                         .name = name->id,
                         .kind = category == KINETO_OPERATION ? PD_RANGE_OP : PD_RANGE_USER,
                         .thread = thread_of(self, event)};
  if (category == KINETO_OPERATION && (name->role == RANGE_ROLE_PLAIN || name->role == RANGE_ROLE_CODE))
    self->facts |= PD_FACT_OPERATIONS;
  switch (name->role) {
  case RANGE_ROLE_STEP:
    range.kind = PD_RANGE_STEP;
    self->intake->step(self->intake, range.thread, step_number(event->name), range.start_ns, range.end_ns);
    break;
  case RANGE_ROLE_INPUT:
    range.kind = PD_RANGE_DATALOADER;
    range.part = PD_PART_DATALOADER;
    self->facts |= PD_FACT_INPUT;
    break;
  case RANGE_ROLE_OPTIMIZER:
    range.kind = PD_RANGE_USER;
    range.part = PD_PART_OPTIMIZATION;
    break;
  case RANGE_ROLE_BACKWARD: range.part = PD_PART_BACKWARD; break;
  case RANGE_ROLE_MODULE:
    if (category == KINETO_PYTHON) range.kind = PD_RANGE_MODULE;
    break;
  default: break;
  }
  pd_shape shapes[KINETO_INPUTS];
  if (category == KINETO_OPERATION && event->args.length) {
    const kineto_args *args = kineto_event_args(event);
    const int64_t sequence = KINETO_GET(args, sequence, 0);
    range.shape_count = kineto_shapes(args->dims, shapes, KINETO_INPUTS);
    range.shapes = shapes;
    if (sequence > 0 && sequence <= UINT32_MAX) {
      range.sequence = (uint32_t)sequence;
      range.backward = KINETO_GET(args, forward_thread, 0) != 0;
    }
  }
  self->intake->range(self->intake, &range);
}

static void take_python(kineto_reader *self, kineto_event *event, const kineto_name *name) {
  const pd_intake *intake = self->intake;
  if (name->role == RANGE_ROLE_MODULE && self->reads_modules)
    take_range(self, event, KINETO_PYTHON, name);
  else if (name->role == RANGE_ROLE_CODE && PD_HAS(pd_intake, intake, frame) && intake->frame)
    intake->frame(intake, thread_of(self, event), name->id, event->start_ns, event->start_ns + event->duration_ns);
}

/* "External id" is the operation's, and no number of a call. */
static uint64_t correlation_of(const kineto_args *args) {
  const int64_t number = KINETO_GET(args, correlation, 0);
  return number > 0 ? (uint64_t)number : 0;
}

static void take_call(kineto_reader *self, kineto_event *event, kineto_category category, const kineto_name *name) {
  pd_activity call;
  const kineto_args *args = kineto_event_args(event);
  memset(&call, 0, sizeof call);
  call.kind = category == KINETO_DRIVER ? PD_ACTIVITY_DRIVER : PD_ACTIVITY_RUNTIME;
  call.name = name->id;
  call.start = event->start_ns;
  call.end = event->start_ns + event->duration_ns;
  call.correlation = correlation_of(args);
  call.thread = thread_of(self, event);
  call.u.api.cbid = (uint32_t)KINETO_GET(args, cbid, 0);
  call.u.api.api = name->api;
  if (name->length > 3 && memcmp(name->text, "hip", 3) == 0) self->is_rocm = true;
  self->facts |= PD_FACT_CALLS;
  self->intake->activity(self->intake, &call);
}

static uint32_t small(int64_t number) { return number < 0 || number > UINT32_MAX ? 0 : (uint32_t)number; }

static void take_place(const kineto_event *event, const kineto_args *args, pd_activity *out) {
  out->device = small(KINETO_GET(args, device, number_of(event->pid)));
  out->context = small(KINETO_GET(args, context, 0));
  out->stream = small(KINETO_GET(args, stream, number_of(event->tid)));
}

/* What a rank gives to a collective; 0: not known. */
static uint64_t message_bytes(const kineto_args *args) {
  static const struct {
    const char *type;
    uint32_t bytes;
  } known[] = {{"BFloat16", 2}, {"Half", 2}, {"Float", 4}, {"Double", 8},
               {"Int", 4},      {"Long", 8}, {"Char", 1},  {"Byte", 1}};
  const int64_t items = KINETO_GET(args, message_items, 0);
  for (size_t i = 0; i < sizeof known / sizeof known[0] && items > 0; i++)
    if (scan_is(args->message_type, known[i].type, strlen(known[i].type))) return (uint64_t)items * known[i].bytes;
  return 0;
}

static void take_work(kineto_reader *self, kineto_event *event, kineto_category category, const kineto_name *name,
                      uint64_t at) {
  pd_activity work;
  const kineto_args *args = kineto_event_args(event);
  memset(&work, 0, sizeof work);
  work.name = name->id;
  work.start = event->start_ns;
  work.end = event->start_ns + event->duration_ns;
  work.correlation = correlation_of(args);
  take_place(event, args, &work);
  if (category == KINETO_KERNEL) {
    work.kind = PD_ACTIVITY_KERNEL;
    work.bytes = message_bytes(args);
    memcpy(work.u.kernel.grid, args->grid, sizeof args->grid);
    memcpy(work.u.kernel.block, args->block, sizeof args->block);
    work.u.kernel.registers = small(KINETO_GET(args, registers, 0));
    work.u.kernel.dynamic_bytes = small(KINETO_GET(args, shared, 0));
    work.u.kernel.graph = small(KINETO_GET(args, graph, 0));
    work.u.kernel.graph_node = small(KINETO_GET(args, graph_node, 0));
    work.u.kernel.blocks_per_sm = (float)args->blocks_per_sm;
    work.u.kernel.warps_per_sm = (float)args->warps_per_sm;
    work.u.kernel.waves = -1;
    const int64_t occupancy = KINETO_GET(args, occupancy, -1);
    work.u.kernel.occupancy = occupancy >= 0 ? (float)((double)occupancy / 100) : -1;
  } else {
    work.kind = category == KINETO_MEMCPY ? PD_ACTIVITY_MEMCPY : PD_ACTIVITY_MEMSET;
    work.bytes = (uint64_t)KINETO_GET(args, bytes, 0);
    work.u.copy.from = name->from;
    work.u.copy.to = name->to;
    work.u.copy.graph = small(KINETO_GET(args, graph, 0));
    work.u.copy.graph_node = small(KINETO_GET(args, graph_node, 0));
  }
  if (category == KINETO_KERNEL && KINETO_GET(args, group_size, 0) > 0 && args->group_ranks.length)
    kineto_collectives_hold(self, &work, name, args, at);
  else
    self->intake->activity(self->intake, &work);
}

/* Kineto moves some synchronisations of a stream to a track of their own. */
enum { SYNC_TRACK = 1000000 };

static void take_other(kineto_reader *self, kineto_event *event, kineto_category category, const kineto_name *name) {
  pd_activity other;
  memset(&other, 0, sizeof other);
  other.name = name->id;
  other.start = event->start_ns;
  other.end = event->start_ns + event->duration_ns;
  other.thread = PD_NONE;
  other.stream = PD_STREAM_UNKNOWN;
  other.kind = PD_ACTIVITY_OVERHEAD;
  if (category == KINETO_OVERHEAD) {
    self->intake->activity(self->intake, &other);
    return;
  }
  const kineto_args *args = kineto_event_args(event);
  other.kind = PD_ACTIVITY_SYNC;
  other.correlation = correlation_of(args);
  take_place(event, args, &other);
  if (!KINETO_HAS(args, stream) && other.stream >= SYNC_TRACK) other.stream -= SYNC_TRACK;
  const bool whole = memmem(name->text, name->length, "Context", 7) != NULL;
  if (whole || (KINETO_HAS(args, stream) && KINETO_GET(args, stream, 0) < 0)) other.stream = PD_STREAM_UNKNOWN;
  const int64_t awaited = KINETO_GET(args, awaited, 0);
  if (awaited > 0) self->facts |= PD_FACT_EVENTS;
  self->intake->wait(self->intake, &other, awaited > 0 ? (uint64_t)awaited : 0);
}

static void take_memory(kineto_reader *self, kineto_event *event) {
  const kineto_args *args = kineto_event_args(event);
  enum { DEVICE_CPU = 0 };
  if (!KINETO_HAS(args, size)) return;
  pd_memory_event row;
  memset(&row, 0, sizeof row);
  row.device_type = KINETO_GET(args, device_type, DEVICE_CPU) != DEVICE_CPU;
  if (row.device_type) row.device = (uint32_t)KINETO_GET(args, device_id, 0);
  row.address = (uint64_t)KINETO_GET(args, address, 0);
  row.bytes = KINETO_GET(args, size, 0);
  row.total_allocated = (uint64_t)KINETO_GET(args, allocated, 0);
  row.total_reserved = (uint64_t)KINETO_GET(args, reserved, 0);
  row.allocator = PD_ALLOCATOR_UNKNOWN;
  self->facts |= PD_FACT_MEMORY;
  self->intake->memory(self->intake, thread_of(self, event), event->start_ns, &row);
}

/* "thread 448 (python)"; what Kineto calls a stream is no thread of the host's. */
static void take_thread_name(kineto_reader *self, kineto_event *event) {
  if (!SCAN_IS(event->name, "thread_name")) return;
  const kineto_args *args = kineto_event_args(event);
  const scan_text text = args->thread_name;
  if (!text.length || memmem(text.at, text.length, "thread", 6) != text.at) return;
  const kineto_name *name = kineto_name_of(self, text);
  if (name) self->intake->name_thread(self->intake, thread_of(self, event), name->id);
}

/* Only what has a length (X) or is a moment (i, I) is an event of the program's. */
static bool wanted(const kineto_event *event, kineto_category category) {
  char phase = '\0';
  if (event->phase.length == 1) phase = event->phase.at[0];
  if (category == KINETO_SKIP || category == KINETO_UNREAD) return false;
  if (category == KINETO_INSTANT) return phase == 'i' || phase == 'I';
  return phase == 'X';
}

void kineto_event_take(kineto_reader *self, kineto_event *event, uint64_t at) {
  if (SCAN_IS(event->phase, "M")) {
    take_thread_name(self, event);
    return;
  }
  kineto_category category = event->category;
  if (category == KINETO_SKIP && SCAN_IS(event->name, "[memory]")) category = KINETO_INSTANT;
  if (!wanted(event, category)) {
    self->left++;
    if (category == KINETO_UNREAD) met(&self->unread, at);
    if (SCAN_IS(event->phase, "B") || SCAN_IS(event->phase, "E")) {
      self->left_pairs++;
      if (category != KINETO_SKIP && category != KINETO_UNREAD) met(&self->pairs, at);
    }
    return;
  }
  if (category == KINETO_PYTHON && self->skips_python) {
    self->left++;
    self->left_python++;
    self->facts |= PD_FACT_FRAMES_SKIPPED;
    return;
  }
  if (!event->has_start) {
    met(&self->untimed, at);
    return;
  }
  if (category == KINETO_INSTANT) {
    if (SCAN_IS(event->name, "[memory]")) take_memory(self, event);
    return;
  }
  if (!event->has_duration) met(&self->endless, at);
  const kineto_name *name = kineto_name_of(self, event->name);
  if (!name) {
    self->no_memory = true;
    return;
  }
  if (category == KINETO_PYTHON) {
    self->left++;
    self->left_python++;
    take_python(self, event, name);
    return;
  }
  if (!name->length) met(&self->unnamed, at);
  self->kept++;
  self->intake->place(self->intake, at);
  switch (category) {
  case KINETO_OPERATION:
  case KINETO_ANNOTATION: take_range(self, event, category, name); break;
  case KINETO_RUNTIME:
  case KINETO_DRIVER: take_call(self, event, category, name); break;
  case KINETO_KERNEL:
  case KINETO_MEMCPY:
  case KINETO_MEMSET: take_work(self, event, category, name, at); break;
  default: take_other(self, event, category, name); break;
  }
}
