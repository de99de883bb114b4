"""bench/peer/record_cost.py: loops in turns, by a pdhost and a generator that are played here."""
import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from unittest.mock import patch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# Plays corpus/pytorch/generate.py: a step takes longer the more is recorded, and each block as long as the one before.
GENERATE = r'''
import os, sys
words = sys.argv[1:]
if words[words.index("--run") + 1] == "broken":
    sys.exit("no GPU")
assert "--blocks" in words
us = 100 * int(words[words.index("--steps") + 1])
us += 10 * ("--profile" in words) + int(os.environ.get("RECORDED", 0))
us += 4 * os.environ.get("CUDA_INJECTION64_PATH", "").endswith("bench/libpdhost_cupti_bare.so")
print("ready", flush=True)
for line in sys.stdin:
    if "dies" in words[words.index("--run") + 1] and "--profile" in words:
        sys.exit("out of memory")
    print(us, flush=True)
if "late" in words[words.index("--run") + 1] and "RECORDED" in os.environ:
    sys.exit("not written")
'''
RECORD = f"#!{sys.executable}" + r'''
import os, subprocess, sys
words = sys.argv[1:]
assert words[words.index("--duration") + 1] == "all"
os.environ["RECORDED"] = "2" if "--torch" in words else "1"
sys.exit(subprocess.run(words[words.index("--") + 1:]).returncode)
'''


class RecordCost(unittest.TestCase):
    def setUp(self):
        spec = importlib.util.spec_from_file_location("record_cost", os.path.join(ROOT, "bench", "peer", "record_cost.py"))
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        for folder in ("bin", "bench"):
            os.mkdir(os.path.join(self.folder, folder))
        for name, text in (("generate.py", GENERATE), ("bin/pdhost", RECORD), ("bench/libpdhost_cupti_bare.so", "")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(os.path.join(self.folder, "bin", "pdhost"), 0o755)
        self.module.GENERATE = os.path.join(self.folder, "generate.py")

    def run_on(self, *cells):
        words = ["record_cost.py", "--pdhost", os.path.join(self.folder, "bin", "pdhost"), "--rounds", "3", "--steps", "2",
                 "--out", self.folder, "--cells", *cells]
        with patch.object(sys, "argv", words), contextlib.redirect_stdout(io.StringIO()) as out:
            self.module.main()
        with open(os.path.join(self.folder, "record_cost.json"), encoding="utf-8") as file:
            return out.getvalue(), json.load(file)["rows"]

    def test_each_variant_is_held_against_the_loop_alone(self):
        out, rows = self.run_on("one", "two")
        found = {(row["cell"], row["variant"]): (row["step_us"], round(row["ratio"], 3)) for row in rows}
        self.assertEqual(found["two", "alone"], (1000, 1))
        self.assertEqual(found["one", "record"], (1001, 1.001))
        self.assertEqual(found["one", "record --torch"], (1002, 1.002))
        self.assertEqual(found["two", "bare CUPTI"], (1004, 1.004))
        self.assertEqual(found["two", "torch.profiler"], (1010, 1.01))
        self.assertEqual(len(found), 10)
        self.assertIn("one: alone 1000 us; record 1.001 (1.001 to 1.001)", out)

    def test_a_loop_that_ends_says_why(self):
        with self.assertRaisesRegex(SystemExit, "broken, alone: exit status 1: no GPU"):
            self.run_on("broken")
        with self.assertRaisesRegex(SystemExit, "dies, torch.profiler: exit status 1: out of memory"):
            self.run_on("dies")
        with self.assertRaisesRegex(SystemExit, "late, record: exit status 1: not written"):
            self.run_on("late")

    def test_without_the_collector_nothing_is_measured(self):
        os.remove(os.path.join(self.folder, "bench", "libpdhost_cupti_bare.so"))
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit):
            self.run_on("one")
        self.assertIn("libpdhost_cupti_bare.so is not there", err.getvalue())


if __name__ == "__main__":
    unittest.main()
