/* write_fake_run PLUGIN FOLDER [KEY=VALUE ...]: what a sink writes of the hand-made run of tests/support, as files,
 * with the tables of the real analysis. Two windows with WINDOWS=2 in the environment. */
#include "fake_trace.h"
#include "sink_run.h"

#include "analysis/analysis.h"

#include <stdlib.h>

static pd_status write_windows(sink_run *run, analysis *tables, uint32_t windows) {
  pd_status status = PD_OK;
  for (uint32_t w = 0; w < windows && status == PD_OK; w++) {
    fake_trace *fake = fake_trace_open();
    if (!fake) return PD_NO_MEMORY;
    fake_trace_training(fake, 2 + 10 * w, 8);
    pd_trace *trace = fake_trace_finish(fake);
    if (trace) {
      trace->window = w;
      trace->base_ns += w * INT64_C(1000000000);
      status = sink_run_trace(run, trace);
      analysis_forget(tables, trace);
    } else {
      status = PD_NO_MEMORY;
    }
    fake_trace_close(fake);
  }
  return status;
}

int main(int argc, char **argv) {
  sink_run run;
  const char *windows = getenv("WINDOWS");
  if (argc < 3) {
    fprintf(stderr, "usage: write_fake_run PLUGIN FOLDER [KEY=VALUE ...]\n");
    return 2;
  }
  if (!sink_run_load(&run, argv[1], (const char *const *)(argv + 3))) {
    fprintf(stderr, "write_fake_run: %s: %s\n", argv[1], run.error);
    return 1;
  }
  analysis *tables = NULL;
  const analysis_context context = {.device = fake_device(), .batch_size = 4, .profile_memory = true, .cores = 2};
  pd_run header = *fake_run("traces");
  header.repeat = windows ? strtoull(windows, NULL, 10) : 1;
  pd_status status = analysis_open(&context, &tables);
  if (status == PD_OK) {
    test_host_add(&run.host, PD_EXT_ANALYSIS, analysis_table(tables));
    status = sink_run_open(&run, &header);
  }
  if (status == PD_OK) {
    status = sink_run_steps(&run);
    if (status == PD_OK) status = write_windows(&run, tables, (uint32_t)header.repeat);
    const pd_status closed = sink_run_close(&run, status == PD_OK ? fake_summary() : NULL);
    if (status == PD_OK) status = closed;
  }
  if (status != PD_OK) fprintf(stderr, "write_fake_run: %s\n", run.host.message);
  if (status == PD_OK && !sink_run_save(&run, argv[2])) {
    fprintf(stderr, "write_fake_run: %s: cannot be written\n", argv[2]);
    status = PD_IO;
  }
  sink_run_unload(&run);
  analysis_close(tables);
  return status == PD_OK ? 0 : 1;
}
