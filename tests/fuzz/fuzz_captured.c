/* Fuzzing the reader of captures with what the host makes of its records; see fuzz_reader.h. The checksums are set
 * right first, so that what they would keep out gets in. */
#include "fuzz.h"

#include "fuzz_reader.h"
#include "right_capture.h"

#include "run/import/captured_run.h"

static int take_step(void *user, const pd_step_stats *step, uint64_t index) {
  (void)index;
  hold(user && step->size == sizeof *step);
  return 0;
}

static int take_window(void *user, pd_trace *trace, const capture_delivery *delivery) {
  (void)user;
  hold(delivery || trace->partial);
  check_trace(trace);
  return 0;
}

static void take_record(void *user, const pd_captured *record) { captured_run_take(user, record); }

static void read_run(const pd_reader_ops *ops, void *state) {
  captured_run run = {.listener = {.user = state, .step = take_step, .window = take_window}};
  const intake_listener listener = {.user = &run, .record = take_record};
  for (pd_status status = PD_OK; status == PD_OK;) {
    intake *rows;
    if (intake_open(&listener, &rows) != PD_OK) break;
    status = ops->next_window(state, intake_table(rows));
    intake_close(rows);
  }
  captured_run_end(&run);
  captured_run_free(&run);
}

static void read_file(const uint8_t *data, size_t bytes) {
  const pd_reader_ops *ops = pd_plugin_entry()->ops.reader;
  const pd_host host = {.size = sizeof host, .fail = fail};
  char path[64];
  void *state = NULL;
  if (ops->probe("fuzz", data, bytes) != PD_PROBE_RUN) {
    (void)fuzz_reader(data, bytes, NULL);
    return;
  }
  if (fuzz_file(data, bytes, path) && ops->open(&host, NULL, path, &state) == PD_OK) {
    read_run(ops, state);
    ops->close(state);
  }
  (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  uint8_t *copy = malloc(bytes ? bytes : 1);
  if (!copy) return 0;
  if (bytes) memcpy(copy, data, bytes);
  right_capture(copy, bytes);
  read_file(copy, bytes);
  free(copy);
  return 0;
}
