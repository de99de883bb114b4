/* See pause.h. A signal ends a process that does not expect it, so it is looked at first. */
#include "pause.h"

#include "other_process.h"

#include "base/signals.h"
#include "cli/command.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

typedef struct pause_options {
  const char *word;
  bool resumes, help;
} pause_options;

static const args_option rows[] = {
    {.name = "--resume", .take = args_take_flag, .code = offsetof(pause_options, resumes), .help = "have it go on"},
    ARGS_HELP_ROW(pause_options, help)};

static int pause_main(int argc, char **argv);

const args_command pause_command = {
    .name = "pause",
    .summary = "have a recording stand still, or go on",
    .usage = "[--resume] PID|FOLDER",
    .description =
        "Has the recording of a run, or of a program under pdhost record, stand still until pdhost pause --resume. The "
        "work goes on meanwhile. PID is the process of pdhost, or one that it has started; FOLDER is the folder of its "
        "results.\n\n"
        "What is recorded before and behind a pause are windows of their own, each with a verdict. The time between "
        "them is in no figure: it is told as a pause, and never as idle time of the device. A run pauses between two "
        "steps, and its schedule stands still with it: as many steps are recorded as were planned. The duration of "
        "pdhost record does not count a pause, either.\n\n"
        "A run of several ranks is not paused: each rank would stop at another step. The command sends the real-time "
        "signal SIGRTMIN+1, or SIGRTMIN+2 with --resume; the program under pdhost record never sees them.\n\n"
        "The exit code is 0, and 2 when there is no such recording.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost record --duration 30s -- python train.py &\trecord thirty seconds in all\n"
                "pdhost pause $!\tleave out what comes now\n"
                "pdhost pause --resume $!\tand go on",
    .words = ARGS_OFFER_FOLDER,
    .main = pause_main};

static bool take_word(void *user, const char *word, error *err) {
  pause_options *options = user;
  if (options->word) {
    error_set(err, PD_INVALID, CODE_USAGE, "pause: expected one process, got '%s' and '%s'", options->word, word);
    return false;
  }
  options->word = word;
  return true;
}

/* The process itself, or the one above it that has started it. 0: none records. */
static long find_recorder(long pid, int number) {
  for (int level = 0; pid > 1 && level < 64; level++) {
    if (other_process_is_pdhost(pid) && other_process_hears(pid, number)) return pid;
    pid = other_process_parent(pid);
  }
  return 0;
}

static void ask(const pause_options *options, error *err) {
  const int number = options->resumes ? SIGNALS_RESUME : SIGNALS_PAUSE;
  const long given = options->word ? other_process_named(options->word) : 0;
  if (!given) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "pause: expected the number of a process or the folder of its results, as in pdhost pause 4711");
    return;
  }
  const long pid = find_recorder(given, number);
  if (!pid)
    error_set(err, PD_INVALID, CODE_USAGE,
              "pause: process %ld is neither a run of pdhost, nor a pdhost record, nor started by one", given);
  else if (kill((pid_t)pid, number) != 0)
    error_set(err, PD_INVALID, CODE_USAGE, "pause: process %ld cannot be asked: %s", pid, strerror(errno));
}

static int pause_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  command_begin();
  pause_options options = {.word = NULL};
  args_set set = {.rows = rows, .count = sizeof rows / sizeof rows[0], .user = &options};
  (void)args_parse(&set, 1, take_word, &options, "pause: ", argc, argv, &err);
  if (options.help) {
    error_clear(&err);
    args_print_help(&pause_command);
  } else if (!err.count) {
    ask(&options, &err);
  }
  const int code = err.count ? err.exit_code : CODE_DONE;
  error_print(&err);
  return command_end(code);
}
