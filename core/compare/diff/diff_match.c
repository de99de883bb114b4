/* See diff_match.h. */
#include "diff_match.h"

#include <stdlib.h>
#include <string.h>

/* A key of either side, to be sorted: equal names together, equal shapes together. */
typedef struct entry {
  const diff_key *key;
  uint32_t index;
  int side;
} entry;

static int by_name(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const int names = strcmp(x->key->name, y->key->name);
  const int shapes = names ? names : strcmp(x->key->shape, y->key->shape);
  return shapes ? shapes : x->side - y->side;
}

static void add(diff_matches *self, uint32_t match, const entry *from) {
  diff_match *to = &self->all[match];
  to->name = from->key->name;
  to->shapes[from->side] = to->shapes[from->side] ? "..." : from->key->shape;
  to->ns[from->side] += from->key->ns;
  to->count[from->side] += from->key->count;
  self->of_key[from->side][from->index] = match;
}

static bool is_pair(const entry *at, const entry *end) {
  return at + 1 < end && at[1].side != at->side && strcmp(at[1].key->shape, at->key->shape) == 0;
}

/* All of one name: first pairs of one shape. What is left on both sides is the same with other shapes, and one match.
 */
static void match_name(diff_matches *self, const entry *first, const entry *end) {
  uint32_t alone[2] = {0}, folded = PD_NONE;
  for (const entry *at = first; at < end; at++) {
    if (is_pair(at, end)) {
      add(self, self->count, at);
      add(self, self->count++, ++at);
    } else {
      alone[at->side]++;
    }
  }
  for (const entry *at = first; at < end; at++) {
    if (self->of_key[at->side][at->index] != PD_NONE) continue;
    const bool folds = alone[0] && alone[1];
    if (!folds || folded == PD_NONE) folded = self->count++;
    add(self, folded, at);
  }
}

bool diff_matches_make(const diff_side *a, const diff_side *b, diff_kind kind, diff_matches *out) {
  const diff_side *const sides[] = {a, b};
  const size_t most = (size_t)a->key_count + b->key_count + 1;
  entry *entries = malloc(most * sizeof *entries);
  uint32_t count = 0;
  *out = (diff_matches){.all = calloc(most, sizeof *out->all)};
  bool ok = entries && out->all;
  for (int side = 0; side < 2; side++) {
    out->of_key[side] = malloc(((size_t)sides[side]->key_count + 1) * sizeof *out->of_key[side]);
    ok = ok && out->of_key[side];
    for (uint32_t i = 0; ok && i < sides[side]->key_count; i++) {
      out->of_key[side][i] = PD_NONE;
      if (sides[side]->keys[i].kind == kind) entries[count++] = (entry){&sides[side]->keys[i], i, side};
    }
  }
  if (ok) {
    qsort(entries, count, sizeof *entries, by_name);
    for (uint32_t first = 0, end; first < count; first = end) {
      for (end = first + 1; end < count && strcmp(entries[end].key->name, entries[first].key->name) == 0;) end++;
      match_name(out, entries + first, entries + end);
    }
  }
  free(entries);
  return ok;
}

void diff_matches_free(diff_matches *self) {
  free(self->all);
  free(self->of_key[0]);
  free(self->of_key[1]);
}
