/* write_window_run PLUGIN WINDOW.pdw FOLDER [KEY=VALUE ...]: what a sink writes of a window that the window sink kept,
 * so that other tools can be asked about a run that was not theirs. */
#include "fake_trace.h"
#include "sink_run.h"

#include "tables/window_tables.h"
#include "score/window_reader.h"

static pd_status write_window(sink_run *run, const window_file *window, analysis *tables) {
  pd_run header = *fake_run("traces");
  header.repeat = 1;
  header.device = &window->device;
  test_host_add(&run->host, PD_EXT_ANALYSIS, analysis_table(tables));
  pd_status status = sink_run_open(run, &header);
  if (status != PD_OK) return status;
  status = sink_run_trace(run, &window->trace);
  const pd_status closed = sink_run_close(run, status == PD_OK ? fake_summary() : NULL);
  return status == PD_OK ? closed : status;
}

int main(int argc, char **argv) {
  static error err; /* large */
  sink_run run;
  window_file window;
  analysis *tables = NULL;
  if (argc < 4) {
    fprintf(stderr, "usage: write_window_run PLUGIN WINDOW.pdw FOLDER [KEY=VALUE ...]\n");
    return 2;
  }
  if (!window_file_read(argv[2], &window, &err)) {
    fputs(err.text, stderr);
    return 1;
  }
  const analysis_context context = {.device = &window.device, .batch_size = window.run.batch_size, .cores = 1};
  pd_status status = analysis_open(&context, &tables);
  if (status == PD_OK && !sink_run_load(&run, argv[1], (const char *const *)(argv + 4))) {
    fprintf(stderr, "write_window_run: %s: %s\n", argv[1], run.error);
    status = PD_INVALID;
  } else if (status == PD_OK) {
    status = write_window(&run, &window, tables);
    if (status == PD_OK && !sink_run_save(&run, argv[3])) status = PD_IO;
    if (status != PD_OK) fprintf(stderr, "write_window_run: %s: %s\n", argv[3], run.host.message);
    sink_run_unload(&run);
  }
  analysis_close(tables);
  window_file_close(&window);
  return status == PD_OK ? 0 : 1;
}
