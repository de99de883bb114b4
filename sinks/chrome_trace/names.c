/* See names.h. */
#include "names.h"

#include "../json_writer/json_writer.h"

#include <stdlib.h>

static bool is_cpu_call(const pd_string *string) {
  return string->length > 2 && string->text[0] == 'p' && string->text[1] == 'd' && string->text[2] >= 'A' &&
         string->text[2] <= 'Z';
}

pd_status names_open(name_table *self, const pd_trace *trace, bool cuda_calls) {
  static const char cuda_prefix[] = "\"cuda";
  size_t room = 0;
  memset(self, 0, sizeof *self);
  const uint64_t count = trace->strings.count ? trace->strings.count : 1;
  for (uint64_t i = 0; i < trace->strings.count; i++)
    room += json_quoted_room(PD_AT(pd_string, &trace->strings, i)->length) + sizeof cuda_prefix;
  self->all = calloc(count, sizeof *self->all);
  self->arena = malloc(room + 2);
  if (!self->all || !self->arena) {
    names_close(self);
    return PD_NO_MEMORY;
  }
  self->count = count;
  char *at = self->arena;
  self->all[0] = (name_text){"\"\"", 2};
  for (uint64_t i = 0; i < trace->strings.count; i++) {
    const pd_string *string = PD_AT(pd_string, &trace->strings, i);
    size_t length = json_quote(at, string->text, string->length);
    if (cuda_calls && is_cpu_call(string)) {
      memmove(at + sizeof cuda_prefix - 1, at + 3, length - 3); /* after the quote and "pd" */
      memcpy(at, cuda_prefix, sizeof cuda_prefix - 1);
      length += 2;
    }
    self->all[i] = (name_text){at, length};
    at += length;
  }
  return PD_OK;
}

void names_close(name_table *self) {
  free(self->all);
  free(self->arena);
  memset(self, 0, sizeof *self);
}
