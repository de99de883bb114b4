/* See sweep_cells.h. */
#include "sweep_cells.h"

#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/statistics.h"

#include <stdio.h>
#include <string.h>

/* One line per cell: what it took, and how long the rest may take. */
static void tell(const sweep_plan *plan, uint32_t cell, const sweep_outcome *out, const pd_measurement *row,
                 double left_s) {
  char name[4096], found[64] = "";
  statistics of;
  if (out->measured && statistics_make(row->host_s, row->block_count, &of)) {
    const double median = of.median / (double)row->number_per_run;
    const time_unit unit = statistics_unit(median);
    /* How many digits count is for the cells together to say. */
    snprintf(found, sizeof found, "%.4g %s", median / unit.s, unit.symbol);
  } else if (out->why[0]) {
    snprintf(found, sizeof found, "left out");
  } else {
    snprintf(found, sizeof found, "failed with exit code %d", out->code);
  }
  progress_hide();
  fprintf(stderr, "pdhost: sweep %u/%u %s: %s%s", cell + 1, plan->cell_count,
          sweep_plan_name(plan, cell, 0, sweep_plan_key_count(plan), name, sizeof name), found,
          out->was_there ? " (was there)" : "");
  if (left_s >= 1) fprintf(stderr, "; about %.0f s left", left_s);
  fputc('\n', stderr);
  progress_show();
}

/* Why a cell's run failed is in its log: the last line of it is repeated. What cells that have their times say alike,
 * as that instructions cannot be counted, is said once. */
static void tell_log(const sweep_plan *plan, uint32_t cell, bool measured, sweep_findings *found) {
  char folder[4096], line[ERROR_LINE_BYTES];
  sweep_plan_folder(plan, cell, folder, sizeof folder);
  saved_run_said(folder, line, sizeof line);
  if (measured && strcmp(line, found->said) == 0) return;
  log_line(PD_LOG_ERROR, NULL, "%s/log: %s", folder, line[0] ? line : "the run said nothing");
  if (measured) memcpy(found->said, line, sizeof line);
}

/* A device that cannot be opened makes every cell fail, unless a key that differs between them decides which one that
 * is, or where it is found. */
static bool is_hopeless(const sweep_plan *plan, const sweep_outcome *out) {
  if (!out->no_device) return false;
  for (uint32_t i = 0; i < sweep_plan_key_count(plan); i++) {
    const config_assignment at = sweep_plan_at(plan, 0, i);
    if (strcmp(at.section, "run") == 0 || strcmp(at.section, "device") == 0) return false;
  }
  return true;
}

/* Why the first run failed, and with it the cells that were not run; `left` is their number. */
static void tell_hopeless(const sweep_plan *plan, uint32_t cell, uint32_t left, sweep_findings *found) {
  char folder[4096], line[ERROR_LINE_BYTES];
  static const char mark[] = "pdhost: error: ";
  if (!left) {
    tell_log(plan, cell, false, found);
    return;
  }
  sweep_plan_folder(plan, cell, folder, sizeof folder);
  const char *said = saved_run_said(folder, line, sizeof line);
  if (strncmp(said, mark, sizeof mark - 1) == 0) said += sizeof mark - 1;
  const char *code = strstr(said, " [PDH-"); /* of the run; the line gets it again at its end */
  error_line_print(found->code, NULL, "%.*s; %u other cell%s not run", (int)(code ? code - said : (long)strlen(said)),
                   said, left, left == 1 ? " is" : "s are");
}

static void tell_failure(const sweep_plan *plan, uint32_t cell, const sweep_outcome *out, sweep_findings *found) {
  if (out->why[0])
    error_line_print(FAULT_UNTRUSTED, NULL, "sweep: %s", out->why);
  else
    tell_log(plan, cell, out->measured, found);
}

static bool keep_row(sweep_findings *found, uint32_t cell, pd_measurement *row, error *err) {
  found->places[cell] = found->rows.count;
  if (measurements_add(&found->rows, row) == PD_OK) return true;
  error_no_memory(err);
  return false;
}

bool sweep_cells_run(const sweep_plan *plan, const rank_deal *deal, run_time time, bool quiet, sweep_findings *found,
                     error *err) {
  double spent_s = 0;
  uint32_t ran = 0, left = 0, hopeless = plan->cell_count; /* the cell that shows that no other can run */
  for (uint32_t i = 0; i < plan->cell_count; i++) {
    pd_measurement row = {.threads = 1};
    sweep_outcome out;
    char name[4096];
    const double begin_s = monotonic_s();
    if (deal && !rank_deal_has(deal, i)) continue;
    const bool runs = hopeless == plan->cell_count;
    progress_note("%s", sweep_plan_name(plan, i, 0, sweep_plan_key_count(plan), name, sizeof name));
    bool ok = sweep_cell_take(plan, i, time, runs, &row, &out, err);
    if (ok && runs && !out.was_there) {
      spent_s += monotonic_s() - begin_s;
      ran++;
    }
    progress_step();
    found->places[i] = UINT64_MAX;
    if (ok && !quiet && (runs || out.was_there))
      tell(plan, i, &out, &row, runs && ran ? spent_s / ran * (plan->cell_count - i - 1) : 0);
    left += ok && !runs && !out.was_there;
    if (ok && out.code != CODE_DONE && out.code != CODE_UNTRUSTED) {
      if (found->code == CODE_DONE) found->code = out.code;
      if (ran == 1 && is_hopeless(plan, &out))
        hopeless = i;
      else
        tell_failure(plan, i, &out, found);
    }
    ok = ok && (!out.measured || keep_row(found, i, &row, err));
    measurement_clear(&row);
    if (!ok) return false;
  }
  if (hopeless < plan->cell_count) tell_hopeless(plan, hopeless, left, found);
  return true;
}
