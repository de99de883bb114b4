/* pdhost --dry-run; see plan.h. */
#include "plan.h"

#include "config/config_presets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_plugin(const char *what, const plugin *at) {
  printf("%-10s %s %s (%s)\n", what, at->table->name, at->table->version, at->path);
}

static void print_schedule(const config *self) {
  const schedule *plan = &self->plan;
  printf("%-10s ", "schedule");
  if (plan->skip_first) printf("skip %" PRIu64 ", then ", plan->skip_first);
  printf("wait %" PRIu64 ", warm up %" PRIu64 ", ", plan->wait, plan->warmup);
  if (plan->active == SCHEDULE_FOREVER)
    printf("record from then on");
  else
    printf("record %" PRIu64, plan->active);
  if (plan->twin) printf(", in turns with as many that are not, in blocks of %" PRIu64, plan->twin);
  if (plan->repeat == 1)
    printf("; once\n");
  else if (plan->repeat == 0)
    printf("; again and again\n");
  else
    printf("; %" PRIu64 " times\n", plan->repeat);

  const uint64_t total = schedule_total(plan);
  const uint64_t most = (uint64_t)self->run.max_steps;
  printf("%-10s %" PRId64 " to warm up, then ", "steps", self->run.warmup_steps);
  if (total != SCHEDULE_FOREVER && (most == 0 || total <= most))
    printf("%" PRIu64 "\n", total);
  else if (most)
    printf("%" PRIu64 " (max_steps)\n", most);
  else
    printf("until the data ends or a signal comes\n");
}

static void print_benchmark(const config *self) {
  const benchmark_settings *b = &self->benchmark;
  printf("%-10s %" PRId64 " to warm up", "steps", self->run.warmup_steps);
  if (b->max_warmup_time) printf(", then until they are steady, at most %g s", 1e-9 * (double)b->max_warmup_time);
  printf("; then %s", b->method);
  if (b->cold_cache)
    printf(", one run a block, the cache emptied before it");
  else if (b->number)
    printf(", %" PRId64 " run%s a block", b->number, b->number > 1 ? "s" : "");
  if (b->callgrind)
    printf("; then Callgrind counts %" PRId64 " step%s, %" PRId64 " time%s", b->callgrind, b->callgrind > 1 ? "s" : "",
           b->callgrind_repeats, b->callgrind_repeats > 1 ? "s" : "");
  printf("\n%-10s one batch of %" PRId64 " images of 3 x %" PRId64 " x %" PRId64 "\n", "data", self->data.batch_size,
         self->data.image_size, self->data.image_size);
  printf("%-10s %s\n", "figures", b->output[0] ? b->output : "on standard output alone");
}

static double mib(double bytes) { return bytes / (1 << 20); }

/* What the settings alone determine: a batch is images of float and a label of 8 bytes each. */
static void print_data(const config *self) {
  const data_config *data = &self->data;
  const double pixels = 3.0 * (double)data->image_size * (double)data->image_size;
  const double batch = (double)data->batch_size * (pixels * sizeof(float) + sizeof(int64_t));
  const bool is_loaded = data->resident == DATA_RESIDENT_NONE;
  const int64_t held = !is_loaded ? data->resident_batches : data->num_workers * data->prefetch_factor + 1;
  printf("%-10s batches of %" PRId64 " images of 3 x %" PRId64 " x %" PRId64 ", ", "data", data->batch_size,
         data->image_size, data->image_size);
  if (is_loaded)
    printf("%" PRId64 " worker%s\n", data->num_workers, data->num_workers == 1 ? "" : "s");
  else
    printf("%" PRId64 " made once and resident on the %s\n", data->resident_batches,
           data->resident == DATA_RESIDENT_HOST ? "host" : "device");
  printf("%-10s %.3g MiB per batch, %" PRId64 " batch%s on the %s: %.3g MiB;\n", "memory", mib(batch), held,
         held == 1 ? "" : "es", data->resident == DATA_RESIDENT_DEVICE ? "device" : "host", mib(batch * (double)held));
  printf("%-10s and up to %.4g MiB of records per window; the model's activations\n", "",
         mib((double)self->profile.max_memory_bytes));
  printf("%-10s come on top on the device\n", "");
}

void plan_print(const config *self, const char *no_gpu) {
  char presets[512];
  print_plugin("scenario", self->scenario.plugin);
  printf("%-10s injects %s\n", "", self->scenario.plugin->table->ops.scenario->bottleneck);
  print_plugin("device", self->device.plugin);
  if (no_gpu[0]) printf("%-10s no GPU found (%s)\n", "", no_gpu);
  if (config_presets_text(self, presets, sizeof presets)[0]) printf("%-10s %s\n", "sized", presets);
  if (strcmp(self->run.mode, "benchmark") == 0) {
    print_benchmark(self);
    return;
  }
  print_schedule(self);
  print_data(self);
  for (uint32_t i = 0; i < self->sink_count; i++) print_plugin("sink", self->sinks[i].plugin);
  printf("%-10s %s\n", "traces", self->run.trace_dir);
  for (uint64_t i = 0; i < self->setting_count; i++) {
    const pd_setting *at = &self->settings[i];
    if (strcmp(at->section, "sink.json") == 0 && strcmp(at->key, "output_json") == 0)
      printf("%-10s %s%s%s%s\n", "figures", at->value[0] ? at->value : self->run.trace_dir,
             at->value[0] ? "" : "/metrics_", at->value[0] ? "" : self->scenario.plugin->table->name,
             at->value[0] ? "" : ".json");
  }
}
