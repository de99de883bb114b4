"""bench/peer/builds.py: two builds in turns, whose measurements are played here."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest.mock import patch

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bench", "peer")
sys.path.insert(0, PEER)
import builds  # pylint: disable=wrong-import-position
from measured import Failed  # pylint: disable=wrong-import-position


class Builds(unittest.TestCase):
    def run_builds(self, measure, rounds):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        words = ["builds.py", "/old", "/new", "--rounds", str(rounds), "--out", self.folder]
        with patch.object(sys, "argv", words), patch.object(builds, "measure", measure), \
                contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = builds.main()
        return code, out.getvalue(), err.getvalue()

    def test_each_round_measures_both_and_the_first_one_changes(self):
        asked = []

        def measure(pdhost):
            asked.append(pdhost.binary)
            yield lambda: {"step, ms": len(asked)}
        code, out, err = self.run_builds(measure, 3)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([path.split("/")[1] for path in asked], ["old", "new", "new", "old", "old", "new"])
        self.assertEqual(out.split("\n"), ["step, ms", f"{'before':>40}           4 (1 to 5)", f"{'after':>40}           3 (2 to 6)", ""])
        with open(os.path.join(self.folder, "builds.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"rounds": 3, "before": {"step, ms": [1, 4, 5]}, "after": {"step, ms": [2, 3, 6]}})

    def test_what_fails_is_told_and_the_rest_is_measured(self):
        def measure(pdhost):
            def fails():
                raise Failed("no GPU")
            if "old" in pdhost.binary:
                yield fails
            yield lambda: {"step, ms": 2}
        code, out, err = self.run_builds(measure, 1)
        self.assertEqual((code, err), (0, "builds: Failed('no GPU')\n"))
        self.assertIn("step, ms", out)

    def test_a_figure_that_one_build_alone_has_is_shown_and_fails(self):
        code, out, _ = self.run_builds(lambda pdhost: [lambda: {"step, ms": 2}] if "old" in pdhost.binary else [], 2)
        self.assertEqual(code, 1)
        self.assertIn(f"{'after':>40}  not measured", out)

    def test_without_a_figure_it_fails(self):
        code, _, _ = self.run_builds(lambda pdhost: [], 1)
        self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
