/* See pause.h. A signal ends a process that does not expect it, so it is looked at first. */
#include "pause.h"

#include "other_process.h"

#include "base/signals.h"
#include "config/cli_frame.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

typedef struct pause_options {
  const char *word;
  bool resumes, help;
} pause_options;

static const args_option rows[] = {{.name = "--resume",
                                    .take = args_take_flag,
                                    .code = offsetof(pause_options, resumes),
                                    .help = "resume the recording"},
                                   ARGS_HELP_ROW(pause_options, help)};

static int pause_main(int argc, char **argv);

const args_command pause_command = {
    .name = "pause",
    .summary = "pause a recording, or resume it",
    .usage = "[--resume] PID|FOLDER",
    .description =
        "Pauses the recording of a run, or of a program under pdhost record, until pdhost pause --resume. The run or "
        "the program itself goes on. PID is the process of pdhost, or one that it has started; FOLDER is the folder of "
        "its results.\n\n"
        "What is recorded before a pause is one window, and what is recorded after it another, each with a verdict. "
        "The "
        "time between them is in no figure: it is reported as a pause, and never as idle time of the device. A run "
        "pauses between two steps, and so does its schedule: as many steps are recorded as were planned. A pause does "
        "not count for the duration of pdhost record, either.\n\n"
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

/* The process itself, or the one above it that has started it. 0: none records. */
static long find_recorder(long pid, int number) {
  for (int level = 0; pid > 1 && level < 64; level++) {
    if (other_process_is_pdhost(pid) && other_process_hears(pid, number)) return pid;
    pid = other_process_parent(pid);
  }
  return 0;
}

static int ask(const void *user, error *err) {
  const pause_options *options = user;
  const int number = options->resumes ? SIGNALS_RESUME : SIGNALS_PAUSE;
  const long given = options->word ? other_process_named(options->word) : 0;
  if (!given) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "pause: expected the number of a process or the folder of its results, as in pdhost pause 4711");
    return CODE_USAGE;
  }
  const long pid = find_recorder(given, number);
  if (!pid && !other_process_is_there(given))
    error_set(err, PD_INVALID, CODE_USAGE,
              "pause: there is no process %ld; give that of pdhost, or of a program that pdhost record started", given);
  else if (!pid)
    error_set(err, PD_INVALID, CODE_USAGE,
              "pause: process %ld is neither a run of pdhost, nor a pdhost record, nor started by one", given);
  else if (kill((pid_t)pid, number) != 0)
    error_set(err, PD_INVALID, CODE_USAGE, "pause: process %ld cannot be asked: %s", pid, strerror(errno));
  return CODE_DONE;
}

static int pause_main(int argc, char **argv) {
  pause_options options = {.word = NULL};
  const cli_own_frame frame = {&options, &options.help, &options.word, "process", ask};
  return cli_own_frame_run(&pause_command, &frame, argc, argv);
}
