/* See finding.h. */
#include "finding.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
  const char *key, *text;
} kinds[] = {
#define X(name, key, text) {key, text},
    CHECK_KINDS(X)
#undef X
};

const char *finding_key(check_kind kind) { return kinds[kind].key; }
const char *finding_text(check_kind kind) { return kinds[kind].text; }

bool finding_add(check_findings *self, check_kind kind, double how_bad, uint64_t byte) {
  check_finding *at = &self->of[kind];
  if (!at->count) at->other_byte = CHECK_NO_BYTE;
  if (at->count++ && how_bad <= at->worst) return false;
  at->worst = how_bad;
  at->byte = byte;
  return true;
}

void finding_say(check_findings *self, check_kind kind, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(self->of[kind].worst_text, CHECK_TEXT, format, args);
  va_end(args);
}

void finding_note(check_findings *self, const char *format, ...) {
  if (self->note_count == CHECK_NOTES) return;
  va_list args;
  va_start(args, format);
  vsnprintf(self->notes[self->note_count++], CHECK_TEXT, format, args);
  va_end(args);
}

void finding_damage(check_findings *self, uint64_t count, uint64_t byte, const char *text) {
  check_finding *at = &self->of[CHECK_FILE_DAMAGED];
  if (!count) count = 1;
  const bool is_worst = !at->count || (double)count > at->worst;
  const uint64_t other = !is_worst ? byte : at->count ? at->byte : CHECK_NO_BYTE;
  if (!is_worst)
    finding_note(self, "%s", text);
  else if (at->count)
    finding_note(self, "%s", at->worst_text);
  if (finding_add(self, CHECK_FILE_DAMAGED, (double)count, byte)) finding_say(self, CHECK_FILE_DAMAGED, "%s", text);
  at->count += count - 1;
  if (at->other_byte == CHECK_NO_BYTE) at->other_byte = other;
}

uint32_t finding_count(const check_findings *self) {
  uint32_t count = 0;
  for (int i = 0; i < CHECK_KIND_COUNT; i++) count += self->of[i].count > 0;
  return count;
}
