/* See table_report.h. */
#include "table_report.h"

#include "plots.h"
#include "report_notes.h"
#include "report_steps.h"
#include "verdict_text.h"

#include <pdhost/loss_names.h>
#include <pdhost/quantity.h>
#include <pdhost/text_columns.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE_ROOM = 48, BAR_COLUMNS = 20, NARROW_BAR_COLUMNS = 8, NARROW = 72, NAME_LEAST = 12 };
/* Columns of a row: its indentation and two figures; the calls. */
enum { FIGURES_COLUMNS = 22, CALLS_COLUMNS = 12 };

/* What takes less has no row. */
#define SHOWN_PERCENT 0.5

/* ---- gathering ---- */

static const pd_table *table_of(const pd_table_set *set, const char *id) {
  for (uint32_t i = 0; i < set->count; i++)
    if (!strcmp(set->tables[i]->id, id)) return set->tables[i];
  return NULL;
}

static const pd_cell *cell_of(const pd_table *table, const pd_table_row *row, const char *key) {
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return row->cells[c].missing ? NULL : &row->cells[c];
  return NULL;
}

static double number_of(const pd_cell *cell) { return !cell ? 0 : cell->is_double ? cell->v.d : (double)cell->v.i; }

static void rows_free(report_rows *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->rows[i].name);
  self->count = 0;
}

/* Keeps the largest, in falling order. */
static void rows_add(report *self, report_rows *rows, const char *name, report_row row) {
  uint32_t at = rows->count;
  while (at > 0 && rows->rows[at - 1].per_step_ns < row.per_step_ns) at--;
  if (at == REPORT_ROWS) return;
  row.name = strdup(name);
  if (!row.name) {
    self->failed = true;
    return;
  }
  if (rows->count == REPORT_ROWS) free(rows->rows[--rows->count].name);
  memmove(&rows->rows[at + 1], &rows->rows[at], (rows->count - at) * sizeof *rows->rows);
  rows->rows[at] = row;
  rows->count++;
}

/* Which columns of a table a short one shows; a NULL key: nothing. */
typedef struct column_keys {
  const char *name, *time, *percent, *calls;
} column_keys;

static bool is_operation(const pd_table *table, const pd_table_row *row) {
  const pd_cell *kind = cell_of(table, row, "kind");
  return !kind || !strcmp(kind->v.text, "op") || !strcmp(kind->v.text, "user");
}

static void rows_take(report *self, report_rows *rows, const pd_table *table, const column_keys *keys, uint64_t steps) {
  const double each = steps ? 1 / (double)steps : 0;
  rows_free(rows);
  for (uint64_t i = 0; table && i < table->rows.count; i++) {
    const pd_table_row *from = PD_AT(pd_table_row, &table->rows, i);
    const pd_cell *name = cell_of(table, from, keys->name);
    const report_row row = {.per_step_ns = each * number_of(cell_of(table, from, keys->time)),
                            .percent = number_of(cell_of(table, from, keys->percent)),
                            .per_step_calls = keys->calls ? each * number_of(cell_of(table, from, keys->calls)) : 0};
    if (name && row.per_step_ns > 0 && row.percent >= SHOWN_PERCENT && is_operation(table, from))
      rows_add(self, rows, name->v.text, row);
  }
}

static void take_cause(report *self, const pd_table *verdict) {
  const pd_cell *cause = verdict_cell(verdict, "verdict_cause");
  const char *name = cause ? cause->v.text : "withheld";
  uint32_t at = 0;
  while (at < self->cause_count && strcmp(self->causes[at].name, name) != 0) at++;
  if (at == REPORT_CAUSES) at--;
  if (at == self->cause_count)
    snprintf(self->causes[self->cause_count++].name, sizeof self->causes[0].name, "%s", name);
  self->causes[at].windows++;
  self->last_cause = at;
  self->windows++;
}

/* Whether more than 1 % of the device's time is that of records outside all steps: those are in the tables too. */
static bool has_strays(const pd_trace *trace) {
  int64_t all = 0, outside = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    all += row->end_ns - row->start_ns;
    if (row->step == PD_NONE) outside += row->end_ns - row->start_ns;
  }
  return 100 * (double)outside > (double)all;
}

void report_window(report *self, const pd_trace *trace, const pd_table_set *set, size_t columns, bool colour) {
  static const column_keys of_ledger = {"category", "total", "share", NULL},
                           of_kernels = {"name", "gpu_total", "gpu_ratio", "calls"},
                           by_device = {"name", "self_device_time_total", "self_device_percent", "count"},
                           by_host = {"name", "self_cpu_time_total", "self_cpu_percent", "count"};
  const pd_table *verdict = table_of(set, "verdict"), *ledger = table_of(set, "ledger");
  const uint64_t steps = trace->steps.count;
  const bool is_whole = steps == 1 && PD_HAS(pd_trace, trace, facts) && !(trace->facts & PD_FACT_STEPS);
  self->whole_ns = is_whole ? (double)(trace->end_ns - trace->start_ns) : 0;
  if (verdict) {
    self->verdict.length = self->line.length = 0;
    self->verdict.colour = self->line.colour = colour;
    verdict_block(&self->verdict, verdict, columns);
    verdict_line(&self->line, verdict, columns);
    take_cause(self, verdict);
  }
  self->steps_found.length = 0;
  if (PD_HAS(pd_trace, trace, steps_found) && trace->steps_found)
    text_wrap(&self->steps_found, trace->steps_found, columns, 2);
  self->by_class = !ledger;
  self->by_host = trace->profile != PD_PROFILE_FULL;
  rows_take(self, &self->ledger, ledger ? ledger : table_of(set, "breakdown"), &of_ledger, steps);
  self->of_file = !is_whole && has_strays(trace);
  const uint64_t shared = self->of_file ? 1 : steps;
  rows_take(self, &self->operators, table_of(set, "operators"), self->by_host ? &by_host : &by_device, shared);
  rows_take(self, &self->kernels, table_of(set, "kernels"), &of_kernels, shared);
}

/* ---- sections ---- */

static size_t lines_of(const text *of) {
  size_t lines = 0;
  for (size_t i = 0; i < of->length; i++) lines += of->data[i] == '\n';
  return lines;
}

static size_t longest_name(const report_rows *rows) {
  size_t longest = 0;
  for (uint32_t i = 0; i < rows->count; i++) {
    const size_t width = pd_text_columns(rows->rows[i].name, strlen(rows->rows[i].name));
    if (width > longest) longest = width;
  }
  return longest;
}

/* A table of at most `limit` rows; times in the unit of the largest, which the heading names. Without bars it has the
 * calls. */
static void put_rows(text *out, const char *title, const report_rows *rows, bool by_step, uint32_t limit,
                     size_t name_columns, size_t bar_columns) {
  if (!rows->count || !limit) return;
  const pd_scale unit = pd_time_scale(rows->rows[0].per_step_ns);
  const bool unicode = plots_unicode();
  char heading[FIGURE_ROOM];
  snprintf(heading, sizeof heading, "%s%s", unit.name, by_step ? "/step" : "");
  text_bold(out, title);
  const size_t used = pd_text_columns(title, strlen(title));
  text_repeat(out, ' ', name_columns + 2 > used ? name_columns + 2 - used : 0);
  text_format(out, "%10s%10s%s\n", heading, "share", bar_columns ? "" : by_step ? "  calls/step" : "       calls");
  for (uint32_t i = 0; i < rows->count && i < limit; i++) {
    const report_row *row = &rows->rows[i];
    char share[FIGURE_ROOM];
    pd_text_percent(share, sizeof share, row->percent);
    text_add(out, "  ");
    text_add_filled(out, row->name, name_columns);
    text_figure(out, row->per_step_ns / unit.size, 10);
    text_format(out, "%10s", share);
    if (bar_columns) {
      text_add(out, "  ");
      plots_bar(out, row->percent / 100, bar_columns, unicode);
    } else {
      text_format(out, "%12.4g", row->per_step_calls);
    }
    text_add(out, "\n");
  }
}

void report_files(text *out, const pd_files *files, size_t columns) {
  const char *line;
  bool any = false;
  if (!files || !PD_HAS(pd_files, files, next_written) || !files->next_written) return;
  while ((line = files->next_written(files))) {
    const char *name = strrchr(line, '/');
    if (!any) text_bold(out, "Files");
    if (!any) text_add(out, "\n");
    any = true;
    if (2 + pd_text_columns(line, strlen(line)) <= columns || !name || !name[1])
      text_format(out, "  %s\n", line);
    else
      text_format(out, "  %.*s\n    %s\n", (int)(name + 1 - line), line, name + 1);
  }
  if (any) text_add(out, "  To open one: pdhost open FILE\n");
}

/* ---- the whole ---- */

void report_line(const report *self, text *out, const pd_summary *summary, size_t columns) {
  text line = {.colour = out->colour};
  if (self->line.length) {
    text_add_bytes(out, self->line.data, self->line.length);
  } else {
    text_add(&line, "Verdict  withheld: ");
    text_add(&line, summary->profile_note ? summary->profile_note : "no window of active steps was finished");
    out->failed = out->failed || line.failed;
    if (!line.failed) text_add_cut(out, line.data, columns + 2);
  }
  text_add(out, "\n");
  text_free(&line);
}

static void put_verdict(const report *self, text *out, const pd_summary *summary, size_t columns) {
  text sentence = {0};
  if (self->verdict.length)
    text_add_bytes(out, self->verdict.data, self->verdict.length);
  else
    report_line(self, out, summary, columns);
  if (self->windows > 1)
    text_format(out, "  Windows      %" PRIu64 ", and %" PRIu64 " of them give this verdict\n", self->windows,
                self->causes[self->last_cause].windows);
  if (PD_HAS(pd_summary, summary, paused_s) && summary->pauses)
    text_format(out, "  Paused       %.3f s, which are in no figure\n", summary->paused_s);
  if (summary->outcome != PD_RUN_COMPLETE) {
    text_format(&sentence, "The run %s%s%s: the figures cover the %" PRIu64 " step%s done.",
                summary->outcome == PD_RUN_INTERRUPTED ? "was interrupted" : "failed", summary->reason ? ": " : "",
                summary->reason ? summary->reason : "", summary->steps, summary->steps == 1 ? "" : "s");
    out->failed = out->failed || sentence.failed;
    if (!sentence.failed) text_wrap(out, sentence.data, columns, 0);
  }
  text_free(&sentence);
}

/* In the place of the steps' times. */
static void put_whole(text *out, double ns) {
  char length[32];
  pd_text_time(length, sizeof length, ns);
  text_bold(out, "Whole file");
  text_format(out, "  no steps were found: the figures are of %s\n", length);
}

static void add_section(text *out, const text *section) {
  out->failed = out->failed || section->failed;
  if (!section->length || section->failed) return;
  text_add_bytes(out, section->data, section->length);
  text_add(out, "\n");
}

/* How many rows a table may have where `left` lines are, with its heading and the line after it; none is less than
 * two. */
static uint32_t rows_in(size_t left) {
  return left < 4 ? 0 : left - 2 > REPORT_ROWS ? REPORT_ROWS : (uint32_t)left - 2;
}

static size_t lines_with(const report_rows *rows, uint32_t limit) {
  const size_t shown = rows->count < limit ? rows->count : limit;
  return shown ? shown + 2 : 0;
}

static size_t within(size_t value, size_t least, size_t most) {
  return value < least ? least : value < most ? value : most;
}

/* Where the time goes, then operators and kernels, in `left` lines. */
static void put_tables(const report *self, text *out, size_t left, size_t columns) {
  const size_t bar = columns < NARROW ? NARROW_BAR_COLUMNS : BAR_COLUMNS, least = (size_t)2 * NAME_LEAST;
  const size_t ledger_most = columns - FIGURES_COLUMNS - 2 - bar, most = columns - FIGURES_COLUMNS - CALLS_COLUMNS;
  text section = {.colour = out->colour};
  uint32_t limit = rows_in(left);
  const bool by_step = self->whole_ns <= 0;
  const char *title = !by_step ? "Where the time goes" : self->by_class ? "Step, by class" : "Where the step goes";
  put_rows(&section, title, &self->ledger, by_step, limit, within(longest_name(&self->ledger), least - 4, ledger_most),
           bar);
  add_section(out, &section);
  left -= lines_with(&self->ledger, limit);
  section.length = 0;
  const size_t of_operators = longest_name(&self->operators), of_kernels = longest_name(&self->kernels);
  const size_t name = within(of_operators > of_kernels ? of_operators : of_kernels, least, most);
  limit = rows_in(self->kernels.count ? left / 2 : left);
  const bool in_steps = by_step && !self->of_file;
  const char *operators = self->by_host ? "Operators, on the host" : "Operators, on the device";
  if (self->of_file) operators = "Operators, whole file";
  put_rows(&section, operators, &self->operators, in_steps, limit, name, 0);
  add_section(out, &section);
  left -= lines_with(&self->operators, limit);
  section.length = 0;
  put_rows(&section, self->of_file ? "Kernels, whole file" : "Kernels", &self->kernels, in_steps, rows_in(left), name,
           0);
  add_section(out, &section);
  text_free(&section);
}

/* Sentences take more lines where these are narrow: the tables keep their room. */
static size_t lines_within(size_t columns) {
  return columns < REPORT_COLUMNS ? (size_t)REPORT_LINES * REPORT_COLUMNS / columns : REPORT_LINES;
}

void report_write(report *self, text *out, const pd_run *run, const pd_summary *summary, const pd_files *files,
                  size_t columns) {
  const bool colour = out->colour;
  text verdict = {.colour = colour}, steps = {.colour = colour}, notes = {.colour = colour}, named = {.colour = colour};
  text *const fixed[] = {&verdict, &steps, &notes, &named};
  size_t used = 1; /* the last line */
  put_verdict(self, &verdict, summary, columns);
  if (self->whole_ns > 0)
    put_whole(&steps, self->whole_ns);
  else
    report_steps(&steps, run, summary, columns);
  if (self->steps_found.length) text_add_bytes(&steps, self->steps_found.data, self->steps_found.length);
  report_notes(&notes, summary, columns);
  report_files(&named, files, columns);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) used += fixed[i]->length ? lines_of(fixed[i]) + 1 : 0;
  add_section(out, &verdict);
  add_section(out, &steps);
  const size_t lines = lines_within(columns);
  put_tables(self, out, used < lines ? lines - used : 0, columns);
  add_section(out, &notes);
  add_section(out, &named);
  report_line(self, out, summary, columns);
  out->failed = out->failed || self->failed || self->verdict.failed || self->line.failed || self->steps_found.failed;
  text_free(&verdict);
  text_free(&steps);
  text_free(&notes);
  text_free(&named);
}

void report_free(report *self) {
  text_free(&self->verdict);
  text_free(&self->line);
  text_free(&self->steps_found);
  rows_free(&self->ledger);
  rows_free(&self->operators);
  rows_free(&self->kernels);
}
