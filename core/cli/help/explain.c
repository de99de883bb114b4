/* See explain.h. */
#include "explain.h"

#include "fault_pages.h"
#include "words.h"

#include "tables/window_tables.h"
#include "ledger/verdict.h"
#include "base/json_text.h"
#include "base/suggest.h"
#include "base/wrap.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The registry belongs to an analysis that lives until the process ends. */
static const pd_metric *const *metrics(uint64_t *count) {
  static analysis *registry;
  static const pd_device_props no_device = {.size = sizeof(pd_device_props)};
  const analysis_context context = {.device = &no_device, .cores = 1};
  if (!registry && analysis_open(&context, &registry) != PD_OK) return NULL;
  const pd_analysis *table = analysis_table(registry);
  return table->metrics(table, count);
}

static const char *text_of(pd_unit unit) {
  static const char *const names[] = {"none",       "count", "nanoseconds", "bytes",         "percent",
                                      "ratio 0..1", "flops", "per second",  "GB per second", "text"};
  return unit < sizeof names / sizeof names[0] ? names[unit] : "unknown";
}

/* How a name is looked for. */
typedef enum likeness { AS_IT_IS, LOOSELY } likeness;

/* "CPUTotal" is the key cpu_total, and torch's self_cuda_time_total is self_device_time_total. */
static bool is_key(const char *name, const char *key) {
  while (*name && *key) {
    const bool cuda = strncasecmp(name, "cuda", 4) == 0 && strncmp(key, "device", 6) == 0;
    if (!cuda && *name != '_' && *key == '_') key++;
    if (!cuda && tolower((unsigned char)*name) != tolower((unsigned char)*key)) return false;
    name += cuda ? 4 : 1;
    key += cuda ? 6 : 1;
  }
  return !*name && !*key;
}

/* Without what is in brackets after it: "Share (%)", "Step now (ms)". */
static size_t without_unit(const char *heading) {
  const char *unit = strstr(heading, " (");
  return unit && unit > heading ? (size_t)(unit - heading) : strlen(heading);
}

static bool is_heading(const char *name, const char *heading, likeness how) {
  if (!heading) return false;
  if (how == AS_IT_IS) return strcasecmp(name, heading) == 0;
  const size_t length = without_unit(name);
  return length == without_unit(heading) && strncasecmp(name, heading, length) == 0;
}

static void explain_one(const pd_metric *at, const char *on_cuda) {
  printf("%s   \"%s\"", at->key, at->heading);
  if (on_cuda && strcmp(on_cuda, at->heading) != 0) printf(", on a CUDA device \"%s\"", on_cuda);
  printf("\n  %s\n", at->definition);
  if (at->formula) printf("  formula  %s\n", at->formula);
  if (at->source) printf("  source   %s\n", at->source);
  printf("  unit     %s\n", text_of(at->unit));
}

/* Every metric of that name. Returns how many there are. */
static uint64_t explain_all(const pd_metric *const *all, uint64_t count, const char *name, likeness how) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    const char *on_cuda = analysis_cuda_heading(all[i]->key);
    const bool is_it = how == AS_IT_IS ? strcmp(name, all[i]->key) == 0 : is_key(name, all[i]->key);
    if (!is_it && !is_heading(name, all[i]->heading, how) && !is_heading(name, on_cuda, how)) continue;
    if (found++) putchar('\n');
    explain_one(all[i], on_cuda);
  }
  return found;
}

static const struct {
  const char *key, *text, *helps;
} causes[] = {
#define X(key, text, helps) {#key, text, helps},
    VERDICT_MAP(X)
#undef X
};
enum { CAUSE_COUNT = sizeof causes / sizeof causes[0], LIST_COLUMN = 28 };

static void print_row(const char *key, const char *text) {
  int used = printf("  ");
  used += wrap_pad(key, LIST_COLUMN - 2);
  wrap_print(text, used, LIST_COLUMN);
}

void explain_list_causes(void) {
  printf("causes\n");
  for (uint32_t i = 0; i < CAUSE_COUNT; i++) print_row(causes[i].key, causes[i].text);
}

void explain_list_metrics(void) {
  uint64_t count = 0;
  const pd_metric *const *all = metrics(&count);
  printf("metrics\n");
  for (uint64_t i = 0; all && i < count; i++) print_row(all[i]->key, all[i]->heading);
}

json_t *explain_json_causes(void) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < CAUSE_COUNT; i++)
    (void)json_text_append(array, json_pack("{s:s, s:s}", "name", causes[i].key, "text", causes[i].text));
  return array;
}

json_t *explain_json_metrics(void) {
  uint64_t count = 0;
  const pd_metric *const *all = metrics(&count);
  json_t *array = json_array();
  for (uint64_t i = 0; all && i < count; i++)
    (void)json_text_append(array, json_pack("{s:o, s:o, s:o, s:s}", "key", json_text_of(all[i]->key), "heading",
                                            json_text_of(all[i]->heading), "definition",
                                            json_text_of(all[i]->definition), "unit", text_of(all[i]->unit)));
  return array;
}

/* "forced_sync", "forced-sync" */
static bool print_cause(const char *name) {
  for (uint32_t i = 0; i < CAUSE_COUNT; i++) {
    const char *a = name, *b = causes[i].key;
    while (*a && *b && (*a == *b || (*b == '_' && *a == '-'))) a++, b++;
    if (*a || *b) continue;
    printf("%s   a cause that the verdict names\n  ", causes[i].key);
    wrap_print(causes[i].text, 2, 2);
    printf("  ");
    wrap_print(causes[i].helps, 2, 2);
    printf("  see docs/verdict.md for how it is found\n");
    return true;
  }
  return false;
}

void explain_offer(suggest *near) {
  for (uint32_t i = 0; i < CAUSE_COUNT; i++) suggest_offer(near, causes[i].key);
  fault_page_offer(near);
  words_offer(near);
  uint64_t count = 0;
  const pd_metric *const *all = metrics(&count);
  for (uint64_t i = 0; all && i < count; i++) suggest_offer(near, all[i]->key);
}

/* As it is typed: a metric, a word, or a key of a configuration. */
static bool print_exactly(const pd_metric *const *all, uint64_t count, const char *word) {
  uint64_t found = explain_all(all, count, word, AS_IT_IS);
  const uint64_t words = words_print(word, (uint32_t)found);
  if (words && !found) found = explain_all(all, count, word, LOOSELY); /* "Share" heads columns too */
  return found || words || words_print_key(word);
}

pd_status explain_print(const char *word, error *err) {
  if (fault_page_print(word) || print_cause(word)) return PD_OK;
  uint64_t count = 0;
  const pd_metric *const *all = metrics(&count);
  if (!all) return error_no_memory(err);
  char stem[64], hint[128];
  if (print_exactly(all, count, word)) return PD_OK;
  const char *made_of = words_stem(word, stem, sizeof stem);
  if (made_of != word && (print_cause(made_of) || print_exactly(all, count, made_of))) return PD_OK;
  if (explain_all(all, count, word, LOOSELY)) return PD_OK;
  suggest near = {.wanted = word};
  explain_offer(&near);
  suggest_text(&near, hint, sizeof hint);
  return error_set(err, PD_INVALID, FAULT_TOPIC, "--explain %s: no such word%s", word,
                   hint[0] ? hint : "; give a key of a file, the heading of a column or a word of the verdict");
}
