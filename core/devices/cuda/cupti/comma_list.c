/* See comma_list.h. */
#include "comma_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void comma_list_add(char *list, size_t bytes, const char *format, ...) {
  const size_t used = strlen(list);
  const int comma = used ? snprintf(list + used, bytes - used, ", ") : 0;
  va_list args;
  if (used + (size_t)comma >= bytes) return;
  va_start(args, format);
  vsnprintf(list + used + comma, bytes - used - (size_t)comma, format, args);
  va_end(args);
}
