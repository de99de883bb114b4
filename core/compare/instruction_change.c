/* See instruction_change.h. */
#include "instruction_change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_SHARE 0.01

static double of_step(const pd_instructions *self, const pd_function_count *function) {
  return (double)function->count / (double)self->steps;
}

static const pd_function_count *find(const pd_instructions *self, const pd_function_count *wanted) {
  for (uint64_t i = 0; i < self->function_count; i++)
    if (strcmp(self->functions[i].name, wanted->name) == 0 && strcmp(self->functions[i].object, wanted->object) == 0)
      return &self->functions[i];
  return NULL;
}

static double distance(const function_change *of) { return fabs(of->b - of->a); }

/* In its place among those that changed by more. */
static void keep(instruction_change *out, function_change change) {
  if (distance(&change) <= LEAST_SHARE * out->a.median) return;
  uint32_t at = out->function_count;
  while (at > 0 && distance(&out->functions[at - 1]) < distance(&change)) at--;
  if (at == CHANGES_MOST) return;
  if (out->function_count < CHANGES_MOST) out->function_count++;
  for (uint32_t i = out->function_count - 1; i > at; i--) out->functions[i] = out->functions[i - 1];
  out->functions[at] = change;
}

bool instruction_change_of(const pd_instructions *a, const pd_instructions *b, instruction_change *out) {
  *out = (instruction_change){.ratio = 0};
  if (!a->repeats || !b->repeats) return false;
  instructions_figures(a, &out->a);
  instructions_figures(b, &out->b);
  if (out->a.median > 0) out->ratio = out->b.median / out->a.median;
  out->within = out->a.min <= out->b.max && out->b.min <= out->a.max;
  for (uint64_t i = 0; i < a->function_count; i++) {
    const pd_function_count *at = &a->functions[i], *other = find(b, at);
    keep(out, (function_change){at->name, at->object, of_step(a, at), other ? of_step(b, other) : 0});
  }
  for (uint64_t i = 0; i < b->function_count; i++) {
    const pd_function_count *at = &b->functions[i];
    if (!find(a, at)) keep(out, (function_change){at->name, at->object, 0, of_step(b, at)});
  }
  return true;
}

/* "+1,234" */
static const char *signed_text(double count, char text[33]) {
  text[0] = '+';
  if (count < 0)
    (void)instructions_text(count, text);
  else
    (void)instructions_text(count, text + 1);
  return text;
}

const char *instruction_change_text(const instruction_change *self, char *text, size_t room) {
  char a[32], b[32], more[40], times[64] = "";
  if (self->within)
    snprintf(times, sizeof times, ", no more than counts of one side differ");
  else if (self->ratio > 0)
    snprintf(times, sizeof times, ", %.4f times as many", self->ratio);
  snprintf(text, room, "instructions of a step: %s -> %s (%s)%s", instructions_text(self->a.median, a),
           instructions_text(self->b.median, b), signed_text(self->b.median - self->a.median, more), times);
  return text;
}

const char *function_change_text(const function_change *self, char *text, size_t room) {
  char a[32], b[32], more[40], name[256];
  snprintf(text, room, "%s (%s -> %s)  %s", signed_text(self->b - self->a, more), instructions_text(self->a, a),
           instructions_text(self->b, b), instructions_function(self->name, self->object, name, sizeof name));
  return text;
}
