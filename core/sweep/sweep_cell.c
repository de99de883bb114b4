/* See sweep_cell.h. */
#include "sweep_cell.h"

#include "compare/samples.h"
#include "measure/measurement_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* [run] mode = benchmark leaves a measurement, other runs the json sink's document. */
static bool read_result(const sweep_plan *plan, uint32_t cell, run_time time, pd_measurement *row, char *why,
                        size_t room) {
  char path[PATH_BYTES];
  sweep_plan_result(plan, cell, path, sizeof path);
  if (!plan->is_benchmark[cell]) return run_document_read_file(path, time, row, why, room);
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
static pd_status name_cell(const sweep_plan *plan, uint32_t cell, run_time time, pd_measurement *row) {
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
static void read_ended(const sweep_plan *plan, uint32_t cell, run_time time, bool written, pd_measurement *row,
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

bool sweep_cell_take(const sweep_plan *plan, uint32_t cell, run_time time, bool runs, pd_measurement *row,
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
  if (!out->measured || (name_cell(plan, cell, time, row) == PD_OK && note_draw(plan, cell, row) == PD_OK &&
                         samples_row_make_visible(row)))
    return true;
  error_no_memory(err);
  return false;
}
