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
  int64_t timeline;
} options;

static const pd_option rows[] = {
    PD_OPTION_PATH(options, path, .def = "", .help = "file to write; empty: report_<scenario>.html in trace_dir"),
    PD_OPTION_BYTES(options, timeline, .def = "1536KiB", .min = "0", .max = "1GiB",
                    .help = "room for the events of the timeline; what does not fit is left out, and the page says so"),
};

typedef struct state {
  const pd_host *host;
  const pd_run *run;
  file_out file;
  uint64_t timeline; /* bytes that are left for it */
} state;

static void head(text_out *page, const pd_run *run) {
  page_markup(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                    "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
  page_around(page, "<title>", run->scenario, " - pdhost</title>\n<style>\n");
  page_embed(page, "page.css");
  page_embed(page, "colours.css");
  page_around(page, "</style></head>\n<body>\n<header><h1>", run->scenario, "</h1><p>");
  page_text(page, run->device ? run->device->name : run->device_name);
  page_markup(page, "</p></header>\n<main>\n");
}

static pd_status html_open(const pd_host *host, const void *given, const pd_run *run, void **out) {
  const options *chosen = given;
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  self->host = host;
  self->run = run;
  self->timeline = (uint64_t)chosen->timeline;
  const pd_status status = file_out_open_result(&self->file, host, chosen->path, "report", run, "html");
  if (status != PD_OK) {
    free(self);
    return status;
  }
  head(&self->file.out, run);
  *out = self;
  return PD_OK;
}

static void link(text_out *page, const char *prefix, const char *id, const char *title) {
  page_around(page, "<a href=\"#", prefix, "");
  page_around(page, "", id, "\">");
  page_around(page, "", title, "</a>\n");
}

static void pane_begin(text_out *page, const char *prefix, const char *id, const char *title) {
  page_around(page, "<section class=\"pane\" id=\"", prefix, "");
  page_around(page, "", id, "\"><h2>");
  page_around(page, "", title, "</h2>\n");
}

static bool window_panes(text_out *page, const pane_window *window, uint64_t *timeline) {
  page_markup(page, "<nav aria-label=\"Panes\">\n");
  link(page, window->prefix, "overview", "Overview");
  link(page, window->prefix, "timeline", "Timeline");
  for (uint32_t i = 0; i < PANE_GROUP_COUNT; i++)
    if (pane_group_has(&pane_groups[i], window->set))
      link(page, window->prefix, pane_groups[i].id, pane_groups[i].title);
  link(page, "", "run", "Run");
  page_markup(page, "</nav>\n");
  pane_begin(page, window->prefix, "overview", "Overview");
  pane_overview(page, window);
  page_markup(page, "</section>\n");
  pane_begin(page, window->prefix, "timeline", "Timeline");
  bool ok = pane_timeline(page, window, timeline);
  page_markup(page, "</section>\n");
  for (uint32_t i = 0; i < PANE_GROUP_COUNT; i++) {
    if (!pane_group_has(&pane_groups[i], window->set)) continue;
    pane_begin(page, window->prefix, pane_groups[i].id, pane_groups[i].title);
    if (!strcmp(pane_groups[i].id, "steps")) pane_steps(page, window);
    if (!strcmp(pane_groups[i].id, "memory")) ok = pane_memory(page, window) && ok;
    if (!strcmp(pane_groups[i].id, "series")) pane_series(page, window);
    if (!strcmp(pane_groups[i].id, "stacks"))
      ok = pane_flame(page, window, "stacks") && pane_flame(page, window, "stacks_device") && ok;
    pane_group_tables(page, window, &pane_groups[i]);
    page_markup(page, "</section>\n");
  }
  return ok;
}

static pd_status html_window(void *given, const pd_trace *trace) {
  state *self = given;
  text_out *page = &self->file.out;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_request request = {.size = sizeof request};
  if (!analysis) return self->host->fail(self->host, PD_UNSUPPORTED, "this host has no %s", PD_EXT_ANALYSIS);
  pane_window window = {.run = self->run, .trace = trace, .set = analysis->tables(analysis, trace, &request)};
  if (!window.set)
    return self->host->fail(self->host, PD_NO_MEMORY, "window %u: tables could not be computed: out of memory",
                            trace->window);
  if (trace->window) snprintf(window.prefix, sizeof window.prefix, "w%u-", trace->window);
  page_markup(page, "<div class=\"window\" data-title=\"");
  page_format(page, "Window %u: %llu steps", trace->window, (unsigned long long)trace->steps.count);
  if (trace->ranks) page_format(page, ", rank %u of %u", trace->rank, trace->ranks);
  page_markup(page, "\">\n");
  if (!window_panes(page, &window, &self->timeline))
    return self->host->fail(self->host, PD_NO_MEMORY, "window %u: out of memory for the page", trace->window);
  page_markup(page, "</div>\n");
  return page->status;
}

/* The panes of the whole run: all ranks together, where there are several, and the run. */
static pd_status run_panes(state *self, const pd_summary *summary) {
  text_out *page = &self->file.out;
  const pd_analysis *analysis = self->host->extension(self->host, PD_EXT_ANALYSIS);
  const pd_table_set *set = analysis ? analysis->run_tables(analysis, self->run, summary) : NULL;
  if (analysis && !set)
    return self->host->fail(self->host, PD_NO_MEMORY, "the run's tables could not be computed: out of memory");
  if (set && pane_ranks_has(set)) {
    pane_begin(page, "", "all-ranks", "All ranks");
    pane_ranks(page, set);
    page_markup(page, "</section>\n");
  }
  pane_begin(page, "", "run", "Run");
  pane_run(page, self->run, summary);
  for (uint32_t i = 0; set && i < set->count; i++) {
    const pd_table *table = set->tables[i];
    if (table->column_count && table->rows.count && !pane_ranks_takes(table)) pane_table(page, table, "run-", false);
  }
  if (analysis) pane_glossary(page, analysis);
  return PD_OK;
}

static pd_status html_close(void *given, const pd_summary *summary) {
  state *self = given;
  text_out *page = &self->file.out;
  pd_status status = PD_OK;
  if (summary) {
    status = run_panes(self, summary);
    page_markup(page, "</section>\n</main>\n<script type=\"module\">\n");
    page_embed(page, "page.js");
    page_markup(page, "</script>\n<script type=\"module\">\n");
    page_embed(page, "timeline_data.js");
    page_embed(page, "timeline_view.js");
    page_embed(page, "timeline.js");
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
