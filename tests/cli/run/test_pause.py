#!/usr/bin/env python3
"""pdhost pause: a recording stands still, and what lies between is in no figure."""
import glob
import json
import signal
import subprocess
import time
import unittest

from pdhost_run import SMALL, Case
from record_case import PROGRAM, Record

# They take three seconds and more: the pause falls into them.
STEPS = 1000


def ledger(window):
    """Nanoseconds of the window that have an owner."""
    return sum(row["total"] for row in window["tables"]["ledger"]["rows"])


class Pauses(Case):
    def until_top_says(self, pid, words):
        until = time.monotonic() + 100
        while True:
            code, out, err = self.run_pdhost("top", "--once", str(pid), watch=False)
            if code == 0 and words in out:
                return out
            self.assertLess(time.monotonic(), until, (code, out, err))
            time.sleep(0.02)

    def ask(self, *words):
        self.assertEqual(self.run_pdhost("pause", *map(str, words), watch=False), (0, "", ""))

    def test_a_run(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", f"schedule.active={STEPS}", "-o", "schedule.wait=0", "--sink",
                         "json:output_json=out.json", "--sink", "table", "-o", "run.keep_capture=true", "--trace_dir", "run",
                         watch=False)
        self.until_top_says(run.pid, "the last one recorded")
        self.ask(run.pid)
        self.until_top_says(run.pid, "the last one paused")
        time.sleep(1)
        self.ask("--resume", run.pid)
        out, err = run.communicate(timeout=110)
        self.assertEqual(run.returncode, 0, err)
        with open(self.path("out.json"), encoding="utf-8") as file:
            figures = json.load(file)
        self.check(figures)
        self.assertRegex(out, r"Paused +\d+\.\d{3} s, which are in no figure")
        # What is read again of its capture is the same.
        (capture,) = glob.glob(self.path("**/*.pdcap"), recursive=True)
        code, _, err = self.run_pdhost("analyze", capture, "--sink", "json:output_json=again.json",
                                       watch=False)
        self.assertEqual(code, 0, err)
        with open(self.path("again.json"), encoding="utf-8") as file:
            again = json.load(file)
        for key in ("pauses", "paused_s"):
            self.assertEqual(again[key], figures[key])
        self.assertEqual([window["paused_ns"] for window in again["windows"]],
                         [window["paused_ns"] for window in figures["windows"]])

    def check(self, figures):
        phases = [row["phase"] for row in figures["step_rows"]]
        self.assertEqual(phases.count("active"), STEPS, "as many as were planned")
        self.assertGreater(phases.count("paused"), 1)
        first, last = phases.index("paused"), len(phases) - 1 - phases[::-1].index("paused")
        self.assertEqual(set(phases[first:last + 1]), {"paused"})
        self.assertEqual([len(window["steps"]) for window in figures["windows"]],
                         [phases[:first].count("active"), phases[last:].count("active")])
        self.assertEqual(figures["pauses"], 1)
        self.assertGreater(figures["paused_s"], 1)
        before, behind = figures["windows"]
        self.assertEqual(before["paused_ns"], 0)
        self.assertAlmostEqual(behind["paused_ns"] * 1e-9, figures["paused_s"], places=6)
        # No window reaches into the pause, and so nothing of it has an owner in a ledger.
        end_ns = before["start_realtime_ns"] + before["duration_ns"]
        self.assertGreaterEqual(behind["start_realtime_ns"] - end_ns, behind["paused_ns"])
        for window in figures["windows"]:
            self.assertLessEqual(window["duration_ns"], sum(row["batch_cost_ns"] for row in figures["step_rows"]
                                                            if row["window"] == window["window"]) * 1.2)

    def test_where_nothing_is_recorded(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", "profile.timer_only=true", "-o",
                         "schedule.wait=100000000", watch=False)
        self.until_top_says(run.pid, "Device memory")
        self.ask(run.pid)
        time.sleep(0.5)
        self.until_top_says(run.pid, "not recorded")
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=110)
        self.assertEqual(len([line for line in self.warnings(err) if "the recording is not paused: nothing is recorded"
                              in line]), 1, err)

    def test_who_does_not_expect_it_is_left_alone(self):
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        for option in ((), ("--resume",)):
            for words in ((str(other.pid),), ("999999999",), ("x",), (), ("1", "2")):
                code, _, err = self.run_pdhost("pause", *option, *words, watch=False)
                self.assertEqual(code, 2, err)
                self.assertIn("pause: ", err)
        self.assertIsNone(other.poll())


class RecordPauses(Record):
    """Pauses of a recorded program: it launches steps before, meanwhile and after, and knows of nothing."""
    def paused(self, *options, warns="", steps=("steps=60", "steps=50", "steps=40")):
        process = self.start("record", "--sink", "json:output_json=out.json", *options, "--", PROGRAM, "init", steps[0],
                             "settle", "pid", "stopped", steps[1], "pid", "started", "sleep=300", steps[2], "settle",
                             "say=done", watch=False)
        pid = int(process.stdout.readline())
        self.assertEqual(self.run_pdhost("pause", str(pid), watch=False), (0, "", ""), "by the program's number")
        process.stdout.readline()
        time.sleep(1)
        self.assertEqual(self.run_pdhost("pause", "--resume", str(process.pid), watch=False), (0, "", ""))
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, "done\n"), err)
        self.assertEqual([line for line in self.warnings(err) if not warns or warns not in line], [])
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)

    def check(self, figures, steps):
        self.assertEqual([len(window["steps"]) for window in figures["windows"]], steps)
        before, behind = figures["windows"]
        self.assertEqual((before["paused_ns"], figures["pauses"]), (0, 1))
        self.assertGreater(behind["paused_ns"], 1e9)
        self.assertAlmostEqual(behind["paused_ns"] * 1e-9, figures["paused_s"])
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)
        for window in figures["windows"]:
            self.assertLess(ledger(window), 1.01 * window["duration_ns"])
        self.assertGreaterEqual(behind["start_realtime_ns"], before["start_realtime_ns"] + before["duration_ns"] + 1e9)

    def test_found_steps(self):
        self.check(self.paused(), [60, 40])

    def test_marked_steps(self):
        figures = self.paused(steps=("marked=12", "marked=9", "marked=8"))
        self.check(figures, [12, 8])
        numbers = [step["number"] for window in figures["windows"] for step in window["steps"]]
        self.assertEqual(numbers, list(range(20)), "they are counted on")

    def test_what_the_host_did(self):
        """Rows of the launching thread in both windows, and none of them reaches into the time between."""
        figures = self.paused("--host-samples", "proc", "--out", "here", "--sink", "chrome_trace")
        self.check(figures, [60, 40])
        behind = figures["windows"][1]
        until_ns, from_ns = behind["start_realtime_ns"], behind["start_realtime_ns"] - behind["paused_ns"]
        files = sorted(glob.glob(self.path("here/*.trace.json")))
        self.assertEqual(len(files), 2)
        sides = []
        for path in files:
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            base_ns = trace["baseTimeNanoseconds"]
            states = [(base_ns + round(1000 * event["ts"]), base_ns + round(1000 * (event["ts"] + event["dur"])))
                      for event in trace["traceEvents"] if event.get("cat") == "host_state"]
            self.assertTrue(states, path)
            sides.append("before" if all(end <= from_ns for _, end in states) else
                         "behind" if all(start >= until_ns for start, _ in states) else states)
        self.assertEqual(sides, ["before", "behind"], (from_ns, until_ns))

    def test_so_many_steps_in_all(self):
        figures = self.paused("--steps", "70", warns="the first 10 of the 40 steps that were found")
        self.check(figures, [60, 10])

    def test_the_last_seconds(self):
        self.check(self.paused("--last", "60s"), [60, 40])

    def test_each_window_of_a_capture_is_a_part_of_its_reading(self):
        self.check(self.paused("-o", "run.keep_capture=true"), [60, 40])
        (path,) = glob.glob(self.path("results/record/latest/*.pdcap"))
        err = self.run_pdhost("analyze", path, "--progress=json", watch=False)[2]
        told = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        ends = [at["step"] / at["of"] for at in told if (at["phase"], at["event"]) == ("reading", "end")]
        self.assertAlmostEqual(ends[0], 0.5, delta=0.1)
        self.assertAlmostEqual(ends[1], 1, delta=0.1)

    def test_a_pause_is_none_of_the_duration(self):
        figures = self.paused("--duration", "100s")
        self.check(figures, [60, 40])

    def test_marks_behind_a_pause_that_came_before_the_first_launch(self):
        process = self.start("record", "--sink", "json:output_json=out.json", "--", PROGRAM, "init", "pid", "stopped", "pid",
                             "started", "sleep=300", "marked=30", "settle", watch=False)
        process.stdout.readline()
        self.assertEqual(self.run_pdhost("pause", str(process.pid), watch=False), (0, "", ""))
        process.stdout.readline()
        self.assertEqual(self.run_pdhost("pause", "--resume", str(process.pid), watch=False), (0, "", ""))
        _, err = process.communicate(timeout=60)
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["step_rows"]), 30, err)

    def test_the_end_of_the_program_in_a_pause(self):
        process = self.start("record", "--sink", "json:output_json=out.json", "--", PROGRAM, "init", "steps=60", "settle",
                             "pid", "stopped", "steps=50", watch=False)
        process.stdout.readline()
        self.assertEqual(self.run_pdhost("pause", str(process.pid), watch=False), (0, "", ""))
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        with open(self.path("out.json"), encoding="utf-8") as file:
            (window,) = json.load(file)["windows"]
        self.assertEqual(len(window["steps"]), 60, err)


if __name__ == "__main__":
    unittest.main()
