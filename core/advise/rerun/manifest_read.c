/* See manifest_read.h. */
#include "manifest_read.h"

#include "run/manifest/manifest.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

typedef struct part {
  const char *key;
  json_type type, inner; /* inner: of each value */
  bool may_be_null;      /* a value */
} part;

static const part parts[] = {
    {"program", JSON_OBJECT, JSON_STRING, false},   {"plugins", JSON_OBJECT, JSON_STRING, false},
    {"libraries", JSON_OBJECT, JSON_STRING, false}, {"configuration", JSON_OBJECT, JSON_STRING, false},
    {"seeds", JSON_OBJECT, JSON_STRING, false},     {"environment", JSON_OBJECT, JSON_STRING, false},
    {"device", JSON_OBJECT, JSON_STRING, false},    {"machine", JSON_OBJECT, JSON_STRING, false},
    {"given", JSON_ARRAY, JSON_STRING, false},      {"windows", JSON_ARRAY, JSON_OBJECT, false},
    {"losses", JSON_ARRAY, JSON_REAL, true},        {"step_time_ns", JSON_ARRAY, JSON_INTEGER, false}};

static bool fits(const part *want, const json_t *value) {
  return json_typeof(value) == want->inner || (want->may_be_null && json_is_null(value));
}

static bool is_part(const part *want, const json_t *value) {
  const char *key;
  const json_t *at;
  size_t i;
  if (!value || json_typeof(value) != want->type) return false;
  json_array_foreach(value, i, at) if (!fits(want, at)) return false;
  json_object_foreach((json_t *)value, key, at) if (!fits(want, at)) return false;
  return true;
}

static bool is_count(const json_t *value) { return json_is_integer(value) && json_integer_value(value) >= 0; }

static bool is_window(const json_t *window) {
  const json_t *names = json_object_get(window, "names");
  const char *key;
  const json_t *at;
  if (!is_count(json_object_get(window, "operations")) || !is_count(json_object_get(window, "launches")) ||
      !is_count(json_object_get(window, "steps")) || !json_is_string(json_object_get(window, "sha256")) ||
      !json_is_object(names))
    return false;
  json_object_foreach((json_t *)names, key, at) if (!is_count(at)) return false;
  return true;
}

/* What is wrong with it; NULL: nothing. */
static const char *fault_of(const json_t *document) {
  static const char *const texts[] = {"scenario", "outcome"};
  const json_t *at;
  size_t i;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (!json_is_string(json_object_get(document, texts[i]))) return texts[i];
  if (!json_is_integer(json_object_get(document, "ranks"))) return "ranks";
  for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (!is_part(&parts[i], json_object_get(document, parts[i].key))) return parts[i].key;
  json_array_foreach(json_object_get(document, "windows"), i, at) if (!is_window(at)) return "windows";
  return NULL;
}

static bool check(const json_t *document, const char *path, error *err) {
  const char *format = json_string_value(json_object_get(document, "format"));
  const bool is_manifest = format && strncmp(format, MANIFEST_FORMAT, sizeof MANIFEST_FORMAT - 2) == 0;
  if (!is_manifest) {
    error_set(err, PD_INVALID, FAULT_UNREADABLE,
              "rerun: %s: not a manifest; each run writes one, as " MANIFEST_FILE " in its folder", path);
    return false;
  }
  if (strcmp(format, MANIFEST_FORMAT) != 0) {
    error_set(err, PD_INVALID, FAULT_UNREADABLE, "rerun: %s: %s is a format that this version does not know", path,
              format);
    return false;
  }
  const char *fault = fault_of(document);
  if (fault)
    error_set(err, PD_INVALID, FAULT_UNREADABLE,
              "rerun: %s: the manifest is broken: %s is missing or has a wrong value", path, fault);
  return !fault;
}

json_t *manifest_read(const char *path, error *err) {
  char inner[PATH_BYTES];
  struct stat about;
  json_error_t problem;
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
    (void)snprintf(inner, sizeof inner, "%s/" MANIFEST_FILE, path);
    path = inner;
  }
  json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (!document) {
    if (problem.line > 0)
      error_set(err, PD_INVALID, FAULT_UNREADABLE, "rerun: %s:%d: not a manifest: %s", path, problem.line,
                problem.text);
    else
      error_set(err, PD_IO, FAULT_UNREADABLE, "rerun: %s", problem.text);
    return NULL;
  }
  if (check(document, path, err)) return document;
  json_decref(document);
  return NULL;
}
