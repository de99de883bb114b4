/*
 * The csv sink: one file per table of the analysis and per kind of event, RFC 4180. [loop thread]
 *
 * steps.csv and perf_summary.csv cover the loop; tables and events are those of one window, whose number comes before
 * ".csv" when the schedule has more than one, so that nothing is overwritten. Events lie in a folder of their own: a
 * table may have any name. The files of a run get their names together, at its end. run.csv says how the run ended, and
 * files.csv lists the run's files. The sink removes no file of another run or program.
 */
#include "event_files.h"
#include "own_files.h"

#include "../lib/energy.h"
#include "../lib/file_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct options {
  const char *dir;
  bool events;
} options;

static const pd_option rows[] = {
    PD_OPTION_PATH(options, dir, .def = "", .help = "folder for the files; empty: <trace_dir>/csv"),
    PD_OPTION(options, events, .def = "true", .help = "write every event too, not only the tables"),
};

typedef struct state {
  const pd_host *host;
  const pd_run *run;
  char *dir;
  bool events, many_windows;
  own_files written;
} state;

static void state_free(state *self) {
  if (!self) return;
  own_files_free(&self->written);
  free(self->dir);
  free(self);
}

static pd_status csv_sink_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  const options *chosen = given;
  state *self = calloc(1, sizeof *self);
  if (self) {
    if (chosen->dir[0])
      self->dir = strdup(chosen->dir);
    else if (asprintf(&self->dir, "%s/csv", run->trace_dir) < 0)
      self->dir = NULL;
  }
  if (!self || !self->dir) {
    state_free(self);
    return host->fail(host, PD_NO_MEMORY, "out of memory");
  }
  self->host = host;
  self->run = run;
  self->events = chosen->events;
  self->many_windows = run->repeat != 1;
  self->written.run = run->start_realtime_ns;
  if (run->ranks > 1) snprintf(self->written.prefix, sizeof self->written.prefix, "rank%u_", run->rank);
  *out = self;
  return PD_OK;
}

/* Opens `name`, of window `window` or of the whole run (PD_NONE). */
static pd_status open_file(state *self, const char *name, uint32_t window, file_out *file) {
  if (!self->many_windows && !window) window = PD_NONE; /* others come where one filled the memory */
  char *path = own_files_path(&self->written, self->dir, name, window);
  if (!path) return self->host->fail(self->host, PD_NO_MEMORY, "%s: out of memory", name);
  pd_status status = file_out_open(file, self->host, path);
  free(path);
  if (status != PD_OK) return status;
  status = own_files_add(&self->written, name, window);
  if (status == PD_OK) return PD_OK;
  file_out_discard(file);
  return self->host->fail(self->host, status, "%s: out of memory", name);
}

static pd_status commit_file(state *self, file_out *file) {
  const pd_status status = file_out_commit_silently(file);
  if (status == PD_OK) own_files_written(&self->written, self->dir);
  return status;
}

static void write_cell(csv_writer *csv, const pd_metric *metric, const pd_cell *cell) {
  if (cell->missing)
    csv_empty(csv);
  else if (metric->unit == PD_UNIT_TEXT)
    csv_text(csv, cell->v.text);
  else if (cell->is_double)
    csv_double(csv, cell->v.d);
  else
    csv_i64(csv, cell->v.i);
}

static void write_row(csv_writer *csv, const pd_table *table, const pd_table_row *row, const char *kind) {
  for (uint32_t i = 0; i < table->column_count; i++) write_cell(csv, table->columns[i], &row->cells[i]);
  csv_u64(csv, row->level);
  csv_text(csv, kind);
  csv_end_record(csv);
}

static void write_table(csv_writer *csv, const pd_table *table) {
  for (uint32_t i = 0; i < table->column_count; i++) csv_text(csv, table->columns[i]->key);
  csv_text(csv, "level");
  csv_text(csv, "row_kind");
  csv_end_record(csv);
  for (uint64_t i = 0; i < table->rows.count; i++) write_row(csv, table, PD_AT(pd_table_row, &table->rows, i), "row");
  if (table->footer) write_row(csv, table, table->footer, "footer");
}

static pd_status write_tables(state *self, const pd_table_set *set, uint32_t window) {
  for (uint32_t i = 0; i < set->count; i++) {
    file_out file;
    pd_status status = open_file(self, set->tables[i]->id, window, &file);
    if (status != PD_OK) return status;
    csv_writer csv = {.out = &file.out};
    write_table(&csv, set->tables[i]);
    status = commit_file(self, &file);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

static pd_status write_window_tables(state *self, const pd_trace *trace) {
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  if (!analysis) return PD_OK;
  const pd_table_request request = {.size = sizeof request};
  const pd_table_set *set = analysis->tables(analysis, trace, &request);
  if (!set)
    return self->host->fail(self->host, PD_NO_MEMORY, "window %u: tables could not be computed: out of memory",
                            trace->window);
  return write_tables(self, set, trace->window);
}

static pd_status write_run_tables(state *self, const pd_summary *summary) {
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  if (!analysis || !PD_HAS(pd_analysis, analysis, run_tables)) return PD_OK;
  const pd_table_set *set = analysis->run_tables(analysis, self->run, summary);
  if (!set) return self->host->fail(self->host, PD_NO_MEMORY, "the run's tables could not be computed: out of memory");
  return write_tables(self, set, PD_NONE);
}

static pd_status csv_sink_trace(void *given, const pd_trace *trace) {
  state *self = given;
  pd_status status = write_window_tables(self, trace);
  for (const event_file *kind = event_files; status == PD_OK && kind->name; kind++) {
    file_out file;
    if (!self->events && kind != event_files) break; /* the first is that of the losses: never left out */
    status = open_file(self, kind->name, trace->window, &file);
    if (status != PD_OK) break;
    csv_writer csv = {.out = &file.out};
    kind->write(&csv, trace);
    status = commit_file(self, &file);
    if (status == PD_NO_MEMORY) (void)self->host->fail(self->host, status, "%s: no memory for its rows", kind->name);
  }
  return status;
}

/* How the run ended. Every run writes it: a reader needs no guess about a file that is not there. */
static pd_status write_run(state *self, const pd_summary *summary) {
  static const char *const outcomes[] = {
      [PD_RUN_COMPLETE] = "complete", [PD_RUN_INTERRUPTED] = "interrupted", [PD_RUN_FAILED] = "failed"};
  file_out file;
  const pd_status status = open_file(self, "run", PD_NONE, &file);
  if (status != PD_OK) return status;
  csv_writer csv = {.out = &file.out};
  energy_figure energy[ENERGY_FIGURES];
  energy_figures(summary, energy);
  static const char *const keys[] = {"outcome", "reason", "steps", "windows", "start_realtime_ns"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) csv_text(&csv, keys[i]);
  for (int i = 0; i < ENERGY_FIGURES; i++) csv_text(&csv, energy[i].key);
  csv_end_record(&csv);
  csv_text(&csv, summary->outcome < sizeof outcomes / sizeof *outcomes ? outcomes[summary->outcome] : "failed");
  csv_text(&csv, summary->reason);
  csv_u64(&csv, summary->steps);
  csv_u64(&csv, summary->windows);
  csv_i64(&csv, self->run->start_realtime_ns);
  for (int i = 0; i < ENERGY_FIGURES; i++)
    if (isnan(energy[i].joules))
      csv_empty(&csv);
    else
      csv_double(&csv, energy[i].joules);
  csv_end_record(&csv);
  return commit_file(self, &file);
}

/* The files of this run but for this one, which gets its name last. */
static pd_status write_list(state *self) {
  const uint32_t count = self->written.count;
  file_out file;
  const pd_status status = open_file(self, "files", PD_NONE, &file);
  if (status != PD_OK) return status;
  csv_writer csv = {.out = &file.out};
  csv_header(&csv, "file,bytes");
  for (uint32_t i = 0; i < count; i++) {
    char *name = own_files_name(&self->written, i);
    if (!name) {
      file_out_discard(&file);
      return self->host->fail(self->host, PD_NO_MEMORY, "files.csv: out of memory");
    }
    csv_text(&csv, name);
    if (self->written.all[i].written)
      csv_u64(&csv, self->written.all[i].bytes);
    else
      csv_empty(&csv);
    csv_end_record(&csv);
    free(name);
  }
  return commit_file(self, &file);
}

static pd_status publish(state *self) {
  const pd_status status = own_files_publish(&self->written, self->host, self->dir);
  const uint64_t others = status == PD_OK ? own_files_others(&self->written, self->dir) : 0;
  if (others)
    self->host->log(self->host, PD_LOG_WARN,
                    "%s holds %llu csv file%s that this run did not write; files.csv lists those of this run",
                    self->dir, (unsigned long long)others, others == 1 ? "" : "s");
  return status;
}

static pd_status write_steps(state *self, const pd_summary *summary) {
  file_out file;
  const pd_status status = open_file(self, "steps", PD_NONE, &file);
  if (status != PD_OK) return status;
  csv_writer csv = {.out = &file.out};
  event_files_steps(&csv, summary);
  return commit_file(self, &file);
}

static pd_status csv_sink_close(void *given, const pd_summary *summary) {
  state *self = given;
  pd_status status = PD_OK;
  if (summary) {
    status = write_steps(self, summary);
    if (status == PD_OK) status = write_run_tables(self, summary);
    if (status == PD_OK) status = write_run(self, summary);
    if (status == PD_OK) status = write_list(self);
    if (status == PD_OK) status = publish(self);
  }
  if (!summary || status != PD_OK) own_files_discard(&self->written, self->dir);
  state_free(self);
  return status;
}

PD_SINK("csv", "1.0", "one CSV file per table and per kind of event", options, rows, .open = csv_sink_open,
        .on_trace_ready = csv_sink_trace, .close = csv_sink_close)
