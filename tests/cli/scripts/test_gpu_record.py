"""scripts/gpu-record: a recorded job beside torch.profiler's trace of the same, by a pdhost that is played here."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# Plays pdhost analyze: the figures are what the trace holds.
ANALYZE = f"#!{sys.executable}" + r'''
import shutil, sys
trace, out = sys.argv[-1], next(word for word in sys.argv if word.startswith("json:")).split("=")[1]
if sys.argv[1] != "analyze" or "bad" in trace:
    sys.exit("bad: no trace")
shutil.copy(trace, out)
'''
# Plays pdhost record, which keeps its capture of what is done between two signals.
RECORD = f"#!{sys.executable}" + r'''
import json, os, signal, subprocess, sys
words, signals = sys.argv[1:], []
signal.signal(signal.SIGUSR2, lambda *_: signals.append(words.index("--start-on-signal")))
done = subprocess.run(words[words.index("--") + 1:], capture_output=True, text=True)
print(done.stdout, end="")
print(done.stderr, file=sys.stderr)
json.dump({"coverage": float(os.environ["COVERAGE"]), "step_rows": [0] * 9, "windows": []},
          open(next(word for word in words if word.startswith("json:")).split("=")[1], "w"))
folder = words[words.index("--out") + 1]
os.makedirs(folder)
if len(signals) == 2:
    open(os.path.join(folder, "1.pdcap"), "w").write("torch" if "--torch" in words else "plain")
sys.exit(done.returncode)
'''
# Plays corpus/pytorch/generate.py, which has one cell of each seed; that of seed 6 ends before its label.
GENERATE = r'''
import fcntl, json, os, signal, sys, time
words = sys.argv[1:]
if "--list" in words:
    sys.exit(print("cell" + words[words.index("--seed") + 1]))
turn = os.open(words[words.index("--turn") + 1], os.O_WRONLY | os.O_APPEND)
os.write(turn, b".")
fcntl.flock(turn, fcntl.LOCK_EX)
if os.fstat(turn).st_nlink == 0:
    sys.exit("its turn came too late")
waited = os.fstat(turn).st_size
if words[words.index("--run") + 1] == "cell7":
    while os.fstat(turn).st_nlink: # until the time is over
        time.sleep(0.01)
for _ in range(words.count("--signal") * 2):
    os.kill(os.getppid(), signal.SIGUSR2)
    time.sleep(0.3)
print("cell: step 5000 us, afterwards 4400 us")
if words[words.index("--run") + 1] != "cell6":
    json.dump({"trace": "cell.pt.trace.json.gz", "step_us": 4000, "waited": waited}, open(words[words.index("--label") + 1], "w"))
'''


def figures(cause, *windows):
    return {"windows": [{"tables": {"verdict": {"rows": [{"verdict_cause": cause}]},
                                    "ledger": {"rows": [{"cause": name, "total": total} for name, total in window.items()]}}}
                        for window in windows]}


class GpuRecord(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("gpu_record", os.path.join(ROOT, "scripts", "gpu-record"))
        self.script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(self.script)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.args = argparse.Namespace(pdhost=os.path.join(self.folder, "pdhost"), out=self.folder)
        self.play(ANALYZE)

    def play(self, pdhost):
        with open(self.args.pdhost, "w", encoding="utf-8") as file:
            file.write(pdhost)
        os.chmod(self.args.pdhost, 0o755)

    def corpus(self, **given):
        given = {"cells": 5, "models": None, "seconds": 100, **given}
        return list(self.script.corpus(argparse.Namespace(**{**vars(self.args), **given})))

    def test_cells_are_recorded_and_labelled_for_the_score(self):
        """Each with and without --torch, and their captures lie beside labels that name them."""
        self.play(RECORD)
        self.script.GENERATE = os.path.join(self.folder, "generate.py")
        with open(self.script.GENERATE, "w", encoding="utf-8") as file:
            file.write(GENERATE)
        for coverage, wrong in (("1", []), ("0.5", ["coverage 0.5"])):
            os.environ["COVERAGE"] = coverage
            rows = self.corpus()
            self.assertEqual([(row["job"], row["to_unrecorded"], row["afterwards"], said) for row, said in rows],
                             [("plain cell5", 1.25, 1.1, wrong), ("torch cell5", 1.25, 1.1, wrong)])
            for kind in ("plain", "torch"):
                with open(os.path.join(self.folder, kind, "labels.json"), encoding="utf-8") as file:
                    label = json.loads(file.read())
                capture = label["trace"]
                self.assertEqual(label["waited"], 2) # both were there before one had its turn
                with open(os.path.join(self.folder, kind, capture), encoding="utf-8") as file:
                    self.assertEqual(file.read(), kind)
        self.assertEqual([said for _, said in self.corpus(cells=6)], [["exit code 0: "]] * 2)
        self.assertEqual(self.corpus(seconds=0), [])
        self.assertEqual(len(self.corpus(cells=7, seconds=4)), 1)

    def test_nothing_is_left_of_a_job_that_takes_too_long(self):
        told = os.path.join(self.folder, "told")
        child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', \"import time; time.sleep(1.5); open({told!r}, 'w')\"])"
        self.assertEqual(self.script.run([sys.executable, "-c", child], limit=0.7)[::2], (-1, "no end within 0.7 s"))
        time.sleep(2)
        self.assertFalse(os.path.exists(told))

    def trace(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def test_a_ledger_is_of_all_windows_and_without_the_profiler(self):
        ledger = self.script.ledger_of(figures("none", {"compute": 30, "profiler": 50, "launch": 10}, {"compute": 20, "launch": None}))
        self.assertEqual({cause: round(share, 4) for cause, share in ledger.items()}, {"compute": 0.8333, "launch": 0.1667})
        self.assertEqual(self.script.ledger_of(figures("none", {"profiler": 7})), {})
        self.assertEqual(self.script.ledger_of({"windows": [{"tables": {}}]}), {})

    def test_the_largest_difference_is_told(self):
        theirs = self.trace("a.json", figures("launch_bound", {"compute": 40, "launch": 60, "profiler": 100}))
        ours = self.script.ledger_of(figures("launch_bound", {"compute": 50, "launch": 45, "allocator": 5}))
        self.assertEqual(self.script.beside_profiled(self.args, theirs, ours),
                         {"profiled_cause": "launch_bound", "ledger_points": 15, "ledger_cause": "launch"})

    def test_a_trace_without_windows_has_no_verdict(self):
        row = self.script.beside_profiled(self.args, self.trace("none.json", {"windows": []}), {"compute": 1})
        self.assertEqual(row, {"profiled_cause": None})

    def test_recorded_cells_are_compared_and_what_was_not_read_is_told(self):
        os.mkdir(os.path.join(self.folder, "plain"))
        self.trace("plain/a.pt.trace.json.gz", figures("none", {"compute": 100}))
        self.trace("plain/b.pt.trace.json.gz", figures("allocator", {"compute": 100}))
        self.trace("plain/bad.pt.trace.json.gz", {})
        rows = [{"job": "plain a", "verdict_cause": "none", "to_unrecorded": 1.25, "afterwards": 1.125, "ledger": {"compute": 0.98, "launch": 0.02}},
                {"job": "plain b", "to_unrecorded": 1.0, "ledger": {"compute": 0.96, "launch": 0.04}}, # without a verdict
                {"job": "plain bad", "verdict_cause": "none", "ledger": {"compute": 1}},
                {"job": "plain gone", "verdict_cause": "none", "ledger": {"compute": 1}},
                {"job": "torch a", "verdict_cause": "none"}] # it failed
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.script.compare_profiled(self.args, rows)
        self.assertEqual(said.getvalue(), "plain: 1 of 2 verdicts are those of torch.profiler's traces; ledgers differ by 3.0 points at the "
                                          "median, 4.0 at most\nplain: a recorded step takes 1.125 times as long as one before it, the "
                                          "median of 2 programs; 1.000 to 1.250\nplain: a step behind a recording takes 1.125 times as long as "
                                          "one before it, the median of 1 programs; 1.125 to 1.125\nplain: 1 traces of torch.profiler could not be read\n")
        self.assertEqual(rows[2]["not_read"], "bad: no trace")


if __name__ == "__main__":
    unittest.main()
