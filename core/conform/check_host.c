/* The host of the conformance checks; see check_host.h. Its training kit only counts, so that a scenario's own code is
 * what runs. */
#include "check_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pd_file {
  check_host *host;
  pthread_t opener;
  bool failed;
};

PD_PRINTF(2, 3) static void misused(check_host *self, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&self->lock);
  if (!self->misuse[0]) vsnprintf(self->misuse, sizeof self->misuse, format, args);
  pthread_mutex_unlock(&self->lock);
  va_end(args);
}

/* For what the ABI gives to [loop thread]. */
static void on_loop_thread(check_host *self, const char *what) {
  if (!pthread_equal(pthread_self(), self->loop))
    misused(self, "%s was called on a thread of the plugin's own: it is for the loop thread", what);
}

/* Counts a call that may fail. True: it is the one to. */
static bool call_fails(check_host *self) {
  pthread_mutex_lock(&self->lock);
  const bool now = ++self->calls == self->fail_call;
  if (now) self->call_failed = true;
  pthread_mutex_unlock(&self->lock);
  return now;
}

static const void *extension(const pd_host *host, const char *id) {
  const check_host *self = host->impl;
  if (strcmp(id, PD_EXT_TRAIN) == 0) return self->has_train ? &self->train : NULL;
  if (strcmp(id, PD_EXT_FILES) == 0) return &self->files;
  if (strcmp(id, PD_EXT_RECORD) == 0) return self->own_record ? self->own_record : &self->record;
  if (strcmp(id, PD_EXT_ANALYSIS) == 0) return self->analysis ? &self->watched_analysis : NULL;
  if (strcmp(id, PD_EXT_TRUTH) == 0) return &self->truth;
  return NULL;
}

PD_PRINTF(3, 4)
static pd_status fail(const pd_host *host, pd_status code, const char *format, ...) {
  check_host *self = host->impl;
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&self->lock);
  vsnprintf(self->message, sizeof self->message, format, args);
  pthread_mutex_unlock(&self->lock);
  va_end(args);
  return code;
}

static void log_nothing(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host;
  (void)level;
  (void)format;
}

/* ---- training kit ---- */

static pd_status kit_call(const pd_train *train, const char *what) {
  check_host *self = train->impl;
  on_loop_thread(self, what);
  self->kit_calls++;
  if (!call_fails(self) && !self->kit_fails) return PD_OK;
  self->kit_failures++;
  return fail(&self->table, PD_DEVICE, "the check's training kit fails on purpose");
}

static pd_status kit_configure(const pd_train *train, const pd_train_model *model) {
  on_loop_thread(train->impl, "pd_train.configure");
  return model->size >= 8 ? PD_OK : PD_INVALID;
}
static pd_status kit_step(const pd_train *train, const pd_step *step) {
  (void)step;
  return kit_call(train, "pd_train.step");
}
static pd_status kit_to_device(const pd_train *train, const pd_step *step, pd_tensor *images) {
  static float pixels[3];
  (void)step;
  *images = (pd_tensor){.data = pixels, .shape = {1, 3, 1, 1}, .rank = 4, .dtype = PD_F32, .layout = PD_NCHW};
  return kit_call(train, "pd_train.to_device");
}
static pd_status kit_zero_grad(const pd_train *train) { return kit_call(train, "pd_train.zero_grad"); }
static pd_status kit_forward(const pd_train *train) { return kit_call(train, "pd_train.forward"); }
static pd_status kit_backward(const pd_train *train) { return kit_call(train, "pd_train.backward"); }
static pd_status kit_optimizer_step(const pd_train *train) { return kit_call(train, "pd_train.optimizer_step"); }
static pd_status kit_item(const pd_train *train, double *loss) {
  *loss = 6.9;
  return kit_call(train, "pd_train.item");
}
static pd_status kit_empty_like(const pd_train *train, const pd_tensor *like, pd_allocator allocator, pd_tensor *out) {
  check_host *self = train->impl;
  size_t count = 1;
  (void)allocator;
  for (uint32_t i = 0; i < like->rank; i++) count *= (size_t)like->shape[i];
  const pd_status status = kit_call(train, "pd_train.empty_like");
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
  on_loop_thread(self, "pd_train.tensor_free");
  if (tensor->data) self->live_tensors--;
  free(tensor->data);
  tensor->data = NULL;
  return PD_OK;
}
static pd_status kit_randn(const pd_train *train, pd_tensor *y) {
  (void)y;
  return kit_call(train, "pd_train.randn");
}
static pd_status kit_mean(const pd_train *train, pd_tensor *y, const pd_tensor *x) {
  (void)y;
  (void)x;
  return kit_call(train, "pd_train.mean");
}
static pd_status kit_add(const pd_train *train, pd_tensor *y, const pd_tensor *a, const pd_tensor *b, double alpha) {
  (void)y;
  (void)a;
  (void)b;
  (void)alpha;
  return kit_call(train, "pd_train.add");
}

static pd_status kit_narrow(const pd_train *train, int64_t first, int64_t count) {
  (void)first;
  (void)count;
  return kit_call(train, "pd_train.narrow");
}
static pd_status kit_tiny_ops_rounds(const pd_train *train, uint32_t rounds) {
  (void)rounds;
  return kit_call(train, "pd_train.tiny_ops_rounds");
}

/* ---- truth ---- */

static void truth_begin_one(const pd_truth *truth) {
  check_host *self = truth->impl;
  on_loop_thread(self, "pd_truth.begin");
  if (self->in_truth) misused(self, "pd_truth.begin was called within begin and end: they do not nest");
  self->in_truth = true;
}
static void truth_end_one(const pd_truth *truth, uint64_t count) {
  check_host *self = truth->impl;
  (void)count;
  on_loop_thread(self, "pd_truth.end");
  if (!self->in_truth) misused(self, "pd_truth.end was called without begin");
  self->in_truth = false;
}
static void truth_asked(const pd_truth *truth, double us, uint64_t count) {
  (void)us;
  (void)count;
  on_loop_thread(truth->impl, "pd_truth.asked");
}
static void truth_count(const pd_truth *truth, uint64_t count) {
  (void)count;
  on_loop_thread(truth->impl, "pd_truth.count");
}
static pd_status truth_device_begin(const pd_truth *truth, pd_stream *stream) {
  check_host *self = truth->impl;
  (void)stream;
  on_loop_thread(self, "pd_truth.device_begin");
  if (self->in_device_truth) misused(self, "pd_truth.device_begin was called within begin and end: they do not nest");
  self->in_device_truth = true;
  return PD_OK;
}
static pd_status truth_device_end(const pd_truth *truth, pd_stream *stream, uint64_t count) {
  check_host *self = truth->impl;
  (void)stream;
  (void)count;
  on_loop_thread(self, "pd_truth.device_end");
  if (!self->in_device_truth) misused(self, "pd_truth.device_end was called without device_begin");
  self->in_device_truth = false;
  return PD_OK;
}

/* ---- analysis ---- */

static const pd_table_set *analysis_tables(const pd_analysis *analysis, const pd_trace *trace,
                                           const pd_table_request *request) {
  check_host *self = analysis->impl;
  on_loop_thread(self, "pd_analysis.tables");
  return call_fails(self) ? NULL : self->analysis->tables(self->analysis, trace, request);
}
static void analysis_prepare(const pd_analysis *analysis, const pd_trace *trace) {
  check_host *self = analysis->impl;
  on_loop_thread(self, "pd_analysis.prepare");
  self->analysis->prepare(self->analysis, trace);
}
static const pd_table_set *analysis_run_tables(const pd_analysis *analysis, const pd_run *run,
                                               const pd_summary *summary) {
  check_host *self = analysis->impl;
  on_loop_thread(self, "pd_analysis.run_tables");
  return call_fails(self) ? NULL : self->analysis->run_tables(self->analysis, run, summary);
}
static uint32_t analysis_digits(const pd_analysis *analysis, double *values, uint64_t count) {
  const check_host *self = analysis->impl;
  return self->analysis->digits(self->analysis, values, count);
}
static const pd_metric *const *analysis_metrics(const pd_analysis *analysis, uint64_t *count) {
  const check_host *self = analysis->impl;
  return self->analysis->metrics(self->analysis, count);
}

/* ---- files ---- */

static pd_status files_open_one(const pd_files *files, const char *path, pd_file **file) {
  check_host *self = files->impl;
  *file = NULL;
  if (call_fails(self)) return fail(&self->table, PD_IO, "%s: the check's files fail on purpose", path);
  *file = calloc(1, sizeof **file);
  if (!*file) return fail(&self->table, PD_NO_MEMORY, "out of memory");
  (*file)->host = self;
  (*file)->opener = pthread_self();
  self->open_files++;
  return PD_OK;
}
static void on_opener(const pd_file *file, const char *what) {
  if (!pthread_equal(pthread_self(), file->opener))
    misused(file->host, "%s was called on another thread than the one that opened the file", what);
}
static pd_status files_write(pd_file *file, const void *data, uint64_t bytes) {
  (void)data;
  on_opener(file, "pd_files.write");
  if (file->failed) return PD_IO; /* it sticks */
  const bool chosen = call_fails(file->host);
  if (chosen || (file->host->disk_full && bytes > 0)) {
    file->failed = true;
    file->host->writes_failed++;
    return fail(&file->host->table, PD_IO,
                chosen ? "the check's files fail on purpose" : "/dev/full: No space left on device");
  }
  file->host->bytes_written += bytes;
  return PD_OK;
}
static void files_discard(pd_file *file) {
  on_opener(file, "pd_files.commit or discard");
  file->host->open_files--;
  free(file);
}
static pd_status files_commit(pd_file *file) {
  check_host *self = file->host;
  pd_status status = file->failed ? PD_IO : PD_OK;
  if (status == PD_OK && call_fails(self)) status = fail(&self->table, PD_IO, "the check's files fail on purpose");
  if (status == PD_OK) self->files_committed++;
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
  check_host *self = record->impl;
  atomic_fetch_add(&self->open_ranges, 1);
  (void)name;
  (void)kind;
  (void)info;
}
static void record_end(const pd_record *record) {
  check_host *self = record->impl;
  if (atomic_fetch_sub(&self->open_ranges, 1) <= 0) misused(self, "pd_record.end was called without begin");
}
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
  self->loop = pthread_self();
  pthread_mutex_init(&self->lock, NULL);
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
                           .zero_grad = kit_zero_grad,
                           .forward = kit_forward,
                           .item = kit_item,
                           .backward = kit_backward,
                           .optimizer_step = kit_optimizer_step,
                           .empty_like = kit_empty_like,
                           .tensor_free = kit_tensor_free,
                           .randn = kit_randn,
                           .mean = kit_mean,
                           .add = kit_add,
                           .narrow = kit_narrow,
                           .tiny_ops_rounds = kit_tiny_ops_rounds};
  self->truth = (pd_truth){.size = sizeof(pd_truth),
                           .impl = self,
                           .begin = truth_begin_one,
                           .end = truth_end_one,
                           .asked = truth_asked,
                           .count = truth_count,
                           .device_begin = truth_device_begin,
                           .device_end = truth_device_end};
  self->watched_analysis = (pd_analysis){.size = sizeof(pd_analysis),
                                         .impl = self,
                                         .tables = analysis_tables,
                                         .metrics = analysis_metrics,
                                         .run_tables = analysis_run_tables,
                                         .digits = analysis_digits,
                                         .prepare = analysis_prepare};
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
