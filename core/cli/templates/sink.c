/* new_sink: writes one line per step of each recorded window. Change `write_steps` to what yours writes. */
#include <pdhost/sink.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The keys of [sink.new_sink]. The key of a folder, which sinks may share, ends in `dir`. */
typedef struct {
  int64_t min_ns;
} options;

static const pd_option rows[] = {
    PD_OPTION_DURATION(options, min_ns, .help = "leave out steps that are shorter", .def = "0", .min = "0",
                       .unit = "ns"),
};

typedef struct {
  const pd_host *host;
  const options *opt;
  const pd_run *run; /* what is known before the first step; valid until close returns */
  const pd_files *files;
} state;

static pd_status sink_open(const pd_host *host, const void *opt, const pd_run *run, void **out) {
  const pd_files *files = host->extension(host, PD_EXT_FILES);
  if (!files) return host->fail(host, PD_UNSUPPORTED, "this host has no files (%s)", PD_EXT_FILES);
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "no memory for the sink's state");
  self->host = host;
  self->opt = opt;
  self->run = run;
  self->files = files;
  *out = self;
  return PD_OK;
}

static pd_status write_steps(const state *self, pd_file *file, const pd_trace *trace) {
  pd_status status = PD_OK;
  for (uint64_t i = 0; i < trace->steps.count && status == PD_OK; i++) {
    const pd_trace_step *row = PD_AT(pd_trace_step, &trace->steps, i);
    const int64_t length_ns = row->end_ns - row->start_ns; /* the wait for its batch included */
    char line[64];
    if (length_ns < self->opt->min_ns) continue;
    const int bytes = snprintf(line, sizeof line, "%" PRIu64 "\t%" PRId64 "\n", row->number, length_ns);
    status = self->files->write(file, line, (uint64_t)bytes);
  }
  return status;
}

/* After each finished window. The trace is the host's: keep no pointer into it. */
static pd_status on_trace_ready(void *state_, const pd_trace *trace) {
  const state *self = state_;
  char path[4096];
  pd_file *file = NULL;
  snprintf(path, sizeof path, "%s/new_sink_%" PRIu32 ".tsv", self->run->trace_dir, trace->window);
  pd_status status = self->files->open(self->files, path, &file);
  if (status != PD_OK) return status;
  status = write_steps(self, file, trace);
  const pd_status done = self->files->commit(file); /* a file whose write failed is removed */
  if (status == PD_OK) status = done;
  if (status == PD_OK) self->files->announce(self->files, path);
  return status;
}

/* `summary` is NULL where the sink failed before: then free, and no more. */
static pd_status sink_close(void *state_, const pd_summary *summary) {
  (void)summary;
  free(state_);
  return PD_OK;
}

PD_SINK("new_sink", "1.0", "one line per step of each window", options, rows, .open = sink_open,
        .on_trace_ready = on_trace_ready, .close = sink_close)
