/* See alike_steps.h. A piece is what lies between the ends of two optimizers. */
#include "alike_steps.h"

#include "step_finder.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

typedef struct pieces {
  const launch_sequence *all;
  uint64_t *starts; /* of all launches; at the end the launch after the last piece */
  uint64_t count;
  uint32_t *symbols; /* how often each comes in the piece that others are held against */
  uint32_t *others;
} pieces;

static bool ends_optimizer(const launch_sequence *all, uint64_t i) {
  return all->launches[i].optimizer && (i + 1 == all->count || !all->launches[i + 1].optimizer);
}

/* An optimizer launches other kernels, too: pieces much shorter than `least` are parts of it. What is read back after
 * an optimizer belongs to its step. */
static pd_status cut(pieces *self, uint64_t least) {
  uint64_t room = 0;
  for (uint64_t i = 0, from = 0; i < self->all->count; i++) {
    if (!ends_optimizer(self->all, i)) continue;
    uint64_t end = i + 1, next = end;
    while (end < self->all->count && self->all->launches[end].to_host) end++;
    while (next < self->all->count && !self->all->launches[next].optimizer) next++;
    if (next < self->all->count && 2 * (next - end) < least) continue;
    if (!PD_ARRAY_FIT(self->starts, room, self->count + 2)) return PD_NO_MEMORY;
    self->starts[self->count++] = from;
    self->starts[self->count] = from = end;
  }
  return PD_OK;
}

static uint64_t length_of(const pieces *self, uint64_t piece) { return self->starts[piece + 1] - self->starts[piece]; }

static void count_symbols(const pieces *self, uint64_t piece, uint32_t *symbols, uint32_t by) {
  for (uint64_t i = self->starts[piece]; i < self->starts[piece + 1]; i++) symbols[self->all->launches[i].symbol] += by;
}

/* How much of the piece is that of the one whose symbols are counted, which has `length` launches: 0 to 1. */
static double likeness(const pieces *self, uint64_t piece, uint64_t length) {
  const launch_at *launches = self->all->launches;
  uint64_t both = 0;
  count_symbols(self, piece, self->others, 1);
  for (uint64_t i = self->starts[piece]; i < self->starts[piece + 1]; i++) {
    uint32_t *mine = &self->others[launches[i].symbol];
    const uint32_t theirs = self->symbols[launches[i].symbol];
    both += *mine < theirs ? *mine : theirs;
    *mine = 0;
  }
  return (double)both / (double)(length > length_of(self, piece) ? length : length_of(self, piece));
}

static bool is_alike(const pieces *self, uint64_t piece, uint64_t length) {
  return likeness(self, piece, length) >= ALIKE_STEPS_SHARE;
}

/* The first piece that begins at `start` or later. */
static uint64_t piece_at(const pieces *self, uint64_t start) {
  uint64_t i = 0;
  while (i < self->count && self->starts[i] < start) i++;
  return i;
}

/* Whether the pieces [from, to) are alike; the symbols of one of them stay counted. */
static bool are_alike(pieces *self, uint64_t from, uint64_t to) {
  count_symbols(self, from, self->symbols, 1);
  for (uint64_t i = from; i < to; i++)
    if (!is_alike(self, i, length_of(self, from))) return false;
  return true;
}

/* The longest stretch of launches of [from, to) without an optimizer's. */
static uint64_t longest_quiet(const launch_sequence *all, uint64_t from, uint64_t to) {
  uint64_t longest = 0, quiet = 0;
  for (uint64_t i = from; i < to; i++) {
    quiet = all->launches[i].optimizer ? 0 : quiet + 1;
    if (quiet > longest) longest = quiet;
  }
  return longest;
}

/* The pieces [from, to), and those around them that are like the one whose symbols are counted, are the steps. */
static pd_status take(const pieces *self, uint64_t from, uint64_t to, uint64_t model, launch_period *found) {
  while (from && is_alike(self, from - 1, model)) from--;
  while (to < self->count && is_alike(self, to, model)) to++;
  uint64_t *starts = malloc((to - from + 1) * sizeof *starts);
  if (!starts) return PD_NO_MEMORY;
  memcpy(starts, self->starts + from, (to - from + 1) * sizeof *starts);
  free(found->starts);
  found->starts = starts;
  found->count = to - from;
  found->length = (starts[found->count] - starts[0]) / found->count;
  found->match = 0;
  for (uint64_t i = from; i < to; i++) found->match += likeness(self, i, model) / (double)found->count;
  return PD_OK;
}

static pd_status divide(pieces *self, launch_period *found) {
  const uint64_t middle = found->count / 2, begin = found->starts[middle], end = found->starts[middle + 1];
  pd_status status = cut(self, longest_quiet(self->all, begin, end));
  if (status != PD_OK) return status;
  const uint64_t first = piece_at(self, begin), last = piece_at(self, end);
  if (last >= self->count || self->starts[first] != begin || self->starts[last] != end || last - first < 2)
    return PD_OK;
  if (!are_alike(self, first, last)) return PD_OK;
  /* Those of the whole loop, whether alike or not: what comes in between now and then lengthens a step. */
  const uint64_t from = piece_at(self, found->starts[0]), to = piece_at(self, found->starts[found->count]);
  return to > from ? take(self, from, to, length_of(self, first), found) : PD_OK;
}

static int shorter(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The stretch without an optimizer's launch in which the middle launch of all lies when they stand by length: neither
 * what an optimizer launches beside its kernels, nor a validation now and then. */
static pd_status usual_quiet(const launch_sequence *all, uint64_t *out) {
  uint64_t *lengths = NULL, room = 0, count = 0, quiet = 0, sum = 0;
  for (uint64_t i = 0; i <= all->count; i++) {
    if (i < all->count && !all->launches[i].optimizer) {
      quiet++;
      continue;
    }
    if (!PD_ARRAY_FIT(lengths, room, count + 1)) {
      free(lengths);
      return PD_NO_MEMORY;
    }
    sum += lengths[count++] = quiet;
    quiet = 0;
  }
  qsort(lengths, count, sizeof *lengths, shorter);
  *out = 0;
  for (uint64_t i = 0, below = 0; i < count && 2 * below <= sum; i++) below += *out = lengths[i];
  free(lengths);
  return PD_OK;
}

static pd_status find(pieces *self, launch_period *found) {
  uint64_t quiet;
  pd_status status = usual_quiet(self->all, &quiet);
  if (status == PD_OK && quiet) status = cut(self, quiet);
  if (status != PD_OK || self->count < STEP_FINDER_BLOCK) return status;
  const uint64_t model = self->count / 2, length = length_of(self, model);
  uint64_t from = model, to = model + 1;
  count_symbols(self, model, self->symbols, 1);
  while (from && is_alike(self, from - 1, length)) from--;
  while (to < self->count && is_alike(self, to, length)) to++;
  if (to - from < STEP_FINDER_BLOCK || 2 * (self->starts[to] - self->starts[from]) < self->all->count) return PD_OK;
  return take(self, from, to, length, found);
}

static pd_status with_pieces(const launch_sequence *all, launch_period *found,
                             pd_status (*what)(pieces *, launch_period *)) {
  pieces self = {.all = all,
                 .symbols = calloc(all->symbols + 1, sizeof *self.symbols),
                 .others = calloc(all->symbols + 1, sizeof *self.others)};
  const pd_status status = self.symbols && self.others ? what(&self, found) : PD_NO_MEMORY;
  free(self.starts);
  free(self.symbols);
  free(self.others);
  return status;
}

pd_status alike_steps_divide(const launch_sequence *all, launch_period *found) {
  return with_pieces(all, found, divide);
}

pd_status alike_steps_find(const launch_sequence *all, launch_period *found) { return with_pieces(all, found, find); }
