/* See placeholders.h. */
#include "placeholders.h"

#include <string.h>

enum { NAME_BYTES = 128 };

/* The next "<section.key>" from `at` on: where it begins, its two names and where it ends. */
static const char *next_mark(const char *at, char section[NAME_BYTES], char key[NAME_BYTES], const char **end) {
  for (; (at = strchr(at, '<')); at++) {
    const size_t length = strcspn(at + 1, "<>");
    if (at[1 + length] != '>' || length >= NAME_BYTES) continue;
    memcpy(section, at + 1, length);
    section[length] = '\0';
    char *dot = strrchr(section, '.');
    if (!dot) continue;
    *dot = '\0';
    memcpy(key, dot + 1, strlen(dot + 1) + 1);
    *end = at + length + 2;
    return at;
  }
  return NULL;
}

pd_status placeholders_fill(text_pool *memory, const char **text, placeholders_value value, void *user,
                            const char *where, error *err) {
  char section[NAME_BYTES], key[NAME_BYTES];
  const char *mark, *end, *done = "", *rest = *text;
  if (!next_mark(rest, section, key, &end)) return PD_OK;
  while ((mark = next_mark(rest, section, key, &end))) {
    const char *filled = value(user, section, key);
    if (!filled)
      return error_add(err, PD_INVALID, CODE_CONFIG, "%s: <%s.%s>: there is no such key in this run", where, section,
                       key);
    char *between = text_pool_alloc(memory, (size_t)(mark - rest) + 1);
    if (between) memcpy(between, rest, (size_t)(mark - rest));
    done = between ? text_pool_join(memory, done, between, filled) : NULL;
    if (!done) return error_no_memory(err);
    rest = end;
  }
  done = text_pool_join(memory, done, rest, "");
  if (!done) return error_no_memory(err);
  *text = done;
  return PD_OK;
}
