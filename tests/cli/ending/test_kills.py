"""A few of the kills that scripts/kills does a thousand of."""
import os
import tempfile
import unittest

import record_kills
from kills import WHOM, run
from pdhost_run import SANITIZER


class Kills(unittest.TestCase):
    def test_what_was_complete_is_there_whoever_is_killed(self):
        for whom in WHOM:
            with tempfile.TemporaryDirectory(prefix="pdhost kills ") as folder:
                count = 3 if SANITIZER else 7
                begun, over = run(folder, whom, count, seed=whom)
            self.assertGreater(begun, 0, f"{whom}: no step had begun")
            if whom == "writer":  # before its first step, between its steps and after the last
                self.assertGreater(over, 0)
                self.assertLess(over, begun)
                self.assertLess(begun, count)

    def test_a_recorded_program_loses_a_second_at_most(self):
        if not record_kills.is_there():
            self.skipTest("built without CUPTI's headers")
        with tempfile.TemporaryDirectory(prefix="pdhost kills ") as folder:
            try:
                reported, _ = record_kills.run(folder, 5 if SANITIZER else 12, seed="recorded")
            except record_kills.Late as late:
                if os.getloadavg()[0] > 1.5 * os.cpu_count():
                    self.skipTest(f"the machine's load is {os.getloadavg()[0]:.1f}, and no thread gets its turn: {late}")
                raise
        self.assertGreater(reported, 0)


if __name__ == "__main__":
    unittest.main()
