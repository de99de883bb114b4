#!/usr/bin/env python3
"""Every cause while each of the three models trains, on the CPU device: usage: test_corpus.py PDHOST CORPUS [CLASS]. The verdict
names what was injected, says nothing of the baselines, and what it suggests makes no step longer. The score's figures are
computed again by other means."""
import os
import shutil
import sys
import tempfile
import unittest

from score_case import CORPUS, SMALL, ScoreCase, score, write

MODELS = ("cnn", "mlp", "transformer")
CAUSES = ("none", "input_bound", "forced_sync", "launch_bound", "allocator", "pageable_copy", "host_compute",
          "serial_streams", "small_batch")
MIXED = """[mixed]
scenario = host_compute
expect = host_compute
also = input_bound
set = scenario.inject_us=1000 data.resident=none data.num_workers=0 data.io_sleep_ms=20 truth.interleave=2 truth.block=2
"""
# Other programs of the machine may spoil some of the 39 cells. Up to this many are run once more.
MOST_SPOILT = 6


def is_slower(cell):
    return cell["fix"] and float(cell["fixed_ns"]) > 1.01 * float(cell["without_fix_ns"])


def is_spoilt(cell):
    """A false alarm does not count as spoilt: whatever other programs do, no cause may be named that is not there."""
    if cell["truth"] == "none" and cell["verdict"] != "none":
        return False
    return not cell["counted"] or cell["verdict"] != cell["truth"] or is_slower(cell)


class Corpus(ScoreCase):
    def whole_score(self, folder):
        """Standard error, standard output, score.json and the cells."""
        run = score(folder, CORPUS, "--out", "out")
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stderr, run.stdout, *self.check_files(os.path.join(folder, "out"))

    def score_with_a_second_try(self, folder):
        said, *whole = self.whole_score(folder)
        self.assertNotIn("was there", said)
        spoilt = [cell["cell"] for cell in whole[2] if is_spoilt(cell)]
        if not 0 < len(spoilt) <= MOST_SPOILT:
            return whole
        print("run once more:", *spoilt, file=sys.stderr, flush=True)
        for name in os.listdir(os.path.join(folder, "out")):
            if any(name == cell or name.startswith(cell + "_") for cell in spoilt):
                shutil.rmtree(os.path.join(folder, "out", name))
        said, *whole = self.whole_score(folder)
        self.assertIn("was there", said)
        return whole

    def expect_good(self, whole, cells, printed):
        printed = printed[printed.find("\nCalibration:"):]  # what was judged wrong; without the tables before it
        self.assertGreaterEqual(whole["macro_f1"]["value"], 0.95, printed)
        self.assertEqual(whole["false_alarms"]["value"], 0, printed)
        self.assertEqual(set(whole["causes"]) & {"failed", "withheld"}, set(), printed)
        self.assertEqual(whole["fixes_slower"], 0, [cell for cell in cells if is_slower(cell)])
        self.assertEqual(whole["fixes_without_step"], 0, printed)
        # The score leaves a run out whose effect was measured below the limit, as one of these cells at times has it.
        # Each cause has to be counted with two models at least, and all but two cells have to be.
        single = [cell for cell in cells if not cell["cell"].startswith("mixed")]
        counted = {(cell["truth"], cell["cell"].split("_size")[1][0]) for cell in single if cell["counted"]}
        every = {(cause, str(model)) for cause in CAUSES for model in range(len(MODELS))}
        self.assertLessEqual(counted, every, printed)
        self.assertLessEqual(len(every - counted), 2, printed)
        for cause in CAUSES:
            self.assertGreaterEqual(sum(name == cause for name, _ in counted), 2, f"{cause}: {printed}")
        tried = sum(float(cell["fixed_ns"]) > 0 for cell in single)
        self.assertGreaterEqual(tried, len(MODELS) * (len(CAUSES) - 2) - 2, "a suggestion for every cause but launching")
        self.assertGreaterEqual(whole["mixed"], 2, printed)
        self.assertLess(whole["mixed_error"]["value"], 15, printed)
        for tool, of in whole["rivals"].items():
            self.assertLess(of["macro_f1"]["high"], whole["macro_f1"]["low"], tool)

    def test_three_models(self):
        with open(CORPUS, encoding="utf-8") as file:
            text = file.read()
        for model in MODELS:
            self.assertIn(f"train.model={model} ", text)
        with tempfile.TemporaryDirectory(prefix="pdhost score ") as folder:
            printed, got, cells = self.score_with_a_second_try(folder)
            self.assertEqual(set(got["parts"]), {"all", "calibration", "held_out"})
            self.expect_good(got["parts"]["all"], cells, printed)

            again = score(folder, CORPUS, "--out", "out")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertGreaterEqual(again.stderr.count("(was there)"), len(cells))
            self.assertEqual(again.stdout, printed)

            # Elsewhere, without a run: the same score of the same windows.
            shutil.move(os.path.join(folder, "out"), os.path.join(folder, "moved"))
            moved = score(folder, CORPUS, "--out", "moved", "--rescore")
            self.assertEqual(moved.returncode, 0, moved.stderr)
            self.assertEqual(moved.stdout, printed)


class Suggestions(ScoreCase):
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
            self.assertEqual((got["parts"]["all"]["fixes_tried"], got["parts"]["all"]["own_fixes_tried"]), (3, 2),
                             run.stdout)
            self.assertRegex(run.stdout, "\nfixes: own, core, no step, slower +2, 1, 0, 0\n")
            for cell in cells:
                if cell["truth"] == "host_compute":
                    self.assertGreater(float(cell["fixed_ns"]), 0)
                    with open(os.path.join(folder, "results/score", cell["cell"] + "_fix", "command"),
                              encoding="utf-8") as file:
                        words = file.read().split("\n")
                    # On top of the cell's own value.
                    self.assertGreater(words.index("scenario.inject_us=0"), words.index("--scenario"))

            # A run of a fix that something stalled: a second one puts it right.
            here = os.path.join(folder, "results/score", "host_compute_scenario.inject_us={}_seed0{}/window0.pdw")
            shutil.copy(here.format(20000, ""), here.format(2000, "_fix"))
            run = score(folder, "c.ini")
            self.assertEqual(run.returncode, 0, run.stderr)
            got, cells = self.check_files(os.path.join(folder, "results/score"))
            self.assertTrue(os.path.exists(here.format(2000, "_fix_again")))
            self.assertFalse(os.path.exists(here.format(20000, "_fix_again")))
            self.assertEqual(got["parts"]["all"]["fixes_slower"], 0, cells)

            # A machine that has become slower: it is so without the fix as well.
            for suffix in ("_fix", "_fix_again", "_again"):
                shutil.copy(here.format(20000, ""), here.format(2000, suffix))
            run = score(folder, "c.ini")
            self.assertEqual(run.returncode, 0, run.stderr)
            got, cells = self.check_files(os.path.join(folder, "results/score"))
            self.assertEqual(got["parts"]["all"]["fixes_slower"], 0, cells)
            shutil.copy(here.format(2000, ""), here.format(2000, "_again"))
            run = score(folder, "c.ini")
            got, cells = self.check_files(os.path.join(folder, "results/score"))
            self.assertEqual(got["parts"]["all"]["fixes_slower"], 1, cells)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
