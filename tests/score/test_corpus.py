#!/usr/bin/env python3
"""A whole corpus on the CPU device: usage: test_corpus.py PDHOST CORPUS. Its score, the same figures computed by other
means, and that it goes on where it ended."""
import csv
import glob
import json
import math
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import recompute
from other_work import attempt

PDHOST, CORPUS = sys.argv[1:3]
CAUSES = ("input_bound", "forced_sync", "launch_bound", "allocator", "pageable_copy", "host_compute", "serial_streams",
          "small_batch")
SMALL = """[corpus]
set = run.device=cpu device.threads=1 run.warmup_steps=1 data.image_size=8 data.batch_size=2 schedule.active=5
[control]
scenario = control
expect = none
repeat = 3
[host_compute]
scenario = host_compute
expect = host_compute
dial = scenario.inject_us
values = 2000, 20000
"""


MIXED = """[mixed]
scenario = host_compute
expect = host_compute
also = input_bound
set = scenario.inject_us=1000 data.resident=none data.num_workers=0 data.io_sleep_ms=20 truth.interleave=2 truth.block=2
"""


def score(folder, *arguments):
    return subprocess.run([PDHOST, "score", *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=280)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Corpus(unittest.TestCase):
    def same(self, got, want, what):
        if got is None or got == "":
            self.assertTrue(math.isnan(want), f"{what}: none, not {want}")
        else:
            self.assertAlmostEqual(float(got), want, 5, what)

    def same_interval(self, got, part_and_whole, what):
        for key, want in zip(("low", "high"), recompute.rate_interval(*part_and_whole)):
            self.same(got[key], want, f"{what} {key}")

    def check_files(self, folder):
        """score.json and every CSV say the same, and what cells.csv makes of it by other means."""
        got = read_json(os.path.join(folder, "score.json"))
        cells = recompute.read_cells(os.path.join(folder, "cells.csv"))
        tables = {name: rows_of(os.path.join(folder, name + ".csv"))
                  for name in ("figures", "score", "confusion", "calibration", "rivals")}
        self.assertEqual(got["format"], "pdhost.score/2")
        with open(os.path.join(folder, "score.html"), encoding="utf-8") as file:
            page = file.read()
        matrix = page[page.index("Confusion matrix"):]
        matrix = matrix[:matrix.index("</table>")]
        whole = [row for row in tables["confusion"] if row["part"] == tables["confusion"][0]["part"]]
        self.assertEqual(sum(int(part.split("<")[0]) for part in matrix.split('transparent)">')[1:] if part[0] != "<"),
                         sum(int(row["runs"]) for row in whole))
        self.assertEqual(got["runs"], len(cells))
        for name, part in got["parts"].items():
            mine = cells if name == "all" else [c for c in cells if c["part"] == name]
            want = recompute.figures(mine)
            self.assertEqual({row["figure"] for row in tables["figures"]}, set(want))
            for key, value in want.items():
                self.same(part[key]["value"], value, f"{name} {key}")
                row = next(r for r in tables["figures"] if r["part"] == name and r["figure"] == key)
                for column in ("value", "low", "high"):
                    self.same(row[column], math.nan if part[key][column] is None else part[key][column], key)
                if part[key]["value"] is not None:
                    self.assertLessEqual(part[key]["low"], part[key]["high"])
            for key, of in recompute.rates(mine).items():
                self.same_interval(part[key], of, f"{name} {key}")
            self.assertEqual(part["own_fixes_tried"], sum(c["fix_error"] >= 0 and recompute.is_own(c) for c in mine))
            self.assertEqual(part["fixes_without_step"], sum(c["fix"] != "" and c["fixed_ns"] == "0" for c in mine))
            self.assertEqual(part["fixes_slower"], sum(c["fix"] != "" and float(c["fixed_ns"]) > 1.01 * float(c["step_ns"])
                                                       for c in mine))
            for cause, of in part["causes"].items():
                self.same_interval(of["precision"], (of["right"], of["named"]), f"{name} {cause} precision")
                self.same_interval(of["recall"], (of["right"], of["runs"]), f"{name} {cause} recall")
                if cause != "none":
                    for key, limit in zip(("limit50", "limit95"), recompute.limits(mine, cause)):
                        self.same(of[key]["value"], limit, f"{name} {cause} {key}")
                row = next(r for r in tables["score"] if r["part"] == name and r["cause"] == cause)
                self.assertEqual([int(row[k]) for k in ("runs", "named", "right")],
                                 [of["runs"], of["named"], of["right"]])
                self.same(row["f1"], math.nan if of["f1"]["value"] is None else of["f1"]["value"], cause)
                self.assertEqual({r["verdict"]: int(r["runs"]) for r in tables["confusion"]
                                  if r["part"] == name and r["truth"] == cause}, of["verdicts"])
            for tool, of in part["rivals"].items():
                self.same(of["macro_f1"]["value"], recompute.rival_f1(mine, tool), f"{name} {tool}")
                row = next(r for r in tables["rivals"] if r["part"] == name and r["tool"] == tool)
                self.same(row["macro_f1"], of["macro_f1"]["value"], tool)
                theirs = [{**cell, "verdict": cell[tool]} for cell in mine]
                self.same_interval(of["false_alarms"], recompute.rates(theirs)["false_alarms"], f"{name} {tool}")
            self.assertEqual(sum(b["runs"] for b in part["bins"]), part["counted"])
            self.assertEqual(sum(int(r["runs"]) for r in tables["calibration"] if r["part"] == name), part["counted"])
        return got, cells

    def expect_good(self, whole, _cells, printed):
        self.assertGreaterEqual(whole["macro_f1"]["value"], 0.95, printed)
        self.assertEqual(whole["false_alarms"]["value"], 0, printed)
        self.assertEqual(set(whole["causes"]) & {"failed", "withheld"}, set(), printed)
        for cause in CAUSES:
            self.assertGreaterEqual(whole["causes"].get(cause, {"runs": 0})["runs"], 2, f"{cause}: {printed}")
        self.assertEqual(whole["mixed"], 2, printed)
        self.assertLess(whole["mixed_error"]["value"], 15, printed)
        for tool, of in whole["rivals"].items():
            self.assertLess(of["macro_f1"]["high"], whole["macro_f1"]["low"], tool)

    def test_score(self):
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            out = os.path.join(folder, "out")

            def make():
                run = score(folder, CORPUS, "--out", "out")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertNotIn("was there", run.stderr)
                got, cells = self.check_files(out)
                self.assertEqual(set(got["parts"]), {"all", "calibration", "held_out"})
                return got["parts"]["all"], cells, run.stdout

            _, cells, printed = attempt(make, self.expect_good, out)

            again = score(folder, CORPUS, "--out", "out")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertGreaterEqual(again.stderr.count("(was there)"), len(cells))
            self.assertEqual(again.stdout, printed)

            # Elsewhere, without a run: the same score of the same windows.
            shutil.move(os.path.join(folder, "out"), os.path.join(folder, "moved"))
            moved = score(folder, CORPUS, "--out", "moved", "--rescore")
            self.assertEqual(moved.returncode, 0, moved.stderr)
            self.assertEqual(moved.stdout, printed)

    def test_interrupted_it_goes_on_where_it_ended(self):
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            write(folder, "c.ini", SMALL)
            child = subprocess.Popen([PDHOST, "score", "c.ini"], cwd=folder, text=True, stderr=subprocess.PIPE,
                                     stdout=subprocess.PIPE, start_new_session=True)
            done = [child.stderr.readline() for _ in range(2)]
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does: the score and its run
            _, err = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, err)
            self.assertIn("pdhost: error: interrupted; the same command goes on from here\n", err)
            self.assertIn("score 2/5", done[1])
            again = score(folder, "c.ini")
            self.assertEqual(again.returncode, 0, again.stderr)
            there = re.findall(r"score (\d)/5 .*\(was there\)", again.stderr)
            self.assertIn(there, (["1", "2"], ["1", "2", "3"]), again.stderr)
            self.assertEqual(len(re.findall(r"score \d/5", again.stderr)), 5)
            self.check_files(os.path.join(folder, "results/score"))

    def test_a_signal_for_it_alone_ends_its_run_too(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name), tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
                write(folder, "c.ini", SMALL.replace("schedule.active=5", "schedule.active=3000 data.resident=none "
                                                     "data.num_workers=0 data.io_sleep_ms=20", 1))
                child = subprocess.Popen([PDHOST, "score", "c.ini"], cwd=folder, text=True, stderr=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
                children, end = "", time.monotonic() + 30
                while not children and time.monotonic() < end:
                    time.sleep(0.05)
                    with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="ascii") as file:
                        children = file.read().strip()
                time.sleep(0.5)
                child.send_signal(number)
                _, err = child.communicate(timeout=60)
                left = [pid for pid in children.split() if os.path.exists(f"/proc/{pid}")]
                for pid in left:
                    os.kill(int(pid), signal.SIGKILL)
                self.assertEqual((child.returncode, err), (128 + number, "pdhost: error: interrupted; the same command "
                                                           "goes on from here\n"))
                self.assertTrue(children)
                self.assertEqual(left, [])

    def test_a_terminals_signal_comes_to_its_run_once(self):
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            write(folder, "c.ini", SMALL.replace("scenario = control", "scenario = host_compute\nset = scenario.inject_us=900000", 1))
            child = subprocess.Popen([PDHOST, "score", "c.ini"], cwd=folder, text=True, stderr=subprocess.PIPE,
                                     stdout=subprocess.PIPE, start_new_session=True)
            until = time.monotonic() + 60
            while not self.has_a_run_with_handlers(child.pid):
                self.assertIsNone(child.poll())
                self.assertLess(time.monotonic(), until)
                time.sleep(0.02)
            os.kill(child.pid, signal.SIGSTOP)  # so that its run has taken its own, if any, when another is handed on
            os.killpg(child.pid, signal.SIGINT)
            time.sleep(0.3)
            os.kill(child.pid, signal.SIGCONT)
            _, err = child.communicate(timeout=60)
            self.assertEqual((child.returncode, err), (130, "pdhost: error: interrupted; the same command goes on from here\n"))
            with open(os.path.join(folder, "results/score/control_seed0_run0/log"), encoding="utf-8") as log:
                self.assertNotIn("second signal", log.read())
            self.assertEqual(glob.glob(os.path.join(folder, "**/*.partial"), recursive=True), [])

    @staticmethod
    def has_a_run_with_handlers(pid):
        """Whether the run's worker, which is its supervisor's child, has its handlers."""
        try:
            for _ in range(2):
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                    children = file.read().split()
                if not children:
                    return False
                pid = children[0]
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                caught = re.search(r"^SigCgt:\t([0-9a-f]+)$", file.read(), re.MULTILINE)
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                is_run = "--scenario" in file.read()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return bool(caught and is_run and int(caught.group(1), 16) & 1 << signal.SIGINT - 1)

    def test_the_suggested_fix_is_tried(self):
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            write(folder, "c.ini", SMALL.replace("[control]", "fix_seeds = 1\n[control]", 1) + MIXED)
            run = score(folder, "c.ini")
            self.assertEqual(run.returncode, 0, run.stderr)
            got, cells = self.check_files(os.path.join(folder, "results/score"))
            # The loader's is the larger of two causes at once, and what is suggested against it is the core's.
            mixed = next(cell for cell in cells if cell["cell"] == "mixed_seed0")
            self.assertEqual(mixed["truth"], "input_bound", run.stdout)
            self.assertTrue(mixed["fix"].startswith("data."), mixed)
            self.assertEqual((got["parts"]["all"]["fixes_tried"], got["parts"]["all"]["own_fixes_tried"]), (3, 2))
            self.assertRegex(run.stdout, "\nfixes: own, core, no step, slower +2, 1, 0, 0\n")
            for cell in cells:
                if cell["truth"] == "host_compute":
                    self.assertGreater(float(cell["fixed_ns"]), 0)
                    with open(os.path.join(folder, "results/score", cell["cell"] + "_fix", "command"),
                              encoding="utf-8") as file:
                        words = file.read().split("\n")
                    # On top of the cell's own value.
                    self.assertGreater(words.index("scenario.inject_us=0"), words.index("--scenario"))

    def test_a_failed_run_counts_as_wrong_and_another_command_runs_anew(self):
        text = ("[corpus]\nset = run.device=cpu device.threads=1 run.warmup_steps=1 data.image_size=8 schedule.active=5\n"
                "set2 = data.batch_size={}\n[control]\nscenario = control\nexpect = none\n"
                "[missing]\nscenario = no_such_scenario\nexpect = input_bound\n")
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            for batch in (2, 4):
                write(folder, "c.ini", text.format(batch))
                run = score(folder, "c.ini")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn("score 2/2 missing_seed0: failed\n", run.stderr)
                self.assertNotIn("was there", run.stderr)
                self.assertRegex(run.stdout, r"\nfailed +0 +1 +0 +0\.000 +n/a +0\.000 \(0\.000-0\.000\)")
                self.assertNotIn("nan", run.stdout)
                self.assertIn("Runs judged wrong\nmissing_seed0: failed", run.stdout)
                self.assertIn("pdhost: missing_seed0 failed: its run did not end well: pdhost: error: ", run.stderr)
                self.assertIn("; what it said: results/score/missing_seed0/log\n", run.stderr)
                with open(os.path.join(folder, "results/score/missing_seed0/log"), encoding="utf-8") as file:
                    self.assertIn("no_such_scenario", file.read())
            got = read_json(os.path.join(folder, "results/score/score.json"))
            self.assertEqual(got["parts"]["all"]["causes"]["input_bound"]["verdicts"], {"failed": 1})
            # A window that was damaged is no verdict either.
            with open(os.path.join(folder, "results/score/control_seed0/window0.pdw"), "r+b") as file:
                file.truncate(1000)
            again = score(folder, "c.ini", "--rescore")
            self.assertIn("score 1/2 control_seed0: failed (was there)\npdhost: control_seed0 failed: ", again.stderr)
            self.assertIn("it ends within a section", again.stderr)
            self.assertEqual(again.returncode, 3)
            self.assertIn("score: none of the 2 runs left a window to judge in results/score [PDH-0300]\n", again.stderr)
            self.assertEqual(again.stdout, "")

    def test_progress_on_a_terminal_is_one_line(self):
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            write(folder, "c.ini", SMALL)
            main, terminal = pty.openpty()
            child = subprocess.Popen([PDHOST, "score", "c.ini"], cwd=folder, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=terminal)
            os.close(terminal)
            seen = b""
            while True:
                try:
                    more = os.read(main, 4096)
                except OSError:
                    break
                if not more:
                    break
                seen += more
            os.close(main)
            self.assertEqual(child.wait(timeout=60), 0, seen)
            shown = [int(number) for number in re.findall(rb"\r\x1b\[Kscore: running: run (\d) of 5, ", seen)]
            self.assertEqual(shown, sorted(shown))
            self.assertGreaterEqual(len(set(shown)), 2, seen)
            self.assertRegex(seen, rb" s left; \w+")  # the run that ended last, cut to the terminal's width
            self.assertEqual(seen[:seen.rindex(b"\r\x1b[Kscore: running")].count(b"\n"), 0)
            self.assertIn(b"\r\x1b[K", seen[seen.rindex(b"score: running"):]) # it is taken away

    def test_the_other_corpora_have_as_many_runs_as_is_said(self):
        """No run of them is there."""
        for name, count in (("cpu_models.ini", 60), ("cpu_transformer.ini", 60), ("cpu_ci.ini", 33), ("h200.ini", 212),
                            ("h200_unseen.ini", 64), ("h200_models.ini", 60)):
            with self.subTest(corpus=name), tempfile.TemporaryDirectory() as folder:
                os.mkdir(os.path.join(folder, "nowhere"))
                run = score(folder, os.path.join(os.path.dirname(CORPUS), name), "--rescore", "--out", "nowhere")
                self.assertEqual(run.returncode, 3, run.stderr)
                self.assertIn(f"score: none of the {count} runs left a window to judge in nowhere [PDH-0300]\n", run.stderr)
                self.assertEqual(run.stdout, "")

    def test_a_window_that_cannot_be_written_is_its_runs_failure_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "c.ini", SMALL)
            place = "results/score/control_seed0_run0"
            os.makedirs(os.path.join(folder, place, "window0.pdw"))
            run = score(folder, "c.ini")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stderr, f"pdhost: control_seed0_run0 failed: .*sink window: .*/window0.pdw: .*{place}/log\n")
            self.assertEqual(len(re.findall(r"score \d/5", run.stderr)), 5)
            causes = [row["verdict"] for row in rows_of(os.path.join(folder, "results/score/cells.csv"))]
            self.assertEqual((causes.count("failed"), len(causes)), (1, 5))

    def test_what_cannot_be_written_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "c.ini", SMALL)
            place = os.path.join(folder, "results/score/control_seed0_run0")
            os.makedirs(place)
            os.symlink("/dev/full", os.path.join(place, "log"))
            run = score(folder, "c.ini")
            self.assertEqual((run.returncode, run.stderr), (8, "pdhost: error: results/score/control_seed0_run0/log: cannot "
                                                            "be written: No space left on device [PDH-0800]\n"))
            run = score(folder, "c.ini", "--rescore", "--out", "nowhere")
            self.assertEqual((run.returncode, run.stderr), (3, "pdhost: error: score: nowhere: No such file or directory; "
                                                            "--rescore judges what an earlier score left [PDH-0300]\n"))

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, code, message in (((), 2, "no corpus given"), (("a", "b"), 2, "unexpected argument 'b'"),
                                             (("--fast",), 2, "--fast: no such option"), (("no.ini",), 3, "no.ini")):
                run = score(folder, *arguments)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertIn(message, run.stderr)
            shown = score(folder, "--help")
            self.assertEqual(shown.returncode, 0)
            for word in ("CORPUS.ini", "--out FOLDER", "--rescore", "corpus/cpu_short.ini", "docs/verdict.md"):
                self.assertIn(word, shown.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
