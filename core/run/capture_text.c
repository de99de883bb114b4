/* The JSON of a capture; see capture_text.h. */
#include "capture_text.h"

#include "trace/strings.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A field of a structure, and its key. TEXT may be NULL and is left out then; WORD never is. */
typedef struct field {
  const char *key;
  size_t offset;
  enum { FIELD_TEXT, FIELD_WORD, FIELD_U32, FIELD_I64, FIELD_F64 } type;
} field;
#define FIELD(T, name, type)                                                                                           \
  { #name, offsetof(T, name), FIELD_##type }

#define RUN(name, type) FIELD(pd_run, name, type)
static const field run_fields[] = {RUN(pid, U32),
                                   RUN(start_realtime_ns, I64),
                                   RUN(scenario, WORD),
                                   RUN(scenario_version, WORD),
                                   RUN(bottleneck, TEXT),
                                   RUN(device_name, WORD),
                                   RUN(pdhost_version, WORD),
                                   RUN(command_line, WORD),
                                   RUN(trace_dir, WORD),
                                   RUN(worker, WORD),
                                   RUN(host_name, WORD),
                                   RUN(seed, I64),
                                   RUN(batch_size, I64),
                                   RUN(num_workers, I64),
                                   RUN(image_size, I64),
                                   RUN(pin_memory, U32),
                                   RUN(amp, U32),
                                   RUN(channels_last, U32),
                                   RUN(sync_timing, U32),
                                   RUN(total_steps, I64),
                                   RUN(skip_first, I64),
                                   RUN(wait, I64),
                                   RUN(warmup, I64),
                                   RUN(active, I64),
                                   RUN(repeat, I64),
                                   RUN(record_shapes, U32),
                                   RUN(profile_memory, U32),
                                   RUN(with_stack, U32),
                                   RUN(with_flops, U32),
                                   RUN(with_modules, U32),
                                   RUN(timer_only, U32),
                                   RUN(fallback, TEXT),
                                   RUN(offers, U32),
                                   RUN(quiet, U32),
                                   RUN(source_id, WORD),
                                   RUN(rank, U32),
                                   RUN(ranks, U32),
                                   RUN(backend, TEXT)};
#undef RUN

#define DEVICE(name, type) FIELD(pd_device_props, name, type)
static const field device_fields[] = {DEVICE(index, U32),
                                      DEVICE(name, WORD),
                                      DEVICE(versions, WORD),
                                      DEVICE(total_bytes, I64),
                                      DEVICE(is_cuda, U32),
                                      DEVICE(compute_major, U32),
                                      DEVICE(compute_minor, U32),
                                      DEVICE(sm_count, U32),
                                      DEVICE(warp_size, U32),
                                      DEVICE(max_threads_per_block, U32),
                                      DEVICE(max_threads_per_sm, U32),
                                      DEVICE(registers_per_block, U32),
                                      DEVICE(registers_per_sm, U32),
                                      DEVICE(shared_per_block, U32),
                                      DEVICE(shared_per_sm, U32),
                                      DEVICE(shared_per_block_optin, U32),
                                      DEVICE(shared_reserved_per_block, U32),
                                      DEVICE(max_blocks_per_sm, U32),
                                      DEVICE(driver_version, U32),
                                      DEVICE(runtime_version, U32),
                                      DEVICE(cupti_version, U32),
                                      DEVICE(peak_f32_flops, F64),
                                      DEVICE(peak_tf32_flops, F64),
                                      DEVICE(peak_f16_flops, F64),
                                      DEVICE(peak_bytes_per_s, F64)};
#undef DEVICE

static const field about_fields[] = {FIELD(capture_about, cores, U32), FIELD(capture_about, tf32, U32),
                                     FIELD(capture_about, writer, U32)};
static const field setting_fields[] = {FIELD(pd_setting, section, WORD), FIELD(pd_setting, key, WORD),
                                       FIELD(pd_setting, value, WORD), FIELD(pd_setting, origin, WORD),
                                       FIELD(pd_setting, is_default, U32)};
static const field cure_fields[] = {FIELD(pd_cure, cause, WORD), FIELD(pd_cure, settings, WORD)};
static const field delivery_fields[] = {FIELD(capture_delivery, window, U32), FIELD(capture_delivery, partial, U32),
                                        FIELD(capture_delivery, disturbance, TEXT)};
static const field usage_fields[] = {FIELD(proc_usage, elapsed_ns, I64), FIELD(proc_usage, process_ns, I64),
                                     FIELD(proc_usage, busy, I64), FIELD(proc_usage, idle, I64)};
static const field summary_fields[] = {FIELD(pd_summary, outcome, U32),
                                       FIELD(pd_summary, reason, TEXT),
                                       FIELD(pd_summary, windows, I64),
                                       FIELD(pd_summary, peak_allocated_bytes, I64),
                                       FIELD(pd_summary, peak_reserved_bytes, I64),
                                       FIELD(pd_summary, energy_j, F64),
                                       FIELD(pd_summary, energy_j_per_step, F64),
                                       FIELD(pd_summary, energy_j_per_sample, F64),
                                       FIELD(pd_summary, pauses, I64),
                                       FIELD(pd_summary, paused_s, F64),
                                       FIELD(pd_summary, processor_energy_j, F64),
                                       FIELD(pd_summary, processor_energy_j_per_step, F64),
                                       FIELD(pd_summary, processor_energy_j_per_sample, F64),
                                       FIELD(pd_summary, processor_energy_note, TEXT),
                                       FIELD(pd_summary, dial_asked_us, F64),
                                       FIELD(pd_summary, dial_injected_us, F64),
                                       FIELD(pd_summary, coverage, F64),
                                       FIELD(pd_summary, profile, U32),
                                       FIELD(pd_summary, profile_note, TEXT),
                                       FIELD(pd_summary, sync_note, WORD),
                                       FIELD(pd_summary, corrected_ns, I64)};
#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

/* ---- writing ------------------------------------------------------------------------------------------------ */

static json_t *valid_text(const char *text) {
  const size_t length = strlen(text), bytes = strings_make_valid(text, length, NULL);
  char *valid = malloc(bytes + 1);
  if (!valid) return NULL;
  (void)strings_make_valid(text, length, valid);
  json_t *made = json_stringn(valid, bytes);
  free(valid);
  return made;
}

static json_t *value_of(const void *from, const field *at) {
  const char *place = (const char *)from + at->offset;
  switch (at->type) {
  case FIELD_U32: return json_integer(*(const uint32_t *)(const void *)place);
  case FIELD_I64: return json_integer(*(const int64_t *)(const void *)place);
  case FIELD_F64: {
    const double value = *(const double *)(const void *)place;
    return isfinite(value) ? json_real(value) : json_null();
  }
  case FIELD_TEXT:
  case FIELD_WORD: {
    const char *text = *(const char *const *)(const void *)place;
    return text ? valid_text(text) : json_null();
  }
  }
  return NULL;
}

/* NULL: no memory. A document without one of its fields would be taken for whole, so that there is none then. */
static json_t *object_of(const void *from, const field *fields, size_t count) {
  json_t *made = json_object();
  int failed = 0;
  for (size_t i = 0; i < count; i++) failed |= json_object_set_new(made, fields[i].key, value_of(from, &fields[i]));
  if (!failed) return made;
  json_decref(made);
  return NULL;
}

/* `failed`: one of the calls that made it did. */
static char *finish(json_t *made, int failed) {
  char *text = failed || !made ? NULL : json_dumps(made, JSON_COMPACT);
  json_decref(made);
  return text;
}

char *capture_run_text(const pd_run *run, const capture_about *about) {
  json_t *made = object_of(run, run_fields, COUNT(run_fields)), *settings = json_array(), *cures = json_array();
  int failed = 0;
  for (uint64_t i = 0; i < run->settings.count; i++)
    failed |= json_array_append_new(
        settings, object_of(PD_AT(pd_setting, &run->settings, i), setting_fields, COUNT(setting_fields)));
  for (const pd_cure *at = run->cures; at && at->cause; at++)
    failed |= json_array_append_new(cures, object_of(at, cure_fields, COUNT(cure_fields)));
  failed |= json_object_set_new(made, "settings", settings);
  failed |= json_object_set_new(made, "cures", cures);
  failed |= json_object_set_new(made, "about", object_of(about, about_fields, COUNT(about_fields)));
  return finish(made, failed);
}

char *capture_device_text(const pd_device_props *device) {
  return finish(object_of(device, device_fields, COUNT(device_fields)), 0);
}

char *capture_delivery_text(const capture_delivery *delivery) {
  json_t *made = object_of(delivery, delivery_fields, COUNT(delivery_fields));
  int failed = 0;
  if (delivery->has_usage)
    failed |= json_object_set_new(made, "usage", object_of(&delivery->usage, usage_fields, COUNT(usage_fields)));
  return finish(made, failed);
}

static json_t *texts_of(const pd_array *texts) {
  json_t *made = json_array();
  int failed = 0;
  for (uint64_t i = 0; i < texts->count; i++)
    failed |= json_array_append_new(made, valid_text(*PD_AT(pd_note, texts, i)));
  if (!failed) return made;
  json_decref(made);
  return NULL;
}

char *capture_summary_text(const pd_summary *summary, const pd_array *written) {
  json_t *made = object_of(summary, summary_fields, COUNT(summary_fields)), *lost = json_array();
  int failed = 0;
  for (int i = 0; i < PD_LOSS_COUNT; i++)
    failed |= json_array_append_new(lost, json_integer((json_int_t)summary->lost[i]));
  failed |= json_object_set_new(made, "lost", lost);
  failed |= json_object_set_new(made, "notes", texts_of(&summary->notes));
  failed |= json_object_set_new(made, "written", texts_of(written));
  return finish(made, failed);
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

static const char *kept_text(arena *memory, const json_t *value, const char *without) {
  const char *text = json_string_value(value);
  return text ? arena_text(memory, text, strlen(text)) : without;
}

static void take_fields(const json_t *from, arena *memory, const field *fields, size_t count, void *to) {
  for (size_t i = 0; i < count; i++) {
    const json_t *value = json_object_get(from, fields[i].key);
    char *place = (char *)to + fields[i].offset;
    switch (fields[i].type) {
    case FIELD_U32: *(uint32_t *)(void *)place = (uint32_t)json_integer_value(value); break;
    case FIELD_I64: *(int64_t *)(void *)place = json_integer_value(value); break;
    case FIELD_F64: *(double *)(void *)place = json_is_number(value) ? json_number_value(value) : (double)NAN; break;
    case FIELD_TEXT: *(const char **)(void *)place = kept_text(memory, value, NULL); break;
    case FIELD_WORD: *(const char **)(void *)place = kept_text(memory, value, ""); break;
    }
  }
}

/* Rows of an array of objects, with `extra` zeroed ones after them. */
static void *take_rows(const json_t *from, arena *memory, const field *fields, size_t count, size_t row_bytes,
                       size_t extra) {
  const size_t rows = json_array_size(from);
  char *made = arena_take(memory, (rows + extra) * row_bytes + 1);
  if (!made) return NULL;
  for (size_t i = 0; i < rows; i++) take_fields(json_array_get(from, i), memory, fields, count, made + i * row_bytes);
  return made;
}

bool capture_run_parse(const char *text, arena *memory, pd_run *run, capture_about *about) {
  json_t *from = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  *run = (pd_run){.size = sizeof *run};
  *about = (capture_about){0};
  if (!json_is_object(from)) {
    json_decref(from);
    return false;
  }
  take_fields(from, memory, run_fields, COUNT(run_fields), run);
  take_fields(json_object_get(from, "about"), memory, about_fields, COUNT(about_fields), about);
  const json_t *settings = json_object_get(from, "settings"), *cures = json_object_get(from, "cures");
  run->settings = (pd_array){take_rows(settings, memory, setting_fields, COUNT(setting_fields), sizeof(pd_setting), 0),
                             json_array_size(settings), sizeof(pd_setting)};
  run->cures = take_rows(cures, memory, cure_fields, COUNT(cure_fields), sizeof(pd_cure), 1);
  json_decref(from);
  if (!run->ranks) run->ranks = 1; /* of a run from before this was said */
  return !memory->failed;
}

bool capture_device_parse(const char *text, arena *memory, pd_device_props *device) {
  json_t *from = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  const bool is_one = json_is_object(from);
  *device = (pd_device_props){.size = sizeof *device};
  take_fields(from, memory, device_fields, COUNT(device_fields), device);
  json_decref(from);
  return is_one && !memory->failed;
}

bool capture_delivery_parse(const char *text, arena *memory, capture_delivery *delivery) {
  json_t *from = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  const bool is_one = json_is_object(from);
  *delivery = (capture_delivery){0};
  take_fields(from, memory, delivery_fields, COUNT(delivery_fields), delivery);
  const json_t *usage = json_object_get(from, "usage");
  delivery->has_usage = usage != NULL;
  take_fields(usage, memory, usage_fields, COUNT(usage_fields), &delivery->usage);
  json_decref(from);
  return is_one && !memory->failed;
}

static pd_array take_texts(const json_t *from, arena *memory) {
  const size_t count = json_array_size(from);
  pd_note *rows = arena_take(memory, count * sizeof *rows + 1);
  for (size_t i = 0; rows && i < count; i++) rows[i] = kept_text(memory, json_array_get(from, i), "");
  return (pd_array){rows, rows ? count : 0, sizeof *rows};
}

bool capture_summary_parse(const char *text, arena *memory, pd_summary *summary, pd_array *written) {
  json_t *from = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  const bool is_one = json_is_object(from);
  *summary = (pd_summary){.size = sizeof *summary};
  take_fields(from, memory, summary_fields, COUNT(summary_fields), summary);
  const json_t *lost = json_object_get(from, "lost");
  for (size_t i = 0; i < PD_LOSS_COUNT; i++) summary->lost[i] = (uint64_t)json_integer_value(json_array_get(lost, i));
  summary->notes = take_texts(json_object_get(from, "notes"), memory);
  *written = take_texts(json_object_get(from, "written"), memory);
  json_decref(from);
  return is_one && !memory->failed;
}
