/* See top.h. One look a second at memory that the run writes anyway: it costs the run nothing. */
#include "top.h"

#include "top_device.h"
#include "top_find.h"
#include "top_recording.h"
#include "top_view.h"

#include "base/monotonic.h"
#include "base/signals.h"
#include "config/cli_frame.h"

#include <pdhost/clocks.h>

#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef struct top_options {
  const char *word; /* of the run; NULL: none was given */
  bool once, help;
} top_options;

static const args_option rows[] = {
    {.name = "--once",
     .take = args_take_flag,
     .code = offsetof(top_options, once),
     .help = "print the state once, and end; the default where the output is not a terminal"},
    ARGS_HELP_ROW(top_options, help)};

static int top_main(int argc, char **argv);

const args_command top_command = {
    .name = "top",
    .summary = "show what a run or a recorded program is doing now",
    .usage = "[--once] [PID|FOLDER]",
    .description =
        "Shows once a second what a run of pdhost is doing: the steps done, and the step under way. For the "
        "steps that ended in the last second it shows how long a step took, and how that time "
        "divides: waiting for data, after the wait, between steps. While a window is recorded, it shows what the "
        "device and its calls took of the second up to the newest record, and what was lost. The run writes "
        "these figures to memory in any case, so looking at them does not slow it down.\n\n"
        "For a program under pdhost record it shows the second that ended half a second ago: launches, the "
        "time of a step where the program marks its steps, what the GPUs did, what the program's threads "
        "spent in calls of CUDA, and what was lost. The report at the end of the recording says why a GPU was idle.\n\n"
        "PID is a process of the run or of the recording, FOLDER its folder in results. Without either, top "
        "shows the one that is under way. top ends when that ends, or with Ctrl-C.\n\n"
        "The exit code is 0, and 2 when there is no such run.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost top\tthe run that is under way\n"
                "pdhost top --once results/control/latest\tone look at that run",
    .words = ARGS_OFFER_FOLDER,
    .main = top_main};

static bool show(const top_run *run, top_device *device, error *err) {
  printf("pdhost %ld: %s\n\n", run->pid, run->command);
  if (run->live) {
    top_recording_print(run->live, pd_clock_ns(CLOCK_REALTIME), stdout);
    return fflush(stdout) == 0;
  }
  const int room = top_open_room(run);
  top_device_look(device, room);
  if (room >= 0) (void)close(room);
  if (top_view_print(run->board, pd_clock_ns(CLOCK_REALTIME), monotonic_ns(), stdout)) {
    top_device_print(device, pd_clock_ns(CLOCK_REALTIME), stdout);
    return fflush(stdout) == 0;
  }
  error_no_memory(err);
  return false;
}

static void watch(const top_run *run, top_device *device, error *err) {
  signals_install(NULL, NULL);
  for (;;) {
    fputs("\033[H\033[2J", stdout); /* to the first column of an empty screen */
    if (!show(run, device, err)) break;
    if (!top_is_alive(run)) {
      puts(run->live ? "\nThe recording is over." : "\nThe run is over.");
      break;
    }
    (void)sleep(1);
    if (signals_pending()) break;
  }
  if (signals_pending()) clearerr(stdout); /* Ctrl-C may end a write, too: that is no output that failed */
  signals_restore();
}

static int look(const void *user, error *err) {
  const top_options *options = user;
  static top_device device; /* large */
  top_run run;
  if (!top_find(options->word, &run, err)) return err->exit_code;
  if (!top_device_open(&device))
    error_no_memory(err);
  else if (options->once || !isatty(STDOUT_FILENO))
    (void)show(&run, &device, err);
  else
    watch(&run, &device, err);
  top_device_close(&device);
  top_close(&run);
  return err->count ? err->exit_code : CODE_DONE;
}

static int top_main(int argc, char **argv) {
  top_options options = {.word = NULL};
  const cli_own_frame frame = {&options, &options.help, &options.word, "run", look};
  return cli_own_frame_run(&top_command, &frame, argc, argv);
}
