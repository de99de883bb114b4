/* See json_text.h. */
#include "json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text_of(const char *text) {
  if (!text) return json_null();
  json_t *value = json_string(text);
  char *plain = value ? NULL : strdup(text);
  if (!plain) return value;
  for (char *at = plain; *at; at++)
    if ((unsigned char)*at >= 0x80) *at = '?';
  value = json_string(plain);
  free(plain);
  return value;
}

json_t *json_text_number(double value, int decimals) {
  const double scale = pow(10, decimals);
  if (!isfinite(value)) return json_null();
  return json_real(fabs(value) < 1e15 / scale ? round(value * scale) / scale : value);
}

bool json_text_add(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

bool json_text_append(json_t *array, json_t *value) { return json_array_append_new(array, value) == 0; }

/* NOLINTBEGIN(misc-no-recursion): at most `depth` deep */
static bool write_value(const json_t *value, int depth, int indent, int digits, FILE *out);

/* Begins the line of a value within `indent` levels. */
static void begin_line(size_t index, int indent, FILE *out) { fprintf(out, "%s\n%*s", index ? "," : "", indent, ""); }

/* NOLINTNEXTLINE(misc-no-recursion): at most `depth` deep */
static bool write_object(const json_t *value, int depth, int indent, int digits, FILE *out) {
  size_t index = 0;
  bool whole = true;
  putc('{', out);
  for (void *at = json_object_iter((json_t *)value); at; at = json_object_iter_next((json_t *)value, at), index++) {
    json_t *key = json_string(json_object_iter_key(at));
    begin_line(index, indent + 1, out);
    whole = key && json_dumpf(key, out, JSON_ENCODE_ANY) == 0 && whole;
    json_decref(key);
    fputs(": ", out);
    whole = write_value(json_object_iter_value(at), depth - 1, indent + 1, digits, out) && whole;
  }
  fprintf(out, "\n%*s}", indent, "");
  return whole;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most `depth` deep */
static bool write_array(const json_t *value, int depth, int indent, int digits, FILE *out) {
  bool whole = true;
  putc('[', out);
  for (size_t i = 0; i < json_array_size(value); i++) {
    begin_line(i, indent + 1, out);
    whole = write_value(json_array_get(value, i), depth - 1, indent + 1, digits, out) && whole;
  }
  fprintf(out, "\n%*s]", indent, "");
  return whole;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most `depth` deep */
static bool write_value(const json_t *value, int depth, int indent, int digits, FILE *out) {
  if (depth > 0 && json_object_size(value)) return write_object(value, depth, indent, digits, out);
  if (depth > 0 && json_array_size(value)) return write_array(value, depth, indent, digits, out);
  return json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits)) == 0;
}
/* NOLINTEND(misc-no-recursion) */

bool json_text_write(json_t *value, int depth, int digits, FILE *out) {
  const bool whole = value && write_value(value, depth, 0, digits, out);
  json_decref(value);
  putc('\n', out);
  return whole && !ferror(out);
}

bool json_text_print(json_t *value, size_t flags) {
  char *text = value ? json_dumps(value, flags) : NULL;
  json_decref(value);
  if (text) puts(text);
  free(text);
  return text != NULL;
}
