/* See samples.h. */
#include "samples.h"

#include "base/visible.h"
#include "measure/measurement_json.h"

#include <pdhost/array.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool samples_same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static const char *or_empty(const char *text) { return text ? text : ""; }

const char *sample_label(const sample *self) {
  return or_empty(self->of->label ? self->of->label : self->of->scenario);
}

const char *sample_row_name(const sample *self) {
  const char *name = self->of->sub_label;
  return name && name[0] ? name : or_empty(self->of->scenario);
}

const char *sample_title(const sample *self, bool description, char *text, size_t room) {
  char name[256], threads[32] = "";
  const char *what = description && self->of->description ? self->of->description : "";
  if (self->of->threads > 1) snprintf(threads, sizeof threads, ", %llu threads", (unsigned long long)self->of->threads);
  snprintf(text, room, "%s%s%s%s", measurement_title(self->of, name, sizeof name), what[0] ? ", " : "", what, threads);
  return text;
}

static bool same_task(const pd_measurement *a, const pd_measurement *b) {
  return a && b && a->threads == b->threads && samples_same_text(a->label, b->label) &&
         samples_same_text(a->sub_label, b->sub_label) && samples_same_text(a->description, b->description) &&
         samples_same_text(a->env, b->env) && samples_same_text(a->scenario, b->scenario);
}

static bool no_memory(error *err) {
  error_no_memory(err);
  return false;
}

/* Appends the times of measurement `index` of its file to their sample, a new one where there is none yet. */
static bool merge(samples *self, const pd_measurement *of, uint64_t index, uint32_t file, const char *path, bool device,
                  error *err) {
  uint32_t at = 0;
  while (at < self->count && !(self->all[at].file == file && same_task(self->all[at].of, of))) at++;
  sample *to = &self->all[at];
  if (at == self->count) {
    *to = (sample){.of = of, .file = file};
    self->count++;
  }
  if (!PD_ARRAY_FIT(to->times, to->room, to->figures.count + of->block_count)) return no_memory(err);
  if (measurement_run_times(of, device, to->times + to->figures.count) != PD_OK) {
    error_set(err, PD_UNSUPPORTED, CODE_CONFIG,
              "%s: measurement %llu has no device times; leave --time device out to compare its host times", path,
              (unsigned long long)index);
    return false;
  }
  to->figures.count += of->block_count;
  to->partial |= of->partial;
  if (!to->instructions && of->instructions.repeats) to->instructions = &of->instructions;
  return true;
}

static bool finish(samples *self, error *err) {
  for (uint32_t i = 0; i < self->count; i++) {
    sample *at = &self->all[i];
    if (!statistics_make(at->times, at->figures.count, &at->figures)) return no_memory(err);
    at->shown = at->figures.figures;
  }
  return true;
}

/* File names without folder and ".json"; the whole paths where those are not unique. */
static bool name_files(samples *self, const char *const *paths, error *err) {
  bool unique = true;
  for (uint32_t i = 0; i < self->file_count; i++) {
    const char *slash = strrchr(paths[i], '/'), *name = slash ? slash + 1 : paths[i];
    const size_t length = strlen(name);
    const bool ends = length > 5 && strcmp(name + length - 5, ".json") == 0;
    self->names[i] = strndup(name, ends ? length - 5 : length);
    if (!self->names[i]) return no_memory(err);
    for (uint32_t other = 0; other < i; other++) unique = unique && strcmp(self->names[i], self->names[other]) != 0;
  }
  for (uint32_t i = 0; i < self->file_count && !unique; i++) {
    free(self->names[i]);
    self->names[i] = strdup(paths[i]);
    if (!self->names[i]) return no_memory(err);
  }
  return true;
}

/* A run is one measurement: a table of all runs, a row per scenario. */
static pd_status add_run(samples *self, const json_t *document, const char *path, run_account *said, char *why,
                         size_t room) {
  pd_measurement row;
  pd_status status = run_document_read(document, path, RUN_TIME_ITERATION, &row, why, room);
  if (status != PD_OK) return status;
  status = measurement_set(&row.label, "iteration of a run");
  if (status == PD_OK) status = measurement_set(&row.sub_label, row.scenario);
  if (status == PD_OK) status = run_account_read(document, said);
  if (status == PD_OK) status = measurements_add(&self->rows, &row);
  measurement_clear(&row);
  if (status != PD_OK) snprintf(why, room, "%s: out of memory", path);
  return status;
}

static bool read_file(samples *self, const char *path, run_account *said, error *err) {
  char why[ERROR_LINE_BYTES];
  pd_status status;
  json_t *document = measurements_parse(path, &status, why, sizeof why);
  if (document)
    status = run_document_is(document) ? add_run(self, document, path, said, why, sizeof why)
                                       : measurements_from_document(document, path, &self->rows, why, sizeof why);
  json_decref(document);
  if (status != PD_OK) error_set(err, status, status == PD_NO_MEMORY ? CODE_INTERNAL : CODE_CONFIG, "%s", why);
  return status == PD_OK;
}

static bool read_all(samples *self, const char *const *paths, bool device, error *err) {
  uint64_t *ends = calloc(self->file_count, sizeof *ends); /* rows up to and with each file */
  bool ok = ends || no_memory(err);
  for (uint32_t i = 0; i < self->file_count && ok; i++) {
    ok = read_file(self, paths[i], &self->runs[i], err);
    ends[i] = self->rows.count;
  }
  if (ok) {
    self->all = calloc(self->rows.count, sizeof *self->all);
    ok = self->all || no_memory(err);
  }
  uint32_t file = 0;
  for (uint64_t row = 0; row < self->rows.count && ok; row++) {
    while (row >= ends[file]) file++;
    ok = merge(self, &self->rows.rows[row], row - (file ? ends[file - 1] : 0), file, paths[file], device, err);
  }
  free(ends);
  return ok && finish(self, err);
}

bool samples_read(const char *const *paths, uint32_t count, bool device, samples *out, error *err) {
  *out = (samples){.file_count = count};
  out->names = calloc(count, sizeof *out->names);
  out->runs = calloc(count, sizeof *out->runs);
  if (((out->names && out->runs) || no_memory(err)) && name_files(out, paths, err) && read_all(out, paths, device, err))
    return true;
  samples_free(out);
  return false;
}

bool samples_of(const pd_measurements *rows, const char *name, bool device, samples *out, error *err) {
  *out = (samples){.file_count = 1};
  out->names = calloc(1, sizeof *out->names);
  out->all = calloc(rows->count ? rows->count : 1, sizeof *out->all);
  bool ok = (out->names && out->all) || no_memory(err);
  if (ok) ok = name_files(out, &name, err);
  for (uint64_t row = 0; row < rows->count && ok; row++) ok = merge(out, &rows->rows[row], row, 0, name, device, err);
  if (ok && finish(out, err)) return true;
  samples_free(out);
  return false;
}

/* ---- what is shown ---- */

static bool make_visible(char **text) {
  if (!*text || visible_is(*text)) return true;
  const size_t room = VISIBLE_GROWTH * strlen(*text) + 2;
  char *made = malloc(room);
  if (!made) return false;
  visible_copy(made, room, *text);
  free(*text);
  *text = made;
  return true;
}

static bool make_pairs_visible(pd_pairs *pairs) {
  bool ok = true;
  for (uint64_t i = 0; i < pairs->count; i++)
    ok = ok && make_visible(&pairs->rows[i].key) && make_visible(&pairs->rows[i].value);
  return ok;
}

bool samples_row_make_visible(pd_measurement *row) {
  char **const texts[] = {&row->label,  &row->sub_label, &row->description,       &row->env, &row->scenario,
                          &row->device, &row->method,    &row->instructions.tool, NULL};
  bool ok =
      make_pairs_visible(&row->options) && make_pairs_visible(&row->versions) && make_pairs_visible(&row->conditions);
  for (char **const *text = texts; *text && ok; text++) ok = make_visible(*text);
  for (uint64_t i = 0; i < row->warning_count && ok; i++) ok = make_visible(&row->warnings[i]);
  for (uint64_t i = 0; i < row->instructions.function_count && ok; i++)
    ok = make_visible(&row->instructions.functions[i].name) && make_visible(&row->instructions.functions[i].object);
  return ok;
}

static bool run_visible(run_account *said) {
  bool ok = make_visible(&said->verdict);
  for (uint32_t i = 0; i < said->part_count && ok; i++) ok = make_visible(&said->parts[i].category);
  return ok;
}

bool samples_make_visible(samples *self) {
  bool ok = true;
  for (uint64_t i = 0; i < self->rows.count && ok; i++) ok = samples_row_make_visible(&self->rows.rows[i]);
  for (uint32_t i = 0; i < self->file_count && ok; i++) {
    ok = make_visible(&self->names[i]);
    if (self->runs) ok = ok && run_visible(&self->runs[i]);
  }
  return ok;
}

/* Far below a unit of the last figure, far above what rounding to one costs. */
#define PRINTED_ALIKE 1e-9

int samples_by_median(const void *a, const void *b) {
  const double x = (*(const sample *const *)a)->figures.median, y = (*(const sample *const *)b)->figures.median;
  return (x > y) - (x < y);
}

static bool is_below(double a, double b) { return a < b * (1 - PRINTED_ALIKE); }

bool samples_tell_order(const sample *low, const sample *high, double low_number, double high_number, bool apart) {
  if (is_below(high_number, low_number)) return false;
  return !apart || is_below(low_number, high_number) ||
         !is_below(statistics_trim(low->figures.median, STATISTICS_FIGURES),
                   statistics_trim(high->figures.median, STATISTICS_FIGURES));
}

static bool shows_order(const sample *low, const sample *high, bool apart) {
  return samples_tell_order(low, high, statistics_trim(low->figures.median, low->shown),
                            statistics_trim(high->figures.median, high->shown), apart);
}

/* One figure more of the one that has fewer. */
static void show_more(sample *a, sample *b) { (*(a->shown <= b->shown ? &a->shown : &b->shown))++; }

bool samples_show_order(samples *self) {
  sample **sorted = calloc(self->count + 1u, sizeof *sorted);
  if (!sorted) return false;
  for (uint32_t i = 0; i < self->count; i++) sorted[i] = &self->all[i];
  qsort(sorted, self->count, sizeof(void *), samples_by_median);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t i = 1; i < self->count; i++)
      for (; !shows_order(sorted[i - 1], sorted[i], i == 1); again = true) show_more(sorted[i - 1], sorted[i]);
  }
  free(sorted);
  self->in_order = true;
  return true;
}

void samples_free(samples *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->all[i].times);
  for (uint32_t i = 0; i < self->file_count && self->names; i++) free(self->names[i]);
  for (uint32_t i = 0; i < self->file_count && self->runs; i++) run_account_free(&self->runs[i]);
  free(self->names);
  free(self->runs);
  free(self->all);
  measurements_clear(&self->rows);
  *self = (samples){.count = 0};
}
