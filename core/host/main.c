/* pdhost's main: the command line, with the parts that it needs from above it. */
#include "cli.h"
#include "run.h"

#include "analysis/analysis.h"
#include "score/score.h"

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

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "score") == 0) return score_main(argc - 1, argv + 1);
  const cli_hooks hooks = {.run = run_execute, .metrics = metrics};
  return cli_main(argc, argv, &hooks);
}
