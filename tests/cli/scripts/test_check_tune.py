"""scripts/check-tune: what it makes of a tune that finds the best, one that stops early, and one that ends slower, by a
pdhost that is played here: its times follow from the settings."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts", "check-tune")

PDHOST = r'''#!{python}
import json, os, sys
words = sys.argv[1:]
def time_of(text):
    time = 1000.0
    for key, factor in (("scenario.inject_us=0", 0.5), ("train.channels_last=true", 0.8), ("train.fused=false", 1.3)):
        time *= factor if key in text else 1
    return time
if words[0] == "tune":
    print("pdhost: first some words")
    json.dump({{"settings": {settings!r}, "end": "nothing is left", "spent_s": 1, "steps": []}}, sys.stdout)
elif words[0] == "ab" and set(words[-1].split()) ^ set(words[-2].split()) == {{"train.fused=true"}}:
    sys.exit("pdhost: error: ab: A and B are the same configuration [PDH-0300]")
elif words[0] == "ab":
    ratio = time_of(words[-1]) / time_of(words[-2])
    verdict = "SLOWER" if ratio > 1.01 else "FASTER" if ratio < 0.99 else "SAME"
    json.dump({{"ratio": ratio, "low": ratio - 0.001, "high": ratio + 0.001, "verdict": verdict}}, sys.stdout)
elif "train.channels_last=true" in words and "train.fused=false" in words:
    sys.exit(3)
else:
    print(" ".join(words), file=open({log!r}, "a"))
    rows = [{{"phase": "active", "batch_cost_ns": time_of(" ".join(words)) + i}} for i in range(10)]
    json.dump({{"step_rows": rows}}, open("run.json", "w"))
'''


class CheckTune(unittest.TestCase):
    def check(self, settings, *more):
        with tempfile.TemporaryDirectory(prefix="check tune ") as folder:
            path = os.path.join(folder, "pdhost")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PDHOST.format(python=sys.executable, settings=settings, log=os.path.join(folder, "runs")))
            os.chmod(path, 0o755)
            done = subprocess.run([sys.executable, "-B", SCRIPT, "--pdhost", path, "--device", "cpu", "--json",
                                   os.path.join(folder, "out.json"), *more], capture_output=True, text=True, timeout=60, check=False)
            with open(os.path.join(folder, "runs"), encoding="utf-8") as file:
                self.runs = file.read().splitlines()
            with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
                return done, json.load(file)["cells"]

    def test_the_best_is_found(self):
        done, (cell,) = self.check("train.channels_last=true scenario.inject_us=0", "host_compute little")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((cell["near"], cell["slower"], cell["combinations"]), (True, False, 6))
        self.assertEqual(sorted(cell["best"].split()), ["scenario.inject_us=0", "train.channels_last=true"])
        # Two of the eight combinations fail. The three fastest of the others are run twice, and no slow one is.
        again = [words for words in self.runs if self.runs.count(words) == 2]
        self.assertEqual((len(self.runs), len(set(again))), (9, 3), self.runs)
        self.assertFalse([words for words in again if "train.fused=false" in words and "scenario.inject_us=0" not in words], again)
        self.assertIn("1 of 1 cells end within 3 % of the best of a full sweep; 0 end slower", done.stdout)

    def test_a_setting_that_is_one_already_makes_no_difference(self):
        done, (cell,) = self.check("train.channels_last=true scenario.inject_us=0 train.fused=true", "host_compute little")
        self.assertEqual((done.returncode, cell["near"]), (0, True), done.stdout)

    def test_one_that_stops_early_is_told(self):
        done, cells = self.check("scenario.inject_us=0", "host_")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([cell["near"] for cell in cells], [False, False])
        self.assertAlmostEqual(cells[0]["best_to_tuned"][0], 0.8)
        done, _ = self.check("scenario.inject_us=0", "host_", "--within", "25")
        self.assertEqual(done.returncode, 0, done.stdout)
        _, (cell,) = self.check("scenario.inject_us=0", "host_compute")
        self.assertEqual(cell["cell"], "host_compute", "a whole name is one cell")

    def test_one_that_ends_slower_fails_whatever_else(self):
        done, (cell,) = self.check("train.fused=false", "--within", "90", "--least", "0", "host_compute little")
        self.assertEqual((done.returncode, cell["slower"]), (1, True), done.stdout)

    def test_cells_and_mistakes(self):
        for device in ("cpu", "cuda"):
            done = subprocess.run([sys.executable, "-B", SCRIPT, "--pdhost", "none", "--device", device, "--list"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, len(set(done.stdout.splitlines()))), (0, 20))
        done = subprocess.run([sys.executable, "-B", SCRIPT, "--pdhost", "none", "--device", "cpu", "nothing"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "check-tune: no cell of cpu has nothing in its name\n"))


if __name__ == "__main__":
    unittest.main()
