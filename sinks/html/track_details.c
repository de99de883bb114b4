/* What is known of an event beyond its name; see tracks.h. */
#include "tracks.h"

#include <pdhost/quantity.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { ROOM = 2048, SHAPES = 6, FRAMES = 12 };

typedef struct lines {
  char text[ROOM];
  size_t used;
} lines;

/* What does not fit is left out: the longest are stacks, whose innermost frames come first. */
__attribute__((format(printf, 2, 3))) static void add(lines *self, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int bytes = vsnprintf(self->text + self->used, ROOM - self->used, format, args);
  va_end(args);
  if (bytes > 0) self->used = self->used + (size_t)bytes < ROOM ? self->used + (size_t)bytes : ROOM - 1;
}

static const char *type_of(uint32_t dtype) {
  switch (dtype) {
  case PD_F32: return " float32";
  case PD_F16: return " float16";
  case PD_BF16: return " bfloat16";
  case PD_I64: return " int64";
  case PD_I32: return " int32";
  case PD_U8: return " uint8";
  default: return "";
  }
}

static void add_shape(lines *out, const pd_shape *shape) {
  add(out, "input ");
  for (uint32_t d = 0; d < shape->rank && d < 4; d++) add(out, "%s%" PRId64, d ? " x " : "", shape->dims[d]);
  add(out, "%s%s\n", shape->rank ? "" : "scalar", type_of(shape->dtype));
}

static void add_stack(lines *out, const pd_trace *trace, uint32_t id) {
  if (id >= trace->stacks.count) return;
  const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, id);
  for (uint64_t i = 0; i < stack->count && i < FRAMES; i++)
    add(out, "in %s\n", pd_trace_string(trace, stack->frames[stack->count - 1 - i])->text);
}

uint32_t track_details_range(text_pool *texts, const pd_trace *trace, const pd_range *range) {
  lines out = {.used = 0};
  out.text[0] = '\0';
  if (range->module) add(&out, "module %s\n", pd_trace_string(trace, range->module)->text);
  for (uint32_t i = 0; i < range->shape_count && i < SHAPES; i++)
    add_shape(&out, PD_AT(pd_shape, &trace->shapes, range->shape_first + i));
  if (range->shape_count > SHAPES) add(&out, "and %u more inputs\n", range->shape_count - SHAPES);
  if (range->flops) add(&out, "operations %" PRIu64 "\n", range->flops);
  add_stack(&out, trace, range->stack);
  return text_pool_add(texts, out.text);
}

uint32_t track_details_call(text_pool *texts, const pd_call *call) {
  lines out = {.used = 0};
  out.text[0] = '\0';
  if (call->result) add(&out, "result %d\n", call->result);
  return text_pool_add(texts, out.text);
}

static const char *memory_name(pd_memory_kind kind) {
  switch (kind) {
  case PD_MEMORY_PAGEABLE: return "pageable";
  case PD_MEMORY_PINNED: return "pinned";
  case PD_MEMORY_DEVICE: return "device";
  case PD_MEMORY_MANAGED: return "managed";
  default: return "unknown";
  }
}

static void add_kernel(lines *out, const pd_activity *of) {
  add(out, "grid %u, %u, %u\nblock %u, %u, %u\n", of->u.kernel.grid[0], of->u.kernel.grid[1], of->u.kernel.grid[2],
      of->u.kernel.block[0], of->u.kernel.block[1], of->u.kernel.block[2]);
  if (of->u.kernel.registers) add(out, "registers a thread %u\n", of->u.kernel.registers);
  if (of->u.kernel.static_bytes + of->u.kernel.dynamic_bytes)
    add(out, "shared memory a block %u B\n", of->u.kernel.static_bytes + of->u.kernel.dynamic_bytes);
  if (of->u.kernel.occupancy > 0) add(out, "occupancy, estimated %.0f %%\n", 100 * (double)of->u.kernel.occupancy);
  if (of->u.kernel.waves >= 0) add(out, "waves %.2f\n", (double)of->u.kernel.waves);
  if (of->u.kernel.graph) add(out, "graph %u\n", of->u.kernel.graph);
}

uint32_t track_details_device(text_pool *texts, const pd_device_row *row) {
  const pd_activity *of = &row->detail;
  lines out = {.used = 0};
  char bytes[64];
  out.text[0] = '\0';
  pd_text_bytes(bytes, sizeof bytes, (double)of->bytes);
  if (of->kind == PD_ACTIVITY_KERNEL) add_kernel(&out, of);
  if (of->kind == PD_ACTIVITY_MEMCPY)
    add(&out, "bytes %s\nfrom %s\nto %s\n", bytes, memory_name(of->u.copy.from), memory_name(of->u.copy.to));
  if (of->kind == PD_ACTIVITY_MEMSET) add(&out, "bytes %s\nof %s\n", bytes, memory_name(of->u.copy.to));
  return text_pool_add(texts, out.text);
}
