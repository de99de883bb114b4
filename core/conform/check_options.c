/* Options structs for the conformance checks; see check_list.h. */
#include "check_list.h"
#include "abi/option.h"

#include <stdio.h>
#include <string.h>

const char *check_stand_in(const pd_option *row) {
  if (row->def) return row->def;
  if (row->type == PD_CHOICE || (row->type == PD_STRING && row->choices)) return row->choices[0];
  if (row->type == PD_BOOL) return "false";
  if (row->type == PD_STRING || row->type == PD_PATH) return "x";
  return row->min ? row->min : row->max ? row->max : "1";
}

void *check_options(const check_target *target, const char *key, const char *text) {
  const pd_plugin *table = target->table;
  char *options = calloc(1, table->options_size ? table->options_size : 1);
  for (uint32_t i = 0; options && i < table->option_count; i++) {
    const pd_option row = plugin_option(table, i);
    option_value value;
    char why[512];
    const bool chosen = key && strcmp(row.key, key) == 0;
    const char *given = check_given_value(target, row.key);
    if (option_parse(&row, chosen ? text : given ? given : check_stand_in(&row), &value, why, sizeof why))
      option_store(&row, &value, options);
  }
  return options;
}

static check_verdict with_value(const check_target *target, const char *key, const char *text,
                                check_verdict (*body)(const check_target *, const void *)) {
  void *options = check_options(target, key, text);
  if (!options) return check_verdict_of(CHECK_BROKEN, "out of memory");
  check_verdict verdict = body(target, options);
  free(options);
  if (verdict.outcome == CHECK_OK || !key) return verdict;
  const check_verdict bare = verdict;
  snprintf(verdict.why, sizeof verdict.why, "with %s = %s: %.900s", key, text, bare.why);
  return verdict;
}

check_verdict check_each_bound(const check_target *target,
                               check_verdict (*body)(const check_target *target, const void *options)) {
  check_verdict verdict = with_value(target, NULL, NULL, body);
  for (uint32_t i = 0; verdict.outcome == CHECK_OK && i < target->table->option_count; i++) {
    const pd_option row = plugin_option(target->table, i);
    static const char *const truths[] = {"false", "true", NULL};
    const char *const bounds[] = {row.min ? row.min : row.max, row.min ? row.max : NULL, NULL};
    const char *const *values = row.type == PD_CHOICE ? row.choices : row.type == PD_BOOL ? truths : bounds;
    for (; verdict.outcome == CHECK_OK && *values; values++) verdict = with_value(target, row.key, *values, body);
  }
  return verdict;
}
