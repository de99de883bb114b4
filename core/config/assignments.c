/* See assignments.h. */
#include "assignments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(error *err) {
  error_no_memory(err);
  return false;
}

char *assignment_trim(char *text) {
  size_t end = strlen(text);
  while (end && isspace((unsigned char)text[end - 1])) end--;
  text[end] = '\0';
  while (isspace((unsigned char)*text)) text++;
  return text;
}

bool assignment_split(char *text, const char **section, const char **key, char **value) {
  char *equals = strchr(text, '=');
  if (!equals) return false;
  *equals = '\0';
  char *name = assignment_trim(text), *dot = strrchr(name, '.');
  if (!dot || dot == name || !dot[1]) {
    *equals = '=';
    return false;
  }
  *dot = '\0';
  *section = assignment_trim(name);
  *key = assignment_trim(dot + 1);
  *value = assignment_trim(equals + 1);
  return true;
}

bool assignments_parse(const char *text, const char *what, assignments *out, error *err) {
  const size_t length = strlen(text);
  *out = (assignments){.memory = strdup(text), .all = calloc(length / 2 + 1, sizeof *out->all)};
  if (!out->memory || !out->all) {
    assignments_free(out);
    return no_memory(err);
  }
  char *place = NULL;
  for (char *word = strtok_r(out->memory, " ", &place); word; word = strtok_r(NULL, " ", &place)) {
    config_assignment *to = &out->all[out->count++];
    char *value = NULL;
    *to = (config_assignment){.origin = "command line"};
    if (assignment_split(word, &to->section, &to->key, &value)) {
      to->value = value;
      continue;
    }
    error_add(err, PD_INVALID, CODE_USAGE, "%s %s: write section.key=value, as in train.fused=false", what, word);
    assignments_free(out);
    return false;
  }
  return true;
}

void assignments_free(assignments *self) {
  free(self->all);
  free(self->memory);
  *self = (assignments){.all = NULL};
}

static const char *value_of(const config *settings, const config_assignment *at) {
  for (uint64_t i = 0; i < settings->setting_count; i++)
    if (!strcmp(settings->settings[i].section, at->section) && !strcmp(settings->settings[i].key, at->key))
      return settings->settings[i].value;
  return NULL;
}

bool assignments_change(const char *text, const config *of) {
  static error err; /* large; the loop thread's alone */
  assignments all;
  error_clear(&err);
  if (!assignments_parse(text, "", &all, &err)) return true;
  bool changes = false;
  for (uint32_t i = 0; i < all.count; i++) {
    const char *had = value_of(of, &all.all[i]);
    changes = changes || !had || strcmp(had, all.all[i].value) != 0;
  }
  assignments_free(&all);
  return changes;
}

/* The next value, in place, up to a comma without a backslash before it. NULL: there is none. */
static char *next_value(char **at) {
  char *value = *at, *from = value, *to = value;
  if (!from) return NULL;
  while (*from && *from != ',') {
    if (from[0] == '\\' && from[1] == ',') from++;
    *to++ = *from++;
  }
  *at = *from ? from + 1 : NULL;
  *to = '\0';
  return assignment_trim(value);
}

static bool take_values(const char *text, char *values, axis *out, error *err) {
  for (char *value = next_value(&values); value; value = next_value(&values)) {
    if (!value[0]) {
      error_add(err, PD_INVALID, CODE_USAGE, "--vary %s: a value is empty; write section.key=VALUE,VALUE", text);
      return false;
    }
    for (uint32_t i = 0; i < out->count; i++)
      if (strcmp(out->values[i], value) == 0) {
        error_add(err, PD_INVALID, CODE_USAGE, "--vary %s: %s is given twice", text, value);
        return false;
      }
    out->values[out->count++] = value;
  }
  return true;
}

bool axis_parse(const char *text, axis *out, error *err) {
  size_t commas = 0;
  char *values = NULL;
  for (const char *at = text; *at; at++) commas += *at == ',';
  *out = (axis){.memory = strdup(text), .values = calloc(commas + 1, sizeof *out->values)};
  bool ok = (out->memory && out->values) || no_memory(err);
  if (ok && !assignment_split(out->memory, &out->section, &out->key, &values)) {
    error_add(err, PD_INVALID, CODE_USAGE, "--vary %s: write section.key=VALUE,VALUE, as in data.num_workers=0,2,4",
              text);
    ok = false;
  }
  ok = ok && take_values(text, values, out, err);
  if (!ok) axis_free(out);
  return ok;
}

void axis_free(axis *self) {
  free(self->values);
  free(self->memory);
  *self = (axis){.values = NULL};
}
