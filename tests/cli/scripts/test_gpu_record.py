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
        with open(self.args.pdhost, "w", encoding="utf-8") as file:
            file.write(ANALYZE)
        os.chmod(self.args.pdhost, 0o755)

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
        rows = [{"job": "plain a", "verdict_cause": "none", "ledger": {"compute": 0.98, "launch": 0.02}},
                {"job": "plain b", "ledger": {"compute": 0.96, "launch": 0.04}}, # without a verdict
                {"job": "plain bad", "verdict_cause": "none", "ledger": {"compute": 1}},
                {"job": "plain gone", "verdict_cause": "none", "ledger": {"compute": 1}},
                {"job": "torch a", "verdict_cause": "none"}] # it failed
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.script.compare_profiled(self.args, rows)
        self.assertEqual(said.getvalue(), "plain: 1 of 2 verdicts are those of torch.profiler's traces; ledgers differ by 3.0 points at the "
                                          "median, 4.0 at most\nplain: 1 traces of torch.profiler could not be read\n")
        self.assertEqual(rows[2]["not_read"], "bad: no trace")


if __name__ == "__main__":
    unittest.main()
