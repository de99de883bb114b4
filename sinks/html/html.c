/*
 * The html sink: one page of the whole run that needs no network and no other file. [loop thread]
 *
 * It is written front to back while the run goes on, so that its size in memory does not grow with the windows. Tables
 * and verdict are there without JavaScript, which only sorts, filters and copies.
 */
#include "panes.h"

#include "../lib/file_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
  const char *path;
} options;

static const pd_option rows[] = {
    PD_OPTION_PATH(options, path, .def = "", .help = "file to write; empty: results/report_<scenario>.html"),
};

typedef struct state {
  const pd_host *host;
  const pd_run *run;
  file_out file;
} state;

static void head(text_out *page, const pd_run *run) {
  page_markup(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
  page_text(page, run->scenario);
  page_markup(page, " - pdhost</title>\n<style>\n");
  page_embed(page, "page.css");
  page_markup(page, "</style></head>\n<body>\n<header><h1>");
  page_text(page, run->scenario);
  page_markup(page, "</h1><p>");
  page_text(page, run->device ? run->device->name : run->device_name);
  page_markup(page, "</p></header>\n<main>\n");
}

static pd_status html_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  const options *chosen = given;
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  self->host = host;
  self->run = run;
  const pd_status status = file_out_open_result(&self->file, host, chosen->path, "report", run->scenario, "html");
  if (status != PD_OK) {
    free(self);
    return status;
  }
  head(&self->file.out, run);
  *out = self;
  return PD_OK;
}

static pd_status html_window(void *given, const pd_trace *trace) {
  state *self = given;
  text_out *page = &self->file.out;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_request request = {.size = sizeof request};
  if (!analysis) return self->host->fail(self->host, PD_UNSUPPORTED, "this host has no %s", PD_EXT_ANALYSIS);
  const pd_table_set *set = analysis->tables(analysis, trace, &request);
  if (!set)
    return self->host->fail(self->host, PD_NO_MEMORY, "window %u: tables could not be computed: out of memory",
                            trace->window);
  char prefix[32];
  snprintf(prefix, sizeof prefix, "window%u-", trace->window);
  page_markup(page, "<section id=\"");
  page_format(page, "window%u", trace->window);
  page_markup(page, "\"><h2>");
  page_format(page, "Window %u: %llu steps", trace->window, (unsigned long long)trace->steps.count);
  page_markup(page, "</h2>\n");
  pane_verdict(page, set);
  pane_ledger(page, set);
  pane_gains(page, set);
  pane_steps(page, set);
  page_markup(page, "<h3>Tables</h3>\n");
  pane_tables(page, set, prefix);
  page_markup(page, "</section>\n");
  return page->status;
}

static pd_status run_tables(state *self, const pd_summary *summary) {
  text_out *page = &self->file.out;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_set *set = analysis ? analysis->run_tables(analysis, self->run, summary) : NULL;
  if (analysis && !set)
    return self->host->fail(self->host, PD_NO_MEMORY, "the run's tables could not be computed: out of memory");
  if (!set) return PD_OK;
  page_markup(page, "<section id=\"steps\"><h2>All steps of the run</h2>\n");
  pane_tables(page, set, "run-");
  page_markup(page, "</section>\n");
  return PD_OK;
}

static pd_status html_close(void *given, const pd_summary *summary) {
  state *self = given;
  text_out *page = &self->file.out;
  pd_status status = PD_OK;
  if (summary) {
    status = run_tables(self, summary);
    pane_run(page, self->run, summary);
    page_markup(page, "</main>\n<script>\n");
    page_embed(page, "page.js");
    page_markup(page, "</script>\n</body></html>\n");
  }
  if (summary && status == PD_OK)
    status = file_out_commit(&self->file);
  else
    file_out_discard(&self->file);
  free(self);
  return status;
}

PD_SINK("html", "1.0", "one page of the run: verdict, gains, steps, every table; opens without a network", options,
        rows, .open = html_open, .on_trace_ready = html_window, .close = html_close)
