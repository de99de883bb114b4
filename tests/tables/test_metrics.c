/* The registry: every metric is whole, and docs/metrics.md is what it says. PD_UPDATE_GOLDEN=1 writes the page anew. */
#include "tables/registry.h"
#include "golden.h"
#include "pd_test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *unit_name(pd_unit unit) {
  static const char *const names[] = {"a plain number", "count", "nanoseconds", "bytes",        "per cent",
                                      "ratio",          "FLOPs", "per second",  "10^9 bytes/s", "text"};
  cr_assert_lt(unit, sizeof names / sizeof *names);
  return names[unit];
}

PD_TEST(metrics, every_metric_is_whole) {
  uint64_t count;
  const pd_metric *const *all = registry_all(&count);
  cr_assert_eq(count, METRIC_COUNT);
  for (uint64_t i = 0; i < count; i++) {
    cr_assert(all[i]->key[0] && all[i]->heading[0], "metric %llu", (unsigned long long)i);
    cr_assert_gt(strlen(all[i]->definition), 10, "%s is not defined", all[i]->key);
    cr_assert_neq(all[i]->definition[strlen(all[i]->definition) - 1], '.', "%s", all[i]->key);
    cr_assert(all[i]->source && all[i]->source[0], "%s has no source", all[i]->key);
    for (const char *c = all[i]->key; *c; c++) cr_assert(islower(*c) || isdigit(*c) || *c == '_', "%s", all[i]->key);
    cr_assert_eq(registry_find(all[i]->key), all[i], "%s is there twice", all[i]->key);
    cr_assert_str_eq(registry_metric((metric_id)i, true)->key, all[i]->key);
    cr_assert_eq(registry_metric((metric_id)i, true)->unit, all[i]->unit);
  }
  cr_assert_null(registry_find("no_such_metric"));
}

PD_TEST(metrics, only_a_cuda_device_is_called_so) {
  uint64_t count;
  const pd_metric *const *all = registry_all(&count);
  for (uint64_t i = 0; i < count; i++) {
    cr_assert_null(strstr(all[i]->heading, "CUDA"), "%s", all[i]->key);
    cr_assert_null(strstr(all[i]->heading, "GPU"), "%s", all[i]->key);
  }
  cr_assert_str_eq(registry_metric(M_self_device_time_total, true)->heading, "Self CUDA");
  cr_assert_str_eq(registry_metric(M_self_device_time_total, false)->heading, "Self Device");
}

static void put_row(FILE *page, metric_id id) {
  const pd_metric *metric = registry_metric(id, false), *cuda = registry_metric(id, true);
  fprintf(page, "| `%s` | %s", metric->key, metric->heading);
  if (strcmp(metric->heading, cuda->heading) != 0) fprintf(page, " (CUDA: %s)", cuda->heading);
  fprintf(page, " | %s | %s", unit_name(metric->unit), metric->definition);
  if (metric->formula) fprintf(page, "; `%s`", metric->formula);
  fprintf(page, " | %s |\n", metric->source);
}

PD_TEST(metrics, the_glossary_is_the_registry) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *page = open_memstream(&text, &bytes);
  cr_assert_not_null(page);
  fputs("# Metrics\n\n"
        "Every figure that pdhost prints or stores. The key is the CSV column and the JSON key; `pdhost --explain KEY` "
        "prints\n"
        "one of them. Times are exact sums over the trace of the active steps, in nanoseconds; the table sink shows "
        "them in\n"
        "the unit asked for. This page is made from `core/tables/metrics_map.h`, and a test compares the two.\n\n"
        "| key | heading | unit | definition and formula | known from |\n"
        "| --- | --- | --- | --- | --- |\n",
        page);
  for (metric_id id = 0; id < METRIC_COUNT; id++) put_row(page, id);
  cr_assert_eq(fclose(page), 0);
  cr_assert(golden_equal(DOCS_DIR "/metrics.md", text, bytes), "docs/metrics.md is not what the registry says");
  free(text);
}
