/* See snapshot.h. A signal ends a process that does not expect it, so it is looked at first. */
#include "snapshot.h"

#include "other_process.h"

#include "config/cli_frame.h"

#include "record/record_program.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct snapshot_options {
  const char *word;
  bool help;
} snapshot_options;

static const args_option rows[] = {ARGS_HELP_ROW(snapshot_options, help)};

static int snapshot_main(int argc, char **argv);

const args_command snapshot_command = {
    .name = "snapshot",
    .summary = "report the last seconds of a program under pdhost record --last",
    .usage = "PID",
    .description =
        "Asks pdhost record --last for a report of the last seconds; the program runs on. PID is the process of pdhost "
        "record, or one that it has started. The report is printed where pdhost record prints, and its files lie in a "
        "folder of their own, snapshot-1 and so on, in the folder of the recording.\n\n"
        "SIGUSR2 to pdhost record does the same, unless --start-on-signal has another use for it.\n\n"
        "The exit code is 0, and 2 when no such process keeps the last seconds.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost record --last 10s -- python train.py &\tkeep the last ten seconds\n"
                "pdhost snapshot $!\treport them now",
    .words = ARGS_OFFER_NOTHING,
    .main = snapshot_main};

/* "pdhost record ... --last ... -- COMMAND". */
static bool keeps_last(long pid) {
  char words[4096];
  const ssize_t bytes = other_process_read(pid, "cmdline", words, sizeof words);
  bool is_record = false;
  if (bytes <= 0 || !other_process_is_pdhost(pid) || !other_process_has_child(pid)) return false;
  for (const char *at = words; at < words + bytes && strcmp(at, "--") != 0; at += strlen(at) + 1) {
    if (at != words && strcmp(at, "record") == 0) is_record = true;
    if (is_record && (strcmp(at, "--last") == 0 || strncmp(at, "--last=", 7) == 0)) return true;
  }
  return false;
}

/* The process itself, or the one above it that has started it. 0: none keeps the last seconds. */
static long find_recorder(long pid) {
  for (int level = 0; pid > 1 && level < 64; level++) {
    if (keeps_last(pid)) return pid;
    pid = other_process_parent(pid);
  }
  return 0;
}

static int ask(const void *user, error *err) {
  const snapshot_options *options = user;
  char *end = NULL;
  const long given = options->word ? strtol(options->word, &end, 10) : 0;
  if (!options->word || *end || given <= 0) {
    error_set(err, PD_INVALID, CODE_USAGE, "snapshot: expected the number of a process, as in pdhost snapshot 4711");
    return CODE_USAGE;
  }
  const long pid = find_recorder(given);
  if (!pid && !other_process_is_there(given))
    error_set(err, PD_INVALID, CODE_USAGE,
              "snapshot: there is no process %ld; give that of pdhost record --last, or of a program that it started",
              given);
  else if (!pid)
    error_set(err, PD_INVALID, CODE_USAGE,
              "snapshot: process %ld is neither a pdhost record --last nor started by one; start the program with "
              "pdhost record --last 10s -- COMMAND",
              given);
  else if (sigqueue((pid_t)pid, SIGUSR2, (union sigval){.sival_int = RECORD_ASKING}) != 0)
    error_set(err, PD_INVALID, CODE_USAGE, "snapshot: process %ld cannot be asked: %s", pid, strerror(errno));
  return CODE_DONE;
}

static int snapshot_main(int argc, char **argv) {
  snapshot_options options = {.word = NULL};
  const cli_own_frame frame = {&options, &options.help, &options.word, "process", ask};
  return cli_own_frame_run(&snapshot_command, &frame, argc, argv);
}
