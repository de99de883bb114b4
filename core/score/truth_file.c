/* See truth_file.h. */
#include "truth_file.h"

#include "ledger/verdict.h"
#include "run/ranks/rank_summary.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether it can be a share of a step: without the injection a step takes more than nothing, and less than a million
 * times as long. */
static bool is_share(const json_t *value) {
  return json_is_number(value) && json_number_value(value) <= 1 && json_number_value(value) >= -1e6;
}

static bool is_cause(const char *name) {
  for (uint32_t i = 0; name && i < VERDICT_COUNT; i++)
    if (strcmp(verdict_key(i), name) == 0) return true;
  return name && ranks_verdict_is_cause(name);
}

static double step_of(const json_t *effect) { return 1e3 * json_number_value(json_object_get(effect, "step_us")); }

/* One without figures, as of a cure that did not run, measured nothing. */
static void take_cures(const json_t *all, truth_label *out) {
  const size_t count = json_array_size(all);
  for (size_t i = 0; i < count && out->cure_count < TRUTH_LABEL_CURES; i++) {
    const json_t *from = json_array_get(all, i), *effect = json_object_get(from, "effect");
    const char *cause = json_string_value(json_object_get(from, "cause"));
    const char *settings = json_string_value(json_object_get(from, "settings"));
    const json_t *share = json_object_get(effect, "share"), *low = json_object_get(effect, "share_low"),
                 *high = json_object_get(effect, "share_high");
    if (!is_cause(cause) || !is_share(share) || !is_share(low) || !is_share(high)) continue;
    truth_label_cure *to = &out->cures[out->cure_count++];
    *to = (truth_label_cure){.predicted = json_is_true(json_object_get(from, "predicted")),
                             .is_graph = settings && strstr(settings, "train.cuda_graph=true"),
                             .share = json_number_value(share),
                             .low = json_number_value(low),
                             .high = json_number_value(high),
                             .step_ns = step_of(effect)};
    snprintf(to->cause, sizeof to->cause, "%s", cause);
  }
}

truth_label truth_label_read(const char *path) {
  truth_label out = {.effect = NAN, .also = NAN};
  json_t *root = json_load_file(path, 0, NULL);
  const json_t *share = json_object_get(json_object_get(root, "effect"), "share");
  const json_t *beside = json_array_get(json_object_get(root, "also"), 0),
               *also = json_object_get(json_object_get(beside, "effect"), "share");
  const char *where = json_string_value(json_object_get(root, "path"));
  out.step_ns = step_of(json_object_get(root, "effect"));
  if (is_share(share)) out.effect = json_number_value(share);
  if (is_share(also)) out.also = json_number_value(also);
  out.is_off_path = where && strcmp(where, "present, off the path") == 0;
  take_cures(json_object_get(root, "cures"), &out);
  json_decref(root);
  return out;
}
