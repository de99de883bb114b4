/* What an earlier sweep left of two cells, whatever its bytes: a cell whose command is not the same is not there, and
 * of what is there the reports are whole and can be read back. The first byte says which files the run left and which
 * time counts; what follows are the files of both cells, apart by the byte 0xff. */
#include "fuzz.h"

#include "fuzz_printed.h"

#include "base/child.h"
#include "measure/measurement_json.h"
#include "run/saved_key.h"
#include "sweep/sweep_cell.h"
#include "sweep/sweep_report.h"

#include <sys/stat.h>

enum { BENCHMARKS = 3, TIME_AT = 2, OTHER_COMMAND = 16, CELLS = 2, PATH = 4096 };

static char folder[64];
static sweep_plan plan;
static char *commands[CELLS]; /* what the folder of the same command remembers */
static size_t command_bytes[CELLS];

/* In place of child_call (see CMakeLists.txt): a command of which no files are known. */
bool fuzz_child_call(int (*body)(void *, int), void *user, int timeout_s, child_result *result);
bool fuzz_child_call(int (*body)(void *, int), void *user, int timeout_s, child_result *result) {
  (void)body;
  (void)user;
  (void)timeout_s;
  *result = (child_result){.exit_code = -1};
  return false;
}

static void write_bytes(const char *path, const void *data, size_t bytes) {
  FILE *file = fopen(path, "w");
  check(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

static void remove_all(void) {
  static const char *const names[] = {"sweep.json", "sweep.csv", "sweep.md", "sweep.html", "curves.svg"};
  char path[PATH + 32];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    (void)unlink(path);
  }
  for (uint32_t cell = 0; cell < CELLS; cell++) {
    char place[PATH];
    sweep_plan_folder(&plan, cell, place, sizeof place);
    snprintf(path, sizeof path, "%s/command", place);
    (void)unlink(path);
    for (int benchmark = 0; benchmark < 2; benchmark++) {
      plan.is_benchmark[cell] = benchmark;
      (void)unlink(sweep_plan_result(&plan, cell, path, sizeof path));
    }
    (void)rmdir(place);
  }
  snprintf(path, sizeof path, "%s/cells", folder);
  (void)rmdir(path);
  (void)rmdir(folder);
}

/* The same two cells for every input, in a folder of this process. */
static void make_plan(void) {
  static error err;
  char path[PATH];
  snprintf(folder, sizeof folder, "/dev/shm/pdhost_fuzz_XXXXXX");
  check(mkdtemp(folder) != NULL);
  plan = (sweep_plan){.program = "/nowhere/pdhost", .folder = folder, .cell_count = CELLS};
  check(sweep_plan_add(&plan, "data.num_workers=0,2", &err));
  snprintf(path, sizeof path, "%s/cells", folder);
  check(mkdir(path, 0700) == 0);
  for (uint32_t cell = 0; cell < CELLS; cell++) {
    saved_run command = {.words = NULL};
    check(mkdir(sweep_plan_folder(&plan, cell, path, sizeof path), 0700) == 0);
    sweep_plan_command(&plan, cell, &command);
    commands[cell] = saved_key_text(&command, &command_bytes[cell]);
    check(commands[cell] != NULL);
    saved_run_clear(&command);
  }
  check(atexit(remove_all) == 0);
}

static void leave(uint32_t cell, uint8_t flags, const uint8_t *data, size_t bytes) {
  char place[PATH], path[PATH + 32];
  plan.is_benchmark[cell] = flags >> cell & 1;
  snprintf(path, sizeof path, "%s/command", sweep_plan_folder(&plan, cell, place, sizeof place));
  if (flags & OTHER_COMMAND)
    write_bytes(path, data, bytes);
  else
    write_bytes(path, commands[cell], command_bytes[cell]);
  write_bytes(sweep_plan_result(&plan, cell, path, sizeof path), data, bytes);
}

static void check_print(const sweep_found *of, const pd_measurements *rows, args_format format) {
  static error err;
  fuzz_printed shown;
  error_clear(&err);
  fuzz_printed_begin(&shown);
  const bool whole = sweep_report_print(of, rows, format, &err);
  fuzz_printed_end(&shown);
  check(whole);
  if (format != ARGS_CSV) check_visible(shown.text, shown.bytes);
  fuzz_printed_free(&shown);
}

/* What the sweep remembers of its cells can be read by whoever compares it. */
static void check_read_back(const pd_measurements *rows) {
  pd_measurements again = {.rows = NULL};
  char *text = measurements_to_json(rows->rows, rows->count), why[512];
  check(text != NULL);
  check(measurements_from_json(text, strlen(text), "x.json", &again, why, sizeof why) == PD_OK);
  check(again.count == rows->count);
  for (uint64_t i = 0; i < again.count; i++) check(again.rows[i].block_count == rows->rows[i].block_count);
  measurements_clear(&again);
  free(text);
}

static void report(const pd_measurements *rows, const pd_measurement *const *cells) {
  static const args_format formats[] = {ARGS_TEXT, ARGS_CSV, ARGS_MD};
  static error err;
  samples from;
  error_clear(&err);
  check_read_back(rows);
  check(samples_of(rows, "sweep", false, &from, &err) && samples_show_order(&from));
  const sweep_found of = {.plan = &plan, .cells = cells, .from = &from, .of = "step"};
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) check_print(&of, rows, formats[i]);
  fuzz_printed shown;
  fuzz_printed_begin(&shown);
  const int code = sweep_report_files(&of, rows, true);
  fuzz_printed_end(&shown);
  check(code == CODE_DONE);
  fuzz_printed_free(&shown);
  samples_free(&from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  pd_measurements rows = {.rows = NULL};
  const pd_measurement *cells[CELLS] = {NULL};
  uint64_t places[CELLS] = {UINT64_MAX, UINT64_MAX};
  if (!folder[0]) make_plan();
  const uint8_t flags = bytes ? data[0] : 0;
  const uint8_t *at = data + (bytes > 0), *end = data + bytes;
  error_clear(&err);
  for (uint32_t cell = 0; cell < CELLS; cell++) {
    const uint8_t *half = at < end ? memchr(at, 0xff, (size_t)(end - at)) : NULL;
    leave(cell, flags, at, (size_t)((half ? half : end) - at));
    at = half ? half + 1 : end;
  }
  for (uint32_t cell = 0; cell < CELLS; cell++) {
    pd_measurement row = {.threads = 1};
    sweep_outcome out;
    check(sweep_cell_take(&plan, cell, (run_time)((flags >> TIME_AT) % 4 % 3), false, &row, &out, &err));
    check(out.measured == out.was_there && out.code == CODE_DONE && !out.why[0]);
    check(!out.was_there || !(flags & OTHER_COMMAND));
    if (out.measured) {
      places[cell] = rows.count;
      check(measurements_add(&rows, &row) == PD_OK);
    }
    measurement_clear(&row);
  }
  for (uint32_t cell = 0; cell < CELLS; cell++)
    if (places[cell] != UINT64_MAX) cells[cell] = &rows.rows[places[cell]];
  if (rows.count) report(&rows, cells);
  measurements_clear(&rows);
  return 0;
}
