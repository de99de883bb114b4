/* The progress line; see progress.h. */
#include "progress.h"

#include <stdio.h>
#include <time.h>

#define INTERVAL_NS 100000000

static int64_t shown_ns;

bool progress_step(const run_state *run, const char *what, uint64_t index, uint64_t planned) {
  if (!run->show_progress) return false;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  if (now_ns - shown_ns < INTERVAL_NS) return false;
  shown_ns = now_ns;
  if (planned)
    fprintf(stderr, "\r\033[K%s: %s %llu of %llu", run->scenario_name, what, (unsigned long long)index + 1,
            (unsigned long long)planned);
  else
    fprintf(stderr, "\r\033[K%s: %s %llu", run->scenario_name, what, (unsigned long long)index + 1);
  fflush(stderr);
  return true;
}

void progress_clear(const run_state *run) {
  if (!run->show_progress || !shown_ns) return;
  shown_ns = 0;
  fputs("\r\033[K", stderr);
  fflush(stderr);
}
