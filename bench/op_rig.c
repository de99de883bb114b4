/* See op_rig.h. */
#include "op_rig.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool rig_verbose, rig_own_kernels_only;

static const void *no_extension(const pd_host *host, const char *id) {
  (void)host;
  (void)id;
  return NULL;
}
PD_PRINTF(3, 4) static pd_status print_failure(const pd_host *host, pd_status code, const char *format, ...) {
  va_list args;
  (void)host;
  va_start(args, format);
  fputs("bench_device_ops: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return code;
}
PD_PRINTF(3, 4) static void print_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  va_list args;
  (void)host;
  if (!rig_verbose && level > PD_LOG_WARN) return;
  va_start(args, format);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}
const pd_host rig_host = {.size = sizeof(pd_host),
                          .abi_major = PD_ABI_MAJOR,
                          .abi_minor = PD_ABI_MINOR,
                          .extension = no_extension,
                          .fail = print_failure,
                          .log = print_log};

void rig_fail(pd_status status, const char *what) {
  fprintf(stderr, "bench_device_ops: %s failed (%d)\n", what, status);
  exit(1);
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
double rig_median(double *v, int count) {
  qsort(v, (size_t)count, sizeof *v, compare);
  return v[count / 2];
}

uint64_t rig_bytes_of(const pd_tensor *t) {
  uint64_t bytes = t->dtype == PD_F16 ? 2 : t->dtype == PD_I64 ? 8 : 4;
  for (uint32_t i = 0; i < t->rank; i++) bytes *= (uint64_t)t->shape[i];
  return bytes;
}
pd_tensor rig_tensor(op_rig *b, pd_dtype dtype, pd_layout layout, uint32_t rank, int64_t s0, int64_t s1, int64_t s2,
                     int64_t s3) {
  pd_tensor t = {.shape = {s0, s1, s2, s3}, .rank = rank, .dtype = dtype, .layout = layout};
  rig_need(b->ops->memory->alloc(b->device, b->stream, PD_ALLOCATOR_POOL, rig_bytes_of(&t), &t.data), "alloc");
  if (dtype == PD_F32 || dtype == PD_F16) rig_need(b->t->fill(b->device, b->stream, &t, NAN), "fill");
  return t;
}
void rig_release(op_rig *b, pd_tensor *t) {
  rig_need(b->ops->memory->free(b->device, b->stream, PD_ALLOCATOR_POOL, rig_bytes_of(t), t->data), "free");
}

void rig_randomise(op_rig *b, const pd_tensor *t, uint64_t seed, double factor) {
  pd_tensor plain = rig_tensor(b, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  rig_need(b->t->randn(b->device, b->stream, &plain, seed, 0), "randn");
  rig_need(b->t->elementwise(b->device, b->stream, PD_EW_SCALE, &plain, &plain, NULL, factor), "scale");
  rig_need(b->t->convert(b->device, b->stream, t, &plain), "convert");
  rig_release(b, &plain);
}

void rig_begin(op_rig *b, int round) {
  if (round >= 0) rig_need(b->ops->stream->event_record(b->device, b->stream, b->start), "event");
}
void rig_finish(op_rig *b, int round, const char *name, pd_status status) {
  rig_need(status, name);
  if (round < 0) return;
  rig_need(b->ops->stream->event_record(b->device, b->stream, b->end), "event");
  rig_need(b->ops->stream->event_synchronize(b->device, b->end), "event");
  b->op_names[b->op_count] = name;
  rig_need(b->ops->stream->event_elapsed_ns(b->device, b->start, b->end, &b->op_ns[b->op_count][round]), "event");
  b->op_count++;
}
