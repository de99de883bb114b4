#!/usr/bin/env python3
"""The command pdhost score on corpora of a few runs: usage: test_command.py PDHOST CORPUS. Signals, what it says, and that
it goes on where it ended. How long a run takes is not looked at."""
import glob
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from score_case import CORPUS, PDHOST, SMALL, ScoreCase, read_json, rows_of, score, write


class Command(ScoreCase):
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
        for name, count in (("cpu_short.ini", 30), ("cpu_models.ini", 60), ("cpu_transformer.ini", 60), ("cpu_ci.ini", 39), ("h200.ini", 212),
                            ("h200_unseen.ini", 64), ("h200_models.ini", 60), ("h200_wide.ini", 140), ("h200_baselines.ini", 96)):
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
            for word in ("CORPUS.ini", "--out FOLDER", "--rescore", "corpus/cpu_short.ini", "docs/truth-and-score.md"):
                self.assertIn(word, shown.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
