/* See names.h. */
#include "names.h"

#include "../json_writer/json_writer.h"

#include <stdlib.h>

pd_status names_open(name_table *self, const pd_trace *trace) {
  size_t room = 0;
  memset(self, 0, sizeof *self);
  const uint64_t count = trace->strings.count ? trace->strings.count : 1;
  for (uint64_t i = 0; i < trace->strings.count; i++)
    room += json_quoted_room(PD_AT(pd_string, &trace->strings, i)->length);
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
    const size_t length = json_quote(at, string->text, string->length);
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
