/* See scenario_rig.h. */
#include "scenario_rig.h"

#include "plugin_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void scenario_rig_open(scenario_rig *rig, const char *name, const char *const *overrides) {
  char path[512];
  memset(rig, 0, sizeof *rig);
  train_rig_open(&rig->train);
  snprintf(path, sizeof path, "%s/%s.so", PDHOST_SCENARIOS, name);
  rig->plugin = plugin_file_open(path);
  rig->ops = rig->plugin->ops.scenario;
  rig->options = plugin_file_options(rig->plugin);
  for (; overrides && *overrides; overrides++) {
    char key[64];
    const char *equals = strchr(*overrides, '=');
    snprintf(key, sizeof key, "%.*s", (int)(equals - *overrides), *overrides);
    plugin_file_set(rig->plugin, rig->options, key, equals + 1);
  }
  train_config config = train_rig_config();
  for (const pd_preset *preset = rig->ops->presets; preset && preset->key; preset++)
    if (!strcmp(preset->key, "train.fused")) config.fused = !strcmp(preset->value, "true");
  train_rig_ok(&rig->train, train_rig_kit(&rig->train, &config), "kit");
  scenario_rig_expect_needs_kit(rig);
  test_host_add(&rig->train.host, PD_EXT_TRAIN, rig->train.train);
  test_host_add(&rig->train.host, PD_EXT_DEVICE, &rig->train.access);
  train_rig_ok(&rig->train, rig->ops->init(&rig->train.host.host, rig->options, &rig->state), "init");
}

void scenario_rig_close(scenario_rig *rig) {
  rig->ops->teardown(rig->state);
  free(rig->options);
  train_rig_close(&rig->train);
}

void scenario_rig_expect_needs_kit(scenario_rig *rig) {
  void *state = NULL;
  cr_assert_eq(rig->ops->init(&rig->train.host.host, rig->options, &state), PD_UNSUPPORTED);
  cr_assert_null(state);
  cr_assert(strstr(rig->train.host.message, "no training kit (" PD_EXT_TRAIN ")"), "%s", rig->train.host.message);
}

void scenario_rig_expect(const scenario_rig *rig, const char *name, const char *bottleneck,
                         const char *const *presets) {
  cr_assert_eq(rig->plugin->kind, PD_KIND_SCENARIO);
  cr_assert_str_eq(rig->plugin->name, name);
  cr_assert_str_eq(rig->ops->bottleneck, bottleneck);
  int wanted = 0, found = 0;
  for (; presets[wanted]; wanted++) {
    for (const pd_preset *preset = rig->ops->presets; preset->key; preset++) {
      char text[128];
      snprintf(text, sizeof text, "%s=%s", preset->key, preset->value);
      found += !strcmp(text, presets[wanted]);
    }
    cr_assert_eq(found, wanted + 1, "no preset %s", presets[wanted]);
  }
  for (const pd_preset *preset = rig->ops->presets; preset->key; preset++) wanted--;
  cr_assert_eq(wanted, 0, "a preset too many");
}

pd_trace *scenario_rig_trace(scenario_rig *rig, bool pinned, uint64_t resident) {
  train_rig *train = &rig->train;
  pd_batch batch = train_rig_batch(SCENARIO_BATCH, SCENARIO_SIZE, 1);
  const float *pageable = batch.images;
  const uint64_t bytes = (uint64_t)SCENARIO_BATCH * 3 * SCENARIO_SIZE * SCENARIO_SIZE * sizeof(float);
  const uint64_t label_bytes = SCENARIO_BATCH * sizeof(int64_t);
  char *locked = NULL;
  if (pinned) {
    train_rig_ok(train, train->memory.host_alloc(train->access.device, bytes + label_bytes, (void **)&locked),
                 "pinned");
    memcpy(locked, batch.images, bytes);
    memcpy(locked + bytes, batch.labels, label_bytes);
    free(train_rig_writable(batch.labels));
    batch.images = (const float *)(const void *)locked;
    batch.labels = (const int64_t *)(const void *)(locked + bytes);
    batch.pinned = 1;
  }
  batch.resident = resident;
  pd_step at = {.size = sizeof at, .phase = PD_PHASE_WARMUP_STEPS, .batch = &batch, .control = rig->control};
  for (at.index = 0; at.index < 2; at.index++) train_rig_ok(train, rig->ops->step(rig->state, &at), "step");
  train_rig_trace_begin(train);
  at.phase = PD_PHASE_ACTIVE;
  for (at.index = 0; at.index < SCENARIO_STEPS; at.index++) {
    train_rig_step_begin(train);
    train_rig_ok(train, rig->ops->step(rig->state, &at), "step");
    train_rig_step_end(train);
  }
  pd_trace *trace = train_rig_trace_end(train);
  double losses[SCENARIO_STEPS + 2];
  uint64_t count = 0;
  train_rig_ok(train, train_kit_losses(train->kit, losses, SCENARIO_STEPS + 2, &count), "losses");
  cr_assert_eq(count, SCENARIO_STEPS + 2);
  for (uint64_t i = 1; i < count; i++) cr_assert(losses[i] > 0 && losses[i] < 20 && losses[i] != losses[i - 1]);
  if (pinned) {
    train_rig_ok(train, train->memory.host_free(train->access.device, bytes + label_bytes, locked), "host_free");
    free(train_rig_writable(pageable));
  } else {
    train_rig_batch_free(&batch);
  }
  return trace;
}

uint64_t scenario_rig_spins(const char *name, const char *const *overrides, bool control, int64_t *shortest_ns) {
  uint64_t count = 0;
  scenario_rig rig;
  scenario_rig_open(&rig, name, overrides);
  rig.control = control;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  *shortest_ns = INT64_MAX;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind != PD_ACTIVITY_KERNEL || !strstr(pd_trace_string(trace, row->name)->text, "spin")) continue;
    if (row->end_ns - row->start_ns < *shortest_ns) *shortest_ns = row->end_ns - row->start_ns;
    count++;
  }
  trace_free(trace);
  scenario_rig_close(&rig);
  return count;
}
