/* What a run is made of, without its sinks: recorder, device, analysis, training kit, loader, scenario. Several such
 * sets may live in one process. [loop thread] */
#ifndef CORE_RUN_RUN_PARTS_H
#define CORE_RUN_RUN_PARTS_H

#include "run_state.h"
#include "config/config.h"

/* Brings up all parts of a zeroed `run`. Prints the line of a failure and returns the exit code, CODE_DONE when all are
 * there. run_parts_close is due either way. `settings` has to outlive the run. */
int run_parts_open(run_state *run, config *settings);
void run_parts_close(run_state *run);

/* Prints the one line of a failure: `where`, then the last message of `host` or the status's text. Returns `code`. */
static inline int run_parts_report(service_host *host, pd_status status, const char *where, int code) {
  return service_host_report(host, status, where, code);
}

#endif
