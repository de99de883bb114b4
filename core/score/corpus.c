/* See corpus.h. */
#include "corpus.h"

#include "corpus_cells.h"
#include "abi/option.h"
#include "base/suggest.h"
#include "config/ini_file.h"
#include "ledger/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More keys than a section can have: what does not fit is refused as an unknown key. */
enum { SECTION_KEYS = 32 };

typedef struct reader {
  corpus *into;
  const char *path;
  error *err;
  struct {
    char name[CORPUS_TEXT];
    int line;
  } keys[SECTION_KEYS]; /* of the section that is being read */
  uint32_t key_count;
  int corpus_line; /* of [corpus]; 0: not yet */
} reader;

static pd_status wrong(const reader *r, int line, const char *what, const char *text) {
  return error_add(r->err, PD_INVALID, CODE_CONFIG, "%s:%d: %s: %s", r->path, line, text, what);
}

static corpus_group *find_group(corpus *c, const char *section) {
  for (uint32_t i = 0; i < c->group_count; i++)
    if (!strcmp(c->groups[i].name, section)) return &c->groups[i];
  return NULL;
}

static corpus_group *group_of(reader *r, const char *section, int line) {
  corpus *c = r->into;
  corpus_group *group = find_group(c, section);
  if (group) return group;
  if (c->group_count == CORPUS_GROUPS) {
    wrong(r, line, "too many sections", section);
    return NULL;
  }
  group = &c->groups[c->group_count++];
  snprintf(group->name, sizeof group->name, "%s", section);
  group->line = line;
  group->repeat = 1;
  return group;
}

static void take_value(reader *r, corpus_group *group, const char *value, int line) {
  if (group->value_count == CORPUS_VALUES) {
    wrong(r, line, "values: too many of them", value);
    return;
  }
  for (uint32_t i = 0; i < group->value_count; i++) {
    if (!corpus_is_same_value(group->values[i], value)) continue;
    wrong(r, line, "values: there already; repeat = 2 makes two runs of each", value);
    return;
  }
  snprintf(group->values[group->value_count++], CORPUS_TEXT, "%s", value);
}

static void take_values(reader *r, corpus_group *group, const char *value, int line) {
  while (*value) {
    const size_t length = strcspn(value, ", ");
    char one[CORPUS_TEXT];
    snprintf(one, sizeof one, "%.*s", (int)length, value);
    if (length) take_value(r, group, one, line);
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
    wrong(r, line, "min_effect: a share, 0 or more and less than 1", value);
}

static void text_of(reader *r, char *into, const char *value, int line) {
  if (strlen(value) >= CORPUS_TEXT) wrong(r, line, "too long", value);
  snprintf(into, CORPUS_TEXT, "%s", value);
}

/* A boolean, as options take it. */
static bool yes(reader *r, const char *key, const char *value, int line) {
  static const pd_option row = {.type = PD_BOOL};
  option_value got;
  char why[96], what[128];
  if (option_parse(&row, value, &got, why, sizeof why)) return got.truth;
  snprintf(what, sizeof what, "%s: %s", key, why);
  wrong(r, line, what, value);
  return false;
}

/* Whether `key` is `name`, or `name` with a number from 2 on after it. */
static bool is_numbered(const char *key, const char *name) {
  const size_t length = strlen(name);
  if (strncmp(key, name, length) != 0) return false;
  const char *number = key + length;
  if (!*number) return true;
  return number[0] != '0' && strcmp(number, "1") != 0 && !number[strspn(number, "0123456789")];
}

/* One more of `room` lines of settings. */
static void add_text(reader *r, char (*into)[CORPUS_TEXT], uint32_t *count, uint32_t room, const char *value,
                     int line) {
  if (*count == room)
    wrong(r, line, "too many lines of settings; one can hold several SECTION.KEY=VALUE", value);
  else
    text_of(r, into[(*count)++], value, line);
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
  else if (is_numbered(key, "set"))
    add_text(r, c->sets, &c->set_count, CORPUS_SETS, value, line);
  else if (is_numbered(key, "size"))
    add_text(r, c->sizes, &c->size_count, CORPUS_SIZES, value, line);
  else
    wrong(r, line,
          "no such key of [corpus]: it has seeds, min_effect, hold_out, fix_seeds, sinks, set, set2 ..., size, size2 "
          "...",
          key);
}

static bool is_baselines(const reader *r, const char *value, int line) {
  const bool is_it = !strcmp(value, "baselines");
  if (!is_it && strcmp(value, "control") != 0) wrong(r, line, "effect: control or baselines", value);
  return is_it;
}

static void cause_key(reader *r, corpus_group *group, const char *key, const char *value, int line) {
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
    if (texts[i].into == group->expect) group->expect_line = line;
    if (texts[i].into == group->also) group->also_line = line;
    return;
  }
  if (!strcmp(key, "values"))
    take_values(r, group, value, line);
  else if (!strcmp(key, "repeat"))
    group->repeat = whole(r, key, value, 1, 100, line);
  else if (!strcmp(key, "paired"))
    group->paired = yes(r, key, value, line);
  else if (!strcmp(key, "effect"))
    group->by_baselines = is_baselines(r, value, line);
  else if (!strcmp(key, "off_path"))
    group->off_path = yes(r, key, value, line);
  else
    wrong(r, line,
          "no such key: a cause has scenario, expect, also, dial, values, set, paired, off_path, repeat, effect", key);
}

/* inih shows a section that comes again as more of the first. */
static void heading(reader *r, const char *section, int line) {
  const bool is_corpus = !strcmp(section, "corpus");
  const corpus_group *there = is_corpus ? NULL : find_group(r->into, section);
  const int first = is_corpus ? r->corpus_line : there ? there->line : 0;
  char what[96];
  r->key_count = 0;
  if (first) {
    snprintf(what, sizeof what, "there is such a section already, in line %d; each has a name of its own", first);
    wrong(r, line, what, section);
  } else if (is_corpus) {
    r->corpus_line = line;
  } else {
    (void)group_of(r, section, line);
  }
}

/* Whether the section has the key already; if not, it has it from now on. */
static bool is_again(reader *r, const char *key, int line) {
  char what[64];
  for (uint32_t i = 0; i < r->key_count; i++) {
    if (strcmp(r->keys[i].name, key) != 0) continue;
    snprintf(what, sizeof what, "set twice in this section, first in line %d", r->keys[i].line);
    wrong(r, line, what, key);
    return true;
  }
  if (r->key_count < SECTION_KEYS) {
    snprintf(r->keys[r->key_count].name, CORPUS_TEXT, "%s", key);
    r->keys[r->key_count++].line = line;
  }
  return false;
}

static bool row(void *user, const char *section, const char *key, const char *value, int line) {
  reader *r = user;
  if (!key) {
    heading(r, section, line);
    return true;
  }
  if (is_again(r, key, line)) return true;
  if (!strcmp(section, "corpus")) {
    corpus_key(r, key, value, line);
    return true;
  }
  corpus_group *group = group_of(r, section, line);
  if (group) cause_key(r, group, key, value, line);
  return true;
}

/* What no verdict can say would never come out right. */
static void check_cause(const reader *r, const corpus_group *group) {
  char all[512] = "", what[640], hint[96];
  suggest near = {.wanted = group->expect};
  size_t used = 0;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) {
    if (!strcmp(verdict_key(c), group->expect)) return;
    suggest_offer(&near, verdict_key(c));
    if (used < sizeof all)
      used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", c ? ", " : "", verdict_key(c));
  }
  snprintf(what, sizeof what, "expect: no cause that a verdict names; there are %s%s", all,
           suggest_text(&near, hint, sizeof hint));
  wrong(r, group->expect_line, what, group->expect);
}

static void check_also(const reader *r, const corpus_group *group) {
  if (strcmp(group->also, verdict_key(VERDICT_input_bound)) != 0)
    wrong(r, group->also_line, "also: what the loader injects beside the scenario is input_bound alone", group->also);
  else if (!strcmp(group->expect, group->also) || !strcmp(group->expect, "none"))
    wrong(r, group->also_line, "also: a second cause, beside one that the section expects", group->also);
}

static void check(reader *r) {
  corpus *c = r->into;
  c->baseline = CORPUS_GROUPS;
  for (uint32_t i = 0; i < c->group_count; i++) {
    const corpus_group *group = &c->groups[i];
    if (!group->scenario[0] || !group->expect[0]) wrong(r, group->line, "needs scenario and expect", group->name);
    if (!group->dial[0] != !group->value_count) wrong(r, group->line, "needs dial and values, or neither", group->name);
    if (group->expect[0]) check_cause(r, group);
    if (group->also[0]) check_also(r, group);
    if (strcmp(group->expect, "none") != 0) continue;
    if (c->baseline != CORPUS_GROUPS || group->value_count)
      wrong(r, group->line, "the baseline: one section without a dial expects none", group->name);
    c->baseline = i;
  }
  if (c->baseline == CORPUS_GROUPS)
    wrong(r, 1, "the corpus has no baseline: add a section with expect = none", "corpus");
}

/* `text` NULL: the file's. */
static corpus *read_from(const char *path, const char *text, size_t bytes, error *err) {
  corpus *self = calloc(1, sizeof *self);
  if (self) self->cells = calloc(CORPUS_CELLS, sizeof *self->cells);
  if (!self || !self->cells) {
    error_no_memory(err);
    corpus_free(self);
    return NULL;
  }
  self->seeds = 1;
  self->min_effect = 0.1;
  reader r = {.into = self, .path = path, .err = err};
  const pd_status status = text ? ini_text_read(path, text, bytes, row, &r, err) : ini_file_read(path, row, &r, err);
  if (status == PD_OK || self->group_count) check(&r);
  if (!err->count && !corpus_make_cells(self))
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
