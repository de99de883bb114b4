/* See manifest_compare.h. */
#include "manifest_compare.h"

#include "base/stats.h"

#include <pdhost/array.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLE_SEED 1

typedef struct sides {
  const json_t *then, *now;
} sides;

static bool add(compared_group *to, const char *name, const char *then, const char *now) {
  if (!PD_ARRAY_FIT(to->changes, to->change_room, to->change_count + 1)) return false;
  to->changes[to->change_count++] = (compared_change){name, then, now};
  return true;
}

/* ---- texts by name ---- */

/* Where results go and how they are written changes no step; the device has a part of its own, and what mode =
 * benchmark does is not in a manifest. */
static bool is_left_out(compared_key key, const char *name) {
  return key == COMPARED_configuration && (strncmp(name, "sink.", 5) == 0 || strncmp(name, "benchmark.", 10) == 0 ||
                                           strcmp(name, "run.trace_dir") == 0 || strcmp(name, "run.device") == 0);
}

static bool compare_texts(compared_key key, sides of, compared_group *to) {
  const char *name;
  json_t *at;
  json_object_foreach((json_t *)of.then, name, at) {
    const char *then = json_string_value(at), *now = json_string_value(json_object_get(of.now, name));
    if (is_left_out(key, name)) continue;
    to->values++;
    if ((!now || strcmp(then, now) != 0) && !add(to, name, then, now)) return false;
  }
  json_object_foreach((json_t *)of.now, name, at) {
    if (is_left_out(key, name) || json_object_get(of.then, name)) continue;
    if (!add(to, name, NULL, json_string_value(at))) return false;
  }
  return true;
}

/* ---- windows ---- */

static json_int_t number_at(const json_t *window, const char *key) {
  return json_integer_value(json_object_get(window, key));
}

static const char *times_text(arena *texts, json_int_t count) {
  return arena_format(texts, "%lld times", (long long)count);
}

/* Names that came more or less often. */
static bool compare_names(sides of, uint64_t window, compared_group *to, arena *texts) {
  const char *name;
  json_t *at;
  json_object_foreach((json_t *)of.then, name, at) {
    const json_int_t then = json_integer_value(at), now = json_integer_value(json_object_get(of.now, name));
    if (then == now) continue;
    if (!add(to, arena_format(texts, "window %llu: %s", (unsigned long long)window, name), times_text(texts, then),
             json_object_get(of.now, name) ? times_text(texts, now) : NULL))
      return false;
  }
  json_object_foreach((json_t *)of.now, name, at) {
    if (json_object_get(of.then, name)) continue;
    if (!add(to, arena_format(texts, "window %llu: %s", (unsigned long long)window, name), NULL,
             times_text(texts, json_integer_value(at))))
      return false;
  }
  return true;
}

static bool compare_window(sides of, uint64_t window, compared_group *to, arena *texts) {
  const char *then = json_string_value(json_object_get(of.then, "sha256")),
             *now = json_string_value(json_object_get(of.now, "sha256"));
  const uint32_t before = to->change_count;
  if (number_at(of.then, "steps") != number_at(of.now, "steps") &&
      !add(to, arena_format(texts, "window %llu: steps", (unsigned long long)window),
           arena_format(texts, "%lld", (long long)number_at(of.then, "steps")),
           arena_format(texts, "%lld", (long long)number_at(of.now, "steps"))))
    return false;
  const sides names = {json_object_get(of.then, "names"), json_object_get(of.now, "names")};
  if (!compare_names(names, window, to, texts)) return false;
  if (to->change_count > before || strcmp(then, now) == 0) return true;
  return add(to, arena_format(texts, "window %llu: order of the same launches", (unsigned long long)window), then, now);
}

static bool compare_windows(sides of, compared_group *to, arena *texts) {
  const uint64_t then = json_array_size(of.then), now = json_array_size(of.now), both = then < now ? then : now;
  bool ok = true;
  for (uint64_t i = 0; i < then; i++) {
    const json_t *window = json_array_get(of.then, i);
    to->values += (uint64_t)(number_at(window, "launches"));
  }
  if (then != now)
    ok = add(to, "windows", arena_format(texts, "%llu", (unsigned long long)then),
             arena_format(texts, "%llu", (unsigned long long)now));
  for (uint64_t i = 0; i < both && ok; i++)
    ok = compare_window((sides){json_array_get(of.then, i), json_array_get(of.now, i)}, i, to, texts);
  return ok;
}

/* ---- losses and times ---- */

/* NaN for null. */
static double real_at(const json_t *array, uint64_t index) {
  const json_t *at = json_array_get(array, index);
  return json_is_number(at) ? json_number_value(at) : (double)NAN;
}

/* Each divided first: the distance of two large ones may be none of the numbers. */
static double distance(double then, double now) {
  const double larger = fmax(fabs(then), fabs(now));
  return isnan(then) || isnan(now) ? (double)INFINITY : fabs(now / larger - then / larger);
}

static void compare_losses(sides of, compared_losses *out) {
  *out = (compared_losses){.then = json_array_size(of.then), .now = json_array_size(of.now)};
  const uint64_t both = out->then < out->now ? out->then : out->now;
  for (uint64_t i = 0; i < both; i++) {
    const double then = real_at(of.then, i), now = real_at(of.now, i);
    if (then == now || (isnan(then) && isnan(now))) continue;
    const double share = distance(then, now);
    if (!out->unlike++) out->first = i;
    if (share > out->most) out->most = share;
  }
  out->differs = out->then != out->now || out->most > COMPARED_LOSS_SHARE;
}

/* Those above 0; *count is how many. NULL on no memory. */
static double *times_of(const json_t *array, uint64_t *count) {
  double *out = malloc((json_array_size(array) + 1) * sizeof *out);
  *count = 0;
  for (uint64_t i = 0; i < json_array_size(array) && out; i++)
    if (real_at(array, i) > 0) out[(*count)++] = real_at(array, i);
  return out;
}

static bool compare_times(sides of, compared_times *out) {
  uint64_t then_count = 0, now_count = 0;
  double *then = times_of(of.then, &then_count), *now = times_of(of.now, &now_count);
  bool ok = then && now;
  if (ok && then_count && now_count) {
    ok = resample_unpaired(then, then_count, now, now_count, RESAMPLE_SEED, &out->of);
    out->found = comparison_outcome(&out->of, then_count < now_count ? then_count : now_count, COMPARISON_MARGIN);
  }
  if (ok) {
    out->then = stats_spread(then, then_count);
    out->now = stats_spread(now, now_count);
  }
  free(then);
  free(now);
  return ok;
}

/* ---- the whole ---- */

static sides parts_of(sides of, const char *key) {
  return (sides){json_object_get(of.then, key), json_object_get(of.now, key)};
}

/* A run that was cut short did not do the same. */
static bool compare_outcome(sides of, compared_group *to) {
  const char *then = json_string_value(json_object_get(of.then, "outcome")),
             *now = json_string_value(json_object_get(of.now, "outcome"));
  return strcmp(then, now) == 0 || add(to, "outcome", then, now);
}

bool manifest_compare(const json_t *then, const json_t *now, manifest_comparison *out) {
#define X(key_, title_, counts_) {.key = #key_, .title = (title_), .counts = (counts_)},
  static const compared_group groups[COMPARED_COUNT] = {COMPARED_MAP(X)};
#undef X
  const sides of = {then, now};
  *out = (manifest_comparison){.differs = false};
  memcpy(out->groups, groups, sizeof groups);
  bool ok = compare_outcome(of, &out->groups[COMPARED_windows]);
  for (uint32_t key = 0; key < COMPARED_COUNT && ok; key++) {
    compared_group *to = &out->groups[key];
    const sides parts = parts_of(of, to->key);
    ok = key == COMPARED_windows ? compare_windows(parts, to, &out->texts) : compare_texts(key, parts, to);
    out->differs = out->differs || (to->counts && to->change_count);
  }
  compare_losses(parts_of(of, "losses"), &out->losses);
  out->differs = out->differs || out->losses.differs;
  return ok && compare_times(parts_of(of, "step_time_ns"), &out->times) && !out->texts.failed;
}

void manifest_comparison_close(manifest_comparison *self) {
  for (uint32_t i = 0; i < COMPARED_COUNT; i++) free(self->groups[i].changes);
  arena_free(&self->texts);
  *self = (manifest_comparison){.differs = false};
}
