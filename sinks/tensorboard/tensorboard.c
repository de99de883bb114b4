/*
 * The tensorboard sink: one event file of the run, with scalars per step, histograms, tables as text, and the run's
 * configuration for the HParams tab. [loop thread]
 *
 * The file grows in place (record_file.h): TensorBoard follows a run that goes on, and reads one that was killed up to
 * its last whole record. A loss chart of every run needs no window; what the profiler knows comes with each window.
 */
#include "hparams.h"
#include "markdown.h"
#include "window_events.h"

#include "layout.pb-c.h"

#include "../lib/energy.h"

#include <pdhost/clocks.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between flushes while steps go by; a window and the end flush at once. */
#define FLUSH_EVERY_NS INT64_C(1000000000)

typedef struct options {
  const char *logdir;
} options;

static const pd_option rows[] = {
    PD_OPTION_PATH(options, logdir, .def = "", .help = "folder for the event file; empty: run.trace_dir"),
};

typedef struct state {
  const pd_host *host;
  const pd_run *run;
  record_file *file;
  int64_t flushed_ns;
} state;

/* The charts of the Custom Scalars tab: where a step's time goes, and what came of it. */
static pd_status write_layout(const event_place *place) {
  char *times[] = {"time/step_time_s", "time/dataloader_wait_s", "time/batch_cost_s"};
  char *rates[] = {"throughput/.*"};
  char *device[] = {"device/busy_share"};
  char *memory[] = {"memory/.*"};
  char *loss[] = {"train/loss"};
  const struct {
    char *title, **tags;
    size_t count;
  } wanted[] = {{"step time and wait for data", times, 3},
                {"samples per second", rates, 1},
                {"device busy share", device, 1},
                {"device memory", memory, 1},
                {"loss", loss, 1}};
  enum { CHARTS = sizeof wanted / sizeof *wanted };
  Pdtb__Chart charts[CHARTS];
  Pdtb__Multiline lines[CHARTS];
  Pdtb__Chart *pointers[CHARTS];
  Pdtb__Category category = PDTB__CATEGORY__INIT;
  Pdtb__Category *categories[] = {&category};
  Pdtb__Layout layout = PDTB__LAYOUT__INIT;
  for (size_t i = 0; i < CHARTS; i++) {
    pdtb__chart__init(&charts[i]);
    pdtb__multiline__init(&lines[i]);
    lines[i].n_tag = wanted[i].count;
    lines[i].tag = wanted[i].tags;
    charts[i].title = wanted[i].title;
    charts[i].multiline = &lines[i];
    pointers[i] = &charts[i];
  }
  category.title = "pdhost";
  category.n_chart = CHARTS;
  category.chart = pointers;
  layout.n_category = 1;
  layout.category = categories;
  uint8_t packed[1024];
  if (pdtb__layout__get_packed_size(&layout) > sizeof packed) return PD_NO_MEMORY;
  const size_t bytes = pdtb__layout__pack(&layout, packed);
  return events_plugin(place, "custom_scalars__config__", "custom_scalars", packed, bytes, true);
}

/* The headline figures, as the HParams tab has them. */
static const char *const headline[] = {
    "summary/samples_per_s",        "summary/avg_step_time_s", "summary/avg_dataloader_wait_s",
    "summary/peak_allocated_bytes", "summary/coverage",        NULL};

static pd_status write_start(const state *self) {
  const event_place place = {self->file, self->run->start_realtime_ns, 0};
  markdown settings = {0};
  pd_status status = events_version(&place);
  if (status == PD_OK) status = hparams_experiment(&place, self->run, headline);
  if (status == PD_OK) status = hparams_start(&place, self->run);
  if (status == PD_OK) status = write_layout(&place);
  if (status == PD_OK) {
    markdown_settings(&settings, self->run);
    status = settings.failed ? PD_NO_MEMORY : events_text(&place, "run/configuration", settings.text);
  }
  markdown_free(&settings);
  return status == PD_OK ? record_file_flush(self->file) : status;
}

/* A status that came without a message: nothing but memory runs out here. */
static pd_status report(const state *self, pd_status status) {
  return status == PD_NO_MEMORY
             ? self->host->fail(self->host, status, "%s: out of memory", record_file_path(self->file))
             : status;
}

static pd_status tensorboard_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  const options *chosen = given;
  const char *folder = chosen->logdir[0] ? chosen->logdir : run->trace_dir;
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  self->host = host;
  self->run = run;
  self->flushed_ns = pd_monotonic_ns();
  pd_status status =
      record_file_open(host, folder, run->start_realtime_ns / 1000000000, run->host_name, run->pid, &self->file);
  if (status == PD_OK) {
    status = report(self, write_start(self));
    if (status != PD_OK) record_file_close(self->file);
  }
  if (status != PD_OK) {
    free(self);
    return status;
  }
  *out = self;
  return PD_OK;
}

static pd_status tensorboard_step(void *given, const pd_step_stats *stats) {
  state *self = given;
  const event_place place = {self->file, stats->end_realtime_ns, (int64_t)stats->index};
  const double cost_s = (double)stats->batch_cost_ns / 1e9;
  const struct {
    const char *tag;
    double value;
  } figures[] = {
      {"time/step_time_s", (double)stats->step_time_ns / 1e9},
      {"time/dataloader_wait_s", (double)stats->data_wait_ns / 1e9},
      {"time/batch_cost_s", cost_s},
      {"throughput/samples_per_s", self->run->batch_size ? (double)self->run->batch_size / cost_s : (double)NAN},
      {"train/loss", stats->loss},
      {"memory/allocated_bytes", (double)stats->allocated_bytes},
      {"memory/reserved_bytes", (double)stats->reserved_bytes},
  };
  pd_status status = PD_OK;
  for (size_t i = 0; i < sizeof figures / sizeof *figures && status == PD_OK; i++)
    if (!isnan(figures[i].value)) status = events_scalar(&place, figures[i].tag, figures[i].value);
  if (status == PD_OK && pd_monotonic_ns() - self->flushed_ns >= FLUSH_EVERY_NS) {
    status = record_file_flush(self->file);
    self->flushed_ns = pd_monotonic_ns();
  }
  return report(self, status);
}

static pd_status tensorboard_trace(void *given, const pd_trace *trace) {
  state *self = given;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_request request = {.size = sizeof request};
  const pd_table_set *tables = NULL;
  if (analysis) {
    tables = analysis->tables(analysis, trace, &request);
    if (!tables)
      return self->host->fail(self->host, PD_NO_MEMORY, "window %u: tables could not be computed: out of memory",
                              trace->window);
  }
  pd_status status = window_events_write(self->file, trace, tables);
  if (status == PD_OK) status = record_file_flush(self->file);
  return report(self, status);
}

static pd_status write_end(const state *self, const pd_summary *summary) {
  const event_place place = {self->file, pd_clock_ns(CLOCK_REALTIME), (int64_t)summary->steps};
  const struct {
    const char *tag;
    double value;
  } figures[] = {{headline[0], summary->samples_per_s},
                 {headline[1], summary->avg_step_time_s},
                 {headline[2], summary->avg_dataloader_wait_s},
                 {headline[3], (double)summary->peak_allocated_bytes},
                 {headline[4], summary->coverage}};
  markdown text = {0};
  pd_status status = PD_OK;
  energy_figure energy[ENERGY_FIGURES];
  energy_figures(summary, energy);
  for (size_t i = 0; i < ENERGY_FIGURES && status == PD_OK; i++) {
    char tag[64];
    snprintf(tag, sizeof tag, "summary/%s", energy[i].key);
    if (!isnan(energy[i].joules)) status = events_scalar(&place, tag, energy[i].joules);
  }
  for (size_t i = 0; i < sizeof figures / sizeof *figures && status == PD_OK; i++)
    if (!isnan(figures[i].value)) status = events_scalar(&place, figures[i].tag, figures[i].value);
  if (status == PD_OK) {
    markdown_summary(&text, self->run, summary);
    status = text.failed ? PD_NO_MEMORY : events_text(&place, "run/quick_stats", text.text);
  }
  markdown_free(&text);
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  if (status == PD_OK && analysis && PD_HAS(pd_analysis, analysis, run_tables)) {
    const pd_table_set *tables = analysis->run_tables(analysis, self->run, summary);
    status = tables ? window_events_tables(&place, tables) : PD_NO_MEMORY;
  }
  if (status == PD_OK) status = hparams_end(&place, summary->outcome == PD_RUN_COMPLETE);
  return status == PD_OK ? record_file_flush(self->file) : status;
}

static pd_status tensorboard_close(void *given, const pd_summary *summary) {
  state *self = given;
  pd_status status = PD_OK;
  if (summary) {
    status = report(self, write_end(self, summary));
    const pd_files *files = self->host->extension(self->host, PD_EXT_FILES);
    if (status == PD_OK && files) files->announce(files, record_file_path(self->file));
  }
  record_file_close(self->file);
  free(self);
  return status;
}

PD_SINK("tensorboard", "1.0", "TensorBoard event file: scalars, histograms, tables, hyperparameters", options, rows,
        .open = tensorboard_open, .on_step = tensorboard_step, .on_trace_ready = tensorboard_trace,
        .close = tensorboard_close)
