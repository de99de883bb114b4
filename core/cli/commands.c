/* See commands.h. */
#include "commands.h"

#include "cli.h"
#include "completion.h"
#include "doctor.h"
#include "init.h"
#include "man.h"
#include "open.h"
#include "recover.h"

#ifdef PDHOST_WITH_COMPARE
#include "compare/ab.h"
#include "compare/compare.h"
#endif
#ifdef PDHOST_WITH_SWEEP
#include "sweep/sweep.h"
#endif
#ifdef PDHOST_WITH_SCORE
#include "score/score.h"
#endif

#include "config/run_name.h"

#include <string.h>

static const args_command *const all[] = {
    &cli_run_command, &cli_list_command, &cli_help_command, &cli_explain_command, &doctor_command,
#ifdef PDHOST_WITH_COMPARE
    &ab_command,      &compare_command,
#endif
#ifdef PDHOST_WITH_SWEEP
    &sweep_command,
#endif
#ifdef PDHOST_WITH_SCORE
    &score_command,
#endif
    &recover_command, &init_command,     &open_command,     &man_command,         &completion_command,
};
enum { COMMAND_COUNT = sizeof all / sizeof all[0] };

const args_command *const *commands_all(uint32_t *count) {
  *count = COMMAND_COUNT;
  return all;
}

const args_command *commands_find(const char *name) {
  for (uint32_t i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  return NULL;
}

int commands_main(int argc, char **argv) {
  run_name_set_commands(all, COMMAND_COUNT);
  const args_command *named = argc > 1 ? commands_find(argv[1]) : NULL;
  return named ? named->main(argc - 1, argv + 1) : cli_main(argc, argv);
}
