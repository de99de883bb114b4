/* Unused keys; see unused_keys.h. */
#include "unused_keys.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

static const pd_setting *find(const config *settings, const char *section, const char *key) {
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, section) == 0 && strcmp(at->key, key) == 0) return at;
  }
  return NULL;
}

/* Length of an origin without its ":LINE". */
static size_t place_length(const char *origin) {
  const char *colon = strrchr(origin, ':');
  return colon ? (size_t)(colon - origin) : strlen(origin);
}

static bool same_place(const char *a, const char *b) {
  const size_t length = place_length(a);
  return length == place_length(b) && strncmp(a, b, length) == 0;
}

/* Given for this run: on the command line, or in the file that says what the run is. */
static bool is_meant(const config *settings, const pd_setting *at) {
  if (strcmp(at->origin, "default") == 0 || strncmp(at->origin, "preset of ", 10) == 0) return false;
  if (!strchr(at->origin, ':')) return true;
  return same_place(at->origin, find(settings, "run", "scenario")->origin) ||
         same_place(at->origin, find(settings, "data", "resident")->origin);
}

static void warn_of_resident(const config *settings) {
  static const char *const keys[] = {
      "num_workers", "prefetch_factor", "persistent_workers", "io_sleep_ms", "io_spread", "worker_init_ms", "cpu_us"};
  const pd_setting *resident = find(settings, "data", "resident"), *first = NULL;
  char names[128] = "";
  size_t used = 0;
  uint32_t count = 0;
  if (strcmp(resident->value, "none") == 0) return;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const pd_setting *at = find(settings, "data", keys[i]);
    /* No sleep is what a resident batch has. */
    const bool as_is = at->is_default && (strcmp(keys[i], "io_sleep_ms") == 0 || strcmp(keys[i], "cpu_us") == 0);
    if (as_is || !is_meant(settings, at)) continue;
    if (!first) first = at;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", count++ ? ", " : "", keys[i]);
  }
  if (first)
    log_line(PD_LOG_WARN, NULL,
             "%s: [data] %s: no effect on the steps: resident = %s (%s) makes %lld batches before the loop and serves "
             "them in turn; to load while training add -o data.resident=none",
             first->origin, names, resident->value, resident->origin, (long long)settings->data.resident_batches);
}

/* A file may have them for the runs that do measure. */
static void warn_of_benchmark(const config *settings) {
  char names[256] = "";
  size_t used = 0;
  for (uint64_t i = 0; i < settings->setting_count && used < sizeof names; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, "benchmark") != 0 || strcmp(at->origin, "command line") != 0) continue;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", at->key);
  }
  if (used)
    log_line(PD_LOG_WARN, NULL, "command line: [benchmark] %s: no effect on a run that trains; add --mode benchmark",
             names);
}

/* A key that shows something, and the key of [profile] without which that is never recorded. */
typedef struct need {
  const char *section, *key;
  const char *word; /* that its value has to hold for that; NULL: any but the default */
  size_t offset;    /* of the bool in profile_settings */
  const char *needed;
} need;

#define NEEDS(field) offsetof(profile_settings, field), #field
static const need needs[] = {
    {"sink.table", "group_by_input_shape", NULL, NEEDS(record_shapes)},
    {"sink.table", "group_by_stack_n", NULL, NEEDS(with_stack)},
    {"sink.table", "stacks", "always", NEEDS(with_stack)},
    {"sink.table", "sort_by", "memory", NEEDS(profile_memory)},
};

static void warn_of_needs(const config *settings) {
  for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
    const need *at = &needs[i];
    const pd_setting *asked = find(settings, at->section, at->key);
    if (!asked || asked->is_default || (at->word && !strstr(asked->value, at->word))) continue;
    if (*(const bool *)(const void *)((const char *)&settings->profile + at->offset)) continue;
    log_line(PD_LOG_WARN, NULL, "%s: [%s] %s = %s: no effect without [profile] %s; add -o profile.%s=true",
             asked->origin, at->section, at->key, asked->value, at->needed, at->needed);
  }
}

/* What only a window could show, in a run that has none. */
static void warn_of_timer_only(const config *settings) {
  static const char *const keys[] = {"with_stack", "with_flops", "with_modules", "series_every"};
  for (size_t i = 0; settings->profile.timer_only && i < sizeof keys / sizeof keys[0]; i++) {
    const pd_setting *at = find(settings, "profile", keys[i]);
    if (!at->is_default)
      log_line(PD_LOG_WARN, NULL, "%s: [profile] %s = %s: no effect with timer_only = true, which records nothing",
               at->origin, keys[i], at->value);
  }
}

static void warn_of_twin(const config *settings) {
  const pd_setting *at = find(settings, "schedule", "twin");
  const char *why = settings->profile.timer_only ? "[profile] timer_only = true, which records nothing"
                                                 : "[run] sync_timing = false, where steps run into one another";
  if (settings->schedule.twin && (settings->profile.timer_only || !settings->run.sync_timing))
    log_line(PD_LOG_WARN, NULL, "%s: [schedule] twin = %s: no effect with %s", at->origin, at->value, why);
}

void unused_keys_warn(const config *settings) {
  warn_of_resident(settings);
  if (strcmp(settings->run.mode, "benchmark") == 0) return;
  warn_of_benchmark(settings);
  warn_of_timer_only(settings);
  warn_of_twin(settings);
  if (!settings->profile.timer_only) warn_of_needs(settings);
}
