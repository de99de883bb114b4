/* The parts of the page, each a <section> or a <table>. [loop thread] */
#ifndef SINKS_HTML_PANES_H
#define SINKS_HTML_PANES_H

#include "page.h"

#include <pdhost/sink.h>

/* What is wrong, how much, how sure, and what to type; nothing where the window has no verdict. */
void pane_verdict(text_out *page, const pd_table_set *set);
/* The ledger as one bar: every cause that takes a thousandth of the steps or more. */
void pane_ledger(text_out *page, const pd_table_set *set);
/* What the steps would take without each cause, with its interval. */
void pane_gains(text_out *page, const pd_table_set *set);
/* Each step as a bar of its causes. */
void pane_steps(text_out *page, const pd_table_set *set);
/* All tables of `set`, each folded up, to sort and filter. `prefix` keeps the ids of windows apart. */
void pane_tables(text_out *page, const pd_table_set *set, const char *prefix);
/* The run: machine, versions, command, configuration, notes. */
void pane_run(text_out *page, const pd_run *run, const pd_summary *summary);

#endif
