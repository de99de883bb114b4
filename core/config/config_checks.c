/* Checks across keys, and what follows from several; see config_impl.h. */
#include "config_dial.h"
#include "config_impl.h"
#include "placeholders.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const section_value *value_of(const config *self, uint32_t core, const char *key) {
  const config_section *at = &self->impl->core[core];
  return &at->values[section_find(at, key)];
}

/* "5,9" or "5:9": steps 5 to 8. */
static bool parse_range(const char *text, uint64_t *start, uint64_t *end) {
  const pd_option row = {.type = PD_INT, .min = "0", .max = "1_000_000_000"};
  char part[2][32], why[256];
  const char *mark = strpbrk(text, ",:");
  if (!mark || mark - text > 30 || strlen(mark) > 30) return false;
  snprintf(part[0], sizeof part[0], "%.*s", (int)(mark - text), text);
  snprintf(part[1], sizeof part[1], "%s", mark + 1 + (mark[1] == ' '));
  option_value values[2];
  for (int i = 0; i < 2; i++)
    if (!option_parse(&row, part[i], &values[i], why, sizeof why)) return false;
  *start = (uint64_t)values[0].integer;
  *end = (uint64_t)values[1].integer;
  return *start < *end;
}

/* The cost of recording is measured by steps that are timed one by one, where no work of a step runs into the next. */
static bool schedule_has_twin(const config *self) { return !self->profile.timer_only && self->run.sync_timing; }

static void plan_schedule(config *self, error *err) {
  const schedule_settings *s = &self->schedule;
  self->plan = (schedule){.skip_first = (uint64_t)s->skip_first,
                          .wait = (uint64_t)s->wait,
                          .warmup = (uint64_t)s->warmup,
                          .active = s->active == SCHEDULE_ACTIVE_ALL ? SCHEDULE_FOREVER : (uint64_t)s->active,
                          .repeat = (uint64_t)s->repeat,
                          .twin = schedule_has_twin(self) ? (uint64_t)s->twin : 0};
  if (!s->range[0]) return;
  static const char *const replaced[] = {"skip_first", "wait", "warmup", "active", "repeat", "twin"};
  const section_value *range = value_of(self, CORE_SCHEDULE, "range");
  uint64_t start, end;
  if (!parse_range(s->range, &start, &end)) {
    error_add(err, PD_INVALID, FAULT_CLASH,
              "%s: [schedule] range = %s: write START,END with START below END, for example 5,9 for steps 5 to 8",
              range->origin, range->text);
    return;
  }
  for (size_t i = 0; i < sizeof replaced / sizeof replaced[0]; i++) {
    const section_value *other = value_of(self, CORE_SCHEDULE, replaced[i]);
    if (strcmp(other->origin, "default") != 0)
      error_add(err, PD_INVALID, FAULT_CLASH, "%s: [schedule] range = %s: replaces %s, which %s sets too",
                range->origin, range->text, replaced[i], other->origin);
  }
  self->plan = schedule_from_range(start, end);
}

static void check_callgrind(const config *self, error *err) {
  const section_value *steps = value_of(self, CORE_BENCHMARK, "callgrind");
  const bool cuda = strcmp(self->run.device, "cuda") == 0 ||
                    (self->device.plugin && strcmp(self->device.plugin->table->name, "cuda") == 0);
  if (cuda)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] callgrind = %s: " CALLGRIND_NO_GPU, steps->origin,
              steps->text);
}

static void check_benchmark(const config *self, error *err) {
  const benchmark_settings *b = &self->benchmark;
  const section_value *number = value_of(self, CORE_BENCHMARK, "number");
  const section_value *max = value_of(self, CORE_BENCHMARK, "max_run_time");
  const bool timeit = strcmp(b->method, "timeit") == 0;
  if (timeit && b->number == 0 && !b->cold_cache)
    error_add(
        err, PD_INVALID, FAULT_CLASH,
        "%s: [benchmark] method = timeit: needs number, the runs of its one block, as in -o benchmark.number=1000",
        value_of(self, CORE_BENCHMARK, "method")->origin);
  if (timeit && b->min_blocks > 1)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] min_blocks = %s: method = timeit takes one block",
              value_of(self, CORE_BENCHMARK, "min_blocks")->origin, value_of(self, CORE_BENCHMARK, "min_blocks")->text);
  if (b->cold_cache && b->number > 1)
    error_add(err, PD_INVALID, FAULT_CLASH,
              "%s: [benchmark] number = %s: with cold_cache each run is a block; leave number out", number->origin,
              number->text);
  if (strcmp(b->method, "adaptive_autorange") == 0 && b->min_run_time > b->max_run_time)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] max_run_time = %s: below min_run_time = %s", max->origin,
              max->text, value_of(self, CORE_BENCHMARK, "min_run_time")->text);
  if (b->callgrind) check_callgrind(self, err);
}

/* As a label shows it: numbers in one spelling. */
static const char *label_value(void *user, const char *name, const char *key) {
  config *self = user;
  const config_section *in = config_find_section(self, name);
  const int row = in ? section_find(in, key) : -1;
  char number[32];
  if (row < 0) return NULL;
  const section_value *at = &in->values[row];
  if (in->rows[row].type != PD_INT || strcmp(at->text, "all") == 0) return at->text;
  snprintf(number, sizeof number, "%lld", (long long)at->value.integer);
  return text_pool_text(&self->impl->memory, number);
}

/* What a measurement is called follows from what runs, also where the command line changes that. */
static void fill_labels(config *self, error *err) {
  const char **const texts[] = {&self->benchmark.label, &self->benchmark.sub_label, &self->benchmark.description,
                                &self->benchmark.env, &self->benchmark.output};
  static const char *const keys[] = {"label", "sub_label", "description", "env", "output"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const section_value *at = value_of(self, CORE_BENCHMARK, keys[i]);
    char where[512];
    snprintf(where, sizeof where, "%s: [benchmark] %s = %s", at->origin, keys[i], at->text);
    (void)placeholders_fill(&self->impl->memory, texts[i], label_value, self, where, err);
  }
}

void config_finish_core(config *self, error *err) {
  struct config_impl *impl = self->impl;
  static const struct {
    const char *name;
    data_resident value;
  } residents[] = {{"none", DATA_RESIDENT_NONE}, {"host", DATA_RESIDENT_HOST}, {"device", DATA_RESIDENT_DEVICE}};
  for (size_t i = 0; i < sizeof residents / sizeof residents[0]; i++)
    if (strcmp(impl->data.resident, residents[i].name) == 0) impl->data.config.resident = residents[i].value;
  self->data = impl->data.config;
  self->data.seed = (uint64_t)self->run.seed;
  self->train.seed = (uint64_t)self->run.seed;
  self->train.batch_size = self->data.batch_size;
  self->train.image_size = self->data.image_size;
  self->train.with_flops = self->profile.with_flops;
  self->train.with_modules = self->profile.with_modules;
  if (self->data.drop_last && self->data.dataset_size < self->data.batch_size) {
    const section_value *size = value_of(self, CORE_DATA, "dataset_size");
    error_add(err, PD_INVALID, FAULT_CLASH,
              "%s: [data] dataset_size = %s: below batch_size = %s, so with drop_last there is no batch", size->origin,
              size->text, value_of(self, CORE_DATA, "batch_size")->text);
  }
  if (self->data.prefetch_to_device && !self->data.pin_memory) {
    const section_value *prefetch = value_of(self, CORE_DATA, "prefetch_to_device");
    error_add(
        err, PD_INVALID, FAULT_CLASH,
        "%s: [data] prefetch_to_device = %s: the copy of pageable memory holds up the loop; set pin_memory = true",
        prefetch->origin, prefetch->text);
  }
  if (!self->run.trace_dir[0])
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [run] trace_dir is empty; name a folder, . for this one",
              value_of(self, CORE_RUN, "trace_dir")->origin);
  fill_labels(self, err);
  plan_schedule(self, err);
  if (strcmp(self->run.mode, "benchmark") == 0) check_benchmark(self, err);
  config_dial_check(self, err);
}

/* [benchmark] threads is the device's own key by another name, and wins over it. A device that `auto` took may have
 * none.
 */
void config_apply_threads(const config *self, config_section *device, error *err) {
  const section_value *threads = value_of(self, CORE_BENCHMARK, "threads");
  if (strcmp(value_of(self, CORE_RUN, "mode")->text, "benchmark") != 0 || threads->value.integer == 0) return;
  if (section_find(device, "threads") >= 0)
    (void)section_set(device, "threads", threads->text, threads->origin, CODE_CONFIG, err);
  else if (!self->device_auto)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] threads = %s: %s has no `threads` option; remove it",
              threads->origin, threads->text, device->owner);
}
