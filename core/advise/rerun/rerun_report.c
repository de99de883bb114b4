/* See rerun_report.h. */
#include "rerun_report.h"

#include "base/json_text.h"
#include "base/visible.h"
#include "base/wrap.h"

#include <pdhost/quantity.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RERUN_FORMAT "pdhost.rerun/1"

enum { TITLE_WIDTH = 15, VALUE_BYTES = 64, NAME_BYTES = 200, HASH_SHOWN = 12, SENTENCE_BYTES = 512 };

/* ---- text ---- */

static void add_word(char text[SENTENCE_BYTES], const char *word) {
  const size_t used = strlen(text);
  (void)snprintf(text + used, SENTENCE_BYTES - used, "%s%s", used ? ", " : "", word);
}

static void print_sentence(const manifest_comparison *of) {
  char text[SENTENCE_BYTES] = "";
  if (!of->differs) {
    printf("The same: nothing that should be equal differs.\n\n");
    return;
  }
  for (uint32_t i = 0; i < COMPARED_COUNT; i++)
    if (of->groups[i].counts && of->groups[i].change_count) add_word(text, of->groups[i].key);
  if (of->losses.differs) add_word(text, "losses");
  wrap_print(text, printf("Different: "), 11);
  printf("\n");
}

/* The digits of a hash, which end the value; NULL: it has none, or few. */
static const char *hash_digits(const char *value) {
  static const char *const kinds[] = {"sha256:", "build-id:"};
  const char *digits = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !digits; i++)
    if ((digits = strstr(value, kinds[i]))) digits += strlen(kinds[i]);
  const bool is_named = digits != NULL;
  if (!is_named) digits = value;
  const size_t count = strspn(digits, "0123456789abcdef");
  return !digits[count] && count > (is_named ? HASH_SHOWN : 63) ? digits : NULL;
}

/* The beginning of a long hash is enough to tell two apart. */
static const char *short_value(const char *value, char text[VALUE_BYTES]) {
  char before[4 * VALUE_BYTES];
  const char *digits = value ? hash_digits(value) : NULL;
  if (!value) return "(not there)";
  if (!digits) {
    visible_copy(text, VALUE_BYTES, value);
    return text;
  }
  (void)snprintf(before, sizeof before, "%.*s", (int)(digits - value), value);
  const size_t used = visible_copy(text, VALUE_BYTES - HASH_SHOWN - 3, before);
  (void)snprintf(text + used, VALUE_BYTES - used, "%.*s...", HASH_SHOWN, digits);
  return text;
}

static void print_group(const compared_group *group) {
  const bool launches = strcmp(group->key, "windows") == 0;
  printf("%-*s", TITLE_WIDTH, group->title);
  if (!group->change_count && launches && !group->values)
    printf("none was recorded\n");
  else if (!group->change_count && launches)
    printf("the same %llu, in the same order\n", (unsigned long long)group->values);
  else if (!group->change_count)
    printf("the same%s\n", group->values ? "" : " (none)");
  else
    printf("%u difference%s%s\n", group->change_count, group->change_count == 1 ? "" : "s",
           group->counts ? "" : "; does not count");
  for (uint32_t i = 0; i < group->change_count && i < RERUN_SHOWN; i++) {
    const compared_change *at = &group->changes[i];
    char name[NAME_BYTES], then[VALUE_BYTES], now[VALUE_BYTES], line[SENTENCE_BYTES];
    visible_copy(name, sizeof name, at->name);
    (void)snprintf(line, sizeof line, "%s: %s -> %s", name, short_value(at->then, then), short_value(at->now, now));
    wrap_print(line, printf("  "), 6);
  }
  if (group->change_count > RERUN_SHOWN)
    printf("  and %u more; --format json has all\n", group->change_count - RERUN_SHOWN);
}

static void print_losses(const compared_losses *of) {
  char line[SENTENCE_BYTES];
  printf("%-*s", TITLE_WIDTH, "Losses");
  if (of->then != of->now)
    (void)snprintf(line, sizeof line, "of %llu steps -> of %llu steps", (unsigned long long)of->then,
                   (unsigned long long)of->now);
  else if (!of->unlike)
    (void)snprintf(line, sizeof line, "the same to the last digit in %llu steps", (unsigned long long)of->then);
  else if (isinf(of->most))
    (void)snprintf(line, sizeof line, "from step %llu on, one side has no number", (unsigned long long)of->first);
  else
    (void)snprintf(line, sizeof line, "up to %.2g %% apart, from step %llu on%s", 100 * of->most,
                   (unsigned long long)of->first, of->differs ? "" : "; within rounding, does not count");
  wrap_print(line, TITLE_WIDTH, TITLE_WIDTH);
}

static const char *spread_text(const pd_spread *of, char text[VALUE_BYTES]) {
  const pd_scale unit = pd_time_scale(of->median);
  const int decimals = pd_decimals(of->median / unit.size);
  (void)snprintf(text, VALUE_BYTES, "%.*f %s (%.*f..%.*f)", decimals, of->median / unit.size, unit.name, decimals,
                 of->p10 / unit.size, decimals, of->p90 / unit.size);
  return text;
}

static void print_times(const compared_times *of) {
  char then[VALUE_BYTES], now[VALUE_BYTES], line[SENTENCE_BYTES];
  printf("%-*s", TITLE_WIDTH, "Step time");
  if (!of->then.count || !of->now.count) {
    printf("not known: no step was recorded in %s run\n", of->then.count ? "the second" : "the first");
    return;
  }
  printf("%s -> %s\n", spread_text(&of->then, then), spread_text(&of->now, now));
  (void)snprintf(line, sizeof line, "%s: %.3f times as long (%.3f..%.3f); does not count", comparison_word(of->found),
                 of->of.ratio, of->of.low, of->of.high);
  wrap_print(line, printf("  "), 6);
}

void rerun_report_text(const manifest_comparison *of) {
  print_sentence(of);
  for (uint32_t i = 0; i < COMPARED_COUNT; i++) print_group(&of->groups[i]);
  print_losses(&of->losses);
  print_times(&of->times);
}

/* ---- JSON ---- */

static json_t *group_value(const compared_group *group) {
  json_t *changes = json_array();
  bool ok = changes != NULL;
  for (uint32_t i = 0; i < group->change_count && ok; i++) {
    const compared_change *at = &group->changes[i];
    ok = json_text_append(changes, json_pack("{s:s, s:s?, s:s?}", "name", at->name, "then", at->then, "now", at->now));
  }
  if (ok)
    return json_pack("{s:b, s:b, s:o}", "same", (int)(group->change_count == 0), "counts", (int)group->counts,
                     "changes", changes);
  json_decref(changes);
  return NULL;
}

static json_t *spread_value(const pd_spread *of) {
  if (!of->count) return json_null();
  return json_pack("{s:I, s:f, s:f, s:f}", "count", (json_int_t)of->count, "median", 1e-9 * of->median, "p10",
                   1e-9 * of->p10, "p90", 1e-9 * of->p90);
}

static json_t *losses_value(const compared_losses *of) {
  return json_pack("{s:b, s:I, s:I, s:I, s:o, s:o}", "same", (int)!of->differs, "then", (json_int_t)of->then, "now",
                   (json_int_t)of->now, "unlike", (json_int_t)of->unlike, "first_unlike",
                   of->unlike ? json_integer((json_int_t)of->first) : json_null(), "largest_share",
                   isfinite(of->most) ? json_real(of->most) : json_null());
}

static json_t *times_value(const compared_times *of) {
  const bool known = of->then.count && of->now.count;
  json_t *value = json_pack("{s:o, s:o}", "then_s", spread_value(&of->then), "now_s", spread_value(&of->now));
  if (known)
    (void)json_object_update_new(value,
                                 json_pack("{s:s, s:f, s:f, s:f, s:f}", "verdict", comparison_word(of->found), "ratio",
                                           of->of.ratio, "low", of->of.low, "high", of->of.high, "p", of->of.p));
  return value;
}

bool rerun_report_json(const manifest_comparison *of) {
  json_t *document = json_pack("{s:s, s:b}", "format", RERUN_FORMAT, "same", (int)!of->differs);
  bool ok = document != NULL;
  for (uint32_t i = 0; i < COMPARED_COUNT && ok; i++)
    ok = json_text_add(document, of->groups[i].key, group_value(&of->groups[i]));
  ok = ok && json_text_add(document, "losses", losses_value(&of->losses)) &&
       json_text_add(document, "step_time", times_value(&of->times));
  ok = ok && json_text_print(json_incref(document), JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(document);
  return ok;
}
