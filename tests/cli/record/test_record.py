"""pdhost record: a program with a CUPTI that is played is recorded, whatever it does, and is not changed by it. How it may
end is test_record_ends.py's, what the steps are test_record_steps.py's."""
import collections
import csv
import glob
import gzip
import os
import shlex
import signal
import subprocess
import unittest

from pdhost_run import PDHOST
from record_case import PROGRAM, Record


class Whole(Record):
    def test_nothing_stays_in_shared_memory(self):
        code, out, err = self.run_pdhost("record", "-q", "--", "sh", "-c", "echo $PDHOST_RECORD", watch=False)
        self.assertEqual(code, 0, err)
        folder = out.splitlines()[0]
        self.assertIn("pdhost-record-", folder)
        self.assertFalse(os.path.exists(folder))

    def test_a_ring_has_no_name_once_it_is_read(self):
        """Its memory goes with the process that wrote it, and with pdhost."""
        command = ("sh", "-c", f"'{PROGRAM}' init steps=40 settle settle; ls $PDHOST_RECORD")
        code, out, err, figures = self.record(command=command)
        self.assertEqual((code, out, len(figures["step_rows"])), (0, "board\n", 40), err)

    def test_every_step_and_every_launch(self):
        """What CUPTI still holds at the end is brought out: the other tests wait for that themselves."""
        _, err, figures = self.recorded("init", "steps=60", steps=60)
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)
        self.assertEqual(self.warnings(err), [])

    def test_output_environment_and_exit_code_are_the_programs(self):
        out, _, _ = self.recorded("init", "steps=40", "settle", "say=hello", "exit=7", steps=40, code=7)
        self.assertEqual(out, "hello\n")
        out = subprocess.run([PDHOST, "record", "-q", "--", "sh", "-c", "env; read line; echo $line"], cwd=self.folder,
                             input="typed\n", capture_output=True, text=True, check=True)
        self.assertIn("typed", out.stdout)
        said = dict(line.split("=", 1) for line in out.stdout.splitlines() if "=" in line)
        changed = {name for name, value in said.items() if os.environ.get(name) != value} - {"_", "PWD", "OLDPWD", "SHLVL"}
        self.assertEqual(changed, {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "PDHOST_RECORD"})

    def test_the_capture_is_kept_and_read_again(self):
        self.recorded("init", "steps=50", "settle", steps=50, options=("-o", "run.keep_capture=true"))
        captures = glob.glob(self.path("results/record/latest/*.pdcap"))
        self.assertEqual(len(captures), 1)
        code, out, err = self.run_pdhost("analyze", captures[0], watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("steps 0 to 49 (50)", out)

    def test_waits_of_streams_for_events_are_recorded(self):
        """Without them, a kernel that waits for one of another stream would be a delay of the device."""
        self.recorded("init", "events=50", "settle", steps=50, options=("--sink", "csv:dir=csv"))
        with open(self.path("csv/events/calls.csv"), encoding="utf-8") as file:
            names = collections.Counter(row["name"] for row in csv.DictReader(file))
        self.assertEqual((names["cudaEventRecord"], names["cudaStreamWaitEvent"]), (50, 50))

    def test_what_to_type_once_the_program_was_changed(self):
        _, _, figures = self.recorded("init", "steps=50", "settle", "say=it's so", steps=50)
        words = shlex.split(figures["windows"][0]["tables"]["verdict"]["rows"][0]["verdict_after"])
        self.assertEqual(words[:2], ["pdhost", "record"])
        self.assertEqual(words[words.index("--"):], ["--", PROGRAM, "init", "steps=50", "settle", "say=it's so"])

    def test_without_it_no_file_but_the_sinks_stays(self):
        self.recorded("init", "steps=50", "settle", steps=50)
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_a_folder_of_ones_own(self):
        code, _, err = self.run_pdhost("record", "--out", "mine", "--sink", "csv", "--", PROGRAM, "init", "steps=50", "settle",
                                       watch=False)
        self.assertEqual(code, 0, err)
        self.assertTrue(os.listdir(self.path("mine")))

    def test_threads(self):
        _, _, figures = self.record("init", "threads=8", "settle")[1:]
        self.assertEqual(figures["coverage"], 1.0)

    def test_what_is_captured_is_no_loss_and_graphs_are_matched(self):
        _, _, figures = self.recorded("init", "capture", "settle", steps=1)
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)


    def test_a_capture_of_what_another_thread_launches(self):
        for end in ("settle", "_exit=0"):
            _, _, err, figures = self.record("init", "elsewhere", "settle", end)
            self.assertIsNotNone(figures, err)
            self.assertEqual(figures["coverage"], 1.0, err)
            self.assertEqual(sum(figures["lost"].values()), 0)

    def test_a_cupti_that_wants_whole_kinds(self):
        """Kernels come without their calls at first; then the lists are given in the other way."""
        code, _, err, figures = self.record("kinds", "init", "steps=60", "settle", "settle", "settle", "steps=60", "settle")
        self.assertIsNotNone(figures, err)
        self.assertGreater(len(figures["step_rows"]), 50)


class Trees(Record):
    def test_threads_have_their_names(self):
        self.recorded("init", "steps=40", "settle", "settle", "steps=40", steps=80, options=("--sink", "chrome_trace"))
        traces = glob.glob(self.path("results/record/latest/*.json*"))
        self.assertEqual(len(traces), 1)
        with gzip.open(traces[0], "rt") if traces[0].endswith("gz") else open(traces[0], encoding="utf-8") as file:
            self.assertIn("recorded_progra", file.read())

    def test_a_shell_and_its_programs(self):
        command = ("sh", "-c", f"'{PROGRAM}' init steps=40 settle; '{PROGRAM}' init steps=50 settle")
        code, _, err, figures = self.record(command=command)
        self.assertEqual(code, 0, err)
        self.assertIsNotNone(figures)
        self.assertEqual(len(figures["step_rows"]), 90)

    def test_a_forked_child_writes_nothing_and_ends(self):
        _, err, figures = self.recorded("init", "steps=40", "fork", "steps=20", "settle", steps=60)
        self.assertEqual(figures["coverage"], 1.0)

    def test_a_crowd_of_workers_that_end_in_all_ways(self):
        """Some hundred processes; those that become another image record themselves, the others write nothing."""
        os.mkdir(self.path("temporary"))
        command = ("sh", "-c", f"echo $PDHOST_RECORD; exec '{PROGRAM}' init steps=20 workers=160 steps=20 settle")
        code, out, err, figures = self.record(command=command, env={"TMPDIR": self.path("temporary")})
        self.assertEqual(code, 0, err)
        self.assertIsNotNone(figures, err)
        self.assertEqual(figures["coverage"], 1.0, err)
        self.assertEqual(sum(figures["lost"].values()), 0, err)
        # All of the 27 that were not killed are there, and of the 13 others what had left them.
        self.assertGreaterEqual(len(figures["step_rows"]), 200 + 27 * 30, err)
        folder = out.splitlines()[0]
        self.assertIn("pdhost-record-", folder)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(os.listdir(self.path("temporary")), [])
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])
        self.assertEqual([pid for pid in os.listdir("/proc") if pid.isdigit() and self.has_in_environment(pid, folder)], [])

    def test_a_capture_that_cannot_be_read_does_not_take_the_others_away(self):
        """As that of a process that was killed before anything of it was whole."""
        for size, said in ((400, "; there is no report of it"), (60, ": skipped, since it cannot be read")):
            command = ("sh", "-c", f"'{PROGRAM}' init steps=50 settle; sleep 1; truncate -s {size} there{size}/*.pdcap; "
                                   f"exec '{PROGRAM}' init steps=40 settle")
            code, _, err, figures = self.record(command=command, options=("--out", f"there{size}"))
            self.assertEqual(code, 0, err)
            self.assertIsNotNone(figures, err)
            self.assertEqual(len(figures["step_rows"]), 40, err)
            self.assertIn(said, err)

    @staticmethod
    def has_in_environment(pid, text):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return text.encode() in file.read()
        except OSError:
            return False  # it has ended

    def test_another_image_of_the_process_is_recorded_by_itself(self):
        code, _, err, figures = self.record("init", "steps=40", "settle", "exec", "init", "steps=30", "settle")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(figures["step_rows"]), 70, err)

    def test_a_process_that_launches_nothing_leaves_nothing(self):
        _, err, figures = self.recorded("init", "steps=40", "settle", "fork", "exec", steps=40)
        self.assertEqual(self.warnings(err), [])
        command = ("sh", "-c", f"'{PROGRAM}' init; '{PROGRAM}'; '{PROGRAM}' init steps=40 settle")
        code, _, err, figures = self.record(command=command)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(figures["step_rows"]), 40)
        self.assertEqual(self.warnings(err), [])

    def test_processes_that_launch_nothing_take_no_place(self):
        """There are 512."""
        command = ("sh", "-c", f"for i in $(seq 520); do '{PROGRAM}' init; done; '{PROGRAM}' init steps=40 settle")
        code, _, err, figures = self.record(command=command)
        self.assertEqual(code, 0, err)
        self.assertIsNotNone(figures, err)
        self.assertEqual((len(figures["step_rows"]), self.warnings(err)), (40, []))

    def test_processes_that_are_refused_leave_places(self):
        command = ("sh", "-c", f"for i in $(seq 520); do '{PROGRAM}' version=20 init; done; '{PROGRAM}' init steps=40 settle")
        code, _, err, figures = self.record(command=command)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(figures["step_rows"]), 40, err)
        self.assertEqual(len([line for line in self.warnings(err) if "and 255 more processes" in line]), 1, err)


class Clear(Record):
    """What stands in the way is said in one line, and the program runs on."""

    def test_no_gpu_program(self):
        self.unrecorded(command=("sh", "-c", "exit 4"), said="reached pdhost's recorder: it uses no GPU, or ", code=4)

    def test_a_program_without_the_environment(self):
        """What is not known is not said: this one did initialise CUDA."""
        _, warnings = self.unrecorded(command=("env", "-i", PROGRAM, "init", "steps=30"), said="reached pdhost's recorder")
        self.assertIn("it loses pdhost's environment (env -i, ", warnings[0])

    def test_nothing_launched(self):
        self.unrecorded("init", "exit=5", said="nothing was launched", code=5)

    def test_memory_alone_is_no_work(self):
        self.unrecorded("init", "allocate", "settle", said="nothing was launched")
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_another_profiler(self):
        out, warnings = self.unrecorded("tool=torch", "init", "steps=30", "say=on", "exit=6", code=6,
                                        said='not recorded: CUPTI is in use by "torch" (39)')
        self.assertEqual(out, "on\n")
        self.assertEqual(len(warnings), 1)

    def test_an_old_cupti(self):
        for given in ((), ("--cupti", "/nowhere/libcupti.so")):
            _, warnings = self.unrecorded("version=20", "init", "steps=30", said="CUPTI version 20 is too old", options=given)
            self.assertIn("the program has loaded that one, and --cupti cannot replace it", warnings[0])
            self.assertNotIn("cupti_library", warnings[0])

    def test_what_cannot_be_recorded_gives_cupti_back(self):
        out, _ = self.unrecorded("fails=cuptiActivityEnable", "init", "subscribe", "say=on", said="not recorded: ")
        self.assertEqual(out, "0\non\n")

    def test_a_cupti_that_fails_ends_the_recording(self):
        _, err, _ = self.recorded("init", "steps=50", "settle", "fatal", "sleep=500", "steps=30", steps=50)
        self.assertEqual(len([line for line in self.warnings(err) if "all that came after CUPTI had failed" in line]), 1, err)

    def test_another_tool_is_set(self):
        self.unrecorded("say=on", said="CUDA_INJECTION64_PATH is set to /opt/other.so",
                        env={"CUDA_INJECTION64_PATH": "/opt/other.so"})

    def test_nothing_recorded_can_be_a_failure(self):
        self.unrecorded("init", options=("--require",), said="nothing was launched", code=6)
        self.unrecorded("init", "exit=5", options=("--require",), said="nothing was launched", code=5)

    def test_the_command_line(self):
        code, _, err = self.run_pdhost("record", watch=False)
        self.assertEqual(code, 2)
        self.assertIn("give the command to run after --", err)
        code, _, err = self.run_pdhost("record", "python", "--", "x", watch=False)
        self.assertEqual(code, 2)
        self.assertIn("write -- before the command", err)
        code, _, err = self.run_pdhost("record", "python", "train.py", watch=False)
        self.assertEqual(code, 2)
        self.assertIn("record: python: write -- before the command, as in pdhost record -- python", err)

    def test_a_program_that_runs_already(self):
        for words in (("--pid", "1"), ("--pid=1", "--", "true")):
            code, out, err = self.run_pdhost("record", *words, watch=False)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn("record: --pid 1: a program that runs already cannot be recorded; end it, and start it again as "
                          "pdhost record -- COMMAND", err)

    def test_a_file_where_the_folder_is_to_be(self):
        with open(self.path("mine"), "w", encoding="ascii"):
            pass
        _, warnings = self.unrecorded("say=on", said="record: mine: folder cannot be made: a file of that name is in the way; "
                                      "name another folder with --out; the program runs unrecorded", options=("--out", "mine"))
        self.assertEqual(len(warnings), 1)

    def test_times_and_their_units(self):
        for time in ("30", "30s", "30m", "1.5h", "all"):
            code, _, err = self.run_pdhost("record", "-q", "--duration", time, "--", "true", watch=False)
            self.assertEqual(code, 0, err)
        for time in ("2d", "30min", "25h", "0", "-1s"):
            code, _, err = self.run_pdhost("record", "--duration", time, "--", "true", watch=False)
            self.assertEqual(code, 2, err)
            self.assertIn(f"--duration {time}: not allowed; allowed: a time of at most 24 hours, as in 30, 30s, 5m or 1h, or all",
                          err)
        self.assertIn("30s, 5m, 1h", " ".join(self.run_pdhost("record", "--help", watch=False)[1].split()))

    def test_a_recording_without_a_file_says_how_to_get_one(self):
        words = ("init", "steps=50", "settle")
        said = "no file was written: with --sink html before -- there is a page"
        _, _, err = self.run_pdhost("record", "--", PROGRAM, *words, watch=False)
        self.assertIn(said, err)
        self.assertTrue(os.path.isdir(self.path("results/record/latest")))
        for more in (("-q",), ("--sink", "html"), ("-o", "run.keep_capture=true")):
            _, _, err = self.run_pdhost("record", *more, "--", PROGRAM, *words, watch=False)
            self.assertNotIn(said, err)

    def test_nothing_recorded_leaves_no_folder(self):
        self.unrecorded("init", said="nothing was launched")
        self.assertEqual(os.listdir(self.path("results/record")), [])
        os.mkdir(self.path("mine"))
        self.unrecorded("init", said="nothing was launched", options=("--out", "mine"))
        self.assertTrue(os.path.isdir(self.path("mine")), "it is the user's")


class Outside(Record):
    """What is not the program itself."""

    def test_a_parent_that_ignores_its_children(self):
        code, out, err = self.run_pdhost("record", "-q", "--", "sh", "-c", "echo ran", watch=False,
                                         under=("sh", "-c", "trap '' CHLD; exec \"$0\" \"$@\""))
        self.assertEqual((code, out), (0, "ran\n"), err)

    def test_a_signal_that_pdhost_has_no_use_for_is_the_programs(self):
        process = self.start("record", "-q", "--", "sh", "-c", "trap 'echo got it; exit 4' USR2; echo here; while :; do sleep 0.1; done",
                             watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (4, "got it\n"), err)

    def test_a_process_that_outlives_the_command_is_named(self):
        command = ("sh", "-c", f"'{PROGRAM}' pid init steps=60 settle sleep=4000 & sleep 2")
        code, out, err, figures = self.record(command=command)
        self.assertEqual((code, len(figures["step_rows"])), (0, 60), err)
        said = f"process {out.split()[0]} still runs; its records until now"
        self.assertEqual(len([line for line in self.warnings(err) if said in line]), 1, err)

    def test_a_search_path_of_any_length(self):
        places = ":".join(["/nowhere/" + "x" * 200] * 60)
        code, out, err = self.run_pdhost("record", "-q", "--torch", "--", "sh", "-c", "echo ${#PYTHONPATH}", watch=False,
                                         env={"PYTHONPATH": places})
        self.assertEqual(code, 0, err)
        self.assertGreater(int(out), len(places))


if __name__ == "__main__":
    unittest.main()
