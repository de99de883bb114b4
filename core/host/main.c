/* pdhost's main: the command line, with the parts that it needs from above it. */
#include "benchmark.h"
#include "cli.h"
#include "command.h"
#include "run.h"

#include "analysis/analysis.h"
#ifdef PDHOST_WITH_COMPARE
#include "compare/ab.h"
#include "compare/compare.h"
#include "compare/sweep.h"
#endif
#ifdef PDHOST_WITH_SCORE
#include "score/score.h"
#endif

#include <string.h>

/* The registry belongs to an analysis that lives until the process ends. */
static const pd_metric *const *metrics(uint64_t *count) {
  static analysis *registry;
  static const pd_device_props no_device = {.size = sizeof(pd_device_props)};
  const analysis_context context = {.device = &no_device, .cores = 1};
  if (!registry && analysis_open(&context, &registry) != PD_OK) return NULL;
  const pd_analysis *table = analysis_table(registry);
  return table->metrics(table, count);
}

/* Commands with a command line of their own, as far as their folders are in this build. */
static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {
#ifdef PDHOST_WITH_COMPARE
    {"ab", ab_main},       {"compare", compare_main},
#endif
#ifdef PDHOST_WITH_SCORE
    {"score", score_main},
#endif
#ifdef PDHOST_WITH_COMPARE
    {"sweep", sweep_main},
#endif
    {NULL, NULL},
};

static int run(config *settings) {
  return strcmp(settings->run.mode, "benchmark") == 0 ? benchmark_execute(settings) : run_execute(settings);
}

/* The command that the first word names; NULL: a run. */
static int (*command_of(int argc, char **argv))(int, char **) {
  for (size_t i = 0; argc > 1 && commands[i].name; i++)
    if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run;
  return NULL;
}

int main(int argc, char **argv) {
  command_begin();
  int (*const command)(int, char **) = command_of(argc, argv);
  const cli_hooks hooks = {.run = run, .metrics = metrics, .cuda_heading = analysis_cuda_heading};
  return command_end(command ? command(argc - 1, argv + 1) : cli_main(argc, argv, &hooks));
}
