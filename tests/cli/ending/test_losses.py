#!/usr/bin/env python3
"""Losses of runs with more steps than are kept at a time."""
import os
import unittest

from pdhost_run import FIXTURES, Case

JSON = "json:output_json=metrics.json"


class Losses(Case):
    def test_every_step_of_a_long_run_has_its_loss(self):
        """More steps than the training kit keeps losses for (65536), in a window and without one."""
        device = ("--device", os.path.join(FIXTURES, "device", "null.so"), "--scenario", "control", "--batch_size", "1",
                  "--image_size", "8", "-q", "-o", "schedule.active=65600", "--sink", JSON)
        for timer_only in ("true", "false"):
            with self.subTest(timer_only=timer_only):
                long = self.start(*device, "-o", f"profile.timer_only={timer_only}", watch=False)
                code, _, err = self.ended(long, timeout=400)
                self.assertEqual(code, 0, err)
                losses = self.json("metrics.json")["losses"]
                self.assertEqual((len(losses), losses.count(None)), (65602, 0))


if __name__ == "__main__":
    unittest.main()
