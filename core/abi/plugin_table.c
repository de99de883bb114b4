/* The checks of a plugin's descriptor: versions and sizes first, then its texts, rows and function tables, so that
 * nothing is read before it is known to be there. Called by the loader and by --check-plugin. */
#include "option.h"
#include "plugins.h"

#include "base/version.h"

#include <stdio.h>
#include <string.h>

#define REJECT(...) error_set(err, PD_INVALID, FAULT_REJECTED, __VA_ARGS__)

/* Bytes of the tables as they were in ABI 1.0: what every plugin of major 1 has. */
enum {
  PLUGIN_1_0_BYTES = offsetof(pd_plugin, ops) + sizeof(void *), /* a union of pointers */
  OPTION_1_0_BYTES = offsetof(pd_option, type) + sizeof(((pd_option *)0)->type),
  SCENARIO_1_0_BYTES = offsetof(pd_scenario_ops, teardown) + sizeof(((pd_scenario_ops *)0)->teardown),
  SINK_1_0_BYTES = offsetof(pd_sink_ops, close) + sizeof(((pd_sink_ops *)0)->close),
  DEVICE_1_0_BYTES = offsetof(pd_device_ops, profile) + sizeof(void *)
};

const char *plugin_kind_name(pd_kind kind) {
  switch (kind) {
  case PD_KIND_SCENARIO: return "scenario";
  case PD_KIND_SINK: return "sink";
  case PD_KIND_DEVICE: return "device";
  case PD_KIND_READER: return "reader";
  case PD_KIND_COMMUNICATOR: return "communicator";
  default: return "plugin";
  }
}

pd_option plugin_option(const pd_plugin *table, uint32_t index) {
  pd_option row = {.key = NULL};
  const size_t bytes = table->option_size < sizeof row ? table->option_size : sizeof row;
  memcpy(&row, (const char *)table->options + (size_t)index * table->option_size, bytes);
  return row;
}

static pd_status check_versions(const pd_plugin *table, pd_kind kind, const char *path, error *err) {
  if (table->size < 8)
    return REJECT("%s: its descriptor says that it has %u bytes; rebuild the plugin", path, table->size);
  if (table->abi_major != PD_ABI_MAJOR)
    return REJECT("%s: built for plugin ABI %u.%u, this pdhost %s speaks %d.%d: rebuild the plugin", path,
                  table->abi_major, table->abi_minor, version_text(), PD_ABI_MAJOR, PD_ABI_MINOR);
  if (table->size < PLUGIN_1_0_BYTES)
    return REJECT("%s: its descriptor has %u bytes where ABI 1.0 has %d; rebuild the plugin", path, table->size,
                  (int)PLUGIN_1_0_BYTES);
  if (table->kind < PD_KIND_SCENARIO || table->kind > PD_KIND_COMMUNICATOR)
    return REJECT("%s: its kind %u is none that pdhost %s knows", path, table->kind, version_text());
  if (kind && table->kind != kind)
    return REJECT("%s: is a %s, not a %s", path, plugin_kind_name(table->kind), plugin_kind_name(kind));
  return PD_OK;
}

static bool name_is_sound(const char *name) {
  if (!name || !name[0] || strlen(name) > 48) return false;
  return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static pd_status check_texts(const pd_plugin *table, const char *path, error *err) {
  if (!name_is_sound(table->name)) return REJECT("%s: its name is not of the form [a-z0-9_]+", path);
  if (!table->version || !table->version[0]) return REJECT("%s: it has no version text", path);
  if (!table->summary || !table->summary[0]) return REJECT("%s: it has no summary", path);
  if (strchr(table->summary, '\n')) return REJECT("%s: its summary has more than one line", path);
  return PD_OK;
}

static pd_status check_rows(const pd_plugin *table, const char *path, error *err) {
  if (table->option_count == 0) return PD_OK;
  if (table->option_size < OPTION_1_0_BYTES || table->option_size % sizeof(void *) != 0)
    return REJECT("%s: its option rows have %u bytes where ABI 1.0 has %d", path, table->option_size,
                  (int)OPTION_1_0_BYTES);
  if (!table->options) return REJECT("%s: it has %u options but no rows", path, table->option_count);
  for (uint32_t i = 0; i < table->option_count; i++) {
    const pd_option row = plugin_option(table, i);
    char why[768];
    const bool sound = option_check_row(&row, table->options_size, why, sizeof why);
    if (sound && row.choices && row.type != PD_CHOICE && row.type != PD_STRING)
      return REJECT("%s: option %s: choices belong to a choice", path, row.key);
    if (!sound && row.key) return REJECT("%s: option %s: %s", path, row.key, why);
    if (!sound) return REJECT("%s: option row %u: %s", path, i, why);
    for (uint32_t j = 0; j < i; j++)
      if (strcmp(plugin_option(table, j).key, row.key) == 0)
        return REJECT("%s: option %s: has two rows", path, row.key);
  }
  return PD_OK;
}

static pd_status check_size(uint32_t size, int needed, const char *what, const char *path, error *err) {
  if (size >= (uint32_t)needed) return PD_OK;
  return REJECT("%s: its %s table has %u bytes where ABI 1.0 has %d; rebuild the plugin", path, what, size, needed);
}

#define NEED(table_, member, what)                                                                                     \
  do {                                                                                                                 \
    if (!(table_)->member) return REJECT("%s: its %s has no %s", path, what, #member);                                 \
  } while (0)

static pd_status check_preset(const char *key, const char *value, const char *path, error *err) {
  if (key && value && strchr(key, '.')) return PD_OK;
  return REJECT("%s: preset %s: is not of the form section.key with a value", path, key ? key : "without a key");
}

static pd_status check_cures(const pd_cure *at, const char *path, error *err) {
  for (; at && at->cause; at++)
    if (!at->settings || !at->settings[0]) return REJECT("%s: its cure of %s has no settings", path, at->cause);
  return PD_OK;
}

static pd_status check_scenario(const pd_scenario_ops *ops, const char *path, error *err) {
  const pd_status status = check_size(ops->size, SCENARIO_1_0_BYTES, "scenario", path, err);
  if (status != PD_OK) return status;
  NEED(ops, bottleneck, "scenario table");
  NEED(ops, init, "scenario table");
  NEED(ops, step, "scenario table");
  NEED(ops, teardown, "scenario table");
  for (const pd_preset *at = ops->presets; at && at->key; at++)
    if (check_preset(at->key, at->value, path, err) != PD_OK) return PD_INVALID;
  const pd_device_preset *at = PD_HAS(pd_scenario_ops, ops, device_presets) ? ops->device_presets : NULL;
  for (; at && at->device; at++)
    if (check_preset(at->key, at->value, path, err) != PD_OK) return PD_INVALID;
  return check_cures(PD_HAS(pd_scenario_ops, ops, cures) ? ops->cures : NULL, path, err);
}

static pd_status check_sink(const pd_sink_ops *ops, const char *path, error *err) {
  const pd_status status = check_size(ops->size, SINK_1_0_BYTES, "sink", path, err);
  if (status != PD_OK) return status;
  NEED(ops, open, "sink table");
  NEED(ops, close, "sink table");
  return PD_OK;
}

static pd_status check_reader(const pd_reader_ops *ops, const char *path, error *err) {
  const pd_status status = check_size(ops->size, sizeof *ops, "reader", path, err);
  if (status != PD_OK) return status;
  NEED(ops, probe, "reader table");
  NEED(ops, open, "reader table");
  NEED(ops, next_window, "reader table");
  NEED(ops, close, "reader table");
  return PD_OK;
}

static pd_status check_communicator(const pd_communicator_ops *ops, const char *path, error *err) {
  const pd_status status = check_size(ops->size, sizeof *ops, "communicator", path, err);
  if (status != PD_OK) return status;
  NEED(ops, init, "communicator table");
  NEED(ops, close, "communicator table");
  NEED(ops, rank, "communicator table");
  NEED(ops, count, "communicator table");
  NEED(ops, abort, "communicator table");
  if (!ops->gather) NEED(ops, all_reduce, "communicator table");
  if (ops->barrier || ops->broadcast || ops->gather) {
    NEED(ops, barrier, "communicator table");
    NEED(ops, broadcast, "communicator table");
    NEED(ops, gather, "communicator table");
  }
  return PD_OK;
}

/* A function that every device has; what is missing here is missing at step 7 otherwise. */
typedef struct required {
  const char *name;
  size_t offset;
} required;
#define REQUIRED(T, member)                                                                                            \
  { #member, offsetof(T, member) }

static const required memory_members[] = {REQUIRED(pd_memory_ops, alloc),
                                          REQUIRED(pd_memory_ops, free),
                                          REQUIRED(pd_memory_ops, host_alloc),
                                          REQUIRED(pd_memory_ops, host_free),
                                          REQUIRED(pd_memory_ops, usage),
                                          REQUIRED(pd_memory_ops, copy),
                                          {NULL, 0}};
static const required stream_members[] = {REQUIRED(pd_stream_ops, create),
                                          REQUIRED(pd_stream_ops, destroy),
                                          REQUIRED(pd_stream_ops, synchronize),
                                          REQUIRED(pd_stream_ops, device_synchronize),
                                          REQUIRED(pd_stream_ops, event_create),
                                          REQUIRED(pd_stream_ops, event_destroy),
                                          REQUIRED(pd_stream_ops, event_record),
                                          REQUIRED(pd_stream_ops, event_wait),
                                          REQUIRED(pd_stream_ops, event_synchronize),
                                          REQUIRED(pd_stream_ops, event_elapsed_ns),
                                          {NULL, 0}};
static const required tensor_members[] = {REQUIRED(pd_tensor_ops, supports),
                                          REQUIRED(pd_tensor_ops, fill),
                                          REQUIRED(pd_tensor_ops, randn),
                                          REQUIRED(pd_tensor_ops, convert),
                                          REQUIRED(pd_tensor_ops, elementwise),
                                          REQUIRED(pd_tensor_ops, mean),
                                          REQUIRED(pd_tensor_ops, copy_columns),
                                          REQUIRED(pd_tensor_ops, conv2d_forward),
                                          REQUIRED(pd_tensor_ops, conv2d_backward_data),
                                          REQUIRED(pd_tensor_ops, conv2d_backward_weight),
                                          REQUIRED(pd_tensor_ops, bias_forward),
                                          REQUIRED(pd_tensor_ops, bias_backward),
                                          REQUIRED(pd_tensor_ops, mean_hw_forward),
                                          REQUIRED(pd_tensor_ops, mean_hw_backward),
                                          REQUIRED(pd_tensor_ops, matmul),
                                          REQUIRED(pd_tensor_ops, layer_norm_forward),
                                          REQUIRED(pd_tensor_ops, layer_norm_backward),
                                          REQUIRED(pd_tensor_ops, cross_entropy_forward),
                                          REQUIRED(pd_tensor_ops, cross_entropy_backward),
                                          REQUIRED(pd_tensor_ops, adamw),
                                          REQUIRED(pd_tensor_ops, unscale),
                                          REQUIRED(pd_tensor_ops, scaler_update),
                                          {NULL, 0}};
static const required profile_members[] = {REQUIRED(pd_profile_ops, attach),
                                           REQUIRED(pd_profile_ops, start),
                                           REQUIRED(pd_profile_ops, stop),
                                           REQUIRED(pd_profile_ops, drain),
                                           REQUIRED(pd_profile_ops, detach),
                                           REQUIRED(pd_profile_ops, status),
                                           {NULL, 0}};

/* `ops` begins with its size; NULL: the device has no such table. */
static pd_status check_members(const void *ops, const required *members, const char *what, const char *path,
                               error *err) {
  if (!ops) return REJECT("%s: its device table has no %s", path, what);
  uint32_t size;
  memcpy(&size, ops, sizeof size);
  for (; members->name; members++) {
    void (*function)(void) = NULL;
    if (size >= members->offset + sizeof function)
      memcpy(&function, (const char *)ops + members->offset, sizeof function);
    if (!function) return REJECT("%s: its %s table has no %s", path, what, members->name);
  }
  return PD_OK;
}

static pd_status check_device(const pd_device_ops *ops, const char *path, error *err) {
  pd_status status = check_size(ops->size, DEVICE_1_0_BYTES, "device", path, err);
  if (status != PD_OK) return status;
  NEED(ops, open, "device table");
  NEED(ops, close, "device table");
  NEED(ops, props, "device table");
  status = check_members(ops->memory, memory_members, "memory", path, err);
  if (status == PD_OK) status = check_members(ops->stream, stream_members, "stream", path, err);
  if (status == PD_OK) status = check_members(ops->tensor, tensor_members, "tensor", path, err);
  if (status == PD_OK) status = check_members(ops->profile, profile_members, "profile", path, err);
  const pd_preset *at = PD_HAS(pd_device_ops, ops, presets) ? ops->presets : NULL;
  for (; status == PD_OK && at && at->key; at++) status = check_preset(at->key, at->value, path, err);
  return status;
}

static pd_status check_ops(const pd_plugin *table, const char *path, error *err) {
  if (!table->ops.scenario) return REJECT("%s: it has no table of %s functions", path, plugin_kind_name(table->kind));
  switch (table->kind) {
  case PD_KIND_SCENARIO: return check_scenario(table->ops.scenario, path, err);
  case PD_KIND_SINK: return check_sink(table->ops.sink, path, err);
  case PD_KIND_READER: return check_reader(table->ops.reader, path, err);
  case PD_KIND_COMMUNICATOR: return check_communicator(table->ops.communicator, path, err);
  default: return check_device(table->ops.device, path, err);
  }
}

pd_status plugin_check_table(const pd_plugin *table, pd_kind kind, const char *path, error *err) {
  pd_status status = check_versions(table, kind, path, err);
  if (status == PD_OK) status = check_texts(table, path, err);
  if (status == PD_OK) status = check_rows(table, path, err);
  if (status == PD_OK) status = check_ops(table, path, err);
  return status;
}
