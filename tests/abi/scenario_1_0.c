/* A scenario as it was written for ABI 1.0: built against the headers of that release, it runs in today's host. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>

#include <stdlib.h>
#include <time.h>

typedef struct {
  double stall_ms;
  int64_t every;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, stall_ms, .def = "5", .min = "0", .unit = "ms", .help = "host time burnt after the step"),
    PD_OPTION(options, every, .def = "1", .min = "1", .unit = "steps", .help = "stall after every Nth step only"),
};

typedef struct {
  const options *opt;
  const pd_train *train;
} state;

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  s->opt = opt;
  s->train = host->extension(host, PD_EXT_TRAIN);
  if (!s->train) {
    free(s);
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  }
  *out = s;
  return PD_OK;
}

static double now_ms(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static pd_status step(void *state_, const pd_step *at) {
  state *s = state_;
  pd_status status = s->train->step(s->train, at);
  if (status == PD_OK && at->index % (uint64_t)s->opt->every == 0)
    for (double end = now_ms() + s->opt->stall_ms; now_ms() < end;) {} /* spin: a sleep would free the core */
  return status;
}

static void teardown(void *state_) { free(state_); }

PD_SCENARIO("host_stall", "1.0", "host work between steps starves the device", options, rows,
            .bottleneck = "host_compute", .init = init, .step = step, .teardown = teardown)
