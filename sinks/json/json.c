/*
 * The json sink: one document of the whole run. [loop thread]
 *
 * It is written front to back while the run goes on: what is known at the start, then the tables of every window as it
 * ends, then the figures of the end. So its size in memory does not grow with the number of windows.
 * docs/schema/metrics.schema.json describes it.
 */
#include "sections.h"

#include "../lib/file_out.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct options {
  const char *output_json;
} options;

static const pd_option rows[] = {
    PD_OPTION_PATH(options, output_json, .def = "",
                   .help = "file to write, - for standard output; empty: metrics_<scenario>.json in trace_dir"),
};

typedef struct state {
  const pd_host *host;
  const pd_run *run;
  file_out file;
  json_writer json;
} state;

static pd_status json_sink_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  const options *chosen = given;
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  self->host = host;
  self->run = run;
  const pd_status status = file_out_open_result(&self->file, host, chosen->output_json, "metrics", run, "json");
  if (status != PD_OK) {
    free(self);
    return status;
  }
  json_open(&self->json, &self->file.out, 2);
  json_begin_object(&self->json);
  section_run(&self->json, run);
  json_key(&self->json, "windows");
  json_begin_array(&self->json);
  *out = self;
  return PD_OK;
}

static pd_status json_sink_trace(void *given, const pd_trace *trace) {
  state *self = given;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_request request = {.size = sizeof request};
  const pd_table_set *set = NULL;
  if (analysis) {
    set = analysis->tables(analysis, trace, &request);
    if (!set)
      return self->host->fail(self->host, PD_NO_MEMORY, "window %u: tables could not be computed: out of memory",
                              trace->window);
  }
  section_window(&self->json, trace, set);
  return self->file.out.status;
}

static pd_status json_sink_close(void *given, const pd_summary *summary) {
  state *self = given;
  pd_status status = PD_OK;
  if (summary) {
    const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
    const pd_table_set *set = NULL;
    json_end_array(&self->json);
    section_summary(&self->json, self->run, summary);
    if (analysis && PD_HAS(pd_analysis, analysis, run_tables)) {
      set = analysis->run_tables(analysis, self->run, summary);
      if (!set)
        status = self->host->fail(self->host, PD_NO_MEMORY, "the run's tables could not be computed: out of memory");
    }
    section_tables(&self->json, set);
    json_end_object(&self->json);
    text_out_literal(&self->file.out, "\n");
  }
  if (summary && status == PD_OK) {
    status = file_out_commit(&self->file);
  } else {
    file_out_discard(&self->file);
  }
  free(self);
  return status;
}

PD_SINK("json", "1.0", "one JSON document of the run: figures, steps, every table, configuration", options, rows,
        .open = json_sink_open, .on_trace_ready = json_sink_trace, .close = json_sink_close)
