/*
 * The chrome_trace sink: one trace file per finished window, in Kineto's form, for Perfetto, chrome://tracing,
 * TensorBoard's profiler plugin and HTA. [loop thread]
 *
 * Files are <worker>.<window>.<time in ns>.pt.trace.json in run.trace_dir: the form by which TensorBoard's plugin finds
 * them; file_name.h has the others. With split_size a window becomes several, parted where steps meet.
 */
#include "envelope.h"
#include "file_name.h"
#include "gzip_stream.h"
#include "parts.h"

#include <stdlib.h>

typedef struct options {
  const char *path, *worker_name;
  bool gzip;
  bool cuda_names;
  const char *flows;
  const char *counters;
  const char *runtime_category;
  int64_t split_size;
} options;

static const char *const flow_choices[] = {"kineto", "compact", "none", NULL};

static const char *const counter_choices[] = {"all", "few", "none", NULL};

static const char *const category_choices[] = {"cuda_runtime", "runtime", NULL};

static const pd_option rows[] = {
    PD_OPTION_PATH(options, path, .def = "",
                   .help =
                       "folder; or one file, if it ends in .json or .json.gz, with .<window> before the ending when "
                       "windows repeat; - for standard output; empty: run.trace_dir"),
    PD_OPTION(options, worker_name, .def = "",
              .help = "begins the names of files in a folder, which TensorBoard shows; empty: host and process"),
    PD_OPTION(options, gzip, .def = "false", .help = "compress: files end in .json.gz"),
    PD_OPTION(options, cuda_names, .def = "false",
              .help =
                  "give the CPU device's calls CUDA's names: HTA's launch statistics and queue length look for them"),
    PD_OPTION_CHOICE(options, flows, .def = "kineto", .choices = flow_choices,
                     .help = "arrows from launches to device work: all, one per operation, none"),
    PD_OPTION_CHOICE(options, counters, .def = "all", .choices = counter_choices,
                     .help = "counter tracks: all; few, without the device's queue and busy, which grow with the "
                             "launches; none"),
    PD_OPTION_CHOICE(options, runtime_category, .def = "cuda_runtime", .choices = category_choices,
                     .help = "category of runtime calls: runtime is what torch-tb-profiler 0.4.3 from PyPI looks for"),
    PD_OPTION_BYTES(options, split_size, .def = "0", .min = "0", .unit = "bytes",
                    .help =
                        "begin another file, between two steps, after about this many bytes; 0: one file per window"),
};

typedef struct state {
  const pd_host *host;
  const pd_files *files;
  file_name name;
  bool cuda_names, old_runtime;
  flow_mode flows;
  counter_mode counters;
  uint64_t split_bytes;
} state;

static pd_status chrome_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  const options *chosen = given;
  const pd_files *files = host->extension(host, PD_EXT_FILES);
  if (!files) return host->fail(host, PD_UNSUPPORTED, "this host has no %s", PD_EXT_FILES);
  if (strchr(chosen->worker_name, '/'))
    return host->fail(host, PD_INVALID, "worker_name = %s: begins a file's name, and has no /", chosen->worker_name);
  if (!strcmp(chosen->path, "-") && (run->repeat != 1 || chosen->split_size))
    return host->fail(host, PD_INVALID,
                      "path = -: standard output takes one file, and schedule.repeat or split_size "
                      "make several; give a folder");
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  self->host = host;
  self->files = files;
  self->name = (file_name){.run = run,
                           .path = chosen->path,
                           .worker = chosen->worker_name[0] ? chosen->worker_name : run->worker,
                           .gzip = chosen->gzip || file_name_is_gzip(chosen->path),
                           .split = chosen->split_size > 0};
  self->cuda_names = chosen->cuda_names;
  self->old_runtime = !strcmp(chosen->runtime_category, "runtime");
  self->flows = !strcmp(chosen->flows, "none")      ? FLOWS_NONE
                : !strcmp(chosen->flows, "compact") ? FLOWS_COMPACT
                                                    : FLOWS_KINETO;
  self->counters = !strcmp(chosen->counters, "none")  ? COUNTERS_NONE
                   : !strcmp(chosen->counters, "few") ? COUNTERS_FEW
                                                      : COUNTERS_ALL;
  self->split_bytes = (uint64_t)chosen->split_size;
  *out = self;
  return PD_OK;
}

/* Bytes of JSON, compressed or not: the browsers' viewers fail somewhat above it. */
#define LARGE_BYTES UINT64_C(200000000)

/* Where the text goes: to the file, or through the compressor to it. */
typedef struct target {
  uint64_t bytes; /* of text, before it is compressed */
  const pd_files *files;
  pd_file *file;
  gzip_stream *gzip;
} target;

static pd_status write_file(void *to, const void *data, uint64_t bytes) {
  const target *self = to;
  return self->files->write(self->file, data, bytes);
}

static pd_status write_text(void *to, const void *data, uint64_t bytes) {
  target *self = to;
  self->bytes += bytes;
  return self->gzip ? gzip_stream_write(self->gzip, data, bytes) : write_file(to, data, bytes);
}

static void warn_if_large(const state *self, const char *path, uint64_t bytes) {
  if (bytes <= LARGE_BYTES) return;
  self->host->log(self->host, PD_LOG_WARN,
                  "%s: %.0f MB of JSON, and viewers in a browser fail above 200 to 300 MB: set split_size=100MiB, or "
                  "record less with fewer steps (schedule.active), counters=none or flows=compact%s",
                  path, (double)bytes / 1e6, self->name.gzip ? "" : "; gzip=true saves disk");
}

static pd_status write_events(event_writer *writer, const event_index *index, const char *path) {
  envelope_begin(writer, index);
  host_events_write(writer, index);
  state_events_write(writer);
  device_events_write(writer, index);
  const pd_status status = counter_events_write(writer);
  if (status != PD_OK) return status;
  envelope_end(writer, index, path);
  return text_out_flush(writer->out);
}

static pd_status write_part(const state *self, event_writer *writer, const event_index *index, uint64_t part,
                            int64_t time_ns) {
  const pd_host *host = self->host;
  char *path = file_name_of(&self->name, writer->trace->window, part, time_ns);
  target to = {.files = self->files};
  pd_status status = PD_NO_MEMORY;
  if (!path) goto out;
  status = self->files->open(self->files, path, &to.file);
  if (status != PD_OK) goto out_with_message;
  if (self->name.gzip) {
    status = gzip_stream_open(&to.gzip, write_file, &to);
    if (status != PD_OK) goto out;
  }
  status = text_out_open(writer->out, write_text, &to);
  if (status != PD_OK) goto out;
  writer->events = writer->operations = writer->clipped = 0;
  writer->last_ns = INT64_MIN;
  status = write_events(writer, index, path);
  if (status == PD_OK && to.gzip) status = gzip_stream_finish(to.gzip);
  if (status == PD_OK) {
    pd_file *file = to.file;
    to.file = NULL;
    status = self->files->commit(file);
    if (status == PD_OK) {
      self->files->announce(self->files, path);
      warn_if_large(self, path, to.bytes);
    }
    goto out_with_message;
  }
out:
  if (status == PD_NO_MEMORY)
    host->fail(host, PD_NO_MEMORY, "window %u: the trace could not be written: out of memory", writer->trace->window);
out_with_message:
  gzip_stream_close(to.gzip);
  if (to.file) self->files->discard(to.file);
  text_out_close(writer->out);
  free(path);
  return status;
}

/* Makes them beside the events, which need none. */
static void prepare_tables(const pd_analysis *analysis, const pd_trace *trace) {
  if (analysis && PD_HAS(pd_analysis, analysis, prepare) && analysis->prepare) analysis->prepare(analysis, trace);
}

static pd_status chrome_trace_ready(void *given, const pd_trace *trace) {
  const state *self = given;
  name_table names = {0};
  part_plan parts = {0};
  text_out out = {0};
  event_index *index = NULL;
  const pd_analysis *analysis =
      self->counters != COUNTERS_NONE ? self->host->extension(self->host, PD_EXT_ANALYSIS) : NULL;
  prepare_tables(analysis, trace);
  pd_status status = names_open(&names, trace, self->cuda_names);
  if (status != PD_OK) goto no_memory;
  status = PD_NO_MEMORY;
  index = event_index_build(trace);
  if (!index) goto no_memory;
  status = parts_plan(&parts, trace, &names, self->split_bytes);
  if (status != PD_OK) goto no_memory;
  event_writer writer = {.out = &out,
                         .run = self->name.run,
                         .trace = trace,
                         .names = &names,
                         .analysis = analysis,
                         .flows = self->flows,
                         .counters = self->counters,
                         .old_runtime = self->old_runtime};
  writer.host_offset = envelope_host_offset(trace);
  char *at = EVENT_PUT(writer.host_ids, ",\"pid\":");
  at = digits_u64(at, trace->pid + writer.host_offset);
  at = EVENT_PUT(at, ",\"tid\":");
  writer.host_ids_length = (size_t)(at - writer.host_ids);
  for (uint64_t i = 0; i < parts.count && status == PD_OK; i++) {
    writer.from_ns = i == 0 ? INT64_MIN : parts.starts_ns[i];
    writer.to_ns = i + 1 < parts.count ? parts.starts_ns[i + 1] : INT64_MAX;
    status = write_part(self, &writer, index, i, trace->base_ns + parts.starts_ns[i]);
  }
  goto out;
no_memory:
  self->host->fail(self->host, status, "window %u: the trace could not be written: out of memory", trace->window);
out:
  parts_free(&parts);
  event_index_free(index);
  names_close(&names);
  return status;
}

static pd_status chrome_close(void *given, const pd_summary *summary) {
  (void)summary;
  free(given);
  return PD_OK;
}

PD_SINK("chrome_trace", "1.0", "Chrome trace of every window, as PyTorch's profiler writes it", options, rows,
        .open = chrome_open, .on_trace_ready = chrome_trace_ready, .close = chrome_close, .flags = PD_SINK_TRACE_FIRST)
