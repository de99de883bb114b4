/* --check-plugin: sound plugins pass, and each broken rule is seen. */
#include "cli_rig.h"

/* ---- conformance checks ---- */

static void check_sees(const char *file, const char *line) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", FIXTURES, file);
  cr_assert_eq(RUN("--check-plugin", path), CODE_PLUGIN, "%s passed: %s", file, out_text);
  cr_assert_not_null(strstr(out_text, line), "%s: %s", file, out_text);
}

PD_TEST_WITH(check, sound_plugins_pass, .timeout = 110) {
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/host_stall.so"), 0, "%s", out_text);
  cr_assert_not_null(strstr(out_text, "scenario host_stall 1.0: 19 checks, 0 failed\n"));
  const char *own = strstr(out_text, "ok   init, three steps, teardown: "); /* it stalls for 5 ms */
  cr_assert(own && strtod(strchr(own, ':') + 1, NULL) >= 5 && strstr(own, " ms a step, without the training\n"), "%s",
            out_text);
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/sink/probe.so"), 0, "%s", out_text);
  cr_assert_null(strstr(out_text, "FAIL"));
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/device/sound.so"), 0, "%s", out_text);
  cr_assert_not_null(strstr(out_text, "device sound 1.0: 18 checks, 0 failed\n"));
}

/* The last check of each kind runs the program itself, for which it needs plugins of pdhost's own. */
PD_TEST_WITH(check, real_runs, .timeout = 110) {
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/host_stall.so", "--device", FIXTURES "/device/null.so"), 0,
               "%s", out_text);
  cr_assert_not_null(strstr(out_text, "ok   three steps of a real run\n"), "%s", out_text);
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/bad_litter.so", "--device", FIXTURES "/device/null.so"),
               CODE_PLUGIN);
  cr_assert_not_null(strstr(out_text, "FAIL three steps of a real run: inner/x.partial is left\n"), "%s", out_text);
  RUN("--check-plugin", FIXTURES "/scenario/host_stall.so", "--device", "/no/such.so");
  cr_assert_not_null(strstr(out_text, "skip three steps of a real run: there is no device to run on: /no/such.so: "),
                     "%s", out_text);
  cr_assert_not_null(strstr(out_text, "scenario host_stall 1.0: 19 checks, 0 failed, 1 skipped\n"), "%s", out_text);
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/fault.so", "--device", FIXTURES "/device/null.so"), 0, "%s",
               out_text);
}

/* The plugin's keys stand in place of its defaults, in each check and in the real run; colours leave the reason whole.
 */
PD_TEST_WITH(check, keys_that_the_user_gives, .timeout = 110) {
#define FAULT "--check-plugin", FIXTURES "/scenario/fault.so", "--device", FIXTURES "/device/null.so"
  static const char *const colors[] = {"--color=never", "--color=always"};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_step=2", (char *)colors[i]), CODE_PLUGIN);
    cr_assert_not_null(strstr(out_text, "FAIL init, three steps, teardown: step returned 5: asked to fail here\n"),
                       "%s", out_text);
    cr_assert_not_null(
        strstr(out_text,
               "FAIL three steps of a real run: exit code 5: scenario fault: step 2: asked to fail here [PDH-0500]\n"),
        "%s", out_text);
  }
  cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_step=3"), 0, "%s", out_text);
  cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_step=3", "--profile_steps", "4"), CODE_PLUGIN, "the real run is longer");
  cr_assert_not_null(strstr(out_text, "fault: step 3: asked to fail here [PDH-0500]\n"), "%s", out_text);
}

PD_TEST_WITH(check, keys_that_do_not_fit, .timeout = 110) {
  RUN(FAULT, "-o", "scenario.fail_stp=2", "-o", "data.batch_size=0", "--sink", "probe:rows=2");
  cr_assert_str_eq(
      err_text,
      "pdhost: error: command line: [scenario] fail_stp: no such key of scenario fault; did you mean "
      "fail_step? [PDH-0301]\n"
      "pdhost: error: command line: [data] batch_size = 0: out of range; allowed: 1 .. 65536 samples [PDH-0303]\n"
      "pdhost: error: command line: [sink.probe] rows: no section of this check; give keys of [scenario], "
      "[data], [train] or another of the core's but [run] [PDH-0300]\n"
      "pdhost: error: command line: [run] sinks: no section of this check; give keys of [scenario], [data], "
      "[train] or another of the core's but [run] [PDH-0300]\n",
      "%s", err_text);
  cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_stp=2"), CODE_CONFIG);
  FAILS(CODE_USAGE, "--check-plugin: reads no -c; give the plugin's keys by -o", FAULT, "-c", "a.ini");
}

PD_TEST_WITH(check, each_call_fails_in_turn, .timeout = 110) {
#define KIT "FAIL each call of the training kit fails in its turn: step fails with a message, nothing is left: "
#define FILES "FAIL each call of files and tables fails in its turn: a message, no file left open: "
  check_sees("scenario/bad_range", KIT "host call 1 failed: 1 ranges left open\n");
  check_sees("sink/bad_leaves", FILES "host call 2 failed: 1 files neither committed nor discarded\n");
  check_sees("sink/bad_ignores",
             FILES "host call 1 failed: every callback returned PD_OK, and its output is not whole\n");
}

/* The process is also the host's and the other plugins'. */
PD_TEST_WITH(check, what_is_left_changed_of_the_process, .timeout = 110) {
  char others[] = "/tmp/pdhost_help_XXXXXX.partial"; /* below the folder that the plugin goes to, and not the check's */
  const int file = mkstemps(others, 8);
  check_sees("scenario/bad_folder", "FAIL the current folder is left as it was: the current folder was changed to /\n");
  close(file);
  unlink(others);
  cr_assert_null(strstr(out_text, ".partial is left"), "%s", out_text);
  check_sees("scenario/bad_umask", "FAIL the umask is left as it was: the umask was changed from ");
  check_sees("scenario/bad_load_umask",
             "FAIL the plugin loads; its descriptor, rows and tables are sound: the umask was "
             "changed from ");
  check_sees("scenario/bad_locale", "FAIL the locale is left as it was: the locale was changed from ");
  check_sees(
      "scenario/bad_handler",
      "FAIL signal handlers are left as they were: the handler of signal 10 (User defined signal 1) was changed\n");
}

PD_TEST_WITH(check, threads_that_a_service_is_not_for, .timeout = 110) {
  check_sees("scenario/bad_off_thread", "FAIL init, one step, teardown: pd_train.step was called on a thread of the "
                                        "plugin's own: it is for the loop thread\n");
  check_sees("sink/bad_off_thread", "FAIL a run without a window: pd_files.write was called on another thread than the "
                                    "one that opened the file\n");
}

PD_TEST_WITH(check, steps_and_records, .timeout = 110) {
  check_sees("scenario/bad_second",
             "FAIL init, three steps, teardown: step returned 5 without a message by host->fail\n");
  check_sees("scenario/bad_truth", "FAIL init, one step, teardown: pd_truth.begin was called without end\n");
#define RECORDS "FAIL each operation leaves its call, its device record and its memory events: "
  check_sees("device/bad_untied", RECORDS "the call nullLaunchKernel has 0 device records, not one\n");
  check_sees("device/bad_never", RECORDS "the call nullLaunchKernel has 0 device records, not one\n");
  check_sees("device/bad_twice", RECORDS "the call nullLaunchKernel has 2 device records, not one\n");
}

PD_TEST_WITH(check, each_broken_rule_is_seen, .timeout = 110) {
  check_sees("scenario/bad_prints",
             "FAIL init and teardown, without a step: 6 bytes on standard output, which belongs to the sinks' files\n");
  check_sees("scenario/bad_thread", "FAIL init and teardown, without a step: 1 thread left running\n");
  check_sees("scenario/bad_crash", "FAIL init, one step, teardown: it crashed (signal 6, Aborted)\n");
  check_sees("scenario/bad_silent",
             "FAIL init and teardown, without a step: init returned 1 without a message by host->fail\n");
  check_sees("scenario/bad_ignores", "step returned PD_OK though the training kit had failed\n");
  check_sees("scenario/bad_tensor", "FAIL init, one step, teardown: 1 tensors of the kit's left\n");
  check_sees("scenario/bad_exits", "FAIL init and teardown, without a step: it ended the process\n");
#define CAUSES "FAIL its bottleneck and its cures are causes that the verdict names: "
#define NAMED "\" is not a cause that the verdict knows: input_bound, forced_sync, launch_bound, "
  check_sees("scenario/bad_bottleneck", CAUSES ".bottleneck \"host_bound" NAMED);
  check_sees("scenario/bad_cure", CAUSES ".cures \"sync_bound" NAMED);
  check_sees("sink/bad_ignores", "FAIL a full disk is reported and leaves no file open: a write failed and every "
                                 "callback returned PD_OK\n");
  check_sees("device/null", "FAIL fill, scale, mean and read back: the mean of 1000 times 3 is 0\n");
}

PD_TEST_WITH(check, a_file_that_does_not_load, .timeout = 110) {
  cr_assert_eq(RUN("--check-plugin", "/nowhere.so"), CODE_PLUGIN);
  cr_assert_str_eq(out_text, "FAIL the plugin loads; its descriptor, rows and tables are sound: /nowhere.so: cannot be "
                             "opened: No such file or directory\n");
}
