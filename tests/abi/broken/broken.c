/* Plugins that the loader must refuse, one rule broken in each; BROKEN chooses. The expected lines are in
 * test_broken.c. */
#include <pdhost/scenario.h>

enum {
  NO_ENTRY = 1,
  NULL_ENTRY,
  MAJOR,
  SIZE_0,
  SIZE_8,
  KIND_99,
  NULL_OPS,
  SHORT_OPS,
  UNDEFINED,
  BAD_DEFAULT,
  BAD_CHOICE,
  TWICE,
  OFFSET,
  BAD_NAME,
  NO_STEP,
  SHORT_ROWS,
  BARE_CURE
};

typedef struct {
  int64_t count;
  const char *level;
} options;

static const char *const levels[] = {"low", "high", NULL};
static const pd_option rows[] = {
    {.key = "count",
     .help = "a count",
     .def = BROKEN == BAD_DEFAULT ? "300" : "1",
     .max = "256",
     .offset = BROKEN == OFFSET ? 4000 : offsetof(options, count),
     .type = PD_INT},
    {.key = BROKEN == TWICE ? "count" : "level",
     .help = "a level",
     .def = BROKEN == BAD_CHOICE ? "purple" : "low",
     .choices = levels,
     .offset = offsetof(options, level),
     .type = PD_CHOICE},
};

static pd_status init(const pd_host *host, const void *opt, void **out) {
  (void)host;
  (void)opt;
  *out = NULL;
  return PD_OK;
}
#if BROKEN == 9
pd_status nobody_defines_this(void);
#endif
static pd_status step(void *state, const pd_step *at) {
  (void)state;
  (void)at;
#if BROKEN == 9
  return nobody_defines_this();
#else
  return PD_OK;
#endif
}
static void teardown(void *state) { (void)state; }

static const pd_cure cures[] = {{"allocator", BROKEN == BARE_CURE ? NULL : "scenario.count=0"}, {NULL, NULL}};

static const pd_scenario_ops ops = {.size = BROKEN == SHORT_OPS ? 16 : sizeof(pd_scenario_ops),
                                    .bottleneck = "none",
                                    .init = init,
                                    .step = BROKEN == NO_STEP ? NULL : step,
                                    .teardown = teardown,
                                    .cures = cures};

static const pd_plugin table = {.size = BROKEN == SIZE_0   ? 0
                                        : BROKEN == SIZE_8 ? 8
                                                           : sizeof(pd_plugin),
                                .abi_major = BROKEN == MAJOR ? PD_ABI_MAJOR + 1 : PD_ABI_MAJOR,
                                .abi_minor = PD_ABI_MINOR,
                                .kind = BROKEN == KIND_99 ? 99 : PD_KIND_SCENARIO,
                                .option_count = 2,
                                .option_size = BROKEN == SHORT_ROWS ? 16 : sizeof(pd_option),
                                .options_size = sizeof(options),
                                .name = BROKEN == BAD_NAME ? "Bad Name" : "broken",
                                .version = "1.0",
                                .summary = "breaks one rule",
                                .options = rows,
                                .ops = {.scenario = BROKEN == NULL_OPS ? NULL : &ops}};

#if BROKEN == 1
PD_EXPORT const pd_plugin *some_other_entry(void);
PD_EXPORT const pd_plugin *some_other_entry(void) { return &table; }
#else
PD_EXPORT const pd_plugin *pd_plugin_entry(void) { return BROKEN == NULL_ENTRY ? NULL : &table; }
#endif
