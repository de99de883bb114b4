/* See corpus_cells.h. */
#include "corpus_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool corpus_is_same_value(const char *a, const char *b) {
  char *behind_a = NULL, *behind_b = NULL;
  const double x = strtod(a, &behind_a), y = strtod(b, &behind_b);
  if (!strcmp(a, b)) return true;
  return behind_a != a && behind_b != b && !strcmp(behind_a, behind_b) && !(x < y) && !(x > y);
}

static bool add(corpus *c, corpus_cell cell) {
  if (c->cell_count == CORPUS_CELLS) return false;
  cell.held_out = c->hold_out && (cell.is_baseline && cell.dial == CORPUS_GROUPS ? cell.seed + cell.repeat + cell.size
                                                                                 : cell.value + cell.size) %
                                         c->hold_out ==
                                     1 % c->hold_out;
  c->cells[c->cell_count++] = cell;
  return true;
}

/* The baseline with the dial of `like`, which another cause was paired with before; NULL: there is none. */
static const corpus_cell *paired_before(const corpus *c, const corpus_cell *like) {
  const corpus_group *of = &c->groups[like->dial];
  for (uint32_t i = 0; i < c->cell_count; i++) {
    const corpus_cell *cell = &c->cells[i];
    if (!cell->is_baseline || cell->dial == CORPUS_GROUPS || cell->seed != like->seed || cell->size != like->size)
      continue;
    const corpus_group *other = &c->groups[cell->dial];
    if (!strcmp(other->dial, of->dial) && corpus_is_same_value(other->values[cell->value], of->values[like->value]))
      return cell;
  }
  return NULL;
}

/* One cause's runs of one seed and size, each paired one after its baseline. */
static bool add_group(corpus *c, uint32_t g, uint32_t seed, uint32_t size, uint32_t plain) {
  const corpus_group *group = &c->groups[g];
  for (uint32_t v = 0; v < (group->value_count ? group->value_count : 1); v++) {
    corpus_cell cell = {.group = g,
                        .dial = group->value_count ? g : (uint32_t)CORPUS_GROUPS,
                        .value = v,
                        .seed = seed,
                        .size = size,
                        .baseline = plain};
    const bool is_paired = group->paired && group->value_count;
    const corpus_cell *before = is_paired ? paired_before(c, &cell) : NULL;
    if (before) {
      cell.baseline = before->baseline;
    } else if (is_paired) {
      cell.baseline = c->baseline_classes++;
      corpus_cell own = cell;
      own.group = c->baseline;
      own.is_baseline = true;
      if (!add(c, own)) return false;
    }
    for (cell.repeat = 0; cell.repeat < group->repeat; cell.repeat++)
      if (!add(c, cell)) return false;
  }
  return true;
}

/* Baselines lie spread among what is judged by them, so that other work of the machine falls on both alike. */
bool corpus_make_cells(corpus *c) {
  const uint32_t wanted = c->groups[c->baseline].repeat;
  for (uint32_t seed = 0; seed < c->seeds; seed++) {
    for (uint32_t size = 0; size < (c->size_count ? c->size_count : 1); size++) {
      const uint32_t plain = c->baseline_classes++;
      uint32_t made = 0, others = 0;
      for (uint32_t g = 0; g <= c->group_count; g++) {
        for (; made < wanted && made * (c->group_count - 1) <= others * wanted; made++) {
          const corpus_cell cell = {.group = c->baseline,
                                    .dial = CORPUS_GROUPS,
                                    .seed = seed,
                                    .size = size,
                                    .repeat = made,
                                    .baseline = plain,
                                    .is_baseline = true};
          if (!add(c, cell)) return false;
        }
        if (g == c->group_count || g == c->baseline) continue;
        if (!add_group(c, g, seed, size, plain)) return false;
        others++;
      }
    }
  }
  return true;
}

void corpus_cell_name(const corpus *self, const corpus_cell *cell, char *text, size_t room) {
  const corpus_group *group = &self->groups[cell->group];
  char dial[2 * CORPUS_TEXT + 4] = "", size[32] = "", repeat[32] = "";
  if (cell->dial != CORPUS_GROUPS) {
    const corpus_group *of = &self->groups[cell->dial];
    snprintf(dial, sizeof dial, "_%s=%s", of->dial, of->values[cell->value]);
  }
  if (self->size_count > 1) snprintf(size, sizeof size, "_size%u", cell->size);
  if (group->repeat > 1 && !(cell->is_baseline && dial[0])) snprintf(repeat, sizeof repeat, "_run%u", cell->repeat);
  snprintf(text, room, "%s%s%s_seed%u%s", group->name, dial, size, cell->seed, repeat);
  for (char *at = text; *at; at++)
    if (*at == '/') *at = '_';
}
