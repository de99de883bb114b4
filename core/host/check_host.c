/* The host of the conformance checks; see check_host.h. Its training kit only counts, so that a scenario's own code is
 * what runs. */
#include "check_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pd_file {
  check_host *host;
  bool failed;
};

static const void *extension(const pd_host *host, const char *id) {
  const check_host *self = host->impl;
  if (strcmp(id, PD_EXT_TRAIN) == 0) return self->has_train ? &self->train : NULL;
  if (strcmp(id, PD_EXT_FILES) == 0) return &self->files;
  if (strcmp(id, PD_EXT_RECORD) == 0) return self->own_record ? self->own_record : &self->record;
  if (strcmp(id, PD_EXT_ANALYSIS) == 0) return self->analysis;
  return NULL;
}

PD_PRINTF(3, 4)
static pd_status fail(const pd_host *host, pd_status code, const char *format, ...) {
  check_host *self = host->impl;
  va_list args;
  va_start(args, format);
  vsnprintf(self->message, sizeof self->message, format, args);
  va_end(args);
  return code;
}

static void log_nothing(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host;
  (void)level;
  (void)format;
}

/* ---- training kit ---- */

static pd_status kit_call(const pd_train *train) {
  check_host *self = train->impl;
  self->kit_calls++;
  if (!self->kit_fails) return PD_OK;
  self->kit_failures++;
  return fail(&self->table, PD_DEVICE, "the check's training kit fails on purpose");
}

static pd_status kit_configure(const pd_train *train, const pd_train_model *model) {
  (void)train;
  return model->size >= 8 ? PD_OK : PD_INVALID;
}
static pd_status kit_step(const pd_train *train, const pd_step *step) {
  (void)step;
  return kit_call(train);
}
static pd_status kit_to_device(const pd_train *train, const pd_step *step, pd_tensor *images) {
  static float pixels[3];
  (void)step;
  *images = (pd_tensor){.data = pixels, .shape = {1, 3, 1, 1}, .rank = 4, .dtype = PD_F32, .layout = PD_NCHW};
  return kit_call(train);
}
static pd_status kit_item(const pd_train *train, double *loss) {
  *loss = 6.9;
  return kit_call(train);
}
static pd_status kit_empty_like(const pd_train *train, const pd_tensor *like, pd_allocator allocator, pd_tensor *out) {
  check_host *self = train->impl;
  size_t count = 1;
  (void)allocator;
  for (uint32_t i = 0; i < like->rank; i++) count *= (size_t)like->shape[i];
  const pd_status status = kit_call(train);
  if (status != PD_OK) return status;
  *out = *like;
  out->data = calloc(count ? count : 1, sizeof(float));
  if (!out->data) return fail(&self->table, PD_NO_MEMORY, "out of memory");
  self->live_tensors++;
  return PD_OK;
}
static pd_status kit_tensor_free(const pd_train *train, pd_allocator allocator, pd_tensor *tensor) {
  check_host *self = train->impl;
  (void)allocator;
  if (tensor->data) self->live_tensors--;
  free(tensor->data);
  tensor->data = NULL;
  return PD_OK;
}
static pd_status kit_randn(const pd_train *train, pd_tensor *y) {
  (void)y;
  return kit_call(train);
}
static pd_status kit_mean(const pd_train *train, pd_tensor *y, const pd_tensor *x) {
  (void)y;
  (void)x;
  return kit_call(train);
}
static pd_status kit_add(const pd_train *train, pd_tensor *y, const pd_tensor *a, const pd_tensor *b, double alpha) {
  (void)y;
  (void)a;
  (void)b;
  (void)alpha;
  return kit_call(train);
}

/* ---- files ---- */

static pd_status files_open_one(const pd_files *files, const char *path, pd_file **file) {
  check_host *self = files->impl;
  (void)path;
  *file = calloc(1, sizeof **file);
  if (!*file) return fail(&self->table, PD_NO_MEMORY, "out of memory");
  (*file)->host = self;
  self->open_files++;
  return PD_OK;
}
static pd_status files_write(pd_file *file, const void *data, uint64_t bytes) {
  (void)data;
  if (file->host->disk_full && bytes > 0) {
    file->failed = true;
    file->host->writes_failed++;
    return fail(&file->host->table, PD_IO, "/dev/full: No space left on device");
  }
  file->host->bytes_written += bytes;
  return PD_OK;
}
static void files_discard(pd_file *file) {
  file->host->open_files--;
  free(file);
}
static pd_status files_commit(pd_file *file) {
  const pd_status status = file->failed ? PD_IO : PD_OK;
  files_discard(file);
  return status;
}
static void files_announce(const pd_files *files, const char *path) {
  (void)files;
  (void)path;
}

/* ---- recorder ---- */

static uint32_t record_intern(const pd_record *record, const char *text) {
  (void)record;
  (void)text;
  return 1;
}
static void record_begin(const pd_record *record, uint32_t name, pd_range_kind kind, const pd_range_info *info) {
  (void)record;
  (void)name;
  (void)kind;
  (void)info;
}
static void record_end(const pd_record *record) { (void)record; }
static uint64_t record_ticks(const pd_record *record) {
  (void)record;
  return 0;
}
static int64_t record_now(const pd_record *record) {
  (void)record;
  return 0;
}
static void record_activities(const pd_record *record, pd_clock clock, const pd_activity *rows, uint64_t count) {
  (void)record;
  (void)clock;
  (void)rows;
  (void)count;
}
static void record_memory(const pd_record *record, const pd_memory_event *event) {
  (void)record;
  (void)event;
}
static void record_counter(const pd_record *record, uint32_t name, double value) {
  (void)record;
  (void)name;
  (void)value;
}
static void record_lost(const pd_record *record, pd_loss loss, uint64_t count) {
  (void)record;
  (void)loss;
  (void)count;
}
static void record_name_thread(const pd_record *record, const char *name) {
  (void)record;
  (void)name;
}

void check_host_init(check_host *self) {
  memset(self, 0, sizeof *self);
  self->has_train = true;
  self->table = (pd_host){.size = sizeof(pd_host),
                          .abi_major = PD_ABI_MAJOR,
                          .abi_minor = PD_ABI_MINOR,
                          .impl = self,
                          .extension = extension,
                          .fail = fail,
                          .log = log_nothing};
  self->train = (pd_train){.size = sizeof(pd_train),
                           .impl = self,
                           .configure = kit_configure,
                           .step = kit_step,
                           .to_device = kit_to_device,
                           .zero_grad = kit_call,
                           .forward = kit_call,
                           .item = kit_item,
                           .backward = kit_call,
                           .optimizer_step = kit_call,
                           .empty_like = kit_empty_like,
                           .tensor_free = kit_tensor_free,
                           .randn = kit_randn,
                           .mean = kit_mean,
                           .add = kit_add};
  self->files = (pd_files){.size = sizeof(pd_files),
                           .impl = self,
                           .open = files_open_one,
                           .write = files_write,
                           .commit = files_commit,
                           .discard = files_discard,
                           .announce = files_announce};
  self->record = (pd_record){.size = sizeof(pd_record),
                             .impl = self,
                             .enabled = &self->recording,
                             .intern = record_intern,
                             .begin = record_begin,
                             .end = record_end,
                             .ticks = record_ticks,
                             .now_ns = record_now,
                             .activities = record_activities,
                             .memory = record_memory,
                             .counter = record_counter,
                             .lost = record_lost,
                             .name_thread = record_name_thread};
}
