#!/usr/bin/env python3
"""pdhost causal: parts of a step delayed, and what the step does. What the slopes are is for quiet machines to say; the
statistics are tested on made-up measurements (tests/advise/test_causal_curve.c)."""
import json
import os
import unittest

from pdhost_run import FIXTURES, SMALL, Case

FAST = ["-o", "schedule.active=5", "-o", "schedule.repeat=1", "-o", "truth.block=2", "--max-time", "0.05"]
HOST = [*SMALL, "--scenario", "host_compute", "-o", "scenario.inject_us=5000", *FAST]
FAULT = os.path.join(FIXTURES, "scenario", "fault.so")
PARTS = ["host", "input", "kernels", "copies", "reads", "syncs", "allocations"]


class Causal(Case):
    def test_a_curve_for_each_part(self):
        code, out, err = self.run_pdhost("causal", *HOST, "--levels", "20,50,100", "--format", "json", watch=False)
        self.assertEqual(code, 0, err)
        got = json.loads(out)
        self.assertEqual((got["format"], got["scenario"]), ("pdhost.causal/1", "host_compute"))
        self.assertGreater(got["step_us"], 5000)
        parts = {part["part"]: part for part in got["parts"]}
        self.assertEqual(list(parts), PARTS)
        self.assertIn("resident", parts["input"]["why_not"])
        self.assertEqual(parts["reads"]["why_not"], "none in a step")
        for name in ("host", "kernels"):
            part = parts[name]
            self.assertIsNone(part["why_not"])
            self.assertGreater(part["calls_per_step"], 10)
            self.assertEqual(len(part["points"]), 4)
            self.assertEqual((part["points"][0]["delay_us"], part["points"][0]["change"]["share"]), (0, 0))
            delays = [point["delay_us"] for point in part["points"]]
            self.assertEqual(delays, sorted(delays))
            self.assertGreater(delays[3], 2500, "half of the step's time at least")
            self.assertLessEqual(part["slope"]["low"], part["slope"]["value"])
            self.assertLessEqual(part["slope"]["value"], part["slope"]["high"])
            self.assertIn(part["path"], ("on the path", "partly", "off the path", "not sure"))
        # Five milliseconds of a core cannot hide.
        self.assertEqual(parts["host"]["predicted"]["cause"], "host_compute")
        self.assertEqual(os.listdir(self.folder), [], "what was recorded is gone again")

    def test_the_loader_and_copies(self):
        code, out, err = self.run_pdhost("causal", *SMALL, "--scenario", "dataloader", "-o", "data.io_sleep_ms=2", *FAST, "--format",
                                         "json", watch=False)
        self.assertEqual(code, 0, err)
        parts = {part["part"]: part for part in json.loads(out)["parts"]}
        self.assertIsNone(parts["input"]["why_not"])
        self.assertGreater(parts["input"]["points"][3]["delay_us"], 0)
        self.assertGreater(parts["copies"]["calls_per_step"], 0.5)

    def test_one_sentence_then_a_table_of_80_columns(self):
        code, out, err = self.run_pdhost("causal", *HOST, watch=False)
        self.assertEqual(code, 0, err)
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^(The step waits for \w+: 1 us of delay there makes it -?\d+\.\d\d us longer|No part is surely on the critical path of the step)\.$")
        self.assertRegex(out, r"\nDelayed +10 % +20 % +40 % +Slope\nhost +[+-]\d+\.\d +[+-]\d+\.\d +[+-]\d+\.\d +-?\d+\.\d\d \(")
        self.assertLessEqual(max(map(len, lines)), 80, out)

    def test_mistakes(self):
        self.assert_fails(self.run_pdhost("causal", *HOST, "--list", watch=False), 2, "causal: only options of a run are expected")
        for levels in ("10", "20,10", "0,10", "10,200", "10,20,", "1,2,3,4,5", "ten,20"):
            self.assert_fails(self.run_pdhost("causal", *HOST, "--levels", levels, watch=False), 2, "two to four rising shares")
        self.assert_fails(self.run_pdhost("causal", *SMALL, "--scenario", FAULT, "-o", "scenario.fail_step=3", watch=False), 5,
                          "causal: the run that was to be recorded failed: ")


if __name__ == "__main__":
    unittest.main()
