"""A few of the copies that scripts/perturb-traces makes of any folder of traces."""
import os
import unittest

from made_trace import MadeTrace
from pdhost_run import CONF, SANITIZER, Case
from perturbed_traces import run
from trace_ways import CHANGED, LOSSLESS, LOSSY

SAMPLES = os.path.join(CONF, "..", "corpus", "pytorch", "samples")


class Perturbed(Case):
    def test_a_made_trace_in_every_way(self):
        for marks in (True, False):
            path = MadeTrace(steps=12, marks=marks).write(self.path("made.json"))
            self.assertEqual(run(path, 99, marks), len(LOSSLESS + LOSSY + CHANGED))

    def test_a_real_trace_of_another_program(self):
        path = os.path.join(SAMPLES, "after.pt.trace.json.gz")
        self.assertEqual(run(path, 99, kinds=CHANGED), len(CHANGED))

    def test_real_traces_in_some_ways(self):
        ways = 2 if SANITIZER else 5
        for name in ("before", "after"):
            self.assertEqual(run(os.path.join(SAMPLES, name + ".pt.trace.json.gz"), ways, seed="in CI"), ways)


if __name__ == "__main__":
    unittest.main()
