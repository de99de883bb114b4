/* new_scenario: works on the host in each step while the device waits. Change `inject` to what yours does. */
#include <pdhost/record.h>
#include <pdhost/scenario.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>
#include <time.h>

/* The keys of [scenario]. The type of a row follows the C type of its field: bool, int64_t, double or const char *. */
typedef struct {
  double work_ms;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, work_ms, .help = "host work in each step", .def = "5", .min = "0", .max = "10_000",
              .unit = "ms"),
};

/* Keys of the core that this scenario sets; the user's own settings win. The data stays on the device, so that loading
 * and copying it do not hide what is injected. */
static const pd_preset presets[] = {{"data.resident", "device"}, {NULL, NULL}};

/* What takes a cause out of this scenario: the verdict suggests it where it has found that cause. */
static const pd_cure cures[] = {{"host_compute", "scenario.work_ms=0"}, {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_record *record; /* NULL: this host records nothing */
  const pd_truth *truth;   /* NULL: this host writes no truth.json */
} state;

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  self->opt = opt;
  self->train = host->extension(host, PD_EXT_TRAIN);
  self->record = host->extension(host, PD_EXT_RECORD);
  self->truth = host->extension(host, PD_EXT_TRUTH);
  if (!self->train) {
    free(self);
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  }
  *out = self;
  return PD_OK;
}

static double now_ms(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The bottleneck. pd_truth_begin and pd_truth_end measure it, for truth.json; the range shows it in the trace. */
static void inject(const state *self) {
  static pd_site site = PD_SITE("new_scenario", PD_RANGE_USER);
  const bool begun = self->record && pd_range_begin(self->record, &site, NULL);
  pd_truth_begin(self->truth);
  const double end = now_ms() + self->opt->work_ms;
  while (now_ms() < end) {} /* a sleep would give the core away */
  pd_truth_end(self->truth, 1);
  if (self->record) pd_range_end(self->record, begun);
}

/* One training step. pd_train has its parts one by one, for a bottleneck between them. */
static pd_status step(void *state_, const pd_step *at) {
  const state *self = state_;
  double loss;
  pd_status status = self->train->step(self->train, at);
  if (status != PD_OK || !pd_step_injects(at)) return status;
  pd_truth_asked(self->truth, self->opt->work_ms * 1e3, 0);
  status = self->train->item(self->train, &loss); /* waits for the device, which then has nothing to do */
  if (status == PD_OK) inject(self);
  return status;
}

static void teardown(void *state_) { free(state_); }

PD_SCENARIO("new_scenario", "1.0", "the host works in each step while the device waits", options, rows,
            .bottleneck = "host_compute", .presets = presets, .init = init, .step = step, .teardown = teardown,
            .cures = cures)
