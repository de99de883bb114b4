/* See trace_answers.h. */
#include "trace_answers.h"

#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "ledger/gains.h"
#include "run/import/import_windows.h"
#include "tables/verdict_withheld.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct taking {
  arena *texts;
  trace_answer *to;
} taking;

/* The last of several windows counts. */
static int take_window(void *user, const char *path, pd_trace *trace) {
  taking *self = user;
  trace_answer *to = self->to;
  gains of = {0};
  trace_facts *facts = facts_open(trace);
  bool ok = facts && gains_find(facts, &of);
  if (ok) {
    to->why = verdict_withheld(facts, &of, self->texts, NULL);
    to->said.cause = to->why ? "withheld" : verdict_key(of.cause);
    to->said.gain_count = 0;
    to->said.graph = to->why ? (double)NAN : fmax(0, of.causes[VERDICT_launch_bound].captured);
    to->said.is_unsure = !to->why && !gains_are_sure(&of);
    for (uint32_t c = 0; c < VERDICT_none && !to->why; c++)
      if (of.causes[c].applies && to->said.gain_count < LABEL_GAINS)
        to->said.gains[to->said.gain_count++] =
            (label_gain){verdict_key(c), of.causes[c].gain > 0 ? of.causes[c].gain : 0};
  }
  for (uint32_t r = 0; r < RIVAL_COUNT && ok; r++) ok = (to->rivals[r] = rival_all[r]->judge(facts)) != NULL;
  gains_free(&of);
  facts_close(facts);
  if (ok && !self->texts->failed) return CODE_DONE;
  error_line_print(FAULT_MEMORY, NULL, "%s: out of memory", path);
  return CODE_INTERNAL;
}

/* False: a signal came, or there is no memory. */
static bool answer(config *settings, const char *path, const char *trace, taking *self) {
  const import_request request = {.files = &path, .file_count = 1};
  *self->to = (trace_answer){.said = {.trace = trace, .cause = "failed", .graph = (double)NAN}};
  const int code = import_windows(settings, &request, path, take_window, self);
  return code < 128 && code != CODE_INTERNAL;
}

bool trace_answers_make(const labels *of, const char *folder, bool no_python, trace_answers *out, error *err) {
  const config_input input = {.is_analysis = true, .no_python = no_python};
  config *settings = NULL;
  *out = (trace_answers){.all = calloc((size_t)of->count + 1, sizeof *out->all)};
  if (!out->all) {
    error_no_memory(err);
    return false;
  }
  if (config_load(&input, &settings, err) != PD_OK) return false;
  settings->quiet = true;
  progress_begin("score", false);
  bool ok = true;
  for (uint32_t i = 0; i < of->count && ok; i++) {
    taking self = {.texts = &out->texts, .to = &out->all[i]};
    progress_enter("reading traces", NULL, 0);
    progress_note("%u of %u: %s", i + 1, of->count, of->all[i].trace);
    const char *path = arena_format(&out->texts, "%s/%s", folder, of->all[i].trace);
    ok = path && answer(settings, path, of->all[i].trace, &self);
  }
  progress_end();
  log_flush_repeats();
  config_free(settings);
  if (!ok) error_set(err, PD_INVALID, CODE_INTERNAL, "score: the traces were not read to the end");
  return ok;
}

void trace_answers_free(trace_answers *self) {
  free(self->all);
  arena_free(&self->texts);
}
