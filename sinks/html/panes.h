/* The parts of the page. [loop thread] */
#ifndef SINKS_HTML_PANES_H
#define SINKS_HTML_PANES_H

#include "page.h"

#include <pdhost/sink.h>

/* What a part is made of. */
typedef struct pane_window {
  const pd_run *run;
  const pd_trace *trace;
  const pd_table_set *set;
  char prefix[24]; /* of the ids: "" of window 0, "w1-" of window 1 */
} pane_window;

/* The first screen: what is wrong and how sure, what to do, what a fix would gain, where the step goes, and what is not
 * known. */
void pane_overview(text_out *page, const pane_window *window);
/* The ledger as one bar: every cause that takes a thousandth of the steps or more; without it the breakdown. */
void overview_ledger(text_out *page, const pd_table_set *set);
/* Coverage, what was lost, what is withheld and why. */
void overview_facts(text_out *page, const pane_window *window);

/* What both verdicts are made of: the class of a verdict's card by its cause, and a line of it where the first row has
 * `key`. */
const char *overview_tone(const char *cause);
void overview_fact(text_out *page, const pd_table *table, const char *title, const char *key);

/* What all ranks did together, from the tables of the run: whether there is anything, whether a table is part of it. */
bool pane_ranks_has(const pd_table_set *set);
bool pane_ranks_takes(const pd_table *table);
void pane_ranks(text_out *page, const pd_table_set *set);

/* The window's events, or its first steps that `*limit` bytes have room for; takes from it what they need. False on no
 * memory. */
bool pane_timeline(text_out *page, const pane_window *window, uint64_t *limit);

/* Each step as a bar of its parts, and of its causes. */
void pane_steps(text_out *page, const pane_window *window);

/* How much memory there was, over time. False on no memory, as with the next. */
bool pane_memory(text_out *page, const pane_window *window);
/* What was looked at in equal spans, a curve each. */
void pane_series(text_out *page, const pane_window *window);
/* The table of this id, of stacks, as a flame graph. */
bool pane_flame(text_out *page, const pane_window *window, const char *id);

/* The panes that hold tables, in a reader's order. */
typedef struct pane_group {
  const char *id, *title;
  const char *tables[8]; /* their ids; up to a NULL */
} pane_group;
extern const pane_group pane_groups[];
enum { PANE_GROUP_COUNT = 9 };
/* Whether the window has a row of it. The last group has the tables that no other has. */
bool pane_group_has(const pane_group *self, const pd_table_set *set);
void pane_group_tables(text_out *page, const pane_window *window, const pane_group *self);
/* Tables of any set, folded up unless `open`. `prefix` keeps the ids of windows apart. */
void pane_table(text_out *page, const pd_table *table, const char *prefix, bool open);

/* The run: machine, versions, command, configuration, notes. */
void pane_run(text_out *page, const pd_run *run, const pd_summary *summary);
/* Every metric, as `pdhost explain` has it. */
void pane_glossary(text_out *page, const pd_analysis *analysis);

#endif
