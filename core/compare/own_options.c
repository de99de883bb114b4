/* See own_options.h. */
#include "own_options.h"

#include "host/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const own_option *find(const own_option *table, uint32_t count, const char *word) {
  const size_t length = strcspn(word, "=");
  for (uint32_t i = 0; i < count; i++)
    if (strlen(table[i].name) == length && strncmp(table[i].name, word, length) == 0) return &table[i];
  return NULL;
}

int own_options_take(const own_option *table, uint32_t count, void *user, int argc, char **argv, char **rest,
                     error *err) {
  int kept = 0;
  if (argc) rest[kept++] = argv[0];
  for (int i = 1; i < argc; i++) {
    const own_option *at = find(table, count, argv[i]);
    if (!at) {
      rest[kept++] = argv[i];
      continue;
    }
    const char *equals = strchr(argv[i], '='), *value = equals ? equals + 1 : NULL;
    if (!value && at->value == OWN_REQUIRED && i + 1 < argc) value = argv[++i];
    if (!value && at->value == OWN_REQUIRED)
      error_add(err, PD_INVALID, CODE_USAGE, "%s: %s: needs a value; allowed: %s", argv[0], at->name, at->allowed);
    else if (value && at->value == OWN_NONE)
      error_add(err, PD_INVALID, CODE_USAGE, "%s: %s: takes no value", argv[0], at->name);
    else if (!at->take(user, value))
      error_add(err, PD_INVALID, CODE_USAGE, "%s: %s %s: not allowed; allowed: %s", argv[0], at->name, value,
                at->allowed);
  }
  return kept;
}

/* A number, then `unit` or nothing. */
static bool number(const char *text, const char *unit, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && (*end == '\0' || strcmp(end, unit) == 0) && *value >= 0;
}

bool own_share(const char *text, double *share) {
  const bool read = number(text, "%", share);
  *share /= 100;
  return read && *share <= 1;
}

bool own_seconds(const char *text, double *seconds) {
  return number(text, "s", seconds) && *seconds > 0 && *seconds <= 86400;
}

bool own_color(const char *text) {
  static const char *const names[] = {"auto", "always", "never"};
  for (int i = 0; i < 3; i++)
    if (strcmp(text ? text : "always", names[i]) == 0) {
      log_set_color((log_color)i);
      return true;
    }
  return false;
}
