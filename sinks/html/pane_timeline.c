/* The timeline's data, as much as the size limit has room for; see panes.h. */
#include "packed.h"
#include "panes.h"

#include <pdhost/quantity.h>

/* The next attempt aims a little below the limit. */
#define MARGIN 0.93
enum { ATTEMPTS = 8 };

typedef struct attempt {
  packed data;
  uint64_t steps; /* that are whole */
  uint64_t events, left_out;
} attempt;

/* Everything that begins before the end of step `steps`; all of it where that is the last. */
static int64_t until_of(const pd_trace *trace, uint64_t steps) {
  if (!trace->steps.count || steps >= trace->steps.count) return INT64_MAX;
  return steps ? PD_AT(pd_trace_step, &trace->steps, steps - 1)->end_ns : trace->start_ns;
}

static bool try_steps(const pd_trace *trace, uint64_t steps, attempt *out) {
  tracks events;
  const int64_t until_ns = until_of(trace, steps);
  bool ok = tracks_open(trace, until_ns, &events) && packed_make(trace, &events, until_ns, &out->data);
  out->steps = steps;
  out->events = events.count;
  out->left_out = events.left_out;
  tracks_free(&events);
  return ok;
}

/* The first steps that fit; steps 0: not even one does. False on no memory. */
static bool fit(const pd_trace *trace, uint64_t limit, attempt *out) {
  uint64_t steps = trace->steps.count;
  *out = (attempt){.steps = 0};
  for (uint32_t i = 0; i < ATTEMPTS; i++) {
    if (!try_steps(trace, steps, out)) return false;
    const uint64_t bytes = packed_text_bytes(&out->data);
    if (bytes <= limit) return true;
    packed_free(&out->data);
    const uint64_t fewer = (uint64_t)((double)steps * (double)limit / (double)bytes * MARGIN);
    if (!fewer || i + 1 == ATTEMPTS) break;
    steps = fewer < steps ? fewer : steps - 1;
    if (!steps) break;
  }
  out->steps = 0;
  return true;
}

static void told_limit(text_out *page, uint64_t limit) {
  char size[64];
  pd_text_bytes(size, sizeof size, (double)limit);
  page_around(page, " The page has room for ", size, " of it ([sink.html] timeline).");
}

static void told(text_out *page, const pd_trace *trace, const attempt *of, uint64_t limit) {
  page_markup(page, "<p class=\"told\">");
  if (!of->data.data) {
    page_markup(page, "The timeline was left out: one step of it is too large.");
    told_limit(page, limit);
  } else if (of->steps < trace->steps.count) {
    page_format(page, "The timeline has the first %llu of %llu steps: %llu events, without %llu that begin later.",
                (unsigned long long)of->steps, (unsigned long long)trace->steps.count, (unsigned long long)of->events,
                (unsigned long long)of->left_out);
    told_limit(page, limit);
  } else {
    page_format(page, "The whole window: %llu events.", (unsigned long long)of->events);
    if (of->left_out) page_format(page, " %llu are nested too deep and left out.", (unsigned long long)of->left_out);
  }
  page_markup(page, "</p>\n");
}

bool pane_timeline(text_out *page, const pane_window *window, uint64_t *limit) {
  attempt found;
  if (!fit(window->trace, *limit, &found)) return false;
  told(page, window->trace, &found, *limit);
  if (found.data.data) {
    page_markup(page, "<noscript><p>It needs JavaScript.</p></noscript>\n<div class=\"timeline\" data-window=\"");
    page_numbers(page, "%u", window->trace->window);
    page_markup(page, "\"></div>\n<script type=\"text/plain\" class=\"packed\">");
    packed_write(page, &found.data);
    page_markup(page, "</script>\n");
    *limit -= packed_text_bytes(&found.data);
  }
  packed_free(&found.data);
  return true;
}
