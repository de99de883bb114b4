/* See truth_file.h. */
#include "truth_file.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

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
  json_decref(root);
  return out;
}
