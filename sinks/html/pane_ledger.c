/* Where the step goes, as one bar, and what is not known of it; see panes.h. */
#include "panes.h"

#include <pdhost/quantity.h>

#include <pdhost/loss_names.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the bar ---- */

/* In percent of the steps: what takes less is in the table alone; what takes more has its name within the bar. */
#define SHOWN 0.1
#define NAMED 9
/* Where this much of the ledger is unknown, what was busy says more. */
#define UNKNOWN 10

typedef struct bar {
  const pd_table *table;
  bool by_cause; /* rows of the ledger, else classes of the breakdown */
} bar;

static void colour(text_out *page, const bar *self, uint64_t i) {
  const pd_table_row *row = PD_AT(pd_table_row, &self->table->rows, i);
  if (self->by_cause)
    page_around(page, "k-", page_string(self->table, row, "cause"), "");
  else
    page_format(page, "p-%u", (unsigned)i);
}

static void segment(text_out *page, const bar *self, uint64_t i, double share) {
  const char *name = page_string(self->table, PD_AT(pd_table_row, &self->table->rows, i), "category");
  page_markup(page, "<span class=\"");
  colour(page, self, i);
  page_markup(page, "\" style=\"flex-grow:");
  page_format(page, "%.3f", share);
  page_around(page, "\" title=\"", name, "");
  page_numbers(page, ": %.1f %%\">", share);
  if (share >= NAMED) page_text(page, name);
  page_markup(page, "</span>");
}

/* Each row by name, with its share; `times`: with its time a step, too. */
static void legend(text_out *page, const bar *self, bool times) {
  page_markup(page, "<ul class=\"legend\">\n");
  for (uint64_t i = 0; i < self->table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &self->table->rows, i);
    const double share = page_figure(self->table, row, "share");
    const pd_cell *each = page_find(self->table, row, "per_step");
    if (share < SHOWN) continue;
    page_markup(page, "<li><span class=\"key ");
    colour(page, self, i);
    page_around(page, "\"></span>", page_string(self->table, row, "category"), " <b>");
    page_format(page, "%.1f %%", share);
    page_markup(page, "</b>");
    if (each && times) {
      page_markup(page, ", ");
      page_cell(page, self->table->columns[page_column(self->table, "per_step")], each);
      page_markup(page, " a step");
    }
    page_markup(page, "</li>\n");
  }
  page_markup(page, "</ul>\n");
}

static void one_bar(text_out *page, const bar *self, bool times) {
  page_markup(page, "<div class=\"bar\" aria-hidden=\"true\">");
  for (uint64_t i = 0; i < self->table->rows.count; i++) {
    const double share = page_figure(self->table, PD_AT(pd_table_row, &self->table->rows, i), "share");
    if (share >= SHOWN) segment(page, self, i, share);
  }
  page_markup(page, "</div>\n");
  legend(page, self, times);
}

static double unknown_share(const pd_table *ledger) {
  for (uint64_t i = 0; i < ledger->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &ledger->rows, i);
    if (!strcmp(page_string(ledger, row, "cause"), "unknown")) return page_figure(ledger, row, "share");
  }
  return 0;
}

void overview_ledger(text_out *page, const pd_table_set *set) {
  const pd_table *ledger = page_table(set, "ledger"), *breakdown = page_table(set, "breakdown");
  const bool by_cause = ledger && ledger->rows.count;
  const bool has_unknown = by_cause && unknown_share(ledger) >= UNKNOWN && breakdown && breakdown->rows.count;
  const bar first = {by_cause ? ledger : breakdown, by_cause}, second = {breakdown, false};
  if (!first.table || !first.table->rows.count) return;
  page_markup(page, "<section class=\"card\"><h3>Where the step goes</h3>\n");
  one_bar(page, &first, !has_unknown);
  if (has_unknown) {
    page_markup(page, "<h4>Unknown: the trace has no range train_step, which would tell what the host did while the "
                      "device was idle. The same time by what was busy:</h4>\n");
    one_bar(page, &second, false);
  }
  page_markup(page, "</section>\n");
}

/* ---- what is not known ---- */

static void item(text_out *page, const char *what, const char *why) {
  page_around(page, "<li><b>", what, "</b>: ");
  page_text(page, why);
  page_markup(page, "</li>\n");
}

static void lost(text_out *page, const pd_trace *trace) {
  bool any = false;
  page_markup(page, "<li><b>Lost</b>: ");
  for (pd_loss i = 0; i < PD_LOSS_COUNT; i++) {
    if (!trace->losses[i]) continue;
    page_format(page, "%s%llu %s", any ? "; " : "", (unsigned long long)trace->losses[i], pd_loss_text(i));
    any = true;
  }
  if (!any && trace->facts & PD_FACT_LOSSES)
    page_markup(page, "nothing");
  else if (!any)
    page_markup(page, "nothing that is known; the source does not count what it loses");
  page_markup(page, "</li>\n");
}

static bool has_rows(const pd_table_set *set, const char *id) {
  const pd_table *table = page_table(set, id);
  return table && table->rows.count;
}

/* Without device records, what rests on them. */
static void without_records(text_out *page, const pd_trace *trace) {
  if (trace->profile == PD_PROFILE_FULL) return;
  item(page, "Ledger, gains and verdict withheld",
       trace->profile_note ? trace->profile_note : "the trace has no device records");
}

static void withheld(text_out *page, const pane_window *window) {
  const pd_run *run = window->run;
  const pd_facts facts = window->trace->facts;
  const bool is_ours = facts & PD_FACT_TRAIN;
  without_records(page, window->trace);
  if (!has_rows(window->set, "gains") && window->trace->profile == PD_PROFILE_FULL)
    item(page, "Gains withheld", "there are no steps with launches and device records to replay");
  if (!(facts & PD_FACT_STEPS))
    item(page, "Steps", "the program marked none; they were found by what its launches repeat, or there are none");
  if (!(facts & PD_FACT_INPUT)) item(page, "Waits for input", "the source does not record them");
  if (!has_rows(window->set, "memory"))
    item(page, "Memory",
         is_ours && !run->profile_memory ? "profile.profile_memory = true records it" : "no allocation was recorded");
  if (!has_rows(window->set, "modules"))
    item(page, "Modules",
         is_ours && !run->with_modules ? "profile.with_modules = true records them" : "no module was recorded");
  if (PD_HAS(pd_trace, window->trace, paused_ns) && window->trace->paused_ns) {
    char length[32], sentence[128];
    pd_text_time(length, sizeof length, (double)window->trace->paused_ns);
    snprintf(sentence, sizeof sentence,
             "before this window the recording was paused for %s; nothing is known of that time", length);
    item(page, "Paused", sentence);
  }
  if (window->trace->partial)
    item(page, "Cut short", "a signal, a failure or the end of the data ended the window early");
}

/* Where the program did not mark them. */
static void found_steps(text_out *page, const pd_trace *trace) {
  if (!PD_HAS(pd_trace, trace, steps_found) || !trace->steps_found) return;
  page_markup(page, "<li><b>Steps</b>: ");
  page_text(page, trace->steps_found);
  page_markup(page, "</li>\n");
}

void overview_facts(text_out *page, const pane_window *window) {
  const double coverage = pd_trace_coverage(window->trace);
  page_markup(page, "<section class=\"card facts\"><h3>How far to trust it</h3>\n<ul>\n<li><b>Coverage</b>: ");
  if (isnan(coverage))
    page_markup(page, "not known: there are no device records of the launches");
  else
    page_format(page, "%.2f %% of the launches have their device record", 100 * coverage);
  page_markup(page, "</li>\n");
  found_steps(page, window->trace);
  lost(page, window->trace);
  withheld(page, window);
  page_markup(page, "</ul></section>\n");
}
