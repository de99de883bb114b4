/* See corpus.h. */
#include "corpus.h"

#include "host/ini_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  corpus *into;
  const char *path;
  error *err;
} reader;

static pd_status wrong(const reader *r, int line, const char *what, const char *text) {
  return error_add(r->err, PD_INVALID, CODE_CONFIG, "%s:%d: %s: %s", r->path, line, text, what);
}

static corpus_group *group_of(reader *r, const char *section, int line) {
  corpus *c = r->into;
  for (uint32_t i = 0; i < c->group_count; i++)
    if (!strcmp(c->groups[i].name, section)) return &c->groups[i];
  if (c->group_count == CORPUS_GROUPS) {
    wrong(r, line, "too many sections", section);
    return NULL;
  }
  corpus_group *group = &c->groups[c->group_count++];
  snprintf(group->name, sizeof group->name, "%s", section);
  group->line = line;
  group->repeat = 1;
  return group;
}

static void take_values(reader *r, corpus_group *group, const char *value, int line) {
  while (*value) {
    const size_t length = strcspn(value, ", ");
    if (length && group->value_count == CORPUS_VALUES) {
      wrong(r, line, "too many values", group->name);
      return;
    }
    if (length) snprintf(group->values[group->value_count++], CORPUS_TEXT, "%.*s", (int)length, value);
    value += length;
    value += strspn(value, ", ");
  }
}

/* A whole number from `low` to `high`. */
static uint32_t whole(reader *r, const char *key, const char *value, uint32_t low, uint32_t high, int line) {
  char *end = NULL, what[96];
  const unsigned long number = strtoul(value, &end, 10);
  if (value[0] >= '0' && value[0] <= '9' && !*end && number >= low && number <= high) return (uint32_t)number;
  snprintf(what, sizeof what, "%s: a number from %u to %u", key, low, high);
  wrong(r, line, what, value);
  return low;
}

static void effect(reader *r, const char *value, int line) {
  char *end = NULL;
  r->into->min_effect = strtod(value, &end);
  if (!value[0] || *end || !(r->into->min_effect >= 0 && r->into->min_effect < 1))
    wrong(r, line, "min_effect: a share from 0 to 1", value);
}

static void text_of(reader *r, char *into, const char *value, int line) {
  if (strlen(value) >= CORPUS_TEXT) wrong(r, line, "too long", value);
  snprintf(into, CORPUS_TEXT, "%s", value);
}

static void corpus_key(reader *r, const char *key, const char *value, int line) {
  corpus *c = r->into;
  if (!strcmp(key, "seeds"))
    c->seeds = whole(r, key, value, 1, 100, line);
  else if (!strcmp(key, "min_effect"))
    effect(r, value, line);
  else if (!strcmp(key, "hold_out"))
    c->hold_out = whole(r, key, value, 0, 100, line);
  else if (!strcmp(key, "fix_seeds"))
    c->fix_seeds = whole(r, key, value, 0, 100, line);
  else if (!strcmp(key, "sinks"))
    text_of(r, c->sinks, value, line);
  else if (!strncmp(key, "set", 3) && c->set_count < CORPUS_SETS)
    text_of(r, c->sets[c->set_count++], value, line);
  else if (!strncmp(key, "size", 4) && c->size_count < CORPUS_SIZES)
    text_of(r, c->sizes[c->size_count++], value, line);
  else
    wrong(r, line,
          "no such key of [corpus]: it has seeds, min_effect, hold_out, fix_seeds, sinks, set, set2 ..., size, size2 "
          "...",
          key);
}

static void group_key(reader *r, corpus_group *group, const char *key, const char *value, int line) {
  const struct {
    const char *key;
    char *into;
  } texts[] = {{"scenario", group->scenario},
               {"expect", group->expect},
               {"also", group->also},
               {"dial", group->dial},
               {"set", group->set}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (strcmp(key, texts[i].key) != 0) continue;
    text_of(r, texts[i].into, value, line);
    return;
  }
  if (!strcmp(key, "values"))
    take_values(r, group, value, line);
  else if (!strcmp(key, "repeat"))
    group->repeat = whole(r, key, value, 1, 100, line);
  else if (!strcmp(key, "paired"))
    group->paired = !strcmp(value, "true");
  else if (!strcmp(key, "effect") && (!strcmp(value, "baselines") || !strcmp(value, "control")))
    group->by_baselines = value[0] == 'b';
  else if (!strcmp(key, "off_path"))
    group->off_path = !strcmp(value, "true");
  else
    wrong(r, line,
          "no such key: a cause has scenario, expect, also, dial, values, set, paired, off_path, repeat, effect "
          "(control, "
          "baselines)",
          key);
}

static bool row(void *user, const char *section, const char *key, const char *value, int line) {
  reader *r = user;
  if (!strcmp(section, "corpus")) {
    if (key) corpus_key(r, key, value, line);
    return true;
  }
  corpus_group *group = group_of(r, section, line);
  if (group && key) group_key(r, group, key, value, line);
  return true;
}

static void check(reader *r) {
  corpus *c = r->into;
  c->baseline = CORPUS_GROUPS;
  for (uint32_t i = 0; i < c->group_count; i++) {
    const corpus_group *group = &c->groups[i];
    if (!group->scenario[0] || !group->expect[0]) wrong(r, group->line, "needs scenario and expect", group->name);
    if (!group->dial[0] != !group->value_count) wrong(r, group->line, "needs dial and values, or neither", group->name);
    if (group->also[0] && strcmp(group->also, "input_bound") != 0)
      wrong(r, group->line, "also: the loader injects input_bound alone", group->name);
    if (strcmp(group->expect, "none") != 0) continue;
    if (c->baseline != CORPUS_GROUPS || group->value_count)
      wrong(r, group->line, "the baseline: one section without a dial expects none", group->name);
    c->baseline = i;
  }
  if (c->baseline == CORPUS_GROUPS) wrong(r, 1, "no section expects none: there is no baseline", "corpus");
}

/* ---- cells ---- */

static bool add(corpus *c, corpus_cell cell) {
  if (c->cell_count == CORPUS_CELLS) return false;
  cell.held_out = c->hold_out && (cell.is_baseline && cell.dial == CORPUS_GROUPS ? cell.seed + cell.repeat + cell.size
                                                                                 : cell.value + cell.size) %
                                         c->hold_out ==
                                     1 % c->hold_out;
  c->cells[c->cell_count++] = cell;
  return true;
}

/* One cause's runs of one seed and size, each paired one behind its baseline. */
static bool add_group(corpus *c, uint32_t g, uint32_t seed, uint32_t size, uint32_t plain) {
  const corpus_group *group = &c->groups[g];
  for (uint32_t v = 0; v < (group->value_count ? group->value_count : 1); v++) {
    corpus_cell cell = {.group = g,
                        .dial = group->value_count ? g : (uint32_t)CORPUS_GROUPS,
                        .value = v,
                        .seed = seed,
                        .size = size,
                        .baseline = plain};
    if (group->paired && group->value_count) {
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

/* Baselines lie spread among what is judged by them, so that the machine's mood is the same for both. */
static bool make_cells(corpus *c) {
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

/* `text` NULL: the file's. */
static corpus *read_from(const char *path, const char *text, size_t bytes, error *err) {
  corpus *self = calloc(1, sizeof *self);
  if (self) self->cells = calloc(CORPUS_CELLS, sizeof *self->cells);
  if (!self || !self->cells) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    corpus_free(self);
    return NULL;
  }
  self->seeds = 1;
  self->min_effect = 0.1;
  reader r = {.into = self, .path = path, .err = err};
  const pd_status status = text ? ini_text_read(path, text, bytes, row, &r, err) : ini_file_read(path, row, &r, err);
  if (status == PD_OK || self->group_count) check(&r);
  if (!err->count && !make_cells(self))
    error_set(err, PD_INVALID, CODE_CONFIG, "%s: more than %d runs", path, CORPUS_CELLS);
  if (!err->count) return self;
  corpus_free(self);
  return NULL;
}

corpus *corpus_read(const char *path, error *err) { return read_from(path, NULL, 0, err); }

corpus *corpus_take(const char *path, const char *text, size_t bytes, error *err) {
  return read_from(path, text, bytes, err);
}

void corpus_free(corpus *self) {
  if (!self) return;
  free(self->cells);
  free(self);
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
