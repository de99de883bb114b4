/* See measurement.h. */
#include "measurement.h"

#include <pdhost/array.h>
#include <pdhost/processors.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pairs_clear(pd_pairs *pairs) {
  for (uint64_t i = 0; i < pairs->count; i++) {
    free(pairs->rows[i].key);
    free(pairs->rows[i].value);
  }
  free(pairs->rows);
}

void measurement_clear(pd_measurement *self) {
  char *const texts[] = {self->label,    self->sub_label, self->description, self->env,
                         self->scenario, self->device,    self->method};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) free(texts[i]);
  free(self->host_s);
  free(self->device_s);
  free(self->pairing.id);
  free(self->pairing.restart_rounds);
  instructions_clear(&self->instructions);
  pairs_clear(&self->options);
  pairs_clear(&self->versions);
  pairs_clear(&self->conditions);
  for (uint64_t i = 0; i < self->warning_count; i++) free(self->warnings[i]);
  free(self->warnings);
  memset(self, 0, sizeof *self);
}

uint64_t measurement_threads(const char *value) {
  const long threads = strtol(value, NULL, 10);
  return threads > 0 ? (uint64_t)threads : pd_processors_allowed();
}

pd_status measurement_set(char **field, const char *text) {
  char *copy = text ? strdup(text) : NULL;
  if (text && !copy) return PD_NO_MEMORY;
  free(*field);
  *field = copy;
  return PD_OK;
}

pd_status pairs_set(pd_pairs *pairs, const char *key, const char *value) {
  for (uint64_t i = 0; i < pairs->count; i++)
    if (strcmp(pairs->rows[i].key, key) == 0) return measurement_set(&pairs->rows[i].value, value);
  if (!PD_ARRAY_FIT(pairs->rows, pairs->room, pairs->count + 1)) return PD_NO_MEMORY;
  pd_pair row = {strdup(key), strdup(value)};
  if (!row.key || !row.value) {
    free(row.key);
    free(row.value);
    return PD_NO_MEMORY;
  }
  pairs->rows[pairs->count++] = row;
  return PD_OK;
}

const char *pairs_get(const pd_pairs *pairs, const char *key) {
  for (uint64_t i = 0; i < pairs->count; i++)
    if (strcmp(pairs->rows[i].key, key) == 0) return pairs->rows[i].value;
  return NULL;
}

static bool is_time(double seconds) { return seconds >= 0 && seconds <= MEASUREMENT_LONGEST_S; }

/* Both columns grow together, so that a device time has its place if there is one. */
static pd_status grow_blocks(pd_measurement *self) {
  uint64_t room = self->block_room;
  if ((self->device_s || self->block_count == 0) && !PD_ARRAY_FIT(self->device_s, room, self->block_count + 1))
    return PD_NO_MEMORY;
  return PD_ARRAY_FIT(self->host_s, self->block_room, self->block_count + 1) ? PD_OK : PD_NO_MEMORY;
}

pd_status measurement_add_block(pd_measurement *self, double host_s, double device_s) {
  if (!is_time(host_s) || !(isnan(device_s) || is_time(device_s))) return PD_INVALID;
  if (self->block_count == self->block_room && grow_blocks(self) != PD_OK) return PD_NO_MEMORY;
  if (isnan(device_s)) {
    free(self->device_s);
    self->device_s = NULL;
  }
  if (self->device_s) self->device_s[self->block_count] = device_s;
  self->host_s[self->block_count++] = host_s;
  return PD_OK;
}

pd_status measurement_pair(pd_measurement *self, const char *id, int side, const uint64_t *restart_rounds,
                           uint64_t restart_count) {
  pd_pairing *to = &self->pairing;
  free(to->id);
  free(to->restart_rounds);
  *to = (pd_pairing){.id = strdup(id), .side = side, .restart_count = restart_count};
  to->restart_rounds = malloc((restart_count ? restart_count : 1) * sizeof *to->restart_rounds);
  if (!to->id || !to->restart_rounds) {
    free(to->id);
    free(to->restart_rounds);
    *to = (pd_pairing){.id = NULL};
    return PD_NO_MEMORY;
  }
  if (restart_count) memcpy(to->restart_rounds, restart_rounds, restart_count * sizeof *restart_rounds);
  return PD_OK;
}

pd_status measurement_warn(pd_measurement *self, const char *text) {
  if (!PD_ARRAY_FIT(self->warnings, self->warning_room, self->warning_count + 1)) return PD_NO_MEMORY;
  char *copy = strdup(text);
  if (!copy) return PD_NO_MEMORY;
  self->warnings[self->warning_count++] = copy;
  return PD_OK;
}

pd_status measurement_run_times(const pd_measurement *self, bool device, double *runs) {
  const double *blocks = device ? self->device_s : self->host_s;
  if (!blocks) return PD_UNSUPPORTED;
  for (uint64_t i = 0; i < self->block_count; i++) runs[i] = blocks[i] / (double)self->number_per_run;
  return PD_OK;
}

const char *measurement_title(const pd_measurement *self, char *text, size_t room) {
  const char *label = self->label ? self->label : self->scenario ? self->scenario : "";
  const char *sub = self->sub_label ? self->sub_label : "";
  snprintf(text, room, "%s%s%s", label, sub[0] ? ": " : "", sub);
  return text;
}

pd_status measurements_add(pd_measurements *self, pd_measurement *row) {
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return PD_NO_MEMORY;
  self->rows[self->count++] = *row;
  memset(row, 0, sizeof *row);
  return PD_OK;
}

void measurements_clear(pd_measurements *self) {
  for (uint64_t i = 0; i < self->count; i++) measurement_clear(&self->rows[i]);
  free(self->rows);
  *self = (pd_measurements){.rows = NULL};
}
