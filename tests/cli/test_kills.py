"""A few of the kills that scripts/kills does a thousand of."""
import tempfile
import unittest

from kills import WHOM, run
from pdhost_run import SANITIZER


class Kills(unittest.TestCase):
    def test_what_was_complete_is_there_whoever_is_killed(self):
        for whom in WHOM:
            with tempfile.TemporaryDirectory(prefix="pdhost kills ") as folder:
                self.assertGreater(run(folder, whom, 3 if SANITIZER else 7, seed=whom), 0, f"{whom}: no step had begun")


if __name__ == "__main__":
    unittest.main()
