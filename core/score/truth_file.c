/* See truth_file.h. */
#include "truth_file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void take_cures(const json_t *all, truth_label *out) {
  const size_t count = json_array_size(all);
  for (size_t i = 0; i < count && out->cure_count < TRUTH_LABEL_CURES; i++) {
    const json_t *from = json_array_get(all, i), *effect = json_object_get(from, "effect");
    const char *cause = json_string_value(json_object_get(from, "cause"));
    const char *settings = json_string_value(json_object_get(from, "settings"));
    if (!cause || !json_is_object(effect)) continue;
    truth_label_cure *to = &out->cures[out->cure_count++];
    *to = (truth_label_cure){.predicted = json_is_true(json_object_get(from, "predicted")),
                             .is_graph = settings && strstr(settings, "train.cuda_graph=true"),
                             .share = json_number_value(json_object_get(effect, "share")),
                             .low = json_number_value(json_object_get(effect, "share_low")),
                             .high = json_number_value(json_object_get(effect, "share_high"))};
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
  if (json_is_number(share)) out.effect = json_number_value(share);
  if (json_is_number(also)) out.also = json_number_value(also);
  out.is_off_path = where && strcmp(where, "present, off the path") == 0;
  take_cures(json_object_get(root, "cures"), &out);
  json_decref(root);
  return out;
}
