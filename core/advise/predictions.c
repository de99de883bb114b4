/* See predictions.h. */
#include "predictions.h"

#include "base/self_path.h"
#include "config/assignments.h"
#include "run/saved_run.h"
#include "score/window_reader.h"
#include "tables/window_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, KEY_BYTES = 256 };

/* ---- the run ---- */

/* What the window's run has of its own. */
static bool is_own(const config_assignment *at) {
  if (!strncmp(at->section, "sink.", 5)) return true;
  return !strcmp(at->section, "run") &&
         (!strcmp(at->key, "sinks") || !strcmp(at->key, "trace_dir") || !strcmp(at->key, "mode"));
}

static void set_all(saved_run *self, const config_assignment *all, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "%s.%s", all[i].section, all[i].key);
    if (!is_own(&all[i])) saved_run_set(self, key, all[i].value);
  }
}

static void make_command(saved_run *self, const char *program, const cli_args *args, const assignments *set,
                         const char *folder) {
  saved_run_word(self, program);
  saved_run_word(self, "-q");
  if (args->plugin_path) {
    saved_run_word(self, "--plugin-path");
    saved_run_word(self, args->plugin_path);
  }
  for (uint32_t i = 0; i < args->input.file_count; i++) {
    saved_run_word(self, "-c");
    saved_run_word(self, args->input.files[i]);
  }
  set_all(self, args->input.assignments, args->input.assignment_count);
  set_all(self, set->all, set->count);
  saved_run_set(self, "run.mode", "train");
  saved_run_set(self, "run.trace_dir", folder);
  saved_run_word(self, "--sink");
  saved_run_word(self, "window");
}

static bool record(const cli_args *args, const assignments *set, const char *folder, const char *where, error *err) {
  char program[PATH_BYTES], line[ERROR_LINE_BYTES];
  saved_run command = {.words = NULL};
  int code = CODE_DONE;
  if (!self_path(program, sizeof program)) {
    error_set(err, PD_IO, CODE_INTERNAL,
              "%s: where pdhost itself lies is not known; mount /proc, or start it by its path", where);
    return false;
  }
  make_command(&command, program, args, set, folder);
  const bool ran = saved_run_do(&command, folder, &code, err);
  saved_run_clear(&command);
  if (!ran) return false;
  if (code == CODE_DONE || code == CODE_UNTRUSTED) return true;
  error_set(err, PD_INVALID, code, "%s: the run that was to be recorded failed: %s", where,
            saved_run_said(folder, line, sizeof line));
  return false;
}

/* ---- its window ---- */

/* What the first cure is predicted to save. */
static double saved(const prediction *self) {
  return self->cure_count && !self->cures[0].unpredicted ? cure_saves(&self->cures[0], self->gain) : self->gain;
}

static int by_saved(const void *a, const void *b) {
  const double x = saved(a), y = saved(b);
  return (x < y) - (x > y);
}

static void take_causes(const verdict_setting *setting, predictions *out) {
  const gains *of = setting->gains;
  for (uint32_t c = 0; c < VERDICT_profiler; c++) {
    const gains_cause *from = &of->causes[c];
    if (!from->applies) continue;
    prediction *to = &out->all[out->count++];
    *to = (prediction){.cause = c, .gain = from->gain, .low = from->low, .high = from->high};
    to->cure_count = cures_find(setting, c, to->cures);
  }
  prediction *rest = &out->all[out->count++];
  *rest = (prediction){.cause = VERDICT_none};
  rest->cure_count = cures_find(setting, VERDICT_none, rest->cures);
  qsort(out->all, out->count, sizeof *out->all, by_saved);
}

static bool replay_window(const window_file *window, predictions *out) {
  trace_facts *facts = facts_open(&window->trace);
  gains found = {0};
  const bool ok = facts && gains_find(facts, &found);
  if (ok) {
    const verdict_setting setting = {.facts = facts,
                                     .gains = &found,
                                     .cures = window->cures,
                                     .offers = window->run.offers,
                                     .cores = window->run.cores,
                                     .num_workers = window->run.num_workers,
                                     .is_cuda = window->device.is_cuda,
                                     .arena = &out->texts};
    out->step_ns = found.step_ns;
    out->busy = found.busy;
    take_causes(&setting, out);
  }
  gains_free(&found);
  facts_close(facts);
  return ok;
}

static const pd_cell *cell_of(const pd_table *table, const char *key) {
  for (uint32_t c = 0; table->rows.count && c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return &PD_AT(pd_table_row, &table->rows, 0)->cells[c];
  return NULL;
}

/* The verdict's own words, where it is withheld. */
static void take_withheld(const pd_table_set *set, predictions *out) {
  for (uint32_t i = 0; i < set->count; i++) {
    if (strcmp(set->tables[i]->id, "verdict") != 0) continue;
    const pd_cell *cause = cell_of(set->tables[i], "verdict_cause"), *text = cell_of(set->tables[i], "verdict");
    if (!cause || !text || strcmp(cause->v.text, "withheld") != 0) continue;
    out->withheld = arena_text(&out->texts, text->v.text, strlen(text->v.text));
  }
}

/* The scenario's texts are the window's, which goes: the cures' are kept. */
static bool keep_cures(predictions *out) {
  for (uint32_t i = 0; i < out->count; i++)
    for (uint32_t c = 0; c < out->all[i].cure_count; c++) {
      const char *settings = out->all[i].cures[c].settings;
      out->all[i].cures[c].settings = arena_text(&out->texts, settings, strlen(settings));
    }
  return !out->texts.failed;
}

static bool judge(const window_file *window, predictions *out) {
  const analysis_context context = {
      .device = &window->device, .batch_size = window->run.batch_size, .offers = window->run.offers};
  const pd_table_request request = {.size = sizeof request};
  analysis *self = NULL;
  if (analysis_open(&context, &self) != PD_OK) return false;
  const pd_analysis *tables = analysis_table(self);
  const pd_table_set *set = tables->tables(tables, &window->trace, &request);
  if (set) take_withheld(set, out);
  analysis_close(self);
  snprintf(out->device, sizeof out->device, "%s", window->device.name);
  snprintf(out->scenario, sizeof out->scenario, "%s", window->texts[PD_WINDOW_TEXT_SCENARIO]);
  return set && replay_window(window, out) && keep_cures(out);
}

bool predictions_record(const cli_args *args, const char *set, const char *folder, const char *where, predictions *out,
                        error *err) {
  char path[PATH_BYTES];
  assignments more;
  window_file window;
  if (!assignments_parse(set, where, &more, err)) return false;
  bool ok = record(args, &more, folder, where, err);
  assignments_free(&more);
  snprintf(path, sizeof path, "%s/window0.pdw", folder);
  if (!ok || !window_file_read(path, &window, err)) return false;
  ok = judge(&window, out);
  window_file_close(&window);
  if (!ok) error_no_memory(err);
  return ok;
}

void predictions_free(predictions *self) {
  arena_free(&self->texts);
  *self = (predictions){.count = 0};
}

const char *predictions_name(uint32_t cause, char *text, size_t room) {
  const char *whole = cause == VERDICT_none ? "a busy device" : verdict_text(cause);
  snprintf(text, room, "%.*s", (int)strcspn(whole, ":"), whole);
  return text;
}
