"""pdhost record: marks, PyTorch, NVTX, spans of time, the last seconds."""
import glob
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from pdhost_run import PDHOST
from record_case import CUPTI, PROGRAM, TORCH, PythonRecord, Record


class Marks(Record):
    def test_steps_and_waits_that_the_program_marks(self):
        _, err, figures = self.recorded("init", "marked=12", "settle", steps=12)
        self.assertEqual(self.warnings(err), [])
        for row in figures["step_rows"]:
            self.assertGreater(row["data_wait_ns"], 2e6)
        self.assertIn("my work", json.dumps(figures))

    def test_ranges_that_another_thread_ends(self):
        """They overlap: each begins a step, and a table has them all, with no time of a processor."""
        _, err, figures = self.recorded("init", "spans=14", "settle", steps=14, options=("--step", "my span"))
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(sum(figures["lost"].values()), 0)
        self.assertEqual(figures["coverage"], 1.0)
        for row in figures["step_rows"]:
            self.assertGreater(row["step_time_ns"], 2e5)
        self.assertIn("all of it", json.dumps(figures))

    def test_so_many_ranges_that_another_thread_ends_end_the_recording(self):
        self.recorded("init", "spans=25", "stopped", "say=done", steps=6, options=("--steps", "6", "--step", "my span"))

    def trace_events(self):
        traces = glob.glob(self.path("results/record/latest/*.json*"))
        self.assertEqual(len(traces), 1)
        with gzip.open(traces[0], "rt") if traces[0].endswith("gz") else open(traces[0], encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def test_ranges_of_any_thread_have_rows_of_their_own(self):
        self.record("init", "spans=14", "settle", options=("--sink", "chrome_trace"))
        events = self.trace_events()
        spans = [event for event in events if event.get("name") == "my span" and event.get("ph") == "X"]
        rows = {event["tid"] for event in spans}
        self.assertEqual((len(spans), len(rows)), (14, 2))
        names = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
        for row in rows:
            self.assertIn("ranges of any thread", names[row])

    def test_names_of_wide_characters(self):
        """The range around one with such a name ends where it does."""
        _, _, figures = self.recorded("init", "wide=14", "settle", steps=14, options=("--step", "outer"))
        for row in figures["step_rows"]:
            self.assertGreater(row["step_time_ns"], 2e5)
        said = json.dumps(figures, ensure_ascii=False)
        for name in ("inner", "began", "步\U0001f600", "шаг"):
            self.assertIn(name, said)

    def test_ranges_for_which_there_is_no_room_are_counted(self):
        """Places are there for 512 threads, and 16 MiB for registered names. The ring has room for fewer threads, which leave
        a quarter of it to the device's records."""
        _, _, err, figures = self.record("init", "crowd=600", "settle", options=("--sink", "chrome_trace"))
        crowd = [event for event in self.trace_events() if event.get("name") == "crowd" and event.get("ph") == "X"]
        self.assertGreater(len(crowd), 50)
        self.assertEqual(len(crowd) + sum(figures["lost"].values()), 600, err)
        self.assertEqual((figures["lost"]["RANGES_FULL"], figures["coverage"]), (600 - len(crowd), 1), err)
        _, _, err, figures = self.record("init", "names=17000", "settle")
        self.assertGreaterEqual(sum(figures["lost"].values()), 17000 - ((16 << 20) - len("many") - 1) // 1001, err)

    def test_a_thread_without_a_place_is_not_held_up(self):
        """It asks for one with each of its ranges. That takes a thirtieth of what a range with a place does, and as long as one where
        it looks at all of the places."""
        _, out, err, _ = self.record("init", "beyond=600", "settle")
        first_ns, last_ns = map(int, out.split())
        self.assertGreater(first_ns, 0, err)
        self.assertLess(4 * last_ns, first_ns)

    def test_long_registered_names_are_cut(self):
        """JAX registers one for each operation that it compiles."""
        _, _, err, figures = self.record("init", "names=300", "settle", options=("--sink", "chrome_trace"))
        self.assertEqual(sum(figures["lost"].values()), 0, err)
        names = {event["name"] for event in self.trace_events() if event.get("ph") == "X" and event["name"].startswith("000")}
        self.assertEqual(names, {f"{i:01000d}" for i in range(300)})

    def test_another_tool_for_nvtx_stays(self):
        other = {"NVTX_INJECTION64_PATH": "/opt/other.so"}
        said = "NVTX_INJECTION64_PATH is set to /opt/other.so: that tool gets the program's ranges"
        out, _ = self.unrecorded(command=("sh", "-c", "echo $NVTX_INJECTION64_PATH"), said=said, env=other)
        self.assertEqual(out, "/opt/other.so\n")
        _, err, _ = self.recorded("init", "steps=50", "settle", steps=50, env=other, options=("--step", "my work"))
        self.assertEqual(len([line for line in self.warnings(err) if said in line]), 1, err)

    def test_a_name_that_no_range_has(self):
        _, err, _ = self.recorded("init", "steps=50", "settle", steps=50, options=("--step", "absent"))
        self.assertEqual(len([line for line in self.warnings(err) if "--step absent: no range has this name" in line]), 1, err)


class Torch(PythonRecord):
    files = TORCH

    def setUp(self):
        super().setUp()
        self.command = (sys.executable, self.path("train.py"), CUPTI)
        self.env = {"PYTHONPATH": self.path(".")}

    def test_steps_and_waits_are_marked_in_an_unchanged_program(self):
        code, out, err, figures = self.record(command=self.command, options=("--torch",), env=self.env)
        self.assertEqual((code, out), (0, "was read 1\n1 thread\n"), err)
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(len(figures["step_rows"]), 30, "the second optimizer's steps are none")
        for row in figures["step_rows"]:
            self.assertGreater(row["data_wait_ns"], 2e6)

    def test_a_program_that_imports_no_torch_loads_no_recorder(self):
        said = "import sys; print('ctypes' in sys.modules, 'libpdhost_record' in open('/proc/self/maps').read())"
        out = self.record(command=(sys.executable, "-c", said), options=("--torch",), env=self.env)[1]
        self.assertEqual(out, "False False\n")

    def test_a_program_that_imports_no_torch_is_told_of(self):
        code, _, err, figures = self.record("init", "steps=50", "settle", options=("--torch",))
        self.assertEqual((code, len(figures["step_rows"])), (0, 50), err)
        self.assertEqual(len([line for line in self.warnings(err) if "--torch: no step was marked" in line]), 1, err)


class Span(Record):
    def test_a_duration_ends_the_recording_and_not_the_program(self):
        words = ("init", "steps=200", "settle", "stopped", "steps=200", "say=done")
        code, out, err, figures = self.record(*words, options=("--duration", "1s"))
        self.assertEqual(code, 0, err)
        self.assertEqual(out, "done\n")
        self.assertEqual(len(figures["step_rows"]), 200)

    def test_the_programs_own_profiler_can_begin_behind_the_recording(self):
        words = ("init", "marked=25", "stopped", "subscribe")
        out, _, _ = self.recorded(*words, steps=8, options=("--steps", "8"))
        self.assertEqual(out, "0\n")

    def test_a_duration_that_ends_within_steps(self):
        """What was launched and not done by then is left out, and so is nothing else."""
        words = ("init", "steps=300", "until_stopped", "say=done")
        code, out, err, figures = self.record(*words, options=("--duration", "1s"))
        self.assertEqual((code, out), (0, "done\n"), err)
        self.assertEqual(figures["coverage"], 1.0, err)
        self.assertGreater(len(figures["step_rows"]), 100)

    def test_so_many_marked_steps_end_the_recording(self):
        words = ("init", "marked=25", "stopped", "say=done")
        out, err, figures = self.recorded(*words, steps=8, options=("--steps", "8"))
        self.assertEqual(out, "done\n")
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(figures["coverage"], 1.0)

    def test_so_many_ranges_end_the_recording(self):
        words = ("init", "marked=25", "stopped", "say=done")
        self.recorded(*words, steps=6, options=("--steps", "6", "--step", "my work"))

    def test_of_found_steps_the_first_are_reported(self):
        _, err, figures = self.recorded("init", "steps=60", "settle", steps=10, options=("--steps", "10"))
        self.assertIn("the first 10 of the 60 steps that were found", err)
        self.assertEqual(figures["coverage"], 1.0)
        _, err, _ = self.recorded("init", "steps=60", "settle", steps=60, options=("--steps", "100"))
        self.assertIn("it has 60 of the 100 steps", err)

    def test_a_number_of_steps(self):
        for wrong in ("0", "-1", "ten", "5s", ""):
            code, _, err = self.run_pdhost("record", "--steps", wrong, "--", "true", watch=False)
            self.assertEqual(code, 2, err)

    def test_a_later_start(self):
        words = ("init", "steps=100", "started", "sleep=300", "steps=60", "settle")
        _, err, figures = self.recorded(*words, steps=60, options=("--start-after", "1s"))
        self.assertEqual(figures["coverage"], 1.0)

    def test_a_process_that_does_not_answer_does_not_hold_the_report(self):
        """It becomes another program, which knows nothing of a recorder, and keeps its ring open."""
        begun = time.monotonic()
        process = self.start("record", "--duration", "1s", "--", PROGRAM, "init", "steps=90", "settle", "exec", "sleep=15000",
                             watch=False)
        said = process.stdout.readline()
        self.assertLess(time.monotonic() - begun, 12, said)
        self.assertIn("Verdict", said)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)

    def test_an_end_before_the_start(self):
        self.unrecorded("init", "steps=10", options=("--start-after", "100s"), said="ended before the recording was to begin")

    def test_a_signal_begins_and_ends_it(self):
        process = self.start("record", "--start-on-signal", "--", PROGRAM, "init", "steps=50", "pid", "started", "sleep=300",
                             "steps=70", "settle", "pid", "stopped", "steps=50", watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("steps 0 to 69 (70)", out)


class Last(Record):
    """The flight recorder: the last seconds alone, at the end and whenever they are asked for."""
    LONG = ("--last", "60s", "--sink", "csv", "--sink", "table")

    def read_until(self, process, words):
        out = ""
        while words not in out:
            line = process.stdout.readline()
            self.assertTrue(line, out)
            out += line
        return out

    def running(self, *words):
        process = self.start("record", *self.LONG, "--", PROGRAM, *words, "pid", "sleep=40000", watch=False)
        return process, int(process.stdout.readline())

    def snapshots(self):
        return sorted(os.path.relpath(path, self.path("")) for path in glob.glob(self.path("results/record/*/snapshot-*"))
                      if "latest" not in path)

    def test_at_the_end(self):
        _, err, figures = self.recorded("init", "steps=100", "settle", "sleep=7000", "steps=40", "settle", steps=40,
                                        options=("--last", "6s"))
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_of_a_process_that_ended_before_nothing_is_kept(self):
        self.recorded("init", "steps=100", "settle", "exec", "init", "sleep=7000", "steps=40", "settle", steps=40,
                      options=("--last", "6s"))

    def test_marks_and_ranges(self):
        _, _, figures = self.recorded("init", "marked=12", "settle", steps=12, options=("--last", "60s"))
        self.assertIn("my work", json.dumps(figures))
        self.recorded("init", "marked=12", "settle", "spans=14", "settle", steps=14,
                      options=("--last", "60s", "--step", "my span"))

    def test_behind_many_names(self):
        """The names that are kept have high numbers, and the file is small."""
        _, err, figures = self.recorded("init", "names=16000", "settle", "sleep=7000", "marked=12", "settle", steps=12,
                                        options=("--last", "6s"))
        self.assertEqual(self.warnings(err), [])
        self.assertIn("my work", json.dumps(figures))

    def test_snapshots_while_the_program_runs(self):
        process, pid = self.running("init", "steps=60", "settle")
        for number, asked in enumerate((pid, process.pid), 1): # the program's number does as well as pdhost's
            code, out, err = self.run_pdhost("snapshot", str(asked), watch=False)
            self.assertEqual((code, out, err), (0, "", ""))
            self.read_until(process, "steps 0 to 59 (60)")
            self.read_until(process, "Verdict")
            self.assertEqual(len(self.snapshots()), number)
        process.send_signal(signal.SIGUSR2)
        self.read_until(process, "steps 0 to 59 (60)")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertIn("steps 0 to 59 (60)", out)
        folders = self.snapshots()
        self.assertEqual([os.path.basename(folder) for folder in folders], ["snapshot-1", "snapshot-2", "snapshot-3"])
        for folder in folders:
            self.assertTrue(os.path.exists(self.path(os.path.join(folder, "csv", "steps.csv"))), err)
        self.assertEqual(glob.glob(self.path("**/*.pdcap"), recursive=True), [])

    def test_a_snapshot_that_cannot_be_written_is_not_the_last(self):
        """Its folder is full at first."""
        room = self.path("room")
        os.mkdir(room)
        mount = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=64k none '{room}' && exec \"$@\"", "sh"]
        if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode != 0:
            self.skip("this user may not mount")
        process = subprocess.Popen([*mount, PDHOST, "record", "--last", "60s", "--out", f"{room}/out", "--", PROGRAM, "init",
                                    "steps=3000", "settle", "pid", "sleep=40000"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        pid = int(process.stdout.readline())
        process.send_signal(signal.SIGUSR2)
        self.assertIn(f"{room}/out/snapshot-1: the last seconds of process {pid} cannot be written: ", process.stderr.readline())
        subprocess.run(["nsenter", "-m", "-t", str(pid), "mount", "-o", "remount,size=64m", room], check=True)
        process.send_signal(signal.SIGUSR2)
        self.read_until(process, "steps 0 to 2999 (3000)")
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 143, err)
        self.assertEqual(self.warnings(err), [])

    def test_nothing_in_the_last_seconds(self):
        _, _, err, figures = self.record("init", "steps=50", "settle", "sleep=3000", options=("--last", "1s"))
        self.assertIsNone(figures)
        self.assertIn("nothing was launched in the last 1 s", err)

    def test_who_does_not_expect_to_be_asked_is_left_alone(self):
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        plain = self.start("record", "--", PROGRAM, "pid", "sleep=60000", watch=False)
        plain.stdout.readline()
        for pid, said in ((other.pid, "is neither a pdhost record --last nor"), (plain.pid, "is neither a pdhost record --last"),
                          (999999999, "there is no process 999999999; give that of pdhost record --last, or"),
                          (99999999999, "there is no process 99999999999;"), ("x", "expected the number"), ("", "expected")):
            code, _, err = self.run_pdhost("snapshot", str(pid), watch=False)
            self.assertEqual(code, 2, err)
            self.assertIn(said, err)
        self.assertIsNone(other.poll())
        self.assertIsNone(plain.poll())
        plain.send_signal(signal.SIGTERM)
        plain.communicate(timeout=60)

    def test_with_a_signal_that_begins_it(self):
        """SIGUSR2 is then what begins and ends the recording; a snapshot is asked for by its command."""
        process = self.start("record", "--last", "60s", "--start-on-signal", "--", PROGRAM, "init", "steps=50", "pid",
                             "started", "sleep=300", "steps=70", "settle", "pid", "sleep=40000", watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        process.stdout.readline()
        self.assertEqual(self.run_pdhost("snapshot", str(process.pid), watch=False)[0], 0)
        self.read_until(process, "steps 0 to 69 (70)")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    def test_the_command_line(self):
        for words in (("--last", "0"), ("--last", "2000"), ("--last", "x"), ("--last", "10s", "--steps", "5")):
            code, _, err = self.run_pdhost("record", *words, "--", "true", watch=False)
            self.assertEqual(code, 2, err)


if __name__ == "__main__":
    unittest.main()
