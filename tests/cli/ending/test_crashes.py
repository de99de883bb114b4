"""What a crash leaves: the function in which it happened is named, and memory that it overwrote harms no other process."""
import glob
import os
import unittest

from pdhost_run import FIXTURES, SANITIZER, SMALL, Case

SCENARIO = os.path.join(FIXTURES, "scenario", "misdeed.so")
SINK = os.path.join(FIXTURES, "sink", "misdeed.so")
# Windows are steps 2 and 3, 6 and 7, 10 and 11.
BASE = (*SMALL, "-o", "schedule.active=2", "-o", "schedule.repeat=3", "--trace_dir", "traces", "--sink",
        "json:output_json=out.json", "--sink", "csv:dir=csv")


class Crash(Case):
    def misdo(self, *more):
        code, _, err = self.run_pdhost(*BASE, *more, watch=False)
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [], err)
        self.assertEqual(self.processes(), [], err)
        return code, err

    def processes(self):
        """That are in the folder of the test."""
        found = []
        for link in glob.glob("/proc/[0-9]*/cwd"):
            try:
                if os.readlink(link) == os.path.realpath(self.folder):
                    found.append(link)
            except OSError:
                pass
        return found

    def scenario(self, what, *more):
        return self.misdo("--scenario", SCENARIO, "-o", f"scenario.what={what}", "-o", "scenario.step=7", *more)


class Functions(Crash):
    """Where the process crashed is told in the one line, and its callers with -v."""

    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("the sanitizer has the signals, and tells where")

    def test_of_a_scenario(self):
        for what, number in (("segv", 11), ("fpe", 8), ("abort", 6), ("stack", 11)):
            with self.subTest(what=what):
                code, err = self.scenario(what)
                self.assertEqual((code, len(self.errors(err))), (5, 1), err)
                self.assertRegex(self.errors(err)[0], rf"scenario misdeed: step 7: crashed with signal {number} \([\w ]+\) in "
                                 r"(step|misdeed_do|use_up_stack)(\.cold)? \(misdeed")
                self.assertNotIn("called by", err)
                self.assertRegex(self.json("out.json")["reason"], r"in [\w.]+ \(misdeed")

    def test_its_callers_with_v(self):
        code, err = self.scenario("segv", "-v")
        self.assertEqual(code, 5, err)
        self.assertRegex(err, r"\npdhost: debug: called by loop_run")
        self.assertLessEqual(err.count("called by"), 8)

    def test_of_a_sink(self):
        code, err = self.misdo("--scenario", "control", "--sink", f"{SINK}:what=abort,at=trace")
        self.assertEqual(code, 8, err)
        self.assertRegex(err, r"sink misdeed: writing a window: crashed with signal 6 \(Aborted\) in [\w.]+ \(misdeed")

    def test_a_process_that_is_killed_has_none(self):
        for what in ("kill", "exit"):
            code, err = self.scenario(what)
            self.assertEqual((code, len(self.errors(err))), (5, 1), err)
            self.assertNotRegex(self.errors(err)[0], r" in [\w.]+ \(")


class Damage(Crash):
    def overwrite(self, what, seed, *more):
        code, err = self.scenario(what, "-o", f"scenario.seed={seed}", "-o", "profile.max_memory=4MiB", "-o",
                                  "run.step_timeout=20s", *more)
        self.assertEqual((code, len(self.errors(err))), (5, 1), err)
        self.assertIn("scenario misdeed: ", self.errors(err)[0])
        out = self.json("out.json")
        self.assertEqual(out["outcome"], "failed", err)
        self.assertEqual([[at["number"] for at in window["steps"]] for window in out["windows"] if not window["partial"]], [[2, 3]])
        self.assertEqual(glob.glob(self.path("traces/*.pdcap")), [], err)
        return out, err

    def test_a_crash_that_leaves_the_memory_of_the_window_damaged(self):
        # What the run says of itself is whole: no step is missing, and the open window is the only loss.
        for what, seed in (("room", 1), *(("room_random", seed) for seed in range(1, 6))):
            with self.subTest(what=what, seed=seed):
                out, err = self.overwrite(what, seed)
                self.assertEqual((out["steps"], len(out["windows"])), (7, 1), err)
                self.assertIn("scenario misdeed: step 7: crashed with signal 11" if not SANITIZER else "", err)
                self.assertIn("the open window could not be read: ", err)
                self.assertIn("; it is left out", err)

    def test_a_crash_that_leaves_all_shared_memory_damaged(self):
        for what, seed in (("shared", 1), *(("shared_random", seed) for seed in range(1, 6))):
            with self.subTest(what=what, seed=seed):
                out, err = self.overwrite(what, seed)
                # Another thread of the process may crash before the overwriting has come to what the run says of itself.
                self.assertRegex(err, "error: scenario misdeed: (its process overwrote memory that it shares with its supervisor, and"
                                      "|step 7: )")
                self.assertIn("left out", err)
                self.assertGreaterEqual(out["steps"], 4, err)

    def test_a_run_that_goes_on_over_damaged_memory_is_ended(self):
        out, err = self.overwrite("shared_on", 1)
        # It may crash by it sooner than it is looked at.
        self.assertRegex(err, "error: scenario misdeed: (its process overwrote memory that it shares with its supervisor, and (was ended"
                              "|crashed|ended the process)|step 7: (crashed|ended the process))")
        self.assertGreaterEqual(out["steps"], 4, err)


if __name__ == "__main__":
    unittest.main()
