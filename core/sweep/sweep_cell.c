/* See sweep_cell.h. */
#include "sweep_cell.h"

#include "measure/measurement_json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* The effective configuration, and from it the threads. */
static pd_status read_options(const json_t *rows, pd_measurement *row) {
  const json_t *at;
  size_t i;
  pd_status status = PD_OK;
  json_array_foreach(rows, i, at) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", text_at(at, "section"), text_at(at, "key"));
    if (status == PD_OK) status = pairs_set(&row->options, key, text_at(at, "value"));
    if (strcmp(key, "device.threads") != 0) continue;
    const long threads = strtol(text_at(at, "value"), NULL, 10), cores = sysconf(_SC_NPROCESSORS_ONLN);
    row->threads = (uint64_t)(threads > 0 ? threads : cores > 0 ? cores : 1);
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

/* Batches come in bursts of as many as there are workers, so a block is so many iterations; else their median would be
 * that of waiting or of not waiting. Where epochs end on the way it is whole epochs, so that each block has its share
 * of their ends. */
static uint64_t block_steps(const pd_measurement *row, sweep_time time, uint64_t active) {
  const uint64_t workers = time == SWEEP_STEP ? 0 : option_number(row, "data.num_workers");
  const uint64_t burst = workers > 1 ? workers : 1, epoch = time == SWEEP_STEP ? 0 : epoch_batches(row);
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
static pd_status read_steps(const json_t *document, sweep_time time, pd_measurement *row) {
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

bool sweep_cell_read(const char *path, sweep_time time, pd_measurement *row, char *why, size_t room) {
  static const char *const methods[] = {"sweep of iterations", "sweep of steps", "sweep of waits"};
  json_error_t problem;
  json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (!document) {
    snprintf(why, room, "%s:%d: %s", path, problem.line, problem.text);
    return false;
  }
  *row = (pd_measurement){.threads = 1, .number_per_run = 1};
  pd_status status = measurement_set(&row->method, methods[time]);
  if (status == PD_OK) status = read_about(document, row);
  if (status == PD_OK) status = read_steps(document, time, row);
  json_decref(document);
  if (status == PD_OK && row->block_count) return true;
  snprintf(why, room, "%s: %s", path,
           status == PD_NO_MEMORY
               ? "out of memory"
               : "fewer active steps than make a block (workers, or an epoch) have a time; raise [schedule] active");
  measurement_clear(row);
  return false;
}

/* [run] mode = benchmark leaves a measurement, other runs the json sink's document. */
static bool read_result(const sweep_plan *plan, uint32_t cell, sweep_time time, pd_measurement *row, char *why,
                        size_t room) {
  char path[PATH_BYTES];
  sweep_plan_result(plan, cell, path, sizeof path);
  if (!plan->is_benchmark[cell]) return sweep_cell_read(path, time, row, why, room);
  pd_measurements rows = {.rows = NULL};
  const bool ok = measurements_read(path, &rows, why, room) == PD_OK;
  if (ok) {
    *row = rows.rows[0];
    rows.rows[0] = (pd_measurement){.threads = 1};
  }
  measurements_clear(&rows);
  return ok;
}

/* Rows of the table are all keys but the last axis, columns that one; where there is one key alone, or no axis, the
 * rows are all keys. */
static pd_status name_cell(const sweep_plan *plan, uint32_t cell, sweep_time time, pd_measurement *row) {
  static const char *const words[] = {"iteration", "step", "wait"};
  char text[PATH_BYTES];
  const uint32_t keys = sweep_plan_key_count(plan), rows = plan->axis_count && keys > 1 ? keys - 1 : keys;
  pd_status status = measurement_set(&row->sub_label, sweep_plan_name(plan, cell, 0, rows, text, sizeof text));
  if (status != PD_OK) return status;
  if (rows == keys) return measurement_set(&row->description, words[time]);
  return measurement_set(&row->description, sweep_plan_name(plan, cell, rows, keys, text, sizeof text));
}

/* How its values came about; the values themselves are among its options. */
static pd_status note_draw(const sweep_plan *plan, uint32_t cell, pd_measurement *row) {
  char key[512], text[64];
  pd_status status = PD_OK;
  if (!plan->draws.key_count) return status;
  snprintf(text, sizeof text, "%u of %u, seed %llu", cell / sweep_plan_draw_cells(plan) + 1, plan->draws.count,
           (unsigned long long)plan->draws.seed);
  status = pairs_set(&row->conditions, "draw", text);
  for (uint32_t i = 0; status == PD_OK && i < plan->draws.key_count; i++) {
    const distribution *at = &plan->draws.keys[i];
    snprintf(key, sizeof key, "drawn %s.%s", at->section, at->key);
    status = pairs_set(&row->conditions, key, at->text);
  }
  for (uint32_t i = 0; status == PD_OK && i < plan->draws.need_count; i++) {
    snprintf(key, sizeof key, "required %u", i + 1);
    status = pairs_set(&row->conditions, key, plan->draws.needs[i].text);
  }
  return status;
}

/* The result file that lies in the cell's folder: a run puts a new one in its place and never writes into it. */
typedef struct result_file {
  bool exists;
  dev_t device;
  ino_t inode;
  struct timespec changed;
} result_file;

static result_file result_now(const sweep_plan *plan, uint32_t cell) {
  char path[PATH_BYTES];
  struct stat info;
  if (stat(sweep_plan_result(plan, cell, path, sizeof path), &info) != 0) return (result_file){.exists = false};
  return (result_file){.exists = true, .device = info.st_dev, .inode = info.st_ino, .changed = info.st_ctim};
}

/* False: it is of another command, or of a run that was cut short. It stays, and is not read. */
static bool is_new(const result_file *before, const result_file *now) {
  if (!now->exists) return false;
  return !before->exists || before->device != now->device || before->inode != now->inode ||
         before->changed.tv_sec != now->changed.tv_sec || before->changed.tv_nsec != now->changed.tv_nsec;
}

/* Where something cannot be written, or no instructions be counted, the times may be there all the same. */
static void read_ended(const sweep_plan *plan, uint32_t cell, sweep_time time, bool written, pd_measurement *row,
                       sweep_outcome *out) {
  char path[PATH_BYTES];
  if (out->code != CODE_DONE && out->code != CODE_UNTRUSTED && out->code != CODE_OUTPUT) return;
  if (written)
    out->measured = read_result(plan, cell, time, row, out->why, sizeof out->why);
  else
    snprintf(out->why, sizeof out->why, "%s: the run did not write it",
             sweep_plan_result(plan, cell, path, sizeof path));
  if (out->measured) return;
  if (out->code == CODE_OUTPUT)
    out->why[0] = '\0'; /* its log says more */
  else
    out->code = CODE_SCENARIO;
}

bool sweep_cell_take(const sweep_plan *plan, uint32_t cell, sweep_time time, bool runs, pd_measurement *row,
                     sweep_outcome *out, error *err) {
  char folder[PATH_BYTES];
  saved_run command = {.words = NULL};
  sweep_plan_folder(plan, cell, folder, sizeof folder);
  sweep_plan_command(plan, cell, &command);
  *out = (sweep_outcome){.code = CODE_DONE};
  out->was_there =
      saved_run_is_there(&command, folder) && read_result(plan, cell, time, row, out->why, sizeof out->why);
  out->why[0] = '\0';
  runs = runs && !out->was_there;
  const result_file before = result_now(plan, cell);
  const bool ran = !runs || saved_run_do(&command, folder, &out->code, err);
  saved_run_clear(&command);
  if (!ran) return false;
  const result_file now = result_now(plan, cell);
  const bool written = is_new(&before, &now);
  out->measured = out->was_there;
  /* A run that had a device, and fails for want of records, leaves its outputs. */
  out->no_device = out->code == CODE_DEVICE && !written;
  if (runs) read_ended(plan, cell, time, written, row, out);
  if (!out->measured || (name_cell(plan, cell, time, row) == PD_OK && note_draw(plan, cell, row) == PD_OK)) return true;
  error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  return false;
}
