/* See run_document.h. */
#include "run_document.h"

#include <pdhost/array.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* The effective configuration, and from it the threads. */
/* Whether a key can change a step: not what sinks do, nor where the trace goes, nor how mode = benchmark measures. */
static bool is_of_the_step(const char *key) {
  return strncmp(key, "sink.", 5) != 0 && strncmp(key, "benchmark.", 10) != 0 && strcmp(key, "run.trace_dir") != 0 &&
         strcmp(key, "run.sinks") != 0;
}

static pd_status read_options(const json_t *rows, pd_measurement *row) {
  const json_t *at;
  size_t i;
  pd_status status = PD_OK;
  json_array_foreach(rows, i, at) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", text_at(at, "section"), text_at(at, "key"));
    if (status == PD_OK && is_of_the_step(key)) status = pairs_set(&row->options, key, text_at(at, "value"));
    if (!strcmp(key, "device.threads")) row->threads = measurement_threads(text_at(at, "value"));
  }
  return status;
}

static pd_status read_about(const json_t *document, pd_measurement *row) {
  const json_t *device = json_object_get(document, "device");
  pd_status status = measurement_set(&row->scenario, text_at(document, "scenario"));
  if (status == PD_OK) status = measurement_set(&row->device, text_at(device, "name"));
  if (status == PD_OK) status = pairs_set(&row->versions, "pdhost", text_at(document, "pdhost_version"));
  if (status == PD_OK) status = pairs_set(&row->versions, "libraries", text_at(device, "versions"));
  if (status == PD_OK) status = pairs_set(&row->conditions, "host_name", text_at(document, "host_name"));
  if (status == PD_OK) status = pairs_set(&row->conditions, "command_line", text_at(document, "command_line"));
  if (status == PD_OK) status = read_options(json_object_get(document, "configuration"), row);
  row->start_realtime_ns = (int64_t)json_integer_value(json_object_get(document, "start_realtime_ns"));
  row->partial = strcmp(text_at(document, "outcome"), "complete") != 0;
  return status;
}

static uint64_t option_number(const pd_measurement *row, const char *key) {
  const char *text = pairs_get(&row->options, key);
  const long long value = text ? strtoll(text, NULL, 10) : 0;
  return value > 0 ? (uint64_t)value : 0;
}

static bool option_is_true(const pd_measurement *row, const char *key) {
  const char *text = pairs_get(&row->options, key);
  return text && strcmp(text, "true") == 0;
}

/* Batches of an epoch; 0: no second one begins. */
static uint64_t epoch_batches(const pd_measurement *row) {
  const uint64_t samples = option_number(row, "data.dataset_size"), size = option_number(row, "data.batch_size");
  const char *epochs = pairs_get(&row->options, "run.epochs");
  if (!size || !epochs || strcmp(epochs, "1") == 0) return 0;
  return option_is_true(row, "data.drop_last") ? samples / size : (samples + size - 1) / size;
}

/* Batches come in bursts of as many as there are workers, so a block has as many iterations; else their median would be
 * that of waiting or of not waiting. Where epochs end on the way it is whole epochs, so that each block has its share
 * of their ends. */
static uint64_t block_steps(const pd_measurement *row, run_time time, uint64_t active) {
  const uint64_t workers = time == RUN_TIME_STEP ? 0 : option_number(row, "data.num_workers");
  const uint64_t burst = workers > 1 ? workers : 1, epoch = time == RUN_TIME_STEP ? 0 : epoch_batches(row);
  if (!epoch || epoch >= active) return burst;
  return (burst + epoch - 1) / epoch * epoch;
}

static uint64_t count_active(const json_t *rows) {
  const json_t *at;
  size_t i;
  uint64_t count = 0;
  json_array_foreach(rows, i, at) count += strcmp(text_at(at, "phase"), "active") == 0;
  return count;
}

/* Blocks lie within one stretch of active steps. */
static pd_status read_steps(const json_t *document, run_time time, pd_measurement *row) {
  static const char *const keys[] = {"batch_cost_ns", "step_time_ns", "data_wait_ns"};
  const json_t *at, *rows = json_object_get(document, "step_rows");
  uint64_t together = 0;
  double sum_ns = 0;
  size_t i;
  pd_status status = PD_OK;
  row->number_per_run = block_steps(row, time, count_active(rows));
  json_array_foreach(rows, i, at) {
    const json_t *value = json_object_get(at, keys[time]);
    if (strcmp(text_at(at, "phase"), "active") != 0 || !json_is_number(value)) {
      together = 0;
      sum_ns = 0;
      continue;
    }
    sum_ns += json_number_value(value);
    if (++together < row->number_per_run || status != PD_OK) continue;
    status = measurement_add_block(row, 1e-9 * sum_ns, (double)NAN);
    together = 0;
    sum_ns = 0;
  }
  return status;
}

/* ---- what the run said of its device's time ---- */

static run_part *part_of(run_account *self, const char *category) {
  for (uint32_t i = 0; i < self->part_count; i++)
    if (strcmp(self->parts[i].category, category) == 0) return &self->parts[i];
  if (!PD_ARRAY_FIT(self->parts, self->part_room, self->part_count + 1)) return NULL;
  run_part *added = &self->parts[self->part_count];
  *added = (run_part){.category = strdup(category)};
  if (!added->category) return NULL;
  self->part_count++;
  return added;
}

/* Sums over the windows; the steps are divided by at the end. */
static pd_status add_window(run_account *self, const json_t *window) {
  const json_t *tables = json_object_get(window, "tables"), *at;
  const json_t *verdict = json_object_get(json_object_get(tables, "verdict"), "rows");
  const json_t *ledger = json_object_get(json_object_get(tables, "ledger"), "rows");
  size_t i;
  const char *said = text_at(json_array_get(verdict, 0), "verdict");
  if (said[0] && measurement_set(&self->verdict, said) != PD_OK) return PD_NO_MEMORY;
  if (json_array_size(ledger)) self->steps += json_array_size(json_object_get(window, "steps"));
  json_array_foreach(ledger, i, at) {
    const json_t *total = json_object_get(at, "total");
    if (!json_is_number(total) || !text_at(at, "category")[0]) continue;
    run_part *part = part_of(self, text_at(at, "category"));
    if (!part) return PD_NO_MEMORY;
    part->per_step_s += 1e-9 * json_number_value(total);
  }
  return PD_OK;
}

pd_status run_account_read(const json_t *document, run_account *out) {
  const json_t *windows = json_object_get(document, "windows"), *at;
  size_t i;
  pd_status status = PD_OK;
  *out = (run_account){.verdict = NULL};
  json_array_foreach(windows, i, at) if (status == PD_OK) status = add_window(out, at);
  for (uint32_t k = 0; k < out->part_count; k++) out->parts[k].per_step_s /= out->steps ? (double)out->steps : 1;
  if (status != PD_OK) run_account_free(out);
  return status;
}

double run_account_part(const run_account *self, const char *category) {
  for (uint32_t i = 0; i < self->part_count; i++)
    if (strcmp(self->parts[i].category, category) == 0) return self->parts[i].per_step_s;
  return 0;
}

void run_account_free(run_account *self) {
  for (uint32_t i = 0; i < self->part_count; i++) free(self->parts[i].category);
  free(self->parts);
  free(self->verdict);
  *self = (run_account){.verdict = NULL};
}

/* ---- the whole ---- */

bool run_document_is(const json_t *document) {
  return json_is_integer(json_object_get(document, "schema_version")) &&
         json_is_array(json_object_get(document, "step_rows"));
}

pd_status run_document_read(const json_t *document, const char *path, run_time time, pd_measurement *row, char *why,
                            size_t room) {
  static const char *const methods[] = {"iterations of a run", "steps of a run", "waits of a run"};
  *row = (pd_measurement){.threads = 1, .number_per_run = 1};
  pd_status status = measurement_set(&row->method, methods[time]);
  if (status == PD_OK) status = read_about(document, row);
  if (status == PD_OK) status = read_steps(document, time, row);
  if (status == PD_OK && row->block_count) return PD_OK;
  snprintf(why, room, "%s: %s", path,
           status == PD_NO_MEMORY
               ? "out of memory"
               : "fewer active steps than make a block (workers, or an epoch) have a time; raise [schedule] active");
  measurement_clear(row);
  return status == PD_OK ? PD_INVALID : status;
}

bool run_document_read_file(const char *path, run_time time, pd_measurement *row, char *why, size_t room) {
  json_error_t problem;
  json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (!document) {
    snprintf(why, room, "%s:%d: %s", path, problem.line, problem.text);
    return false;
  }
  const pd_status status = run_document_read(document, path, time, row, why, room);
  json_decref(document);
  return status == PD_OK;
}
