/* See truth_file.h. */
#include "truth_file.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

truth_label truth_label_read(const char *path) {
  truth_label out = {.effect = NAN};
  json_t *root = json_load_file(path, 0, NULL);
  const json_t *share = json_object_get(json_object_get(root, "effect"), "share");
  const char *where = json_string_value(json_object_get(root, "path"));
  if (json_is_number(share)) out.effect = json_number_value(share);
  out.is_off_path = where && strcmp(where, "present, off the path") == 0;
  json_decref(root);
  return out;
}
