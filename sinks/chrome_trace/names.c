/* See names.h. */
#include "names.h"

#include "../lib/json_writer.h"

#include <stdlib.h>

static bool is_cpu_call(const pd_string *string) {
  return string->length > 2 && string->text[0] == 'p' && string->text[1] == 'd' && string->text[2] >= 'A' &&
         string->text[2] <= 'Z';
}

/* What the analysers look for in names, and what is written instead, at most a byte longer. */
static const struct {
  const char *word, *plain;
} meanings[] = {{"ProfilerStep", "Profiler Step"},
                {"enumerate(Data", "enumerate (Data"},
                {"Record Window End", "Record window end"},
                {"Iteration Start:", "Iteration start:"}};

enum { MEANINGS = sizeof meanings / sizeof *meanings };

static bool has_meaning(const pd_string *string) {
  for (size_t i = 0; i < MEANINGS; i++)
    if (memmem(string->text, string->length, meanings[i].word, strlen(meanings[i].word))) return true;
  return false;
}

/* Writes `from` at `to` with its words changed, and returns its length. */
static size_t make_plain(char *to, const name_text *from) {
  const char *at = from->quoted, *const end = from->quoted + from->length;
  char *const begin = to;
  while (at < end) {
    size_t i = 0, length = 0;
    for (; i < MEANINGS; i++) {
      length = strlen(meanings[i].word);
      if ((size_t)(end - at) >= length && !memcmp(at, meanings[i].word, length)) break;
    }
    if (i < MEANINGS) {
      to = stpcpy(to, meanings[i].plain);
      at += length;
    } else {
      *to++ = *at++;
    }
  }
  return (size_t)(to - begin);
}

pd_status names_open(name_table *self, const pd_trace *trace, bool cuda_calls) {
  static const char cuda_prefix[] = "\"cuda";
  size_t room = 0;
  memset(self, 0, sizeof *self);
  const uint64_t count = trace->strings.count ? trace->strings.count : 1;
  for (uint64_t i = 0; i < trace->strings.count; i++)
    room += 2 * (json_quoted_room(PD_AT(pd_string, &trace->strings, i)->length) + sizeof cuda_prefix);
  self->all = calloc(count, sizeof *self->all);
  self->plain = calloc(count, sizeof *self->plain);
  self->arena = malloc(room + 2);
  if (!self->all || !self->plain || !self->arena) {
    names_close(self);
    return PD_NO_MEMORY;
  }
  self->count = count;
  char *at = self->arena;
  self->all[0] = self->plain[0] = (name_text){"\"\"", 2};
  for (uint64_t i = 0; i < trace->strings.count; i++) {
    const pd_string *string = PD_AT(pd_string, &trace->strings, i);
    size_t length = json_quote(at, string->text, string->length);
    if (cuda_calls && is_cpu_call(string)) {
      memmove(at + sizeof cuda_prefix - 1, at + 3, length - 3); /* after the quote and "pd" */
      memcpy(at, cuda_prefix, sizeof cuda_prefix - 1);
      length += 2;
    }
    self->all[i] = (name_text){at, length};
    self->plain[i] = self->all[i];
    at += length;
    if (!has_meaning(string)) continue;
    self->plain[i] = (name_text){at, make_plain(at, &self->all[i])};
    at += self->plain[i].length;
  }
  return PD_OK;
}

const name_text *names_of_range(const name_table *self, const pd_range *range) {
  static const char wait[] = "\"enumerate(Data";
  const name_text *name = names_at(self, range->name);
  const bool is_wait =
      range->kind == PD_RANGE_DATALOADER && name->length > sizeof wait && !memcmp(name->quoted, wait, sizeof wait - 1);
  return is_wait ? name : names_plain(self, range->name);
}

void names_close(name_table *self) {
  free(self->all);
  free(self->plain);
  free(self->arena);
  memset(self, 0, sizeof *self);
}
