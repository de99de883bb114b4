/* A plugin as a later minor version would build it: every table has fields at its end that this host does not know. */
#include <pdhost/scenario.h>

#include <string.h>

typedef struct {
  int64_t count;
  double ratio;
} options;

typedef struct {
  pd_option known;
  const char *added;
} later_option;

static const later_option rows[] = {
    {PD_OPTION(options, count, .def = "3", .max = "9", .help = "a count"), "new"},
    {PD_OPTION(options, ratio, .def = "0.5", .help = "a ratio"), "new"},
};

static pd_status init(const pd_host *host, const void *opt, void **out) {
  static int state;
  const options *o = opt;
  if (o->count != 3) return host->fail(host, PD_INVALID, "count is %lld", (long long)o->count);
  *out = &state;
  return PD_OK;
}
static pd_status step(void *state, const pd_step *at) {
  (void)state;
  (void)at;
  return PD_OK;
}
static void teardown(void *state) { (void)state; }

static const struct {
  pd_scenario_ops known;
  void (*added)(void);
} ops = {{.size = sizeof ops, .bottleneck = "none", .init = init, .step = step, .teardown = teardown}, NULL};

static const struct {
  pd_plugin known;
  const char *added;
} table = {{.size = sizeof table,
            .abi_major = PD_ABI_MAJOR,
            .abi_minor = PD_ABI_MINOR + 7,
            .kind = PD_KIND_SCENARIO,
            .option_count = 2,
            .option_size = sizeof(later_option),
            .options_size = sizeof(options),
            .name = "grown",
            .version = "1.0",
            .summary = "built for a later minor version",
            .options = &rows[0].known,
            .ops = {.scenario = &ops.known}},
           "new"};

PD_EXPORT const pd_plugin *pd_plugin_entry(void) { return &table.known; }
