/* The sinks of a run: the order in which they get a window and are closed. */
#include "pd_test.h"

#include "run/sink_set.h"

#include <stdio.h>
#include <string.h>

static char said[256];

static void say(const char *what, const char *name) {
  const size_t length = strlen(said);
  (void)snprintf(said + length, sizeof said - length, "%s %s, ", what, name);
}

static pd_status open_one(const pd_host *host, const void *options, const pd_run *run, void **state) {
  (void)host;
  (void)run;
  *state = (void *)options; /* its name */
  return PD_OK;
}

static pd_status take_trace(void *state, const pd_trace *trace) {
  (void)trace;
  say("window", state);
  return PD_OK;
}

static pd_status close_one(void *state, const pd_summary *summary) {
  (void)summary;
  say("close", state);
  return PD_OK;
}

PD_TEST(sink_set, who_needs_the_tables_last_gets_the_window_first) {
  const pd_sink_ops plain = {.size = sizeof plain, .open = open_one, .on_trace_ready = take_trace, .close = close_one};
  pd_sink_ops last = plain, first = plain;
  last.flags = PD_SINK_CLOSES_LAST;
  first.flags = PD_SINK_TRACE_FIRST;
  const sink_entry entries[] = {{"last", &last, "last", NULL},
                                {"a", &plain, "a", NULL},
                                {"first", &first, "first", NULL},
                                {"b", &plain, "b", NULL}};
  const services none = {0};
  const pd_run run = {.trace_dir = "."};
  const pd_trace trace = {0};
  const pd_summary summary = {0};
  sink_set *set = sink_set_open(&none, entries, 4, &run, "");
  cr_assert_not_null(set);
  sink_set_trace(set, &trace);
  cr_assert_eq(sink_set_close(set, &summary), 0);
  cr_assert_str_eq(said, "window first, window last, window a, window b, "
                         "close a, close first, close b, close last, ");
}
