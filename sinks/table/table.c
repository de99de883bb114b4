/*
 * The table sink: the views asked for as text, to standard output by default. [loop thread]
 *
 * It prints the views that are named, in a fixed order, and nothing else: `summary`, the short report (table_report.h),
 * or the verdict, the run's figures (quick_stats.h), tables of the run and of each window. What comes first is known
 * last, so the windows' tables are kept as text until close. A quiet run (pd_run.quiet) has the verdict's line alone.
 * With timer_only there are no windows, and the lines of the steps are written as they come.
 */
#include "layout.h"
#include "quick_stats.h"
#include "report_ranks.h"
#include "sort_keys.h"
#include "stack_files.h"
#include "table_report.h"
#include "throughput.h"
#include "verdict_text.h"
#include "views.h"
#include "window_title.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct options {
  const char *path, *views, *time_unit, *sorted_by, *sort_by, *color, *stacks;
  int64_t row_limit, max_name_column_width, group_by_stack_n, width;
  bool op_detail, thread_sep, wide, group_by_input_shape, top_level_events_only, corrected;
} options;

static const char *const time_units[] = {"auto", "s", "ms", "us", "ns", NULL};
static const char *const sorted_bys[] = {"CPUTotal", "CPUAvg", "CPUMax", "CPUMin", "GPUTotal",
                                         "GPUAvg",   "GPUMax", "GPUMin", NULL};
static const char *const sort_bys[] = {"cpu_time",
                                       "cuda_time",
                                       "cpu_time_total",
                                       "cuda_time_total",
                                       "self_cpu_time_total",
                                       "self_cuda_time_total",
                                       "cpu_memory_usage",
                                       "cuda_memory_usage",
                                       "self_cpu_memory_usage",
                                       "self_cuda_memory_usage",
                                       "count",
                                       NULL};
static const char *const when[] = {"auto", "always", "never", NULL};

#define VIEWS_DEFAULT "summary"

static const pd_option rows[] = {
    PD_OPTION_PATH(options, path, .def = "-", .help = "file to write; - is standard output"),
    PD_OPTION(options, views, .def = VIEWS_DEFAULT, .choices = views_ids,
              .help = "what to print, separated by spaces or commas: summary (short), run, a table's id, or all"),
    PD_OPTION_CHOICE(options, time_unit, .def = "auto", .choices = time_units,
                     .help = "unit of times; auto: that of the largest, column by column"),
    PD_OPTION_CHOICE(options, sorted_by, .def = "CPUTotal", .choices = sorted_bys, .help = "order of Paddle's tables"),
    PD_OPTION_CHOICE(options, sort_by, .def = "self_cuda_time_total", .choices = sort_bys,
                     .help = "order of the operator table; cuda is the device, whatever it is"),
    PD_OPTION(options, row_limit, .def = "25", .min = "-1", .help = "rows per table; -1 for all"),
    PD_OPTION(options, op_detail, .def = "true", .help = "show what runs inside the operators"),
    PD_OPTION(options, thread_sep, .def = "false", .help = "keep threads apart in the operator summary"),
    PD_OPTION(options, width, .def = "0", .min = "0", .max = "10000", .unit = "columns",
              .help = "columns of the text, 60 at least; 0: the terminal's, or 80"),
    PD_OPTION(options, wide, .def = "false", .help = "all columns; else what fits the width"),
    PD_OPTION(options, group_by_input_shape, .def = "false", .help = "a row per operation and input shapes"),
    PD_OPTION(options, group_by_stack_n, .def = "0", .min = "0", .max = "64",
              .help = "a row per operation and its innermost n stack frames"),
    PD_OPTION(options, corrected, .def = "false",
              .help = "also print the step with what recording adds taken off, beside any view; --corrected sets it"),
    PD_OPTION(options, top_level_events_only, .def = "false", .help = "only ranges that no range holds"),
    PD_OPTION(options, max_name_column_width, .def = "55", .min = "8", .max = "10000", .unit = "columns",
              .help = "width of the name column at most"),
    PD_OPTION_CHOICE(options, color, .def = "auto", .choices = when,
                     .help = "auto: on a terminal, unless NO_COLOR is set or TERM is dumb; --color sets it"),
    PD_OPTION_CHOICE(options, stacks, .def = "auto", .choices = when,
                     .help = "write collapsed stacks to trace_dir, for flamegraph.pl; auto: with profile.with_stack"),
};

typedef struct state {
  const pd_host *host;
  const options *options;
  const pd_run *run;
  const pd_files *files;
  pd_file *file;
  text windows, verdicts; /* verdicts: before all else */
  text line;              /* of the last window's verdict */
  report report;
  report_ranks ranks;
  timer timer;
  size_t columns;
  bool quiet, summary, all;
} state;

static bool wants_colour(const options *chosen, const pd_run *run) {
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  if (!strcmp(chosen->color, "always")) return true;
  if (!strcmp(chosen->color, "never") || (no_color && *no_color)) return false;
  if (terminal && !strcmp(terminal, "dumb")) return false;
  /* mpirun gives each rank a terminal, even where its own output is a file. */
  if (PD_HAS(pd_run, run, ranks) && run->ranks > 1) return false;
  return !strcmp(chosen->path, "-") && isatty(STDOUT_FILENO);
}

/* The width asked for, else the terminal's; never below the least. */
static size_t columns_of(const options *chosen) {
  struct winsize terminal;
  size_t columns = (size_t)chosen->width;
  if (!columns && !strcmp(chosen->path, "-") && isatty(STDOUT_FILENO) &&
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0)
    columns = terminal.ws_col;
  if (!columns) columns = LAYOUT_COLUMNS;
  return columns < LAYOUT_LEAST_COLUMNS ? LAYOUT_LEAST_COLUMNS : columns;
}

/* Whether `id` is in the list `views`. */
static bool is_named(const char *views, const char *id) {
  const size_t length = strlen(id);
  for (; *views; views += strspn(views, ", ")) {
    const size_t one = strcspn(views, ", ");
    if (one == length && !strncmp(views, id, one)) return true;
    views += one;
  }
  return false;
}

/* The same, where "all" names every table. */
static bool is_viewed(const char *views, const char *id) { return is_named(views, "all") || is_named(views, id); }

static pd_status table_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  state *self = calloc(1, sizeof *self);
  pd_status status;
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  self->host = host;
  self->options = given;
  self->run = run;
  self->windows.colour = self->verdicts.colour = wants_colour(self->options, run);
  self->columns = columns_of(self->options);
  self->quiet = PD_HAS(pd_run, run, quiet) && run->quiet;
  self->all = is_named(self->options->views, "all");
  self->summary = is_named(self->options->views, "summary");
  self->files = host->extension(host, PD_EXT_FILES);
  if (!self->files) {
    free(self);
    return host->fail(host, PD_UNSUPPORTED, "this host has no files (%s)", PD_EXT_FILES);
  }
  status = self->files->open(self->files, self->options->path, &self->file);
  if (status != PD_OK) {
    free(self);
    return status;
  }
  timer_begin(&self->timer, run);
  *out = self;
  return PD_OK;
}

static pd_status flush(state *self, const text *content) {
  if (content->failed) return self->host->fail(self->host, PD_NO_MEMORY, "out of memory for the tables");
  return content->length ? self->files->write(self->file, content->data, content->length) : PD_OK;
}

static pd_status table_step(void *given, const pd_step_stats *stats) {
  state *self = given;
  text line = {0};
  pd_status status = PD_OK;
  if (!self->run->timer_only || self->quiet) return PD_OK;
  timer_step(&self->timer, self->host->extension(self->host, PD_EXT_ANALYSIS), &line, stats);
  status = flush(self, &line);
  text_free(&line);
  return status;
}

static bool has_table(const pd_table_set *set, const char *id, size_t length) {
  for (uint32_t i = 0; set && i < set->count; i++)
    if (strlen(set->tables[i]->id) == length && !strncmp(set->tables[i]->id, id, length)) return true;
  return false;
}

/* Warns of each table that was asked for and that this run does not have, and says what would bring it. `late`: of
 * those alone that are known at the end; else of all others. */
static void tell_missing_views(state *self, const pd_table_set *set, const pd_table_set *of_run, bool late, text *out) {
  const char *views = self->options->views;
  for (views += strspn(views, ", "); *views; views += strspn(views, ", ")) {
    const size_t one = strcspn(views, ", ");
    const bool is_all = one == 3 && !strncmp(views, "all", 3);
    const bool is_table = !is_all && strncmp(views, "summary", one) != 0 && strncmp(views, "run", one) != 0;
    if (is_table && views_is_late(views, one) == late && !has_table(set, views, one) &&
        !has_table(of_run, views, one)) {
      text line = {0};
      text_format(&line, "views: this run has no table %.*s: %s", (int)one, views, views_reason(self->run, views, one));
      if (!line.failed) {
        self->host->log(self->host, PD_LOG_WARN, "%s", line.data);
        text_wrap(out, line.data, self->columns, 0);
        text_add(out, "\n");
      }
      text_free(&line);
    }
    views += one;
  }
}

/* An older host has none: NULL, and that is no failure. */
static pd_status tables_of_run(const state *self, const pd_summary *summary, const pd_table_set **out) {
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  *out = NULL;
  if (!analysis || !PD_HAS(pd_analysis, analysis, run_tables)) return PD_OK;
  *out = analysis->run_tables(analysis, self->run, summary);
  return *out ? PD_OK
              : self->host->fail(self->host, PD_NO_MEMORY, "the run's tables could not be computed: out of memory");
}

static layout_options layout_of(const state *self, const pd_table *table) {
  const options *chosen = self->options;
  layout_options layout = {.unit = cell_time_of(chosen->time_unit),
                           .columns = self->columns,
                           .wide = chosen->wide,
                           .row_limit = chosen->row_limit,
                           .max_name_columns = (size_t)chosen->max_name_column_width,
                           .sort_key = sort_key_of(table->id, chosen->sort_by, chosen->sorted_by)};
  /* Paddle's tables have one unit for all. */
  if (layout.unit == CELL_AUTO && strcmp(table->id, "operators") != 0) layout.unit = CELL_MS;
  return layout;
}

/* Whether anything of a window is printed but its verdict. */
static bool shows_tables(const char *views) {
  for (; *views; views += strspn(views, ", ")) {
    static const char *const others[] = {"summary", "run", "verdict", "perf_summary"};
    const size_t one = strcspn(views, ", ");
    bool is_other = !one;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      is_other = is_other || (strlen(others[i]) == one && !strncmp(views, others[i], one));
    if (!is_other) return true;
    views += one;
  }
  return false;
}

static void add_verdict(state *self, const pd_trace *trace, const pd_table *verdict) {
  report_ranks_take(&self->ranks, trace, verdict, self->columns);
  if (self->quiet) {
    if (self->run->repeat != 1) text_format(&self->verdicts, "Window %u: ", trace->window);
    verdict_line(&self->verdicts, verdict, self->columns);
    text_add(&self->verdicts, "\n");
    return;
  }
  self->line.length = 0;
  self->line.colour = self->windows.colour;
  verdict_line(&self->line, verdict, self->columns);
  text_add(&self->line, "\n");
  if (!is_viewed(self->options->views, "verdict")) return;
  window_heading(&self->verdicts, self->run, trace);
  verdict_block(&self->verdicts, verdict, self->columns);
  text_add(&self->verdicts, "\n");
}

static pd_status table_trace(void *given, const pd_trace *trace) {
  state *self = given;
  const options *chosen = self->options;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_request request = {.size = sizeof request,
                                    .group_by_input_shape = chosen->group_by_input_shape,
                                    .group_by_stack_n = (uint32_t)chosen->group_by_stack_n,
                                    .top_level_events_only = chosen->top_level_events_only,
                                    .thread_sep = chosen->thread_sep,
                                    .hide_op_detail = !chosen->op_detail,
                                    .corrected = chosen->corrected,
                                    .sort_by = chosen->sort_by,
                                    .sorted_by = chosen->sorted_by};
  const pd_summary no_steps = {.size = sizeof no_steps};
  const pd_table_set *set, *of_run;
  if (!analysis) return self->host->fail(self->host, PD_UNSUPPORTED, "this host has no analysis (%s)", PD_EXT_ANALYSIS);
  set = analysis->tables(analysis, trace, &request);
  if (!set) return self->host->fail(self->host, PD_NO_MEMORY, "window %u: out of memory for the tables", trace->window);
  if (self->summary) report_window(&self->report, trace, set, self->columns, self->windows.colour);
  for (uint32_t i = 0; i < set->count; i++)
    if (!strcmp(set->tables[i]->id, "verdict")) add_verdict(self, trace, set->tables[i]);
  if (shows_tables(chosen->views)) window_title(&self->windows, self->run, trace, self->columns);
  if (tables_of_run(self, &no_steps, &of_run) != PD_OK) return PD_NO_MEMORY;
  tell_missing_views(self, set, of_run, false, &self->windows);
  for (uint32_t i = 0; i < set->count; i++) {
    const pd_table *table = set->tables[i];
    const bool viewed = is_viewed(chosen->views, table->id) || !strcmp(table->id, "corrected");
    if (!viewed || !strcmp(table->id, "verdict")) continue;
    const layout_options layout = layout_of(self, table);
    layout_table(&self->windows, table, &layout);
  }
  if (self->windows.failed || self->verdicts.failed || self->line.failed || self->report.failed)
    return self->host->fail(self->host, PD_NO_MEMORY, "out of memory for the tables");
  if (!strcmp(chosen->stacks, "always") || (!strcmp(chosen->stacks, "auto") && self->run->with_stack))
    return stack_files_write(self->host, self->files, self->run, set, trace->window);
  return PD_OK;
}

/* The Perf Summary is what a run of timer_only is for; any other shows it when asked. */
static void add_run_tables(state *self, const pd_table_set *set, text *out) {
  for (uint32_t i = 0; set && i < set->count; i++) {
    const layout_options layout = layout_of(self, set->tables[i]);
    /* The verdict of all ranks is no table in print: the host prints it before all others. */
    if (!strcmp(set->tables[i]->id, "ranks_verdict")) continue;
    if (self->run->timer_only || is_viewed(self->options->views, set->tables[i]->id))
      layout_table(out, set->tables[i], &layout);
  }
  if (self->run->timer_only && strcmp(self->options->views, VIEWS_DEFAULT) != 0)
    tell_missing_views(self, NULL, set, false, out);
  tell_missing_views(self, NULL, set, true, out);
}

/* Everything, in the order of printing. */
static pd_status compose(state *self, const pd_summary *summary, text *out) {
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_set *set;
  uint32_t late;
  const pd_status status = tables_of_run(self, summary, &set);
  const bool of_ranks = report_ranks_are(self->run, set, &late);
  if (self->quiet) {
    if (of_ranks) return PD_OK; /* what they did together is printed already */
    text_add(out, self->verdicts.length ? self->verdicts.data : "");
    if (!self->verdicts.length) report_line(&self->report, out, summary, self->columns);
    return PD_OK;
  }
  if (self->verdicts.length) text_add_bytes(out, self->verdicts.data, self->verdicts.length);
  if (is_viewed(self->options->views, "run")) quick_stats_write(out, analysis, self->run, summary, self->columns);
  if (status == PD_OK) add_run_tables(self, set, out);
  if (self->windows.length) text_add_bytes(out, self->windows.data, self->windows.length);
  /* What a reader looks for is where the screen ends. */
  if (self->summary && of_ranks)
    report_ranks_write(&self->ranks, out, late, summary, self->files, self->columns);
  else if (self->summary)
    report_write(&self->report, out, self->run, summary, self->files, self->columns);
  if (self->all) {
    const size_t before = out->length;
    report_files(out, self->files, self->columns);
    if (out->length > before) text_add(out, "\n");
    text_add(out, self->line.length && !of_ranks ? self->line.data : "");
  }
  return status;
}

static pd_status table_close(void *given, const pd_summary *summary) {
  state *self = given;
  text out = {.colour = self->windows.colour};
  pd_status status = PD_OK;
  if (summary) {
    status = compose(self, summary, &out);
    out.failed = out.failed || self->windows.failed || self->verdicts.failed || self->line.failed;
    if (status == PD_OK) status = flush(self, &out);
  }
  if (summary && status == PD_OK) {
    status = self->files->commit(self->file);
    if (status == PD_OK && strcmp(self->options->path, "-") != 0)
      self->files->announce(self->files, self->options->path);
  } else {
    self->files->discard(self->file);
  }
  text_free(&out);
  text_free(&self->windows);
  text_free(&self->verdicts);
  text_free(&self->line);
  report_free(&self->report);
  report_ranks_free(&self->ranks);
  free(self);
  return status;
}

PD_SINK("table", "1.0", "verdict, figures and tables as text", options, rows, .flags = PD_SINK_CLOSES_LAST,
        .open = table_open, .on_step = table_step, .on_trace_ready = table_trace, .close = table_close)
