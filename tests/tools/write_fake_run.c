/* write_fake_run PLUGIN FOLDER [KEY=VALUE ...]: what a sink writes of the hand-made run of tests/support, as files,
 * with the tables of the real analysis. Two windows with WINDOWS=2 in the environment, CUDA graphs with GRAPHS=1. */
#include "fake_trace.h"
#include "sink_run.h"

#include "tables/window_tables.h"

#include <stdlib.h>

#define STEPS 8
#define US(x) ((int64_t)(x)*1000)

/* A stream that waits for an event, and work that ends after its annotation on the host with a gap between. */
static void add_marked_work(fake_trace *fake) {
  const uint32_t stream = fake_stream(fake, 0, 1, 8);
  for (uint32_t i = 0; i < STEPS; i++) {
    const int64_t t = US(1000) + i * US(10000);
    const uint64_t correlation = 1000 + 10 * (uint64_t)i;
    fake_call(fake, PD_API_OTHER, "cudaEventRecord", 0, t + US(9510), t + US(9511), correlation);
    fake_call(fake, PD_API_OTHER, "cudaStreamWaitEvent", 0, t + US(9512), t + US(9514), correlation + 1);
    fake_other(fake, PD_ACTIVITY_SYNC, "Stream Wait Event", stream, t + US(9513), t + US(9514))->correlation =
        correlation + 1;
    fake_range(fake, PD_RANGE_USER, "mark", 0, t + US(9520), t + US(9530));
    for (uint32_t k = 0; k < 2; k++) {
      const int64_t launched = t + US(9521 + 3 * k), begun = t + US(9600 + 200 * k);
      fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, launched, launched + US(2), correlation + 2 + k);
      pd_device_row *row = fake_kernel(fake, "marked(float*)", stream, begun, begun + US(50), correlation + 2 + k);
      /* More blocks than fit at once, of another size each time: averages differ from the figures of one launch. */
      row->detail.u.kernel.grid[0] = 330 * (k + 1);
      row->detail.u.kernel.blocks_per_sm = 2.5f * (float)(k + 1);
      row->detail.u.kernel.warps_per_sm = 10.0f * (float)(k + 1);
      row->detail.u.kernel.occupancy = 0.15625f * (float)(k + 1);
    }
  }
}

/* A replay: one launch of three kernels and a set. */
static void add_graphs(fake_trace *fake) {
  const uint32_t stream = fake_stream(fake, 0, 1, 8);
  for (uint32_t i = 0; i < STEPS; i++) {
    const int64_t t = US(1000) + i * US(10000);
    const uint64_t correlation = 1000 + 10 * (uint64_t)i;
    fake_range(fake, PD_RANGE_USER, "graph replay", 0, t + US(9520), t + US(9530));
    fake_call(fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", 0, t + US(9521), t + US(9528), correlation);
    for (uint32_t k = 0; k < 3; k++) {
      const int64_t begun = t + US(9600 + 60 * k);
      pd_device_row *row = fake_kernel(fake, "node(float*)", stream, begun, begun + US(50), correlation);
      row->detail.u.kernel.graph = 3;
      row->detail.u.kernel.graph_node = k + 1;
    }
    pd_device_row *row = fake_set(fake, 4096, stream, t + US(9780), t + US(9781), correlation);
    row->detail.u.copy.graph = 3;
    row->detail.u.copy.graph_node = 4;
  }
}

/* Ranges of a scenario whose names mean something else to the analysers: they would refuse the file, or count them. */
static void add_misleading_names(fake_trace *fake) {
  for (uint32_t i = 0; i < STEPS; i++) {
    const int64_t t = US(1000) + i * US(10000);
    fake_range(fake, PD_RANGE_USER, "ProfilerStep#last", 0, t + US(9540), t + US(9541));
    fake_range(fake, PD_RANGE_USER, "enumerate(DataLoader)#mine.__next__", 0, t + US(9545), t + US(9565));
  }
}

static pd_status write_windows(sink_run *run, analysis *tables, uint32_t windows) {
  pd_status status = PD_OK;
  for (uint32_t w = 0; w < windows && status == PD_OK; w++) {
    fake_trace *fake = fake_trace_open();
    if (!fake) return PD_NO_MEMORY;
    fake_trace_training(fake, 2 + 10 * w, STEPS);
    if (getenv("GRAPHS"))
      add_graphs(fake);
    else
      add_marked_work(fake);
    add_misleading_names(fake);
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
