"""truth.json: what a scenario injected, as the host measured it."""
import unittest

from pdhost_run import SMALL, Case


class Truth(Case):
    def truth(self, scenario, *more):
        code, _, err = self.run_small("--scenario", scenario, *more, "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        self.assertIn("wrote traces/truth.json", err)
        return self.json("traces/truth.json")

    def test_counts_are_exact_and_causes_the_scenarios(self):
        for scenario, cause, count, more in (
                ("sync", "forced_sync", 3, ["-o", "scenario.reads_per_step=3"]),
                ("memory_churn", "allocator", 20, []),
                ("pageable_copy", "pageable_copy", 4, ["-o", "scenario.copies=4", "-o", "scenario.bytes=4096"]),
                ("host_compute", "host_compute", 1, ["-o", "scenario.inject_us=500"])):
            with self.subTest(scenario=scenario):
                truth = self.truth(scenario, *more)
                self.assertEqual(truth["format"], "pdhost.truth/1")
                self.assertEqual((truth["scenario"], truth["cause"]), (scenario, cause))
                self.assertEqual(truth["steps"], 8)
                self.assertEqual(truth["count_per_step"], count)
                self.assertGreater(truth["injected_us_per_step"], 0)
                self.assertLess(truth["injected_us_per_step"], truth["step_us"])
                for setting in more[1::2]:
                    key, value = setting.split("=")
                    self.assertEqual(truth["settings"][key], value)

    def test_what_was_asked_for_in_time_was_injected(self):
        for scenario in ("host_compute", "pageable_copy"):
            with self.subTest(scenario=scenario):
                truth = self.truth(scenario, "-o", "scenario.inject_us=2000")
                self.assertGreaterEqual(truth["injected_us_per_step"], 2000)

    def test_the_loaders_injection_is_the_wait_for_data(self):
        truth = self.truth("dataloader", "-o", "data.io_sleep_ms=2")
        self.assertEqual(truth["cause"], "input_bound")
        self.assertIsNone(truth["count_per_step"])
        self.assertGreater(truth["injected_us_per_step"], 0)

    def test_what_nobody_measured_is_null_and_nothing_is_zero(self):
        self.assertEqual(self.truth("control")["injected_us_per_step"], 0)
        self.assertIsNone(self.truth("tiny_ops")["injected_us_per_step"])


if __name__ == "__main__":
    unittest.main()
