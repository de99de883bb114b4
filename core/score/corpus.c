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

static void corpus_key(reader *r, const char *key, const char *value, int line) {
  corpus *c = r->into;
  char *end = NULL;
  if (!strcmp(key, "seeds")) {
    const unsigned long seeds = strtoul(value, &end, 10);
    if (*end || !seeds || seeds > 100) wrong(r, line, "seeds: a number from 1 to 100", value);
    c->seeds = (uint32_t)seeds;
  } else if (!strcmp(key, "min_effect")) {
    c->min_effect = strtod(value, &end);
    if (*end || !(c->min_effect >= 0 && c->min_effect < 1)) wrong(r, line, "min_effect: a share from 0 to 1", value);
  } else if (!strncmp(key, "set", 3) && c->set_count < CORPUS_SETS) {
    snprintf(c->sets[c->set_count++], CORPUS_TEXT, "%s", value);
  } else {
    wrong(r, line, "no such key of [corpus]: it has seeds, min_effect, set, set2 ...", key);
  }
}

static bool row(void *user, const char *section, const char *key, const char *value, int line) {
  reader *r = user;
  if (!strcmp(section, "corpus")) {
    if (key) corpus_key(r, key, value, line);
    return true;
  }
  corpus_group *group = group_of(r, section, line);
  if (!group || !key) return true;
  if (!strcmp(key, "scenario"))
    snprintf(group->scenario, sizeof group->scenario, "%s", value);
  else if (!strcmp(key, "expect"))
    snprintf(group->expect, sizeof group->expect, "%s", value);
  else if (!strcmp(key, "dial"))
    snprintf(group->dial, sizeof group->dial, "%s", value);
  else if (!strcmp(key, "values"))
    take_values(r, group, value, line);
  else if (!strcmp(key, "paired"))
    group->paired = !strcmp(value, "true");
  else
    wrong(r, line, "no such key: a cause has scenario, expect, dial, values, paired", key);
  return true;
}

static void check(reader *r) {
  corpus *c = r->into;
  c->baseline = CORPUS_GROUPS;
  for (uint32_t i = 0; i < c->group_count; i++) {
    const corpus_group *group = &c->groups[i];
    if (!group->scenario[0] || !group->expect[0]) wrong(r, group->line, "needs scenario and expect", group->name);
    if (!group->dial[0] != !group->value_count) wrong(r, group->line, "needs dial and values, or neither", group->name);
    if (strcmp(group->expect, "none") != 0) continue;
    if (c->baseline != CORPUS_GROUPS || group->value_count)
      wrong(r, group->line, "the baseline: one section without a dial expects none", group->name);
    c->baseline = i;
  }
  if (c->baseline == CORPUS_GROUPS) wrong(r, 1, "no section expects none: there is no baseline", "corpus");
}

static uint32_t add(corpus *c, corpus_cell cell) {
  if (c->cell_count == CORPUS_CELLS) return CORPUS_CELLS;
  c->cells[c->cell_count] = cell;
  return c->cell_count++;
}

/* Baselines beside what is judged by them, so that the machine's mood is the same for both. */
static bool make_cells(corpus *c) {
  for (uint32_t seed = 0; seed < c->seeds; seed++) {
    const uint32_t plain = add(c, (corpus_cell){c->baseline, CORPUS_GROUPS, 0, seed, c->cell_count, 0});
    for (uint32_t g = 0; g < c->group_count; g++) {
      const corpus_group *group = &c->groups[g];
      if (g == c->baseline) continue;
      for (uint32_t v = 0; v < (group->value_count ? group->value_count : 1); v++) {
        const uint32_t dial = group->value_count ? g : (uint32_t)CORPUS_GROUPS;
        uint32_t baseline = plain;
        if (group->paired && group->value_count)
          baseline = add(c, (corpus_cell){c->baseline, dial, v, seed, c->cell_count, 0});
        if (add(c, (corpus_cell){g, dial, v, seed, baseline, 0}) == CORPUS_CELLS) return false;
      }
    }
  }
  return true;
}

corpus *corpus_read(const char *path, error *err) {
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
  const pd_status status = ini_file_read(path, row, &r, err);
  if (status == PD_OK || self->group_count) check(&r);
  if (!err->count && !make_cells(self))
    error_set(err, PD_INVALID, CODE_CONFIG, "%s: more than %d runs", path, CORPUS_CELLS);
  if (!err->count) return self;
  corpus_free(self);
  return NULL;
}

void corpus_free(corpus *self) {
  if (!self) return;
  free(self->cells);
  free(self);
}

void corpus_cell_name(const corpus *self, const corpus_cell *cell, char *text, size_t room) {
  const char *scenario = self->groups[cell->group].name;
  if (cell->dial == CORPUS_GROUPS) {
    snprintf(text, room, "%s_seed%u", scenario, cell->seed);
    return;
  }
  const corpus_group *dial = &self->groups[cell->dial];
  snprintf(text, room, "%s_%s=%s_seed%u", scenario, dial->dial, dial->values[cell->value], cell->seed);
  for (char *at = text; *at; at++)
    if (*at == '/') *at = '_';
}
