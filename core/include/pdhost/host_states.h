/* What a thread was at, in words, in every output alike. [any thread] */
#ifndef PDHOST_HOST_STATES_H
#define PDHOST_HOST_STATES_H

#include <pdhost/trace.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "running", "blocked in read() of a pipe". `detail`: the text of pd_state_row.name. */
static inline void pd_host_state_words(pd_host_state state, const char *detail, char *out, size_t room) {
  switch (state) {
  case PD_HOST_RUNS: (void)snprintf(out, room, "running"); break;
  case PD_HOST_DELAYED: (void)snprintf(out, room, "waiting for a processor"); break;
  case PD_HOST_SLEEP: (void)snprintf(out, room, "asleep, as it asked%s%s", detail[0] ? " by " : "", detail); break;
  default: (void)snprintf(out, room, "blocked in %s", detail[0] ? detail : "something that was not seen");
  }
}

#ifdef __cplusplus
}
#endif

#endif
