/* What suites of the chrome_trace sink share: write a trace through the built plugin, read the file back, look into it.
 */
#ifndef TESTS_SINKS_CHROME_TRACE_READER_H
#define TESTS_SINKS_CHROME_TRACE_READER_H

#include "pd_test.h"

#include "fake_trace.h"
#include "json_reader.h"
#include "sink_run.h"

#include <stdlib.h>

#define MS(x) ((int64_t)((x)*1000000.0))

/* What the sink writes of one trace under `settings`; parsed. */
typedef struct written {
  sink_run run;
  json_node *root;
  const json_node *events;
} written;

static inline void write_trace(written *self, const pd_trace *trace, const char *const *settings) {
  memset(self, 0, sizeof *self);
  cr_assert(sink_run_load(&self->run, SINK_PATH, settings), "%s", self->run.error);
  cr_assert_eq(sink_run_open(&self->run, fake_run("traces")), PD_OK);
  cr_assert_eq(sink_run_trace(&self->run, trace), PD_OK, "%s", self->run.host.message);
  cr_assert_eq(sink_run_close(&self->run, fake_summary()), PD_OK);
  cr_assert_geq(self->run.count, 1);
  cr_assert(self->run.all[0]->committed && self->run.all[0]->announced);
  self->root = json_reader_parse(self->run.all[0]->data, self->run.all[0]->bytes);
  self->events = json_reader_get(self->root, "traceEvents");
}

static inline void write_parsed(written *self, const pd_trace *trace, const char *const *settings) {
  write_trace(self, trace, settings);
  cr_assert_not_null(self->root, "not JSON: %.300s", self->run.all[0]->data);
  cr_assert_not_null(self->events);
}

static inline void drop(written *self) {
  json_reader_free(self->root);
  sink_run_unload(&self->run);
}

static inline double number(const json_node *event, const char *key) {
  const json_node *value = json_reader_get(event, key);
  cr_assert_not_null(value, "no %s", key);
  return value->number;
}

static inline const json_node *argument(const json_node *event, const char *key) {
  return json_reader_get(json_reader_get(event, "args"), key);
}

static inline bool is_event(const json_node *event, const char *phase, const char *category, const char *name) {
  return (!phase || json_reader_is(json_reader_get(event, "ph"), phase)) &&
         (!category || json_reader_is(json_reader_get(event, "cat"), category)) &&
         (!name || json_reader_is(json_reader_get(event, "name"), name));
}

static inline const json_node *find(const json_node *events, const char *phase, const char *category,
                                    const char *name) {
  const json_node *event = events->first;
  while (event && !is_event(event, phase, category, name)) event = event->next;
  return event;
}

static inline size_t count(const json_node *events, const char *phase, const char *category, const char *name) {
  size_t found = 0;
  for (const json_node *event = events->first; event; event = event->next)
    found += is_event(event, phase, category, name);
  return found;
}

typedef struct slice {
  char track[64];
  long long start, end;
  const char *name;
  size_t order;
} slice;

static inline long long as_ns(const json_node *event, const char *key) {
  long long us = 0, ns = 0;
  cr_assert_eq(sscanf(json_reader_get(event, key)->text, "%lld.%3lld", &us, &ns), 2);
  return us * 1000 + ns;
}

static inline int by_track_and_time(const void *a, const void *b) {
  const slice *x = a, *y = b;
  const int track = strcmp(x->track, y->track);
  if (track) return track;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->end != y->end) return x->end > y->end ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

/* On every track each slice lies in the one that is open or after it: what Perfetto asks for. */
static inline void expect_nesting(const json_node *events) {
  slice *all = calloc(events->count + 1, sizeof *all);
  size_t n = 0, depth = 0;
  long long open[1024];
  cr_assert_not_null(all);
  for (const json_node *event = events->first; event; event = event->next) {
    if (!is_event(event, "X", NULL, NULL)) continue;
    slice *row = &all[n];
    snprintf(row->track, sizeof row->track, "%s/%s", json_reader_get(event, "pid")->text,
             json_reader_get(event, "tid")->text);
    row->start = as_ns(event, "ts");
    row->end = row->start + as_ns(event, "dur");
    row->name = json_reader_get(event, "name")->text;
    row->order = n++;
  }
  qsort(all, n, sizeof *all, by_track_and_time);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || strcmp(all[i].track, all[i - 1].track)) depth = 0;
    while (depth && open[depth - 1] <= all[i].start) depth--;
    cr_assert(depth == 0 || all[i].end <= open[depth - 1], "%s on %s overlaps", all[i].name, all[i].track);
    cr_assert_lt(depth, 1024);
    open[depth++] = all[i].end;
  }
  free(all);
}

/* One start per flow, and every end has it. */
static inline void expect_flows(const json_node *events, const char *kind, size_t starts, size_t ends) {
  cr_assert_eq(count(events, "s", kind, NULL), starts);
  cr_assert_eq(count(events, "f", kind, NULL), ends);
  for (const json_node *end = events->first; end; end = end->next) {
    size_t found = 0;
    if (!is_event(end, "f", kind, NULL)) continue;
    cr_assert(json_reader_is(json_reader_get(end, "bp"), "e"));
    for (const json_node *start = events->first; start; start = start->next)
      found += is_event(start, "s", kind, NULL) && number(start, "id") == number(end, "id");
    cr_assert_eq(found, 1);
  }
}

static inline fake_trace *open_fake(void) {
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  return fake;
}

#endif
