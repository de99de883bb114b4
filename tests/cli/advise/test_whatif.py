#!/usr/bin/env python3
"""pdhost whatif: what cures save, as predicted and as measured. Whether the figures agree is for quiet machines to say
(bench/RESULTS.md); here an injection is so large that no other work hides it."""
import json
import os
import unittest

from pdhost_run import FIXTURES, SMALL, Case

# Twenty milliseconds of the host's in a step of about one.
HOST = [*SMALL, "--scenario", "host_compute", "-o", "scenario.inject_us=20000", "-o", "schedule.active=5", "-o",
        "schedule.repeat=1", "-o", "truth.block=1", "--max-time", "0.2"]
FAULT = os.path.join(FIXTURES, "scenario", "fault.so")


class Whatif(Case):
    def test_a_cure_is_predicted_and_measured(self):
        code, out, err = self.run_pdhost("whatif", *HOST, "--format", "json", watch=False)
        self.assertEqual(code, 0, err)
        got = json.loads(out)
        self.assertEqual((got["format"], got["scenario"]), ("pdhost.whatif/1", "host_compute"))
        self.assertGreater(got["step_us"], 20000)
        causes = {cause["cause"]: cause for cause in got["causes"]}
        self.assertEqual([cause["gain"] for cause in got["causes"]], sorted((c["gain"] for c in causes.values()), reverse=True))
        self.assertEqual(got["causes"][0]["cause"], "host_compute")
        (cure,) = causes["host_compute"]["cures"]
        self.assertEqual((cure["settings"], cure["unpredicted"]), ("scenario.inject_us=0", None))
        self.assertEqual(cure["predicted"]["share"], causes["host_compute"]["gain"])
        self.assertGreater(cure["predicted"]["share"], 0.2)
        self.assertGreater(cure["measured"]["share"], 0.2)
        self.assertGreater(cure["step_us"], cure["with_us"])
        self.assertAlmostEqual(cure["error"]["share"], cure["predicted"]["share"] - cure["measured"]["share"], places=6)
        self.assertLess(cure["error"]["low"], cure["error"]["high"])
        self.assertFalse(causes["launch_bound"]["has_cure"], "the CPU device has no graphs, and fuses already")
        self.assertEqual(os.listdir(self.folder), [], "what was recorded is gone again")

    def test_one_sentence_then_a_table_of_80_columns(self):
        code, out, err = self.run_pdhost("whatif", *HOST, watch=False)
        self.assertEqual(code, 0, err)
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^(Not sure: )?scenario\.inject_us=0 (saves|seems to save) \d+\.\d % of the step")
        self.assertRegex(out, r"\nWithout +Predicted \(%\) +Measured \(%\) +Error \(points\)\nhost compute +\d+\.\d \([\d.-]+\.\.[\d.-]+\) ")
        self.assertIn("\n  by scenario.inject_us=0\n", out)
        self.assertLessEqual(max(map(len, lines)), 80, out)

    def test_what_no_replay_tells_is_run_all_the_same(self):
        code, out, err = self.run_pdhost("whatif", *SMALL, "--scenario", "tiny_ops", "-o", "scenario.rounds=4", "-o",
                                         "schedule.active=5", "-o", "schedule.repeat=1", "--max-time", "0.1", "--all", watch=False)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"\nlaunch-bound +not predicted +[\d.-]+ \(.*\)\n  by train.fused=true\n  fused kernels also do away")

    def test_mistakes(self):
        self.assert_fails(self.run_pdhost("whatif", *HOST, "--list", watch=False), 2, "whatif: only options of a run are expected")
        self.assert_fails(self.run_pdhost("whatif", *SMALL, "--scenario", FAULT, "-o", "scenario.fail_step=3", watch=False), 5,
                          "whatif: the run that was to be recorded failed: ")


class Truth(Case):
    def test_a_run_measures_its_cures(self):
        small = [*SMALL, "-o", "truth.block=2", "-o", "truth.interleave=2", "-o", "truth.cures=auto", "-o", "schedule.active=5"]
        code, _, err = self.run_pdhost(*small, "--scenario", "host_compute", "-o", "scenario.inject_us=20000", "--trace_dir", "a")
        self.assertEqual(code, 0, err)
        truth = self.json("a/truth/truth.json")
        (cure,) = truth["cures"]
        self.assertEqual((cure["cause"], cure["settings"], cure["predicted"]), ("host_compute", "scenario.inject_us=0", True))
        self.assertEqual(len(cure["effect"]["rounds"]), 2)
        self.assertGreater(cure["effect"]["share"], 0.2)
        # Pinned memory copied ahead, of what is not pinned; no copy of pinned memory, since there is none.
        code, _, err = self.run_pdhost(*small, "--scenario", "control", "-o", "data.resident=none", "--trace_dir", "b")
        self.assertEqual(code, 0, err)
        self.assertEqual([(cure["cause"], cure["settings"], cure["effect"] is not None) for cure in self.json("b/truth/truth.json")["cures"]],
                         [("input_bound", "data.resident=device", True),
                          ("pageable_copy", "data.pin_memory=true data.prefetch_to_device=true", True)])
        code, _, err = self.run_pdhost(*SMALL, "--scenario", "control", "--trace_dir", "c")
        self.assertEqual((code, self.json("c/truth/truth.json")["cures"]), (0, []), err)


if __name__ == "__main__":
    unittest.main()
