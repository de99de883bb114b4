#!/usr/bin/env python3
"""A whole corpus on the CPU device: usage: test_corpus.py PDHOST CORPUS. Its score, and that it goes on where it ended."""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

PDHOST, CORPUS = sys.argv[1:3]


def score(folder, *arguments):
    return subprocess.run([PDHOST, "score", *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=280)


class Corpus(unittest.TestCase):
    def test_score(self):
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            run = score(folder, CORPUS, "--out", "out")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertNotIn("was there", run.stderr)
            with open(os.path.join(folder, "out/score.json"), encoding="utf-8") as file:
                got = json.load(file)
            self.assertGreaterEqual(got["macro_f1"], 0.95, run.stdout)
            self.assertEqual(got["false_alarms"], 0, run.stdout)
            self.assertEqual(set(got["causes"]) & {"failed", "withheld"}, set(), run.stdout)
            for cause in ("input_bound", "forced_sync", "launch_bound", "allocator", "pageable_copy", "host_compute"):
                self.assertGreaterEqual(got["causes"][cause]["runs"], 2, run.stdout)
            with open(os.path.join(folder, "out/cells.csv"), encoding="utf-8", newline="") as file:
                cells = list(csv.DictReader(file))
            self.assertEqual(len(cells), got["runs"])
            self.assertEqual(sum(int(row["counted"]) for row in cells), got["counted"])

            again = score(folder, CORPUS, "--out", "out")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(again.stderr.count("(was there)"), len(cells))
            self.assertEqual(again.stdout, run.stdout)

    def test_a_failed_run_counts_as_wrong_and_another_command_runs_anew(self):
        text = ("[corpus]\nset = run.device=cpu device.threads=1 run.warmup_steps=1 data.image_size=8 schedule.active=5\n"
                "set2 = data.batch_size={}\n[control]\nscenario = control\nexpect = none\n"
                "[missing]\nscenario = no_such_scenario\nexpect = input_bound\n")
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            for batch in (2, 4):
                with open(os.path.join(folder, "c.ini"), "w", encoding="utf-8") as file:
                    file.write(text.format(batch))
                run = score(folder, "c.ini")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn("score 2/2 missing_seed0: failed\n", run.stderr)
                self.assertNotIn("was there", run.stderr)
            with open(os.path.join(folder, "results/score/score.json"), encoding="utf-8") as file:
                got = json.load(file)
            self.assertEqual(got["causes"]["input_bound"]["verdicts"], {"failed": 1})

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, code, message in (((), 2, "no corpus given"), (("a", "b"), 2, "b: not expected"),
                                             (("--fast",), 2, "--fast: not expected"), (("no.ini",), 3, "no.ini")):
                run = score(folder, *arguments)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertIn(message, run.stderr)
            self.assertEqual(score(folder, "--help").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
