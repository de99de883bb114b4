/* See labels.h. */
#include "labels.h"

#include "base/random_bits.h"
#include "base/stats.h"
#include "base/whole_file.h"

#include <pdhost/array.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a file of labels. */
#define LABELS_MOST ((size_t)256 << 20)

typedef struct labels_reading {
  labels *out;
  error *err;
  const char *path;
  double least;
} labels_reading;

static bool refuse(const labels_reading *self, uint32_t number, const char *what) {
  error_set(self->err, PD_INVALID, CODE_CONFIG, "%s: object %u: %s", self->path, number, what);
  return false;
}

static const char *keep(labels_reading *self, const char *text) {
  return arena_text(&self->out->texts, text, strlen(text));
}

static bool add_gain(labels_reading *self, label *to, const char *cause, double share) {
  if (to->gain_count == LABEL_GAINS) return false;
  to->gains[to->gain_count++] = (label_gain){keep(self, cause), share};
  return true;
}

static const json_t *graph_of(const json_t *from) {
  const json_t *graph = json_object_get(from, "graph_share");
  return json_is_number(graph) ? graph : json_object_get(from, "control_as_graph_share");
}

/* What corpus/pytorch measures. */
static bool take_effects(labels_reading *self, const json_t *from, label *to) {
  const json_t *graph = graph_of(from);
  const double effect = json_number_value(json_object_get(from, "effect_share"));
  const bool is_launching = strcmp(to->cause, "launch_bound") == 0, is_none = strcmp(to->cause, "none") == 0;
  const double launching = json_is_number(graph) ? (1 - (is_none ? 0 : effect)) * json_number_value(graph) : 0;
  if (!is_none && !add_gain(self, to, to->cause, is_launching ? effect + launching : effect)) return false;
  return !json_is_number(graph) || is_launching || add_gain(self, to, "launch_bound", launching);
}

static bool take_gains(labels_reading *self, json_t *from, label *to) {
  const char *cause;
  json_t *share;
  json_object_foreach(from, cause, share) {
    if (!json_is_number(share) || !add_gain(self, to, cause, json_number_value(share))) return false;
  }
  return true;
}

static void name_cause(const labels_reading *self, label *of) {
  const label_gain *most = NULL;
  for (uint32_t i = 0; i < of->gain_count; i++)
    if (of->gains[i].share >= self->least && (!most || of->gains[i].share > most->share)) most = &of->gains[i];
  if (of->gain_count) of->cause = most ? most->cause : "none";
}

/* ---- how sure a label is ---- */

typedef struct blocks {
  double shares[LABEL_BLOCKS];
  uint32_t count;
} blocks;

/* Those after the most that count are left out. */
static blocks blocks_of(const json_t *from, const char *key) {
  const json_t *list = json_object_get(from, key);
  blocks out = {.count = 0};
  for (size_t i = 0; i < json_array_size(list) && out.count < LABEL_BLOCKS; i++) {
    const json_t *share = json_array_get(list, i);
    if (json_is_number(share)) out.shares[out.count++] = json_number_value(share);
  }
  return out;
}

/* The median of as many, drawn with repetition; 0 of none. */
static double draw(const blocks *from, uint64_t *state) {
  double drawn[LABEL_BLOCKS];
  for (uint32_t i = 0; i < from->count; i++) drawn[i] = from->shares[random_bits(state) % from->count];
  return from->count ? stats_spread(drawn, from->count).median : 0;
}

/* The cause that these effects have, as name_cause has it. */
static const char *cause_by(const labels_reading *self, const char *injected, double effect, double graph) {
  const bool is_none = strcmp(injected, "none") == 0, is_launching = strcmp(injected, "launch_bound") == 0;
  const double rest = (1 - (is_none ? 0 : effect)) * graph, launching = is_launching ? effect + rest : rest;
  if (!is_none && !is_launching && effect >= self->least && effect > launching) return injected;
  return launching >= self->least ? "launch_bound" : "none";
}

static double agreeing_of(const labels_reading *self, const json_t *from, const label *of) {
  const char *injected = json_string_value(json_object_get(from, "cause"));
  const blocks effect = blocks_of(from, "effect_blocks"), graph = blocks_of(from, "graph_blocks");
  uint64_t state = 1;
  uint32_t agreeing = 0;
  if (!injected || !effect.count) return (double)NAN;
  for (int i = 0; i < LABEL_DRAWS; i++) {
    const double saved = draw(&effect, &state), by_graph = draw(&graph, &state);
    agreeing += strcmp(cause_by(self, injected, saved, by_graph), of->cause) == 0;
  }
  return (double)agreeing / LABEL_DRAWS;
}

static bool take_label(labels_reading *self, const json_t *from, uint32_t number) {
  labels *out = self->out;
  const char *trace = json_string_value(json_object_get(from, "trace"));
  const char *cause = json_string_value(json_object_get(from, "cause"));
  json_t *gains = json_object_get(from, "gains");
  const json_t *saved = json_object_get(from, "graph_gain");
  if (!trace) return refuse(self, number, "it has no \"trace\", the name of a file");
  if (!cause && !json_is_object(gains)) return refuse(self, number, "it has neither \"cause\" nor \"gains\"");
  if (labels_find(out, trace)) return refuse(self, number, "its trace has a label already");
  if (!PD_ARRAY_FIT(out->all, out->room, out->count + 1)) return refuse(self, number, "out of memory");
  label *to = &out->all[out->count++];
  *to = (label){.trace = keep(self, trace),
                .cause = cause ? keep(self, cause) : "none",
                .graph = json_is_number(saved) ? json_number_value(saved) : (double)NAN,
                .by_graph = json_is_number(graph_of(from)) && cause && strcmp(cause, "launch_bound") != 0,
                .is_unsure = json_is_false(json_object_get(from, "sure")),
                .agreeing = (double)NAN};
  const bool measured = !gains && json_is_number(json_object_get(from, "effect_share"));
  if (json_is_object(gains) && !take_gains(self, gains, to))
    return refuse(self, number, "\"gains\" are at most 16 causes with a number each");
  if (measured && !take_effects(self, from, to)) return refuse(self, number, "out of memory");
  if (!isnan(self->least)) {
    name_cause(self, to);
    to->agreeing = agreeing_of(self, from, to);
  }
  return out->texts.failed ? refuse(self, number, "out of memory") : true;
}

/* A list, or one object after the other. */
static bool take_text(labels_reading *self, const char *text, size_t bytes) {
  size_t at = 0;
  uint32_t number = 0;
  for (;;) {
    at += strspn(text + at, " \t\r\n");
    if (at >= bytes) return true;
    json_error_t why;
    json_t *value = json_loadb(text + at, bytes - at, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &why);
    if (!value) return refuse(self, number + 1, why.text);
    bool good = true;
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count && good; i++)
      good = take_label(self, json_is_array(value) ? json_array_get(value, i) : value, ++number);
    json_decref(value);
    if (!good) return false;
    at += (size_t)why.position;
  }
}

bool labels_read(const char *path, double least, labels *out, error *err) {
  *out = (labels){.count = 0};
  labels_reading self = {.out = out, .err = err, .path = path, .least = least};
  size_t bytes = 0;
  char *text = NULL, why[512];
  const pd_status status = whole_file_read(path, "labels", LABELS_MOST, &text, &bytes, why, sizeof why);
  if (status != PD_OK) {
    error_set(err, status, CODE_CONFIG, "%s", why);
    return false;
  }
  const bool good = take_text(&self, text, bytes);
  free(text);
  if (good && !out->count) error_set(err, PD_INVALID, CODE_CONFIG, "%s: it holds no label", path);
  return good && out->count > 0;
}

void labels_free(labels *self) {
  free(self->all);
  arena_free(&self->texts);
}

const label *labels_find(const labels *self, const char *trace) {
  for (uint32_t i = 0; i < self->count; i++)
    if (strcmp(self->all[i].trace, trace) == 0) return &self->all[i];
  return NULL;
}
