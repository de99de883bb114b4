/* See config_dial.h. */
#include "config_dial.h"

#include "config_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const section_value *value_of(const config *self, const char *key) {
  const config_section *in = &self->impl->scenario;
  const int row = section_find(in, key);
  return row < 0 ? NULL : &in->values[row];
}

/* The value of a key that is a number; 0: the scenario does not have it. */
static double number_of(const config *self, const char *key) {
  const config_section *in = &self->impl->scenario;
  const int row = section_find(in, key);
  if (row < 0) return 0;
  return in->rows[row].type == PD_FLOAT ? in->values[row].value.real : (double)in->values[row].value.integer;
}

static const pd_option *row_of(const config *self, const char *key) {
  const config_section *in = &self->impl->scenario;
  return &in->rows[section_find(in, key)];
}

static double most_of(const config *self, const char *key) {
  char why[256];
  option_value value;
  const pd_option *row = row_of(self, key);
  if (!row->max || !option_parse(row, row->max, &value, why, sizeof why)) return INFINITY;
  return row->type == PD_FLOAT ? value.real : (double)value.integer;
}

static const char *dial_key(const config *self) {
  const pd_scenario_ops *ops = self->scenario.plugin ? self->scenario.plugin->table->ops.scenario : NULL;
  const char *key = ops && PD_HAS(pd_scenario_ops, ops, dial_none) ? ops->dial : NULL;
  return key && value_of(self, key) ? key : NULL;
}

/* What to try first where the time itself is the dial, and by default there is none. */
#define START_US 1000

/* Whether the time is the key itself, which the scenario sees to. */
static bool is_time(const char *key) { return strcmp(key, "inject_us") == 0; }

bool config_dial_of(const config *self, config_dial *out) {
  const char *key = dial_key(self);
  if (!key) return false;
  *out = (config_dial){.us = is_time(key) ? 0 : number_of(self, "inject_us"),
                       .share = number_of(self, "inject_share"),
                       .none = self->scenario.plugin->table->ops.scenario->dial_none,
                       .start = number_of(self, key),
                       .most = most_of(self, key),
                       .key = key,
                       .is_time = is_time(key),
                       .is_count = row_of(self, key)->type == PD_INT};
  if (is_time(key) && strcmp(row_of(self, key)->def, "0") == 0 && !(out->start > 0)) out->start = START_US;
  return (out->us > 0 || out->share > 0) && out->start > out->none;
}

void config_dial_check(const config *self, error *err) {
  const char *key = dial_key(self);
  if (!key || is_time(key) || !(number_of(self, "inject_us") > 0) || !(number_of(self, "inject_share") > 0)) return;
  const section_value *us = value_of(self, "inject_us"), *share = value_of(self, "inject_share");
  error_add(err, PD_INVALID, FAULT_CLASH, "%s: [scenario] inject_share = %s: set inject_us = %s or this, not both",
            share->origin, share->text, us->text);
}
