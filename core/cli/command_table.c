/* The commands, and what runs the one that is named. See commands.h. */
#include "commands.h"

#include "analyze.h"
#include "cli.h"
#include "completion.h"
#include "doctor.h"
#include "init.h"
#include "man.h"
#include "open.h"
#include "recover.h"
#include "report.h"
#include "live/pause.h"
#include "live/snapshot.h"
#include "live/top.h"
#include "record/record_command.h"

#ifdef PDHOST_WITH_ADVISE
#include "advise/causal.h"
#include "advise/rerun/rerun.h"
#include "advise/tune.h"
#include "advise/whatif.h"
#endif
#ifdef PDHOST_WITH_CHECK
#include "check/check.h"
#endif
#ifdef PDHOST_WITH_COMPARE
#include "compare/ab.h"
#include "compare/compare.h"
#include "compare/diff/diff.h"
#endif
#ifdef PDHOST_WITH_SWEEP
#include "sweep/sweep.h"
#endif
#ifdef PDHOST_WITH_SCORE
#include "score/score.h"
#endif

static const args_command *const commands[] = {
    &cli_run_command,  &record_command,   &snapshot_command,    &analyze_command, &report_command,
    &cli_list_command, &cli_help_command, &cli_explain_command, &doctor_command,  &top_command,
    &pause_command,
#ifdef PDHOST_WITH_CHECK
    &check_command,
#endif
#ifdef PDHOST_WITH_COMPARE
    &ab_command,       &compare_command,  &diff_command,
#endif
#ifdef PDHOST_WITH_ADVISE
    &whatif_command,   &tune_command,     &causal_command,      &rerun_command,
#endif
#ifdef PDHOST_WITH_SWEEP
    &sweep_command,
#endif
#ifdef PDHOST_WITH_SCORE
    &score_command,
#endif
    &recover_command,  &init_command,     &open_command,        &man_command,     &completion_command,
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

void commands_use(void) { commands_set(commands, COMMAND_COUNT); }

int commands_main(int argc, char **argv) {
  commands_use();
  const args_command *named = argc > 1 ? commands_find(argv[1]) : NULL;
  return named ? named->main(argc - 1, argv + 1) : cli_main(argc, argv);
}
