/* See draws.h. */
#include "draws.h"

#include "base/random_bits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As often a draw is made anew that was there before or does not meet what is required. */
enum { TRIES = 1000 };

static bool no_memory(error *err) {
  error_no_memory(err);
  return false;
}

static bool is_key(const distribution *at, const char *section, const char *key) {
  return strcmp(at->section, section) == 0 && strcmp(at->key, key) == 0;
}

bool draws_add(draws *self, const char *text, error *err) {
  if (self->key_count == DRAWS_KEYS) {
    error_add(err, PD_INVALID, CODE_USAGE, "--sample %s: at most %d keys are drawn", text, DRAWS_KEYS);
    return false;
  }
  distribution *added = &self->keys[self->key_count];
  if (!distribution_parse(text, added, err)) return false;
  for (uint32_t i = 0; i < self->key_count; i++) {
    if (!is_key(&self->keys[i], added->section, added->key)) continue;
    error_add(err, PD_INVALID, CODE_USAGE, "--sample %s: %s.%s is drawn already", text, added->section, added->key);
    distribution_free(added);
    return false;
  }
  self->key_count++;
  return true;
}

bool draws_require(draws *self, const char *text, error *err) {
  if (self->need_count == DRAWS_REQUIREMENTS) {
    error_add(err, PD_INVALID, CODE_USAGE, "--require %s: at most %d can be given", text, DRAWS_REQUIREMENTS);
    return false;
  }
  if (!requirement_parse(text, &self->needs[self->need_count], err)) return false;
  self->need_count++;
  return true;
}

static void free_values(draws *self) {
  for (uint32_t i = 0; i < self->count * self->key_count; i++) free(self->values[i]);
  free(self->values);
  self->values = NULL;
  self->count = 0;
}

void draws_free(draws *self) {
  free_values(self);
  for (uint32_t i = 0; i < self->key_count; i++) distribution_free(&self->keys[i]);
  for (uint32_t i = 0; i < self->need_count; i++) requirement_free(&self->needs[i]);
  self->key_count = self->need_count = 0;
}

const char *draws_value(const draws *self, uint32_t draw, uint32_t key) {
  return self->values[(size_t)draw * self->key_count + key];
}

/* Room for `count` draws; none has been made. */
static bool begin(draws *self, uint32_t count, error *err) {
  free_values(self);
  self->values = calloc((size_t)count * self->key_count + 1, sizeof *self->values);
  return self->values || no_memory(err);
}

/* The texts become the next draw. */
static bool keep(draws *self, const char *const *texts, error *err) {
  char **to = self->values + (size_t)self->count * self->key_count;
  self->count++; /* so that what was copied of it is freed, too */
  for (uint32_t i = 0; i < self->key_count; i++)
    if (!(to[i] = strdup(texts[i]))) return no_memory(err);
  return true;
}

uint32_t draws_ends(const draws *self) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < self->key_count; i++) {
    const distribution *at = &self->keys[i];
    const uint32_t ends = at->kind == DISTRIBUTION_CHOICE ? at->count : 2;
    most = ends > most ? ends : most;
  }
  return most;
}

bool draws_make_ends(draws *self, error *err) {
  const uint32_t count = draws_ends(self);
  bool ok = begin(self, count, err);
  for (uint32_t draw = 0; ok && draw < count; draw++) {
    const char *texts[DRAWS_KEYS];
    for (uint32_t i = 0; i < self->key_count; i++) {
      const distribution *at = &self->keys[i];
      texts[i] = at->kind == DISTRIBUTION_CHOICE ? at->values[draw < at->count ? draw : at->count - 1]
                 : draw                          ? at->high_text
                                                 : at->low_text;
    }
    ok = keep(self, texts, err);
  }
  return ok;
}

/* The generator's state for a key's value: a key draws the same whatever other keys there are. */
static uint64_t state_for(uint64_t seed, uint32_t draw, uint32_t tried, const distribution *at) {
  const char *const names[] = {at->section, at->key};
  uint64_t state = seed;
  state = random_bits(&state) ^ draw;
  state = random_bits(&state) ^ tried;
  for (int i = 0; i < 2; i++)
    for (const char *byte = names[i]; *byte; byte++) state = random_bits(&state) ^ (unsigned char)*byte;
  return state;
}

static bool was_drawn(const draws *self, const char *const *texts) {
  for (uint32_t draw = 0; draw < self->count; draw++) {
    uint32_t same = 0;
    while (same < self->key_count && strcmp(draws_value(self, draw, same), texts[same]) == 0) same++;
    if (same == self->key_count) return true;
  }
  return false;
}

static uint32_t find_key(const draws *self, const requirement_factor *of) {
  uint32_t i = 0;
  while (i < self->key_count && !is_key(&self->keys[i], of->section, of->key)) i++;
  return i;
}

static bool meets(const draws *self, const char *const *texts) {
  for (uint32_t i = 0; i < self->need_count; i++) {
    const requirement *need = &self->needs[i];
    double values[REQUIREMENT_FACTORS] = {0};
    for (uint32_t k = 0; k < need->count; k++)
      if (need->factors[k].section) (void)distribution_number(texts[find_key(self, &need->factors[k])], &values[k]);
    if (!requirement_met(need, values)) return false;
  }
  return true;
}

static bool check_needs(const draws *self, error *err) {
  for (uint32_t i = 0; i < self->need_count; i++)
    for (uint32_t k = 0; k < self->needs[i].count; k++) {
      const requirement_factor *factor = &self->needs[i].factors[k];
      if (!factor->section) continue;
      const uint32_t key = find_key(self, factor);
      if (key < self->key_count && distribution_is_numeric(&self->keys[key])) continue;
      error_add(err, PD_INVALID, CODE_USAGE, "--require %s: %s.%s %s", self->needs[i].text, factor->section,
                factor->key,
                key < self->key_count ? "has values that are not numbers" : "is not drawn: give it by --sample");
    }
  return !err->count;
}

/* One more draw, made anew until it is one that counts. */
static bool make_one(draws *self, error *err) {
  char numbers[DRAWS_KEYS][DISTRIBUTION_NUMBER_BYTES];
  const char *texts[DRAWS_KEYS];
  for (uint32_t tried = 0; tried < TRIES; tried++) {
    for (uint32_t i = 0; i < self->key_count; i++) {
      uint64_t state = state_for(self->seed, self->count, tried, &self->keys[i]);
      texts[i] = distribution_draw(&self->keys[i], &state, numbers[i]);
    }
    if (meets(self, texts) && !was_drawn(self, texts)) return keep(self, texts, err);
  }
  error_set(err, PD_INVALID, CODE_USAGE,
            "--draws: after %u there was none in %d tries that is new%s: ask for fewer, or draw from more values%s",
            self->count, TRIES, self->need_count ? " and meets what is required" : "",
            self->need_count ? ", or require less" : "");
  return false;
}

bool draws_make(draws *self, uint32_t count, uint64_t seed, error *err) {
  bool ok = check_needs(self, err) && begin(self, count, err);
  self->seed = seed;
  while (ok && self->count < count) ok = make_one(self, err);
  return ok;
}
