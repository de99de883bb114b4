/* See ab_report.h. */
#include "ab_report.h"

#include "grid.h"
#include "render.h"

#include "base/json_text.h"
#include "base/progress_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define AB_FORMAT "pdhost.ab/1"

static bool no_memory(error *err) {
  error_no_memory(err);
  return false;
}

/* ---- text ---- */

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static void print_end(const ab_report *self, FILE *out) {
  const ab_result *of = self->of;
  fprintf(out,
          "         %" PRIu64 " restart%s, %" PRIu64 " round%s A B B A, B A A B; %" PRIu64
          " run%s a block; %.1f s; ended %s\n",
          of->restart_count, plural(of->restart_count), of->rounds, plural(of->rounds), of->number, plural(of->number),
          of->spent_s,
          self->partial ? "early"
          : of->narrow  ? "because the interval is narrow enough"
                        : "because the time was up");
  if (of->restart_count < COMPARISON_RESTARTS_LEAST)
    fprintf(out, "         %d restarts are needed for a verdict: give it a longer --max-time\n",
            COMPARISON_RESTARTS_LEAST);
  if (of->of.spread >= COMPARISON_WIDE_SPREAD)
    fprintf(out, "         the rounds disagree by %.0f %%: the machine may be busy with other work%s\n",
            100 * of->of.spread,
            self->verdict == OUTCOME_UNCLEAR ? ", which may explain the difference"
                                             : "; the difference is far larger than that");
  if (of->dropped)
    fprintf(out, "         %" PRIu64 " round%s left out: the clock gave no time\n", of->dropped, plural(of->dropped));
}

static bool has_warning(const pd_measurement *row, const char *text) {
  for (uint64_t i = 0; i < row->warning_count; i++)
    if (strcmp(row->warnings[i], text) == 0) return true;
  return false;
}

/* What is said of both sides, once. */
static void print_warnings(const ab_report *self, FILE *out) {
  static const char *const names[] = {"A: ", "B: "};
  for (int side = 0; side < 2; side++) {
    const pd_measurement *row = &self->sides->rows.rows[side], *other = &self->sides->rows.rows[1 - side];
    for (uint64_t i = 0; i < row->warning_count; i++) {
      const char *text = row->warnings[i];
      const bool shared = has_warning(other, text);
      if (side && shared) continue;
      fprintf(out, "         WARNING: %s", shared ? "" : names[side]);
      for (; *text; text++) fputc(*text == '\n' ? ' ' : *text, out);
      fputc('\n', out);
    }
  }
}

static bool print_table(const ab_report *self, bool color, FILE *out, error *err) {
  samples from;
  grids tables;
  if (!samples_of(&self->sides->rows, "ab", false, &from, err)) return false;
  const bool ok = grids_make(&from, &tables) || no_memory(err);
  for (uint32_t i = 0; ok && i < tables.count; i++) render_text(&tables.all[i], color, out);
  if (ok) grids_free(&tables);
  samples_free(&from);
  return ok;
}

bool ab_report_text(const ab_report *self, bool color, FILE *out, error *err) {
  char text[256];
  if (!print_table(self, color, out, err)) return false;
  comparison_sentence(&self->of->of.of, "A", "B", text, sizeof text);
  fprintf(out, "\n%s%-7s%s  %s\n", color ? comparison_color(self->verdict) : "", comparison_word(self->verdict),
          color ? "\033[0m" : "", text);
  print_end(self, out);
  print_warnings(self, out);
  return true;
}

/* ---- CSV ---- */

bool ab_report_csv(const ab_report *self, error *err) {
  samples from;
  grids tables;
  if (!samples_of(&self->sides->rows, "ab", false, &from, err)) return false;
  const bool ok = grids_make(&from, &tables) || no_memory(err);
  if (ok) render_csv_heading(stdout);
  for (uint32_t i = 0; ok && i < tables.count; i++) render_csv(&tables.all[i], &from, stdout);
  if (ok) grids_free(&tables);
  samples_free(&from);
  return ok;
}

/* ---- JSON ---- */

/* null where there are no such times. */
static json_t *times_value(const double *times, uint64_t count) {
  if (!times) return json_null();
  json_t *array = json_array();
  for (uint64_t i = 0; i < count && array; i++)
    if (json_array_append_new(array, json_real(times[i])) != 0) {
      json_decref(array);
      array = NULL;
    }
  return array;
}

static json_t *warnings_value(const pd_measurement *row) {
  json_t *array = json_array();
  for (uint64_t i = 0; i < row->warning_count && array; i++)
    if (json_array_append_new(array, json_string(row->warnings[i])) != 0) {
      json_decref(array);
      array = NULL;
    }
  return array;
}

static json_t *side_value(const ab_report *self, int side) {
  const pd_measurement *row = &self->sides->rows.rows[side];
  return json_pack("{s:s, s:o, s:o, s:o}", "set", self->sides->texts[side], "host_s",
                   times_value(row->host_s, row->block_count), "device_s", times_value(row->device_s, row->block_count),
                   "warnings", warnings_value(row));
}

bool ab_report_json(const ab_report *self, error *err) {
  const ab_result *of = self->of;
  const pd_measurement *row = &self->sides->rows.rows[0];
  json_t *document = json_pack(
      "{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:b, s:b, s:o, s:o}", "format",
      AB_FORMAT, "scenario", row->scenario, "device", row->device, "verdict", comparison_word(self->verdict), "ratio",
      of->of.of.ratio, "low", of->of.of.low, "high", of->of.of.high, "p", of->of.of.p, "margin", self->margin, "spread",
      of->of.spread, "rounds", (json_int_t)of->rounds, "restarts", (json_int_t)of->restart_count, "dropped",
      (json_int_t)of->dropped, "number_per_run", (json_int_t)of->number, "spent_s", of->spent_s, "narrow",
      (int)of->narrow, "partial", (int)self->partial, "a", side_value(self, 0), "b", side_value(self, 1));
  return json_text_print(document, JSON_COMPACT | JSON_REAL_PRECISION(17)) || no_memory(err);
}

/* ---- progress ---- */

void ab_report_progress(const ab_result *so_far, double max_time_s) {
  const resample_ratio *ratio = &so_far->of.of;
  progress_ends_within(max_time_s - so_far->spent_s);
  if (ratio->ratio > 0)
    progress_note("%" PRIu64 " rounds, B/A %.4f (%.4f to %.4f)", so_far->rounds, ratio->ratio, ratio->low, ratio->high);
  else
    progress_note("%" PRIu64 " round%s", so_far->rounds, plural(so_far->rounds));
}
