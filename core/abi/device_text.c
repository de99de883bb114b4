/* See device_text.h. */
#include "device_text.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the name without a "(oneDNN 2.6.3)" at its end that `versions` begins with. */
static size_t bare_length(const char *name, const char *versions) {
  const char *open = strstr(name, " (");
  const size_t length = strlen(name), inner = open ? length - (size_t)(open + 2 - name) : 0;
  if (inner < 2 || name[length - 1] != ')' || strncmp(open + 2, versions, inner - 1) != 0) return length;
  return (size_t)(open - name);
}

const char *device_text(const char *name, const char *versions, char *text, size_t room) {
  if (!versions || !versions[0])
    snprintf(text, room, "%s", name);
  else
    snprintf(text, room, "%.*s (%s)", (int)bare_length(name, versions), name, versions);
  return text;
}

const char *device_reason_short(const char *said, char *text, size_t room) {
  static const char prefix[] = "device cuda: ";
  if (strncmp(said, prefix, sizeof prefix - 1) == 0) said += sizeof prefix - 1;
  const char *detail = strstr(said, " (");
  size_t bytes = strcspn(said, ";");
  if (detail && (size_t)(detail - said) < bytes) bytes = (size_t)(detail - said);
  snprintf(text, room, "%.*s", (int)bytes, said);
  return text;
}
