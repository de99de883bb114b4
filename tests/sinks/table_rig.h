/* The table sink in a run of made-up windows. */
#ifndef TESTS_SINKS_TABLE_RIG_H
#define TESTS_SINKS_TABLE_RIG_H

#include "pd_test.h"

#include "analysis_rig.h"
#include "sink_run.h"

#include <pdhost/text_columns.h>

#include <string.h>

typedef struct table_test {
  sink_run run;
  analysis *analysis;
  pd_run header;
  bool quiet;
} table_test;

static inline void start(table_test *self, const char *const *settings, bool timer_only) {
  self->header = *fake_run("results/traces/dataloader");
  self->header.timer_only = timer_only;
  self->header.quiet = self->quiet;
  self->analysis = rig_analysis();
  cr_assert(sink_run_load(&self->run, SINK_PATH, settings), "%s", self->run.error);
  test_host_add(&self->run.host, PD_EXT_ANALYSIS, analysis_table(self->analysis));
  cr_assert_eq(sink_run_open(&self->run, &self->header), PD_OK, "%s", self->run.host.message);
}

static inline void send_window(table_test *self, uint32_t window, uint64_t first_step) {
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  fake_trace_training(fake, first_step, 3);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace->window = window;
  cr_assert_eq(sink_run_trace(&self->run, trace), PD_OK, "%s", self->run.host.message);
  analysis_forget(self->analysis, trace);
  fake_trace_close(fake);
}

static inline void end(table_test *self) {
  sink_run_unload(&self->run);
  analysis_close(self->analysis);
}

/* The text of a whole run with one window. */
static inline const char *text_of(table_test *self, const char *const *settings) {
  start(self, settings, false);
  cr_assert_eq(sink_run_steps(&self->run), PD_OK);
  send_window(self, 0, 2);
  cr_assert_eq(sink_run_close(&self->run, fake_summary()), PD_OK, "%s", self->run.host.message);
  const memory_file *file = sink_run_file(&self->run, "-");
  cr_assert_not_null(file);
  cr_assert_null(strstr(file->data, "inf"));
  cr_assert_null(strstr(file->data, "nan"));
  return file->data;
}

static inline size_t longest_line(const char *text) {
  size_t longest = 0;
  while (*text) {
    size_t bytes = strcspn(text, "\n"), width = pd_text_columns(text, bytes);
    if (width > longest) longest = width;
    text += bytes;
    text += *text != 0;
  }
  return longest;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The report of a summary without a verdict's steps: eight active ones, and what else fills a report. */
static inline const char *report_with(table_test *self, const char *const *settings, uint32_t windows,
                                      const char *const *warnings, size_t count) {
  pd_summary summary = *fake_summary();
  start(self, settings, false);
  for (uint32_t w = 0; w < windows; w++) {
    fake_trace *fake = fake_trace_open();
    fake_trace_training(fake, 2, 8);
    pd_trace *trace = fake_trace_finish(fake);
    cr_assert_not_null(trace);
    trace->window = w;
    cr_assert_eq(sink_run_trace(&self->run, trace), PD_OK, "%s", self->run.host.message);
    analysis_forget(self->analysis, trace);
    fake_trace_close(fake);
  }
  if (count) summary.notes = (pd_array){warnings, count, sizeof *warnings};
  if (count > 3) summary.lost[PD_LOSS_UNMATCHED_LAUNCH] = 7;
  cr_assert_eq(sink_run_close(&self->run, &summary), PD_OK, "%s", self->run.host.message);
  return sink_run_file(&self->run, "-")->data;
}

static inline const char *report_of(table_test *self, const char *const *settings, uint32_t windows, bool notes) {
  static const char *const warnings[] = {
      "other programs kept 1.5 of 2 cores busy while the steps ran, so their times are longer than they would be",
      "a second one", "a third one", "a fourth one"};
  return report_with(self, settings, windows, warnings, notes ? 4 : 0);
}

#endif
