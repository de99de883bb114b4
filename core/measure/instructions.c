/* See instructions.h. */
#include "instructions.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SHOWN = 80 };

void instructions_clear(pd_instructions *self) {
  for (uint64_t i = 0; i < self->function_count; i++) {
    free(self->functions[i].name);
    free(self->functions[i].object);
  }
  free(self->functions);
  free(self->counts);
  free(self->tool);
  *self = (pd_instructions){.tool = NULL};
}

pd_status instructions_add_count(pd_instructions *self, uint64_t count) {
  if (!PD_ARRAY_FIT(self->counts, self->repeat_room, self->repeats + 1)) return PD_NO_MEMORY;
  self->counts[self->repeats++] = count;
  return PD_OK;
}

pd_status instructions_add_function(pd_instructions *self, const char *name, const char *object, uint64_t count) {
  if (!PD_ARRAY_FIT(self->functions, self->function_room, self->function_count + 1)) return PD_NO_MEMORY;
  const pd_function_count row = {.name = strdup(name), .object = strdup(object), .count = count};
  if (!row.name || !row.object) {
    free(row.name);
    free(row.object);
    return PD_NO_MEMORY;
  }
  self->functions[self->function_count++] = row;
  return PD_OK;
}

uint64_t instructions_median(const pd_instructions *self) {
  for (uint64_t i = 0; i < self->repeats; i++) {
    uint64_t below = 0, same_before = 0;
    for (uint64_t k = 0; k < self->repeats; k++) {
      below += self->counts[k] < self->counts[i];
      same_before += k < i && self->counts[k] == self->counts[i];
    }
    if (below + same_before == (self->repeats - 1) / 2) return i;
  }
  return 0;
}

/* The baseline was counted once, and a step that does next to nothing may come out below it by chance. */
static double of_step(const pd_instructions *self, uint64_t count) {
  return count > self->baseline ? (double)(count - self->baseline) / (double)self->steps : 0;
}

void instructions_figures(const pd_instructions *self, instruction_figures *out) {
  *out = (instruction_figures){.median = 0};
  if (!self->repeats) return;
  uint64_t least = self->counts[0], most = self->counts[0];
  for (uint64_t i = 1; i < self->repeats; i++) {
    if (self->counts[i] < least) least = self->counts[i];
    if (self->counts[i] > most) most = self->counts[i];
  }
  *out = (instruction_figures){.median = of_step(self, self->counts[instructions_median(self)]),
                               .min = of_step(self, least),
                               .max = of_step(self, most)};
}

const char *instructions_function(const char *name, const char *object, char *text, size_t room) {
  const bool whole = strlen(name) <= NAME_SHOWN;
  snprintf(text, room, "%.*s%s%s%s%s", NAME_SHOWN, name, whole ? "" : "...", object[0] ? " [" : "", object,
           object[0] ? "]" : "");
  return text;
}

const char *instructions_text(double count, char text[32]) {
  char digits[32];
  const int length = snprintf(digits, 24, "%.0f", fabs(count));
  char *to = text;
  if (count <= -0.5) *to++ = '-';
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return text;
}
